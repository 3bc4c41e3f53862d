"""The guides below /docs/guides: each block is run, and prints what stands below it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from service.web.guides import GUIDES, guide
from tests.e2e.harness import Answer, Service, free_port

pytestmark = pytest.mark.e2e

DIFFERS = "…"
END = "---- end of block"
PORTS = re.compile(r"\b87\d\d\b")
"""Those on which the programs of the guides listen."""
Block = tuple[str, str]


def blocks_of(name: str) -> list[Block]:
    """Return language and content of each block of a guide, in order."""
    tokens = MarkdownIt("commonmark").parse(guide(name))
    return [(token.info, token.content) for token in tokens if token.type == "fence"]


def agrees(told: Any, got: Any) -> bool:
    """Tell whether `got` is what was told: members that are not told may be there, and `…` stands
    for anything, in a list for any elements.
    """
    if told == DIFFERS:
        return True
    if isinstance(told, dict) and isinstance(got, dict):
        return all(name in got and agrees(value, got[name]) for name, value in told.items())
    if isinstance(told, list) and isinstance(got, list):
        if DIFFERS in told:
            told = told[: told.index(DIFFERS)]
            got = got[: len(told)]
        return len(told) == len(got) and all(map(agrees, told, got))
    return bool(told == got)


def test_what_is_told_is_held_against_what_comes() -> None:
    """The comparison of this file finds what does not agree."""
    told = {"a": [1, "…"], "b": "…", "c": {"d": 2}}

    assert agrees(told, {"a": [1, 5, 6], "b": None, "c": {"d": 2, "e": 3}, "f": 4})
    assert not agrees(told, {"a": [2], "b": None, "c": {"d": 2}})
    assert not agrees(told, {"a": [1], "c": {"d": 2}})
    assert not agrees(told, {"a": [1], "b": None, "c": {"d": 3}})
    assert not agrees([1, 2], [1])


def run_in_one_shell(blocks: list[Block], base_url: str, folder: Path) -> list[str]:
    """Run all blocks of `sh`, those of `python` being there as files; return what each printed."""
    ports: dict[str, str] = {}

    def here(code: str) -> str:
        code = code.replace("http://127.0.0.1:8000", base_url)
        return PORTS.sub(lambda port: ports.setdefault(port[0], str(free_port())), code)

    for language, code in blocks:
        if language == "python":
            name = code.partition("\n")[0].removeprefix("# ")
            assert re.fullmatch(r"\w+\.py", name), name
            folder.joinpath(name).write_text(here(code), "utf-8")
    shell = [here(code) for language, code in blocks if language == "sh"]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"\necho; echo {END!r}\n".join(shell)],
        cwd=folder,
        env={**os.environ, "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout.split(END)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, warm_kernels: None) -> Iterator[Service]:
    """Run a service that may post to this machine, as the guides say."""
    env = {"PERSIAN_RUMMY_WEBHOOK_ADDRESSES": "any"}
    with Service(tmp_path_factory.mktemp("guides"), env).running() as running:
        yield running


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_can_be_followed(service: Service, tmp_path: Path, name: str) -> None:
    """From top to bottom, in an empty folder, with nothing but curl and Python."""
    blocks = blocks_of(name)

    printed = iter(run_in_one_shell(blocks, service.base_url, tmp_path))

    assert {language for language, _ in blocks} == {"sh", "json", "python"} - (
        {"python"} if name == "errors" else set()
    )
    output = ""
    for language, code in blocks:
        if language == "sh":
            output = next(printed)
        elif language == "json":
            assert agrees(json.loads(code), json.loads(output)), output


def test_the_pages_are_served_and_lead_to_each_other(service: Service) -> None:
    """The list, each guide, and no dead end among the links."""

    def read(path: str) -> Answer:
        return service.app.ask("GET", path)

    index = read("/docs/guides")

    assert index.status == 200
    for name in GUIDES:
        page = read(f"/docs/guides/{name}")
        assert page.status == 200
        assert f'href="/docs/guides/{name}"' in index.body
        assert "unsafe" not in page.headers["content-security-policy"]
        for link in set(re.findall(r'href="(/[^"#]*)"', page.body)):
            assert read(link).status == 200, link
    assert read("/docs/guides/nothing").status == 404
    assert 'href="/docs/guides"' in read("/docs").body
