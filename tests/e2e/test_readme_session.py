"""The session with curl in README.md, run against the service."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.harness import ROOT, Service

pytestmark = pytest.mark.e2e

README = (ROOT / "README.md").read_text(encoding="utf-8")
SAME_EACH_TIME = ("hand", "detail", "actions", "rule", "status", "dealer", "discard_pile", "by")
"""Names in the answers whose values do not depend on the search or the time."""


def commands_of_the_session() -> Iterator[tuple[str, str]]:
    """Yield each command of the session and the answer below it; lines that go on begin with >."""
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            length = 1 + sum(line.startswith("> ") for line in lines)
            command = "\n".join(line.removeprefix("> ") for line in lines[:length])
            yield command, "\n".join(lines[length:])


def test_the_session_with_curl_runs_as_it_is_written(service: Service) -> None:
    """Each command, with the id and token of its own answer; each name in an answer is in ours."""
    env = dict(os.environ)
    asked = 0
    for command, told in commands_of_the_session():
        if command.startswith(("GAME=", "AUTH=")):
            continue
        command = command.replace("http://127.0.0.1:8000", service.base_url)
        done = subprocess.run(
            ["bash", "-c", command], env=env, capture_output=True, text=True, timeout=60, check=True
        )
        answer = json.loads(done.stdout)
        if "seat_tokens" in answer:
            env |= {
                "GAME": answer["game"]["id"],
                "AUTH": f"Authorization: Bearer {answer['seat_tokens']['0']}",
            }
        names = re.findall(r'("[\w]+"):', told)
        assert [name for name in names if f"{name}:" not in done.stdout] == [], done.stdout
        for name in SAME_EACH_TIME:
            for piece in re.findall(rf'"{name}":(?:"[^"]*"|\[[^…\]]*\]|\d+)', told):
                assert piece in done.stdout
        asked += 1

    assert asked >= 5
