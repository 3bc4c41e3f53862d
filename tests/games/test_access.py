"""Who may see and play what: each row of the table, both kinds of callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from service.games.access import AppCaller, Caller, SeatCaller, caller_of_token, hash_secret
from service.games.advice import ask_bot_move, ask_hint, cancel_hint, read_task
from service.games.errors import (
    ActionRefused,
    GameNotFound,
    NotAuthenticated,
    NotYourSeat,
    SeatUnnamed,
)
from service.games.hosting import abandon_game
from service.games.playing import (
    judge_action,
    list_legal_actions,
    play_action,
    read_game,
    read_log,
)
from tests.games.tables import APP, OTHER_APP, Table, open_table

DRAW = {"type": "draw_stock"}
Use = Callable[[Table, Caller, int | None], Any]

USES: dict[str, Use] = {
    "read": lambda t, c, s: read_game(t.house, c, t.game_id, s),
    "log": lambda t, c, s: read_log(t.house, c, t.game_id, s, 0, 10),
    "legal actions": lambda t, c, s: list_legal_actions(t.house, c, t.game_id, s),
    "judge": lambda t, c, s: judge_action(t.house, c, t.game_id, s, DRAW, None),
    "play": lambda t, c, s: play_action(t.house, c, t.game_id, s, DRAW),
    "hint": lambda t, c, s: ask_hint(t.house, c, t.game_id, s, {"iterations": 10}),
    "bot move": lambda t, c, s: ask_bot_move(t.house, c, t.game_id, s, "greedy"),
}
"""What an app and a seat's token both do, with a seat named or not."""
APP_USES: dict[str, Use] = {
    **USES,
    "abandon": lambda t, c, _s: abandon_game(t.house, c, t.game_id),
}


@pytest.fixture
def table() -> Table:
    """Return a game of four people."""
    return open_table()


def state_of(table: Table) -> Any:
    return table.store.load(table.game_id)


@pytest.mark.parametrize("use", APP_USES.values(), ids=APP_USES)
def test_another_apps_game_is_not_there(table: Table, use: Use) -> None:
    """Its existence is not told: the error is that of a game that never was."""
    before = state_of(table)

    with pytest.raises(GameNotFound) as raised:
        use(table, OTHER_APP, table.turn)

    nowhere = Table(game_id="never")
    with pytest.raises(GameNotFound) as expected:
        use(nowhere, OTHER_APP, table.turn)
    assert str(raised.value) == str(expected.value)
    assert state_of(table) == before


@pytest.mark.parametrize("use", APP_USES.values(), ids=APP_USES)
def test_a_token_of_another_game_opens_nothing(table: Table, use: Use) -> None:
    other = open_table(seed="other")

    with pytest.raises(GameNotFound):
        use(table, other.seat(table.turn), None)


@pytest.mark.parametrize("use", APP_USES.values(), ids=APP_USES)
def test_a_made_up_token_is_no_credential(table: Table, use: Use) -> None:
    before = state_of(table)

    with pytest.raises(NotAuthenticated):
        use(table, caller_of_token(f"prs_{table.game_id}_made-up"), None)

    assert state_of(table) == before


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_token_sees_and_plays_no_seat_but_its_own(table: Table, use: Use) -> None:
    before = state_of(table)

    for own in range(4):
        for seat in range(4):
            if seat != own:
                with pytest.raises(NotYourSeat) as raised:
                    use(table, table.seat(own), seat)
                assert raised.value.seat == seat

    assert state_of(table) == before


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("is_named", [False, True])
def test_a_token_does_for_its_seat_what_it_asks(table: Table, use: Use, is_named: bool) -> None:
    use(table, table.seat(table.turn), table.turn if is_named else None)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_app_does_for_a_human_seat_that_it_names_what_it_asks(table: Table, use: Use) -> None:
    use(table, APP, table.turn)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("players", ["bhhh", "hbhb", "bbbb"])
