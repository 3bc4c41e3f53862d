"""The clock put forward or back by half an hour while games go on."""

from __future__ import annotations

import pytest

from service.games.advice import HINT, QUEUEING_S, ask_hint, read_task
from service.games.changing import load_game
from service.games.clocks import deadline_s
from service.games.jumps import JUMP_S, ClockWatch, Jump
from service.games.playing import read_log
from service.games.sweeping import sweep_bots, sweep_clocks
from tests.games.tables import APP, Clock, Table, open_table

TURN_S = 60
FAR_S = 1800.0


class Time:
    """A clock and the monotonic one, which go on together until the first is put elsewhere."""

    def __init__(self, clock: Clock) -> None:
        """Take over the table's clock."""
        self._clock = clock
        self._apart_s = 0.0

    def put(self, seconds: float) -> None:
        """Put the clock forward, or back."""
        self._clock.now_s += seconds
        self._apart_s += seconds

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self._clock.now_s - self._apart_s


def timed(players: str = "hhhh") -> tuple[Table, Time, ClockWatch]:
    """Return a game with a clock, the time, and who watches it."""
    table = open_table(players, turn_seconds=TURN_S)
    time = Time(table.clock)
    return table, time, ClockWatch(table.clock, time.monotonic)


def left_s(table: Table) -> float:
    """Return how long the turn in hand may last still."""
    due_s = deadline_s(table.game)
    assert due_s is not None
    return due_s - table.clock.now_s


def moves_of_the_clock(table: Table) -> list[int]:
    """Return by how much the log says that clocks were moved."""
    log = read_log(table.house, APP, table.game_id, None, 0, 100)
    return [event["seconds"] for event in log if event["type"] == "clock_moved"]


def test_a_clock_that_goes_on_has_not_jumped() -> None:
    """However long it was not looked at."""
    table, _, watch = timed()
    for pause_s in (0.0, 1.0, FAR_S):
        table.clock.now_s += pause_s
        assert watch.attend(table.house) is None

    assert watch.last_jump is None


@pytest.mark.parametrize("by_s", [FAR_S, -FAR_S, 2 * JUMP_S])
def test_a_jump_is_noticed_once(by_s: float) -> None:
    table, time, watch = timed()
    table.clock.now_s += 5
    time.put(by_s)

    jump = watch.attend(table.house)

    assert jump is not None
    assert jump.by_s == pytest.approx(by_s, abs=0.1)
    assert jump.to_s == pytest.approx(table.clock.now_s, abs=0.1)
    assert watch.attend(table.house) is None
    assert watch.last_jump is jump


def test_turns_that_a_jump_forward_has_passed_get_their_time_anew() -> None:
    """Nobody's turn is played by the clock that had time left; two sweeps see to it once."""
    table, time, watch = timed()
    table.clock.now_s += 20
    time.put(FAR_S)
    watch.attend(table.house)

    assert sweep_clocks(table.house, watch.last_jump) == []
    assert sweep_clocks(table.house, watch.last_jump) == []

    assert left_s(table) == pytest.approx(TURN_S, abs=1)
    assert len(moves_of_the_clock(table)) == 1
    assert table.queue.waiting == []
    table.clock.now_s += TURN_S + 1
    assert sweep_clocks(table.house, watch.last_jump) == [table.game_id]


def test_a_turn_that_was_over_before_the_jump_is_finished() -> None:
    table, time, watch = timed()
    table.clock.now_s += TURN_S + 3
    time.put(FAR_S)
    watch.attend(table.house)

    assert sweep_clocks(table.house, watch.last_jump) == [table.game_id]
    assert moves_of_the_clock(table) == []


def test_after_a_jump_back_a_turn_lasts_no_longer_than_it_should() -> None:
    """It would last for half an hour more; and it is not noted for so much later either."""
    table, time, watch = timed()
    table.clock.now_s += 20
    time.put(-FAR_S)
    assert left_s(table) > FAR_S
    watch.attend(table.house)

    assert sweep_clocks(table.house, watch.last_jump) == []
    assert sweep_clocks(table.house, watch.last_jump) == []

    assert left_s(table) == pytest.approx(TURN_S, abs=1)
    (moved_s,) = moves_of_the_clock(table)
    assert moved_s == pytest.approx(FAR_S - 20, abs=2)
    table.clock.now_s += TURN_S + 1
    assert sweep_clocks(table.house, watch.last_jump) == [table.game_id]


def test_what_was_put_in_order_is_not_touched_again() -> None:
    """The jump is remembered, and turns that have begun since are judged as ever."""
    table, _, _ = timed()
    jump = Jump(table.clock.now_s - FAR_S - 10, table.clock.now_s - 10)
    table.clock.now_s += TURN_S + 1

    assert sweep_clocks(table.house, jump) == [table.game_id]


def test_a_bot_that_waits_is_found_after_a_jump_back() -> None:
    """Its game is noted for a time that comes in half an hour."""
    table, time, watch = timed("hbbb")
    table.play_until_turn_of(0)
    for kind in ("draw_stock", "discard"):
        table.play(next(a for a in table.legal_actions() if a["type"] == kind))
    assert load_game(table.house, table.game_id).bot_to_move is not None
    table.queue.lose_all()
    time.put(-FAR_S)
    assert sweep_bots(table.house, 2.0) == []

    watch.attend(table.house)
    table.clock.now_s += 2.1

    assert sweep_bots(table.house, 2.0) == [table.game_id]


@pytest.mark.parametrize("by_s", [FAR_S, -FAR_S])
def test_a_hint_whose_job_is_lost_says_so_whatever_the_clock_does(by_s: float) -> None:
    """It is not queued for so long, nor failed while its job waits."""
    table, time, _ = timed()
    asked = ask_hint(table.house, APP, table.game_id, None, {"iterations": 10}).body
    time.put(by_s)
    waits = read_task(table.house, APP, table.game_id, HINT, asked["id"])
    table.queue.lose_all()
    table.clock.now_s += QUEUEING_S

    assert waits["status"] == "queued"
    assert read_task(table.house, APP, table.game_id, HINT, asked["id"])["status"] == "failed"
