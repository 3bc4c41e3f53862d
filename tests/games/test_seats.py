"""Handing seats to bots, taking them back, new tokens, spectators, rematches."""

from __future__ import annotations

import random

import pytest

from service.games.access import AppCaller, Caller, caller_of_token
from service.games.errors import (
    Conflict,
    GameFinished,
    GameNotFinished,
    GameNotFound,
    NotAllowed,
    NotAuthenticated,
    NotYourSeat,
    SeatAway,
    StaleVersion,
)
from service.games.hosting import abandon_game, join_game, rematch
from service.games.playing import (
    judge_action,
    list_legal_actions,
    play_action,
    read_game,
    read_log,
)
from service.games.ports import RequestKey
from service.games.seats import replace_token, seat_bot, take_back
from tests.games.tables import APP, OTHER_APP, Table, open_table


def owner_or_app(table: Table, who: str, seat: int) -> Caller:
    return APP if who == "app" else table.seat(seat)


# A bot in a person's seat.


@pytest.mark.parametrize("who", ["app", "human"])
def test_a_bot_takes_a_persons_seat_and_gives_it_back(who: str) -> None:
    """Each is an event with the next version; the seat stays its owner's."""
    table = open_table("hhhh")
    seat = table.turn
    caller = owner_or_app(table, who, seat)
    seated = seat_bot(table.house, caller, table.game_id, seat, "skilled").body
    shown = read_game(table.house, table.seat(seat), table.game_id, None)
    returned = take_back(table.house, caller, table.game_id, seat).body

    assert seated["action"] == {
        "version": 1,
        "at": seated["action"]["at"],
        "type": "bot_seated",
        "seat": seat,
        "by": who,
        "name": f"Player {seat}",
        "level": "skilled",
        "card": None,
    }
    place = seated["game"]["seats"][seat]
    assert (place["player"], place["level"], place["stand_in"]) == ("bot", "skilled", who)
    assert len(shown["deal"]["hand"]) == 7
    assert shown["legal_actions"] == []
    assert (returned["action"]["type"], returned["action"]["version"]) == ("seat_returned", 2)
    place = returned["game"]["seats"][seat]
    assert (place["player"], place["level"], place["stand_in"]) == ("human", None, None)
    assert table.legal_actions() != []


def test_a_bot_that_takes_the_seat_to_move_is_called() -> None:
    """As for any bot: its job is on the queue, and the game is on the list of the sweep."""
    table = open_table("hhhh")
    table.play(table.legal_actions()[0])
    seat_bot(table.house, APP, table.game_id, table.turn, "greedy")
    (job,) = table.queue.waiting

    assert job.arguments == {"game_id": table.game_id, "seat": table.turn, "version": 2}
    assert table.store.waiting_games(table.clock(), 9) == [table.game_id]
    take_back(table.house, APP, table.game_id, table.turn)
    assert table.store.waiting_games(table.clock(), 9) == []


def test_a_bot_in_another_seat_disturbs_no_turn() -> None:
    """The turn in hand is the same one: its bot is not called a second time."""
    table = open_table("bhhh", seed="seed-3")
    table.queue.lose_all()
    turn_version = table.game.turn_version
    other = (table.turn + 1) % 4 or 1
    seat_bot(table.house, APP, table.game_id, other, "greedy")
    replace_token(table.house, APP, table.game_id, other)

    assert table.game.turn_version == turn_version
    assert table.queue.waiting == []


def test_the_owner_must_take_the_seat_back_before_playing() -> None:
    """His own action, the app's for him and a dry run are refused alike."""
    table = open_table("hhhh")
    seat = table.turn
    seat_bot(table.house, table.seat(seat), table.game_id, seat)
    draw = {"type": "draw_stock"}

    with pytest.raises(SeatAway):
        play_action(table.house, table.seat(seat), table.game_id, None, draw)
    with pytest.raises(SeatAway):
        play_action(table.house, APP, table.game_id, seat, draw)
    with pytest.raises(SeatAway):
        judge_action(table.house, table.seat(seat), table.game_id, None, draw, None)
    assert table.version == 1


