"""The demo's words and board; `e2e` plays whole games with it."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from service import demo

GAME: dict[str, Any] = {
    "version": 91,
    "deals": 2,
    "scores": [-12, 140],
    "deal": {
        "number": 2,
        "points": [95, 60],
        "stock_count": 9,
        "discard_pile": ["9C", "QD"],
        "hand": ["7H", "X1"],
        "hand_counts": [2, 7, 5, 0],
        "known_cards": [[], ["KC"], [], []],
        "melds": [
            {
                "id": "m1",
                "kind": "set",
                "cards": ["JC", "JD", "JH", "JS"],
                "laid_by": [1, 0, 0, 0],
                "doubled": False,
            },
            {
                "id": "m2",
                "kind": "set",
                "cards": ["2C", "2D", "2H", "2S"],
                "laid_by": [3, 3, 3, 3],
                "doubled": True,
            },
        ],
    },
}


def board(*, colour: bool) -> str:
    """Return the board of `GAME` as it is drawn."""
    out = io.StringIO()
    demo.Screen(out, colour=colour).show_board(GAME)
    return out.getvalue()


def test_the_board_shows_what_the_player_sees() -> None:
    lines = board(colour=False).splitlines()

    for line in (
        "You and Partner     -12 points,  95 on the table",
        "others hold  Left 7, Partner 5, Right 0",
        "             Left took KC",
        "stock        9 cards",
        "pile         9C QD",
        "m1   set     JC (Left) JD JH JS (You)",
        "m2   set     2C 2D 2H 2S (Right), counts double",
        "your hand    7H X1",
    ):
        assert line in lines
    assert re.fullmatch(r"---- deal 2 of 2 -+ +91", lines[1])


def test_colour_changes_nothing_but_the_colour() -> None:
    """Red cards are red; without the codes the board is the same."""
    coloured = board(colour=True)

    assert "\x1b[31mQD\x1b[0m" in coloured
    assert board(colour=False) == re.sub(r"\x1b\[\d+m", "", coloured)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"type": "draw_stock"}, "draws from the stock"),
        ({"type": "take_discards", "card": "7H"}, "takes 7H from the pile"),
        ({"type": "meld", "cards": ["4S", "4D", "4H"]}, "melds 4S 4D 4H"),
        ({"type": "lay_off", "cards": ["7S"], "meld": "m3"}, "lays 7S on m3"),
        ({"type": "discard", "card": "KD"}, "discards KD"),
        ({"type": "pass"}, "passes"),
    ],
)
def test_each_action_has_words(action: dict[str, Any], words: str) -> None:
    assert words == demo.describe(action)


def test_a_hint_without_a_chance_to_win_is_told_without_one() -> None:
    """The solved end of a deal has none where several deals are possible."""
    sampled = {"expected_margin": 7.6, "win_probability": 0.518}
    solved = {"expected_margin": -3.25, "win_probability": None}

    assert "margin +8, wins 52%" == demo.describe_hope(sampled)
    assert "margin -3" == demo.describe_hope(solved)


def test_the_address_comes_from_the_environment_or_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BASE_URL", raising=False)
    monkeypatch.setenv("PORT", "8001")
    assert "http://127.0.0.1:8001" == demo.read_options([]).base_url
    monkeypatch.setenv("BASE_URL", "http://cards.example")
    assert "http://cards.example" == demo.read_options([]).base_url
    assert "http://x" == demo.read_options(["--base-url", "http://x"]).base_url
