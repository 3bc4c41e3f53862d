"""`openapi/security.md`: all ten risks stand there, and each test that it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "openapi" / "security.md").read_text("utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the names of the functions in a file."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_each_test_that_the_page_names_exists(file: str, test: str) -> None:
    assert test.startswith("test_")
    assert test in names_in(file)


def test_each_of_the_ten_risks_has_its_tests() -> None:
    rows = re.findall(r"^\| (API\d+) [^|]+\|[^|]+\|[^|]+\|(.+)\|$", PAGE, re.MULTILINE)

    assert [name for name, _ in rows] == [f"API{number}" for number in range(1, 11)]
    assert all("::test_" in tests for _, tests in rows)


def test_each_row_of_every_table_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    told = [row for row in rows if not row.startswith(("| | threat", "| threat"))]

    assert len(told) > 15
    assert all(re.search(r"`tests/[\w/]+\.py::test_\w+`", row.split("|")[-2]) for row in told)


def test_nothing_that_looks_like_a_test_is_named_otherwise() -> None:
    """A name in another form would be held against nothing."""
    assert PAGE.count("::") == len(NAMED)
    assert "## What is not covered" in PAGE
