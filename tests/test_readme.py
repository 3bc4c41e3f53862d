"""README.md is true: its settings, commands and paths. `e2e` runs its session with curl."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import click
import pytest

import service.cli
from service.config import Settings, variable_of

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

NO_SINGLE_DEFAULT = {
    "QUEUE_REDIS_URL": "as `REDIS_URL`",
    "PERSIAN_RUMMY_CORS_ORIGINS": "none",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "none",
    "PERSIAN_RUMMY_NUMBA_CACHE_DIR": "a cache folder of the user",
}
"""What the table says instead of a value."""


def table_of_settings() -> dict[str, tuple[str, str]]:
    """Return default and meaning by variable, as the table of README.md has them."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.+?) \| (.+) \|$", README, re.MULTILINE)
    found = {variable: (default, meaning) for variable, default, meaning in rows}
    assert len(found) == len(rows)
    return found


def test_every_setting_is_in_the_table_and_nothing_else() -> None:
    """In the order of `Settings`, but for the pair of URLs."""
    settings = {variable_of(field.name) for field in dataclasses.fields(Settings)}

    assert settings == set(table_of_settings())


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Settings)])
def test_the_table_has_the_default_of_each_setting(field: str) -> None:
    variable = variable_of(field)
    told, meaning = table_of_settings()[variable]
    default = getattr(Settings(), field)

    shown = f"{default:g}" if isinstance(default, float) else str(default)
    assert NO_SINGLE_DEFAULT.get(variable, f"`{shown}`") == told
    assert meaning


def test_every_target_of_make_that_is_named_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))

    found = set(re.findall(r"`make ([a-z-]+)[^`\n]*`|^    make ([a-z-]+)", README, re.MULTILINE))
    named = {inline or indented for inline, indented in found}

    assert {"run", "demo", "test", "lint", "bench", "openapi"} <= named
    assert named <= targets


def test_every_command_of_the_service_that_is_named_is_there() -> None:
    """`python -m service …`, to the last word that is a command."""
    named = re.findall(r"python -m service ([a-z ]+)", README)

    assert named
    for words in named:
        command: click.Command = service.cli.main
        for word in words.split():
            if not isinstance(command, click.Group):
                break
            assert word in command.commands, words
            command = command.commands[word]


def test_every_path_that_is_named_is_there() -> None:
    """Links, and paths of this repository in code."""
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    paths = re.findall(r"`((?:service|workers|tests|openapi|helm)/[\w./-]*\w)`", README)

    assert links
    assert paths
    assert [] == [path for path in (*links, *paths) if not (ROOT / path).exists()]


def test_nothing_of_anybodys_machine_is_in_it() -> None:
    """It is read by people who have only the repository."""
    assert not re.search(r"/w[o]rk/|\.\./|/home/|/r[o]ot/|issue \d|#\d", README)