def test_only_owner_and_app_hand_a_seat_over() -> None:
    table = open_table("hhhh")
    seat_bot(table.house, APP, table.game_id, 1)
    for use in (seat_bot, take_back, replace_token):
        with pytest.raises(NotYourSeat):
            use(table.house, table.seat(0), table.game_id, 1)
        with pytest.raises(GameNotFound):
            use(table.house, OTHER_APP, table.game_id, 1)
        with pytest.raises(GameNotFound):
            use(table.house, open_table("hhhh").seat(1), table.game_id, 1)
        with pytest.raises(GameNotFound):
            use(table.house, APP, "nothing", 1)
        with pytest.raises(NotAuthenticated):
            use(table.house, caller_of_token(f"prs_{table.game_id}_guess"), table.game_id, 1)
    assert table.version == 1


def test_only_a_seat_that_a_bot_holds_for_somebody_is_taken_back() -> None:
    table = open_table("hbhh")

    for seat in (0, 1):
        with pytest.raises(Conflict):
            take_back(table.house, APP, table.game_id, seat)


def test_the_app_fills_an_open_seat_with_a_bot() -> None:
    """The game begins with the last one; nobody else may."""
    table = open_table("hhho")
    with pytest.raises(NotYourSeat):
        seat_bot(table.house, table.seat(0), table.game_id, 3)
    game = seat_bot(table.house, APP, table.game_id, 3, "novice").body["game"]

    assert game["status"] == "playing"
    assert game["seats"][3] == {
        "seat": 3,
        "team": 1,
        "player": "bot",
        "name": "Novice bot 3",
        "level": "novice",
        "stand_in": None,
    }


def test_the_app_changes_a_bots_level() -> None:
    table = open_table("hbhh")
    game = seat_bot(table.house, APP, table.game_id, 1, "master").body["game"]

    assert game["seats"][1]["level"] == "master"
    assert game["seats"][1]["stand_in"] is None


def test_a_handover_for_another_version_is_refused() -> None:
    table = open_table("hhhh")
    table.play({"type": "draw_stock"})

    with pytest.raises(StaleVersion):
        seat_bot(table.house, APP, table.game_id, 0, "greedy", expected_version=0)
    seat_bot(table.house, APP, table.game_id, 0, "greedy", expected_version=1)
    with pytest.raises(StaleVersion):
        take_back(table.house, APP, table.game_id, 0, expected_version=1)


def test_seats_of_a_game_that_is_over_stay_as_they_are() -> None:
    table = open_table("hhhh")
    abandon_game(table.house, APP, table.game_id)

    for use in (seat_bot, take_back, replace_token):
        with pytest.raises(GameFinished):
            use(table.house, APP, table.game_id, 0)


# Tokens.


@pytest.mark.parametrize("who", ["app", "human"])
def test_a_new_token_takes_the_place_of_the_old_one(who: str) -> None:
    table = open_table("hhhh")
    old = table.seat(2)
    body = replace_token(table.house, owner_or_app(table, who, 2), table.game_id, 2).body
    new = caller_of_token(body["token"])

    with pytest.raises(NotAuthenticated):
        read_game(table.house, old, table.game_id, None)
    assert read_game(table.house, new, table.game_id, None)["viewer"] == 2
    (event,) = read_log(table.house, APP, table.game_id, None, 0, 9)
    assert (event["type"], event["seat"], event["by"]) == ("token_replaced", 2, who)
    assert body["token"] not in str(event)


def test_whose_answer_got_lost_gets_the_new_token_again() -> None:
    """With the old token, which is worth nothing else any more, and the same key."""
    table = open_table("hhhh")
    key = RequestKey("name", "print")
    first = replace_token(table.house, table.seat(2), table.game_id, 2, key)
    again = replace_token(table.house, table.seat(2), table.game_id, 2, key)

    assert again.is_replayed
    assert again.body == first.body
    assert table.version == 1


@pytest.mark.parametrize("seat", [1, 3])
def test_a_seat_of_nobody_has_no_token_to_replace(seat: int) -> None:
    table = open_table("hbho")

    with pytest.raises(Conflict):
        replace_token(table.house, APP, table.game_id, seat)


# Those who look on.