def test_an_app_sees_and_plays_no_bots_seat(use: Use, players: str) -> None:
    table = open_table(players)

    for seat in range(4):
        if players[seat] == "b":
            with pytest.raises(NotYourSeat):
                use(table, APP, seat)


def test_an_app_sees_the_hand_of_each_human_seat_it_names(table: Table) -> None:
    hands = []
    for seat in range(4):
        game = read_game(table.house, APP, table.game_id, seat)
        assert game["viewer"] == seat
        hands += game["deal"]["hand"]

    assert len(set(hands)) == 28


def test_an_app_that_names_no_seat_sees_no_hand(table: Table) -> None:
    game = read_game(table.house, APP, table.game_id, None)

    assert (game["viewer"], game["deal"]["hand"], game["legal_actions"]) == (None, [], [])


def test_an_app_with_several_people_must_say_who_plays(table: Table) -> None:
    """Else a request sent twice would play for the next seat."""
    for use in ("judge", "play"):
        with pytest.raises(SeatUnnamed):
            USES[use](table, APP, None)

    assert table.version == 0


def test_an_app_with_one_person_need_not_say_who_plays() -> None:
    table = open_table("bbhb")

    try:
        judged_for = judge_action(table.house, APP, table.game_id, None, DRAW, None).game["viewer"]
    except ActionRefused as error:
        judged_for = error.seat

    assert judged_for == 2


def test_an_app_without_people_plays_for_nobody() -> None:
    with pytest.raises(NotYourSeat):
        USES["play"](open_table("bbbb"), APP, None)


def test_an_apps_legal_actions_name_their_seat_and_can_be_sent_as_they_are(table: Table) -> None:
    (action, *_) = list_legal_actions(table.house, APP, table.game_id, None)["actions"]

    assert action["seat"] == table.turn
    data = {name: value for name, value in action.items() if name != "seat"}
    play_action(table.house, APP, table.game_id, action["seat"], data)
    assert table.version == 1


def test_a_tokens_legal_actions_name_no_seat(table: Table) -> None:
    assert all("seat" not in action for action in table.legal_actions())


def test_out_of_turn_there_are_no_legal_actions(table: Table) -> None:
    waiting = (table.turn + 1) % 4

    assert table.legal_actions(waiting) == []


def test_a_hint_is_for_its_seat_and_the_games_app_alone(table: Table) -> None:
    holder = table.seat(table.turn)
    task = ask_hint(table.house, holder, table.game_id, None, {"iterations": 10}).body
    neighbour = table.seat((table.turn + 1) % 4)

    assert read_task(table.house, holder, table.game_id, "hint", task["id"]) == task
    assert read_task(table.house, APP, table.game_id, "hint", task["id"]) == task
    with pytest.raises(NotYourSeat):
        read_task(table.house, neighbour, table.game_id, "hint", task["id"])
    with pytest.raises(NotYourSeat):
        cancel_hint(table.house, neighbour, table.game_id, task["id"])
    with pytest.raises(GameNotFound):
        read_task(table.house, OTHER_APP, table.game_id, "hint", task["id"])


@pytest.mark.parametrize(
    "token", ["", "prs_", "prs_game", "prs_game_", "prs__secret", "prk_game_secret", "game_secret"]
)
def test_a_text_without_the_shape_of_a_token_is_no_credential(token: str) -> None:
    with pytest.raises(NotAuthenticated):
        caller_of_token(token)


def test_callers_have_names_of_their_own_and_tokens_are_not_in_them() -> None:
    """Names keep callers' idempotency keys apart and stand in logs."""
    seat = caller_of_token("prs_game_secret")

    assert seat == SeatCaller("game", hash_secret("prs_game_secret"))
    assert "secret" not in seat.name
    assert AppCaller("a").name != AppCaller("b").name != seat.name


def test_a_hash_as_a_token_opens_nothing(table: Table) -> None:
    """Who has read the stored hash cannot use it."""
    stored = table.game.seats[0].token_hash

    with pytest.raises(NotAuthenticated):
        USES["read"](table, caller_of_token(f"prs_{table.game_id}_{stored}"), None)
