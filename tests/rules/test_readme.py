"""The rule book beside the code: complete, and cited by ids that exist."""

from __future__ import annotations

import re
from pathlib import Path

from service import rules
from service.rules.violations import RULE_OF

RULES = [f"R{number}" for number in range(1, 34)]
BOOK = (Path(rules.__path__[0]) / "README.md").read_text(encoding="utf-8")


def test_the_rule_book_has_every_rule_once_and_in_order() -> None:
    """R1 to R33: one row a rule, before the rulings."""
    rows = re.findall(r"^\| (R\d+) \|", BOOK.partition("## Rulings")[0], re.MULTILINE)

    assert rows == RULES


def test_only_rules_that_exist_are_cited() -> None:
    """R1 to R33: in the book, in the code and in the codes of refusal."""
    sources = [path.read_text(encoding="utf-8") for path in Path(rules.__path__[0]).glob("*.py")]

    for text in (BOOK, *sources):
        assert set(re.findall(r"\bR\d+\b", text)) <= set(RULES)
    assert set(RULE_OF.values()) <= set(RULES)


def test_every_module_is_in_the_table_of_the_rule_book() -> None:
    """A module that is not told of is not found."""
    modules = {path.name for path in Path(rules.__path__[0]).glob("*.py")}

    assert set(re.findall(r"^\| `(\w+\.py)` \|", BOOK, re.MULTILINE)) == modules - {
        "__init__.py",
        "_jit.py",
    }