def test_a_spectator_sees_what_all_see_and_plays_nothing() -> None:
    table = open_table("hohh")
    spectator = caller_of_token(table.spectator_token or "")
    join_game(table.house, table.game_id, 1, "Bo")
    game = read_game(table.house, spectator, table.game_id, None)

    assert game["viewer"] is None
    assert game["deal"]["hand"] == []
    assert game["legal_actions"] == []
    assert len(read_log(table.house, spectator, table.game_id, None, 0, 9)) == 1
    with pytest.raises(NotYourSeat):
        read_game(table.house, spectator, table.game_id, 0)
    refused = (
        lambda: list_legal_actions(table.house, spectator, table.game_id, None),
        lambda: play_action(table.house, spectator, table.game_id, None, {"type": "draw_stock"}),
        lambda: join_game(table.house, table.game_id, 1, None, caller=spectator),
        lambda: seat_bot(table.house, spectator, table.game_id, 0),
        lambda: take_back(table.house, spectator, table.game_id, 0),
        lambda: replace_token(table.house, spectator, table.game_id, 0),
        lambda: abandon_game(table.house, spectator, table.game_id),
        lambda: rematch(table.house, spectator, table.game_id),
    )
    for use in refused:
        with pytest.raises(NotAllowed):
            use()
    with pytest.raises(GameNotFound):
        read_game(table.house, spectator, open_table("hhhh").game_id, None)


def test_a_game_without_spectators_has_no_token_for_them() -> None:
    table = open_table("hhhh", spectators=False)

    assert table.spectator_token is None
    assert read_game(table.house, APP, table.game_id, None)["spectators"] is False
    with pytest.raises(NotAuthenticated):
        read_game(table.house, caller_of_token(f"prs_{table.game_id}_" + "x"), table.game_id, None)


# The next game.


def test_a_rematch_has_the_same_seats_and_new_cards() -> None:
    """R4: the dealer is drawn anew; tokens are new, and a stand-in's seat is its owner's again."""
    table = open_table("hbhh", deals=1, turn_seconds=60, timeout_level="novice", spectators=False)
    seat_bot(table.house, APP, table.game_id, 2)
    abandon_game(table.house, APP, table.game_id)
    body = rematch(table.house, APP, table.game_id).body
    before, game = read_game(table.house, APP, table.game_id, None), body["game"]

    assert game["id"] != before["id"]
    assert game["version"] == 0
    assert [place["player"] for place in game["seats"]] == ["human", "bot", "human", "human"]
    for name in ("name", "seat"):
        assert [s[name] for s in game["seats"]] == [s[name] for s in before["seats"]]
    assert set(body["seat_tokens"]) == {"0", "2", "3"}
    assert not set(body["seat_tokens"].values()) & set(table.tokens.values())
    assert game["fairness"]["commitment"] != before["fairness"]["commitment"]
    assert (game["deals"], game["turn_seconds"], game["spectators"]) == (1, 60, False)
    assert body["spectator_token"] is None


def test_a_rematch_is_made_once_for_a_key() -> None:
    table = open_table("hhhh")
    abandon_game(table.house, APP, table.game_id)
    key = RequestKey("name", "print")
    first = rematch(table.house, APP, table.game_id, key=key)
    again = rematch(table.house, APP, table.game_id, key=key)

    assert again.is_replayed
    assert again.body == first.body


def test_a_rematch_comes_after_the_game_and_from_its_app() -> None:
    table = open_table("hhhh")
    with pytest.raises(GameNotFinished):
        rematch(table.house, APP, table.game_id)
    abandon_game(table.house, APP, table.game_id)

    with pytest.raises(NotAllowed):
        rematch(table.house, table.seat(0), table.game_id)
    with pytest.raises(GameNotFound):
        rematch(table.house, AppCaller("other"), table.game_id)
    with pytest.raises(GameNotFound):
        rematch(table.house, APP, "nothing")


def test_a_finished_game_is_played_again() -> None:
    table = open_table("hhhh", deals=1)
    table.play_randomly(random.Random(1), 2000)

    assert table.game.status == "finished"
    assert rematch(table.house, APP, table.game_id, "new").body["game"]["status"] == "playing"
