"""Secrets are compared in constant time, nothing is unpickled, pages carry a strict policy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.test_callers import PAGES
from tests.security.world import OWN, world_for

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [file for part in ("service", "workers") for file in (ROOT / part).rglob("*.py")]
SECRET_NAME = re.compile(r"token|secret|signature|key_hash|password", re.IGNORECASE)
PUBLIC_NAME = re.compile(r"PREFIX|_token_lines")
UNPICKLING = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}


def secrets_compared(tree: ast.AST) -> Iterator[str]:
    """Yield comparisons by `==` or `in` in which a secret stands on its own."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        kinds = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
        if not any(isinstance(operator, kinds) for operator in node.ops):
            continue
        for side in (node.left, *node.comparators):
            name = ast.unparse(side)
            is_plain = isinstance(side, ast.Name | ast.Attribute | ast.Subscript)
            if is_plain and SECRET_NAME.search(name) and not PUBLIC_NAME.search(name):
                yield ast.unparse(node)


def test_no_secret_is_compared_but_in_constant_time() -> None:
    """`hmac.compare_digest`, or a look-up by its hash."""
    found = [
        (file.name, text)
        for file in SOURCES
        for text in secrets_compared(ast.parse(file.read_text("utf-8")))
    ]

    assert found == []
    assert list(secrets_compared(ast.parse("seat.token_hash == given"))) != []
    assert "compare_digest" in (ROOT / "service" / "games" / "access.py").read_text("utf-8")


def test_nothing_is_unpickled() -> None:
    """No part of ours imports what reads code from data."""
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not {name.split(".")[0] for name in names} & UNPICKLING, file


def directives(policy: str) -> dict[str, str]:
    """Return a content policy by its directives."""
    parts = (part.strip().partition(" ") for part in policy.split(";"))
    return {name: values for name, _, values in parts}


@pytest.mark.parametrize(
    "path", [*sorted(page for page in PAGES if "<" not in page), "/docs/problems/invalid", "/none"]
)
def test_every_page_has_a_strict_policy(path: str) -> None:
    """Nothing but what is named, no script but ours, in nobody's frame."""
    api = world_for("playing", "").api
    answer = api.get(path, token=OWN)
    policy = directives(answer.headers["Content-Security-Policy"])

    assert (policy["default-src"], policy["frame-ancestors"]) == ("'none'", "'none'")
    assert "unsafe" not in policy.get("script-src", "")
    assert not re.search(r"https?:|\*", answer.headers["Content-Security-Policy"])
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    if answer.headers["Content-Type"].startswith("text/html"):
        assert (policy["base-uri"], policy["form-action"]) == ("'none'", "'none'")
        scripts = re.findall(r"<script([^>]*)>", answer.raw.decode())
        assert all("src=" in script or "nonce=" in script for script in scripts)
