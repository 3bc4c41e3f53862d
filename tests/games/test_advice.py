"""Hints and single bot moves: from the asking to the end of their lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from service.games.advice import (
    BOT_MOVE,
    BOT_MOVE_JOB,
    HINT,
    HINT_JOB,
    HINT_QUEUE,
    QUEUEING_S,
    ask_bot_move,
    ask_hint,
    cancel_hint,
    read_task,
)
from service.games.changing import BOT_QUEUE, Outcome
from service.games.errors import (
    ActionRefused,
    Conflict,
    GameFinished,
    InvalidRequest,
    KeyReused,
    QueueFull,
    SeatsOpen,
    StoreUnavailable,
    TaskExpired,
    TaskNotFound,
)
from service.games.hosting import abandon_game
from service.games.ports import RequestKey
from service.rules.view import view_from_json, view_match
from service.rules.violations import Violation
from service.store.memory import MemoryQueue
from tests.games.tables import APP, Table, open_table

BUDGET: dict[str, Any] = {"iterations": 100}
KEY = RequestKey("name", "print-1")
Ask = Callable[[Table], dict[str, Any]]


def hint(table: Table, key: RequestKey | None = None) -> dict[str, Any]:
    """Ask for a hint for the seat to move, as its holder."""
    return ask_hint(table.house, table.seat(table.turn), table.game_id, None, BUDGET, key).body


def bot_move(table: Table, key: RequestKey | None = None) -> dict[str, Any]:
    """Ask a bot to play the turn of the seat to move, as its holder."""
    holder = table.seat(table.turn)
    return ask_bot_move(table.house, holder, table.game_id, None, "greedy", key).body


def read(table: Table, task_id: str, kind: str = HINT) -> dict[str, Any]:
    return read_task(table.house, APP, table.game_id, kind, task_id)


def work(table: Table, task_id: str, kind: str = HINT, **changes: Any) -> bool:
    """Save what a worker would."""
    document = table.store.load_task(table.game_id, kind, task_id)
    assert document is not None
    return table.store.save_task(table.game_id, kind, task_id, {**document, **changes}, 86_400)


@pytest.fixture
def table() -> Table:
    """Return a game of four people."""
    return open_table()


# Asking.


def test_a_hint_is_queued_and_can_be_read(table: Table) -> None:
    asked = hint(table)

    assert (asked["id"], asked["status"]) == ("h1", "queued")
    assert (asked["game_id"], asked["version"], asked["seat"]) == (table.game_id, 0, table.turn)
    assert (asked["progress"], asked["best"], asked["candidates"]) == (0.0, None, [])
    assert (asked["search"], asked["finished_at"], asked["error"]) == (None, None, None)
    assert read(table, "h1") == asked


def test_a_hints_job_gets_what_the_seat_may_see_and_nothing_else(table: Table) -> None:
    hint(table)

    (job,) = table.queue.waiting
    assert (job.queue, job.job) == (HINT_QUEUE, HINT_JOB)
    assert job.job_id == f"hint-{table.game_id}-h1"
    assert job.arguments.keys() == {"scope", "task_id", "view", "budget"}
    assert (job.arguments["scope"], job.arguments["task_id"]) == (table.game_id, "h1")
    view = view_from_json(job.arguments["view"])
    assert view == view_match(table.game.match, table.turn)


def test_an_app_that_names_no_seat_asks_for_the_one_to_move(table: Table) -> None:
    task = ask_hint(table.house, APP, table.game_id, None, BUDGET).body

    assert task["seat"] == table.turn


@pytest.mark.parametrize(
    "asked", [{"seconds": 1.5}, {"iterations": 7, "seed": "s"}, {"workers": 2}]
)
def test_the_budget_goes_along_as_it_is_and_none_means_the_best_level(
    table: Table, asked: dict[str, Any]
) -> None:
    ask_hint(table.house, APP, table.game_id, None, asked)

    (job,) = table.queue.waiting
    is_open = not {"seconds", "iterations"} & asked.keys()
    assert job.arguments["budget"] == asked | ({"level": "expert"} if is_open else {})


def test_a_bot_move_is_queued_with_the_bots(table: Table) -> None:
    asked = bot_move(table)

    assert (asked["id"], asked["status"], asked["actions"]) == ("m1", "queued", [])
    (job,) = table.queue.waiting
    assert (job.queue, job.job, job.job_id) == (
        BOT_QUEUE,
        BOT_MOVE_JOB,
        f"move-{table.game_id}-m1",
    )
    assert job.arguments == {
        "scope": table.game_id,
        "task_id": "m1",
        "game_id": table.game_id,
        "seat": table.turn,
        "version": 0,
        "level": "greedy",
    }
    assert read(table, "m1", BOT_MOVE) == asked


def test_each_task_has_an_id_of_its_own(table: Table) -> None:
    ids = [hint(table)["id"], bot_move(table)["id"], hint(table)["id"], bot_move(table)["id"]]

    assert ids == ["h1", "m1", "h2", "m2"]


@pytest.mark.parametrize(("ask", "argument"), [(ask_hint, BUDGET), (ask_bot_move, "greedy")])
def test_out_of_turn_nothing_is_asked(
    table: Table, ask: Callable[..., Outcome], argument: Any
) -> None:
    waiting = (table.turn + 1) % 4

    for caller, seat in ((table.seat(waiting), None), (APP, waiting)):
        with pytest.raises(ActionRefused) as raised:
            ask(table.house, caller, table.game_id, seat, argument)
        assert raised.value.violation == Violation.NOT_YOUR_TURN

    assert table.queue.calls == 0


@pytest.mark.parametrize("ask", [hint, bot_move])
def test_nothing_is_asked_of_a_game_that_is_over_or_has_not_begun(ask: Ask) -> None:
    over, coming = open_table(), open_table("hhho", seed="x")
    abandon_game(over.house, APP, over.game_id)
    with pytest.raises(GameFinished):
        ask(over)
    if coming.turn == 3:
        coming = open_table("ohhh", seed="x")

    with pytest.raises(SeatsOpen):
        ask(coming)


def test_an_unknown_level_is_refused_and_nothing_kept(table: Table) -> None:
    with pytest.raises(InvalidRequest):
        ask_hint(table.house, APP, table.game_id, None, {"level": "genius"})
    with pytest.raises(InvalidRequest):
        ask_bot_move(table.house, APP, table.game_id, table.turn, "genius")

    assert hint(table)["id"] == "h1"
    assert bot_move(table)["id"] == "m1"


# Asking with a key.


@pytest.mark.parametrize("ask", [hint, bot_move])
def test_the_same_request_asks_once(
    table: Table, ask: Callable[[Table, RequestKey], dict[str, Any]]
) -> None:
    first = ask(table, KEY)

    assert ask(table, KEY) == first

    assert len(table.queue.waiting) == 1


def test_the_same_request_is_answered_alike_when_the_turn_is_over(table: Table) -> None:
    holder = table.seat(table.turn)
    first = ask_bot_move(table.house, holder, table.game_id, None, "greedy", KEY)
    table.play({"type": "draw_stock"})
    table.play(next(a for a in table.legal_actions() if a["type"] == "discard"))

    again = ask_bot_move(table.house, holder, table.game_id, None, "greedy", KEY)

    assert again.is_replayed
    assert again.body == first.body


def test_the_same_key_for_another_request_is_refused(table: Table) -> None:
    hint(table, KEY)

    with pytest.raises(KeyReused):
        hint(table, RequestKey(KEY.name, "print-2"))

    assert len(table.queue.waiting) == 1


# A queue that takes nothing.


@pytest.mark.parametrize(
    ("queue", "error"), [(MemoryQueue(max_queued_jobs=0), QueueFull), (None, StoreUnavailable)]
)
def test_what_the_queue_does_not_take_is_not_kept_and_can_be_asked_again(
    table: Table, queue: MemoryQueue | None, error: type[Exception]
) -> None:
    """With the same key: a refusal is no answer to be replayed."""
    refusing = queue or MemoryQueue()
    refusing.is_away = queue is None
    house = table.house
    table.house = replace(house, queue=refusing)
    with pytest.raises(error):
        hint(table, KEY)

    table.house = house
    asked = hint(table, KEY)

    assert (asked["id"], asked["status"]) == ("h2", "queued")
    assert len(table.queue.waiting) == 1
    with pytest.raises(TaskExpired):
        read(table, "h1")


# Reading.


def test_a_hint_is_read_with_its_progress_and_its_end(table: Table) -> None:
    hint(table)
    table.queue.start()
    work(table, "h1", status="running", progress=0.5, best={"type": "draw_stock"})
    assert (read(table, "h1")["status"], read(table, "h1")["progress"]) == ("running", 0.5)

    work(table, "h1", status="done", progress=1.0)

    assert read(table, "h1")["status"] == "done"


@pytest.mark.parametrize("task_id", ["h2", "h0", "m1", "x", "h" + "9" * 300])
def test_what_was_never_asked_is_not_found(table: Table, task_id: str) -> None:
    hint(table)

    with pytest.raises(TaskNotFound):
        read(table, task_id)


def test_what_has_expired_is_told_from_what_never_was(table: Table) -> None:
    table.house = replace(table.house, hint_ttl_s=60)
    hint(table)
    table.clock.now_s += 61

    with pytest.raises(TaskExpired):
        read(table, "h1")
    with pytest.raises(TaskExpired):
        cancel_hint(table.house, APP, table.game_id, "h1")


# Lost jobs.


@pytest.mark.parametrize("status", ["queued", "running"])
@pytest.mark.parametrize(("ask", "kind"), [(hint, HINT), (bot_move, BOT_MOVE)])
def test_a_task_whose_job_is_lost_has_failed(
    table: Table, ask: Ask, kind: str, status: str
) -> None:
    """Else who asked would wait for ever."""
    task = ask(table)
    work(table, task["id"], kind, status=status)
    table.queue.lose_all()
    table.clock.now_s += QUEUEING_S + 1

    lost = read(table, task["id"], kind)

    assert lost["status"] == "failed"
    assert "ask again" in lost["error"]
    assert lost["finished_at"] is not None
    assert table.store.load_task(table.game_id, kind, task["id"]) == lost


def test_a_task_whose_job_waits_or_runs_goes_on_however_long_it_takes(table: Table) -> None:
    hint(table)
    table.clock.now_s += 600
    assert read(table, "h1")["status"] == "queued"

    table.queue.start()

    assert read(table, "h1")["status"] == "queued"


def test_a_task_is_not_lost_while_its_job_is_being_queued(table: Table) -> None:
    hint(table)
    table.queue.lose_all()

    assert read(table, "h1")["status"] == "queued"


def test_a_task_is_not_lost_because_the_queue_is_away(table: Table) -> None:
    hint(table)
    table.clock.now_s += 60
    table.queue.is_away = True

    assert read(table, "h1")["status"] == "queued"


class Finishing(MemoryQueue):
    """A queue whose job ends just when it is looked for."""

    table: Table

    def is_active(self, job_id: str) -> bool:
        """End the job."""
        work(self.table, "h1", status="done")
        return False


def test_a_task_that_ends_while_it_is_read_is_not_lost() -> None:
    table = open_table()
    hint(table)
    table.clock.now_s += 60
    queue = Finishing()
    queue.table = table
    table.house = replace(table.house, queue=queue)

    assert read(table, "h1")["status"] == "done"


# Cancelling.


@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_hint_under_way_is_cancelled_and_no_result_comes_after(table: Table, status: str) -> None:
    hint(table)
    work(table, "h1", status=status)

    assert cancel_hint(table.house, APP, table.game_id, "h1")["status"] == "cancelled"

    assert not work(table, "h1", status="done")
    assert read(table, "h1")["status"] == "cancelled"


def test_a_hint_cancelled_twice_is_cancelled(table: Table) -> None:
    hint(table)
    cancel_hint(table.house, APP, table.game_id, "h1")

    assert cancel_hint(table.house, APP, table.game_id, "h1")["status"] == "cancelled"


@pytest.mark.parametrize("status", ["done", "failed"])
def test_a_hint_that_has_ended_is_not_cancelled(table: Table, status: str) -> None:
    hint(table)
    work(table, "h1", status=status)

    with pytest.raises(Conflict, match=status):
        cancel_hint(table.house, APP, table.game_id, "h1")

    assert read(table, "h1")["status"] == status


def test_asking_changes_nothing_in_the_game(table: Table) -> None:
    before = table.store.load(table.game_id)

    hint(table)
    bot_move(table)

    assert table.store.load(table.game_id) == before
