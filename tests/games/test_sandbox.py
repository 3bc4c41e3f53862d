"""The sandbox: cards of one's choice and a clock to be moved, with a test key and not otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from service.games.access import AppCaller
from service.games.changing import load_game
from service.games.clocks import is_overdue
from service.games.errors import (
    Conflict,
    GameFinished,
    GameNotFound,
    NotAllowed,
)
from service.games.hosting import abandon_game, create_game, list_games
from service.games.playing import read_game, read_log
from service.games.sandbox import move_clock
from service.rules.cards import CARD_NAMES, hand, parse_card
from service.rules.deal import deal_cards
from tests.games.tables import APP, Table, order

Json = dict[str, Any]
TESTER = AppCaller("app", is_test=True, key_hash="test")
STACKED = tuple(reversed(range(56)))


def sandbox(table: Table, caller: AppCaller = TESTER, **more: Any) -> str:
    """Make a game of people in the table's house; return its id."""
    made = create_game(table.house, caller, order("hhhh", seed="s", **more)).body
    table.tokens = made["seat_tokens"]
    table.game_id = made["game"]["id"]
    return table.game_id


def test_the_cards_are_those_that_were_chosen() -> None:
    """Of the first deals, and the dealer too; the others are shuffled as ever."""
    table = Table()
    game_id = sandbox(table, decks=(STACKED,), dealer=1, deals=2, is_sandbox=True)
    match = load_game(table.house, game_id).match

    assert match.deal.hands == deal_cards(STACKED, 1).hands
    assert match.deck(1) == list(STACKED)
    assert sorted(match.deck(2)) == list(range(56))
    assert match.deck(2) != list(STACKED)
    assert read_game(table.house, TESTER, game_id, None)["sandbox"]


def test_a_chosen_deal_is_stored_and_played_on() -> None:
    """Four jokers for the first player: a set of 160 points, whatever the seed."""
    jokers = ["X1", "X2", "X3", "X4", "2C", "4D", "6H"]
    rest = [name for name in CARD_NAMES if name not in jokers]
    deck: list[str] = []
    for card in jokers:
        deck += [card, *(rest.pop() for _ in range(3))]
    table = Table()
    sandbox(table, decks=(tuple(map(parse_card, deck + rest)),), dealer=3, is_sandbox=True)

    assert table.game.match.deal.hands[0] == hand(" ".join(jokers))
    table.play({"type": "draw_stock"})
    body = table.play({"type": "meld", "cards": ["X1", "X2", "X3", "X4"]})
    assert body["game"]["deal"]["points"] == [160, 0]


@pytest.mark.parametrize("more", [{"decks": (STACKED,)}, {"dealer": 2}, {}])
def test_no_other_key_chooses_cards(more: Json) -> None:
    """Not even the dealer, and not with an empty wish either."""
    table = Table()
    with pytest.raises(NotAllowed):
        sandbox(table, APP, is_sandbox=True, **more)


def test_a_game_of_another_key_is_not_of_the_sandbox() -> None:
    """A test key does not see it: what it breaks is its own."""
    table = Table()
    live = sandbox(table, APP, turn_seconds=60)
    test = sandbox(table, TESTER)

    assert not read_game(table.house, APP, live, None)["sandbox"]
    with pytest.raises(GameNotFound):
        read_game(table.house, TESTER, live, None)
    with pytest.raises(GameNotFound):
        abandon_game(table.house, TESTER, live)
    with pytest.raises(GameNotFound):
        move_clock(table.house, TESTER, live, 60)
    shown, _ = list_games(table.house, TESTER, None, 10, None)
    assert [game["id"] for game in shown] == [test]


def test_a_clock_is_moved_on() -> None:
    """The deadline comes so much sooner, and the sweep is told; the log says who did it."""
    table = Table()
    game_id = sandbox(table, turn_seconds=60)
    due = table.game.extra["deadline_s"]

    body = move_clock(table.house, TESTER, game_id, 50).body

    assert table.game.extra["deadline_s"] == due - 50
    assert not is_overdue(table.game, table.clock())
    event = body["action"]
    assert (event["type"], event["by"], event["seconds"]) == ("clock_moved", "app", 50)
    assert body["game"]["version"] == 1
    move_clock(table.house, TESTER, game_id, 50)
    assert is_overdue(table.game, table.clock())
    assert game_id in table.store.due("clock", table.clock(), 10)
    assert len(read_log(table.house, TESTER, game_id, None, 0, 10)) == 2


def test_a_clock_is_moved_by_a_test_key_alone() -> None:
    table = Table()
    game_id = sandbox(table, turn_seconds=60)

    for caller in (APP, table.seat(0)):
        with pytest.raises(NotAllowed):
            move_clock(table.house, caller, game_id, 10)
    assert table.game.version == 0


def test_without_a_clock_there_is_nothing_to_move() -> None:
    """Nor after the end."""
    table = Table()
    game_id = sandbox(table)
    with pytest.raises(Conflict):
        move_clock(table.house, TESTER, game_id, 10)

    abandon_game(table.house, TESTER, game_id)
    with pytest.raises(GameFinished):
        move_clock(table.house, TESTER, game_id, 10)
