"""Games with a clock: deadlines, overdue turns, seats whose owners stay away."""

from __future__ import annotations

from datetime import datetime

import pytest

from service.games.access import AppCaller
from service.games.changing import OVERDUE_JOB
from service.games.clocks import MOST_MISSED, missed_turns
from service.games.errors import ActionRefused, Conflict, QueueFull, StaleVersion
from service.games.hosting import abandon_game, join_game
from service.games.playing import play_action, play_for_bot, read_game, read_log
from service.games.seats import hand_over, seat_bot, take_back
from service.games.sweeping import sweep_clocks
from service.rules.deal import DISCARD, DRAW_STOCK
from service.rules.legal import legal_actions
from service.store.memory import MemoryQueue
from tests.games.tables import APP, Table, open_table

TURN_S = 60


def timed_table(players: str = "hhhh", **more: object) -> Table:
    return open_table(players, turn_seconds=TURN_S, **more)


def deadline(table: Table) -> float | None:
    """Return the deadline that all are shown, in seconds since 1970."""
    game = read_game(table.house, APP, table.game_id, None)
    shown = game["deal"]["deadline"]
    return None if shown is None else datetime.fromisoformat(shown).timestamp()


def finish_turn(table: Table, by: str = "clock") -> None:
    """Play the turn in hand as a job does for the clock: draw, then discard."""
    seat = table.turn
    for kind in (DRAW_STOCK, DISCARD):
        action = next(a for a in legal_actions(table.game.match.deal) if a.type == kind)
        play_for_bot(table.house, table.game_id, seat, action, table.version, by)


def miss_turns(table: Table, seat: int, times: int = MOST_MISSED) -> None:
    """Let the clock end so many turns of `seat` in a row; the others play."""
    for _ in range(times):
        table.play_until_turn_of(seat)
        finish_turn(table)


# Deadlines.


def test_a_persons_turn_has_a_deadline() -> None:
    """From the moment the turn begins, whatever is played in it; a new turn, a new deadline."""
    table = timed_table()
    first = deadline(table)
    assert first is not None
    assert first == pytest.approx(table.clock() + TURN_S, abs=0.1)
    table.clock.now_s += 20
    table.play({"type": "draw_stock"})
    assert deadline(table) == first
    finish = next(a for a in table.legal_actions() if a["type"] == "discard")
    table.play(finish)

    assert deadline(table) == pytest.approx(table.clock() + TURN_S, abs=0.1)


def test_without_a_clock_there_is_no_deadline() -> None:
    table = open_table("hhhh")
    table.clock.now_s += 3_000

    assert deadline(table) is None
    assert read_game(table.house, APP, table.game_id, None)["turn_seconds"] is None
    assert sweep_clocks(table.house) == []


def test_a_bot_has_no_deadline() -> None:
    table = timed_table("bbbb")

    assert deadline(table) is None


def test_the_clock_starts_with_the_game() -> None:
    """Not while seats are open."""
    table = timed_table("hhho")
    table.clock.now_s += 1000
    assert sweep_clocks(table.house) == []
    join_game(table.house, table.game_id, 3, None)

    assert deadline(table) == pytest.approx(table.clock() + TURN_S, abs=0.1)


def test_a_seat_that_is_taken_back_has_a_whole_turn() -> None:
    table = timed_table()
    seat = table.turn
    seat_bot(table.house, APP, table.game_id, seat)
    assert deadline(table) is None
    table.clock.now_s += 1000
    take_back(table.house, APP, table.game_id, seat)

    assert deadline(table) == pytest.approx(table.clock() + TURN_S, abs=0.1)


def test_changes_of_other_seats_do_not_stretch_a_turn() -> None:
    table = timed_table()
    before = deadline(table)
    table.clock.now_s += 30
    seat_bot(table.house, APP, table.game_id, (table.turn + 1) % 4)

    assert deadline(table) == before


# The sweep.


def test_the_sweep_calls_a_bot_for_an_overdue_turn_once() -> None:
    table = timed_table()
    table.clock.now_s += TURN_S - 1
    assert sweep_clocks(table.house) == []
    table.clock.now_s += 2
    assert sweep_clocks(table.house) == [table.game_id]
    assert sweep_clocks(table.house) == []
    (job,) = table.queue.waiting

    assert (job.queue, job.job) == ("bots", OVERDUE_JOB)
    assert job.arguments == {"game_id": table.game_id, "seat": table.turn, "turn_version": 0}


def test_a_lost_job_is_queued_again() -> None:
    """The note stays until the turn is over."""
    table = timed_table()
    table.clock.now_s += TURN_S + 1
    sweep_clocks(table.house)
    table.queue.lose_all()

    assert sweep_clocks(table.house) == [table.game_id]


