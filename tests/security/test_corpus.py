"""The fuzzer's kept inputs, each given to its target again (`make fuzz-input` looks for more)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.security.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("name", TARGETS)
def test_no_kept_input_breaks_its_target(name: str) -> None:
    """And together they get past every check: some are refused, some get to the end."""
    reached = Counter(TARGETS[name](file.read_bytes()) for file in (CORPUS / name).iterdir())

    print(f"\n{name}: {dict(reached)}")
    assert "refused" in reached
    assert {"played", "possible", "read", "resumed"} & reached.keys()


BROKEN = {
    "two seats in one turn": b"persian-rummy 1\ndealer 0\nplayers a|b|c|d\n"
    b"deal 1 %s\n1 S D2C\n2 D3C\n",
    "a name with space behind it": b"persian-rummy 1\ndealer 0\nplayers a |b|c|d\n",
}
"""What the fuzzer found to be read and not written the same."""


@pytest.mark.parametrize("text", BROKEN.values(), ids=list(BROKEN))
def test_what_broke_once_does_not_again(text: bytes) -> None:
    pack = "".join(rank + suit for suit in "CDHS" for rank in "23456789TJQKA") + "X1X2X3X4"
    TARGETS["notation"](text.replace(b"%s", pack.encode()))
