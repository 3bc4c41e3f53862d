"""Generated clients: made from `openapi/openapi.yaml` alone they compile and play a game.

The generators are tools of their own, with parts that clash with ours: `make client-tools` fetches
them, and `make test` does that first.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.examples.conftest import serve  # noqa: F401

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "openapi" / "openapi.yaml"
TOOLS = HERE.parents[1] / ".cache" / "clients"
HOW = "`make client-tools` fetches it"


def run(command: list[str], folder: Path) -> str:
    """Run a tool in `folder` and return what it says; fail with all of it when it fails."""
    path = f"{TOOLS / 'venv' / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def played(output: str) -> dict[str, Any]:
    """Return what a client tells of its game, on its last line."""
    told: dict[str, Any] = json.loads(output.splitlines()[-1])
    return told


@pytest.fixture
def url(serve: Callable[..., str]) -> str:  # noqa: F811
    """Return the address of the service."""
    return serve()


@pytest.mark.skipif(not (TOOLS / "venv").exists(), reason=f"openapi-python-client: {HOW}")
def test_the_python_client_compiles_and_plays(tmp_path: Path, url: str) -> None:
    """openapi-python-client has nothing to warn of, and its models take what the service sends."""
    made = run(
        [
            *("openapi-python-client", "generate", "--path", str(DOCUMENT)),
            *("--meta", "none", "--output-path", "rummy_client", "--fail-on-warning"),
            *("--config", str(HERE / "openapi-python-client.yaml")),
        ],
        tmp_path,
    )
    assert "warning" not in made.lower()
    shutil.copy(HERE / "play_python.py", tmp_path)
    python = str(TOOLS / "venv" / "bin" / "python")
    run(
        [python, "-W", "error", "-m", "compileall", "-q", "rummy_client", "play_python.py"],
        tmp_path,
    )

    assert played(run([python, "play_python.py", url], tmp_path))["played"] > 20


@pytest.mark.skipif(
    not (TOOLS / "node_modules").exists(),
    reason=f"openapi-typescript: {HOW}, where npm and Node 20 are",
)
def test_the_typescript_client_compiles_and_plays(tmp_path: Path, url: str) -> None:
    """openapi-typescript's types are strict; the union of actions is told apart by `type`."""
    for name in ("play.ts", "tsconfig.json", "package.json"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    tools = TOOLS / "node_modules" / ".bin"
    run([str(tools / "openapi-typescript"), str(DOCUMENT), "-o", "api.d.ts"], tmp_path)
    run([str(tools / "tsc"), "-p", "."], tmp_path)

    assert played(run(["node", "play.js", url], tmp_path))["played"] > 20