def test_a_turn_that_ended_in_time_is_not_swept() -> None:
    """The note of the turn before is put off until the deadline of this one."""
    table = timed_table()
    table.clock.now_s += TURN_S - 5
    finish_turn(table, "human")
    table.clock.now_s += 10
    assert sweep_clocks(table.house) == []
    table.clock.now_s += TURN_S
    assert sweep_clocks(table.house) == [table.game_id]


def test_a_game_whose_bots_play_is_looked_at_again() -> None:
    """No note is lost while a bot is to move: the next person's turn may begin at any moment."""
    table = timed_table()
    seat = table.turn
    seat_bot(table.house, APP, table.game_id, seat)
    table.clock.now_s += TURN_S + 1
    assert sweep_clocks(table.house) == []
    finish_turn(table, "bot")
    assert table.turn != seat
    table.clock.now_s += TURN_S + 1

    assert sweep_clocks(table.house) == [table.game_id]


def test_a_game_that_is_over_is_forgotten_by_the_clock() -> None:
    table = timed_table()
    abandon_game(table.house, APP, table.game_id)
    table.clock.now_s += TURN_S + 1

    assert sweep_clocks(table.house) == []
    assert table.store.due("clock", table.clock(), 9) == []


def test_a_game_that_is_gone_is_forgotten_by_the_clock() -> None:
    table = timed_table()
    table.clock.now_s += 10_000

    assert sweep_clocks(table.house) == []
    assert table.store.due("clock", table.clock(), 9) == []


def test_a_full_queue_loses_no_turn() -> None:
    table = timed_table()
    full = MemoryQueue(max_queued_jobs=0)
    object.__setattr__(table.house, "queue", full)
    table.clock.now_s += TURN_S + 1
    with pytest.raises(QueueFull):
        sweep_clocks(table.house)
    object.__setattr__(table.house, "queue", table.queue)

    assert sweep_clocks(table.house) == [table.game_id]


# Who stays away.


def test_turns_that_the_clock_ends_are_counted_until_the_owner_plays() -> None:
    table = timed_table()
    seat = table.turn
    miss_turns(table, seat, 2)
    assert missed_turns(table.game, seat) == 2
    log = read_log(table.house, APP, table.game_id, None, 0, 1000)
    assert {event["seat"] for event in log if event["by"] == "clock"} == {seat}
    table.play_until_turn_of(seat)
    table.play({"type": "draw_stock"})

    assert missed_turns(table.game, seat) == 0


def test_after_three_in_a_row_the_seat_goes_to_a_bot() -> None:
    """Not before; the event says by whom, and the level is the one that the creator chose."""
    table = timed_table(timeout_level="novice")
    seat = table.turn
    miss_turns(table, seat, 2)
    with pytest.raises(Conflict):
        hand_over(table.house, table.game_id, seat, table.version)
    miss_turns(table, seat, 1)
    with pytest.raises(StaleVersion):
        hand_over(table.house, table.game_id, seat, table.version - 1)
    event = hand_over(table.house, table.game_id, seat, table.version).body["action"]

    assert (event["type"], event["by"], event["level"]) == ("bot_seated", "clock", "novice")
    assert table.game.stand_in(seat) == "clock"


@pytest.mark.parametrize("who", ["owner", "app"])
@pytest.mark.parametrize("names_version", [False, True])
def test_the_owner_has_his_seat_back_when_he_acts(who: str, names_version: bool) -> None:
    """In one request: the seat is returned, then the action is judged; each has its version."""
    table = timed_table()
    seat = table.turn
    miss_turns(table, seat)
    hand_over(table.house, table.game_id, seat, table.version)
    while table.turn != seat:
        finish_turn(table, "human")
    version = table.version
    caller, named = (table.seat(seat), None) if who == "owner" else (AppCaller("app"), seat)
    body = play_action(
        table.house,
        caller,
        table.game_id,
        named,
        {"type": "draw_stock"},
        expected_version=version if names_version else None,
    ).body

    assert body["action"]["version"] == version + 2
    log = read_log(table.house, APP, table.game_id, None, version, 9)
    assert [event["type"] for event in log] == ["seat_returned", "played"]
    assert table.game.seats[seat].player == "human"
    assert missed_turns(table.game, seat) == 0


def test_an_action_out_of_turn_brings_the_owner_back_too() -> None:
    """It is refused by the rules; the seat is his."""
    table = timed_table()
    seat = table.turn
    miss_turns(table, seat)
    hand_over(table.house, table.game_id, seat, table.version)

    with pytest.raises(ActionRefused):
        play_action(table.house, table.seat(seat), table.game_id, None, {"type": "draw_stock"})
    assert table.game.stand_in(seat) is None


def test_a_stale_action_brings_nobody_back() -> None:
    table = timed_table()
    seat = table.turn
    miss_turns(table, seat)
    hand_over(table.house, table.game_id, seat, table.version)

    with pytest.raises(StaleVersion):
        play_action(
            table.house,
            table.seat(seat),
            table.game_id,
            None,
            {"type": "draw_stock"},
            expected_version=1,
        )
    assert table.game.stand_in(seat) == "clock"
