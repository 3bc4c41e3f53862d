"""constraints.txt: pinned, hashed, and silent about where its parts come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "constraints.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

PYTHONS = ["3.11.7", "3.12.1", "3.13.0"]


def pins(text: str) -> list[Requirement]:
    """Return the pinned parts in a piece of the file."""
    return [Requirement(line.rstrip(" \\")) for line in re.findall(r"(?m)^[a-z0-9].*$", text)]


def test_every_part_is_pinned_with_hashes():
    """What pip's --require-hashes asks for."""
    blocks = re.split(r"(?m)^(?=[a-z0-9])", TEXT)[1:]

    assert len(blocks) == len(pins(TEXT))
    for block in blocks:
        assert re.match(r"[a-z0-9.-]+==[^\s]+( ; .+)? \\\n", block), block
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block


def test_nothing_tells_where_the_parts_came_from():
    """No index, host or path: the file works wherever pip is set up."""
    assert [] == re.findall(r"(?m)^\s*-(?!-hash=).*$|https?://|file:|@", TEXT)


@pytest.mark.parametrize("python", PYTHONS)
def test_each_part_has_one_version(python):
    """Markers leave one pin of each part on every supported Python."""
    environment = {"python_version": python[:4], "python_full_version": python}
    names = [
        pin.name for pin in pins(TEXT) if pin.marker is None or pin.marker.evaluate(environment)
    ]

    assert sorted(set(names)) == sorted(names)


def test_the_runtime_section_covers_the_projects_dependencies():
    """`make run` installs that section only, the image the next one too; the tests' tools are in
    neither.
    """
    image, development = TEXT.split("# ---- development", 1)
    runtime, traces = image.split("# ---- traces", 1)
    runtime_names = {pin.name for pin in pins(runtime)}
    wanted = PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["build"]

    assert {canonicalize_name(Requirement(text).name) for text in wanted} <= runtime_names
    for text in PROJECT["dependency-groups"]["dev"]:
        name = canonicalize_name(Requirement(text).name)
        assert name in {pin.name for pin in pins(TEXT)}, name
    for text in PROJECT["project"]["optional-dependencies"]["traces"]:
        assert canonicalize_name(Requirement(text).name) in {pin.name for pin in pins(traces)}
    assert not runtime_names & {"pytest", "ruff", "mypy", "matplotlib", "opentelemetry-sdk"}
    assert {"pytest", "ruff", "mypy", "matplotlib"} <= {pin.name for pin in pins(development)}


def test_pins_are_within_the_projects_ranges():
    """The file was made after the last change of pyproject.toml."""
    pinned = {pin.name: pin for pin in pins(TEXT)}
    groups = PROJECT["dependency-groups"]
    wanted = PROJECT["project"]["dependencies"] + groups["build"] + groups["dev"]
    wanted += PROJECT["project"]["optional-dependencies"]["traces"]

    for requirement in map(Requirement, wanted):
        (pin,) = pinned[canonicalize_name(requirement.name)].specifier
        assert requirement.specifier.contains(pin.version), requirement
