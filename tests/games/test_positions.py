"""Advice on positions as a use case: what is refused, what is kept, what the job is given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from service.games.advice import HINT_QUEUE
from service.games.errors import (
    Conflict,
    ImpossiblePosition,
    InvalidRequest,
    KeyReused,
    NotAllowed,
    QueueFull,
    TaskExpired,
    TaskNotFound,
)
from service.games.ports import RequestKey
from service.games.positions import (
    POSITION,
    POSITION_JOB,
    ask_position_hints,
    cancel_position_hints,
    read_position_hints,
)
from service.rules.view import view_match, view_to_json
from service.store.memory import MemoryQueue
from tests.games.tables import APP, OTHER_APP, Table, open_table

Json = dict[str, Any]
BUDGET: Json = {"iterations": 100, "seed": "s"}
KEY = RequestKey("name", "print-1")


@pytest.fixture
def table() -> Table:
    """Return a game whose positions are asked about as if it were somebody else's."""
    return open_table()


def position(table: Table) -> Json:
    """Return what the seat to move sees."""
    return view_to_json(view_match(table.game.match, table.turn))


def ask(table: Table, *positions: Json, budget: Json = BUDGET, **more: Any) -> Json:
    """Ask for advice: a batch where there are several."""
    found = list(positions) or [position(table)]
    more = {"is_batch": len(found) > 1, **more}
    return ask_position_hints(table.house, APP, found, budget, **more).body


def test_a_position_is_queued_and_can_be_read(table: Table) -> None:
    asked = ask(table)

    assert (asked["id"], asked["status"], asked["progress"]) == ("p1", "queued", 0.0)
    assert (asked["game_id"], asked["version"], asked["seat"]) == (None, None, table.turn)
    assert asked["hints"] is None
    assert read_position_hints(table.house, APP, "p1") == asked


def test_the_job_is_given_the_positions_and_the_budget_alone(table: Table) -> None:
    ask(table, position(table), position(table), budget={"seed": 7})

    (job,) = table.queue.waiting
    assert (job.queue, job.job, job.job_id) == (HINT_QUEUE, POSITION_JOB, "position-app-app-p1")
    assert job.arguments == {
        "scope": "app-app",
        "task_id": "p1",
        "views": [position(table)] * 2,
        "budget": {"seed": 7, "level": "expert"},
    }


def test_many_positions_have_a_place_each(table: Table) -> None:
    asked = ask(table, position(table), position(table))

    empty = {"seat": table.turn, "best": None, "candidates": [], "search": None}
    assert asked["hints"] == [empty, empty]
    assert asked["seat"] is None


def test_what_cannot_be_is_refused_with_every_fault(table: Table) -> None:
    wrong = {**position(table), "stock_count": 5, "passes": 2}

    with pytest.raises(ImpossiblePosition) as alone:
        ask(table, wrong)
    with pytest.raises(ImpossiblePosition) as among:
        ask(table, position(table), wrong)

    assert {field for field, _ in alone.value.faults} == {"position", "position.passes"}
    assert {field for field, _ in among.value.faults} == {"positions.1", "positions.1.passes"}
    assert table.queue.calls == 0
    with pytest.raises(TaskNotFound):
        read_position_hints(table.house, APP, "p1")


@pytest.mark.parametrize(
    ("budget", "field"),
    [
        ({"iterations": 50_000}, "iterations"),
        ({"seconds": 1.0}, "seconds"),
        ({"level": "master"}, "level"),
        ({"level": "nobody"}, "level"),
    ],
)
def test_what_would_take_too_long_is_refused(table: Table, budget: Json, field: str) -> None:
    """All positions of a request are one job, which may not run for ever."""
    with pytest.raises(InvalidRequest) as raised:
        ask(table, *[position(table)] * 100, budget=budget)

    assert raised.value.field == field
    assert ask(table, *[position(table)] * 50, budget={"iterations": 50_000})["id"] == "p1"


def test_the_holder_of_a_seat_may_not_ask(table: Table) -> None:
    with pytest.raises(NotAllowed):
        ask_position_hints(table.house, table.seat(0), [position(table)], BUDGET, is_batch=False)


def test_another_app_is_told_nothing(table: Table) -> None:
    ask(table)

    for use in (read_position_hints, cancel_position_hints):
        with pytest.raises(TaskNotFound):
            use(table.house, OTHER_APP, "p1")


def test_the_same_request_asks_once(table: Table) -> None:
    first = ask(table, key=KEY)

    assert ask(table, key=KEY) == first
    assert len(table.queue.waiting) == 1
    with pytest.raises(KeyReused):
        ask(table, key=RequestKey(KEY.name, "print-2"))


def test_a_full_queue_keeps_nothing(table: Table) -> None:
    house = table.house
    table.house = replace(house, queue=MemoryQueue(max_queued_jobs=0))
    with pytest.raises(QueueFull):
        ask(table, key=KEY)

    table.house = house
    assert ask(table, key=KEY)["status"] == "queued"


def test_it_is_cancelled_once_and_what_has_ended_stays(table: Table) -> None:
    ask(table)
    assert cancel_position_hints(table.house, APP, "p1")["status"] == "cancelled"
    assert cancel_position_hints(table.house, APP, "p1")["status"] == "cancelled"

    done = ask(table)
    table.store.save_task("app-app", POSITION, "p2", {**done, "status": "done"}, 60)
    with pytest.raises(Conflict):
        cancel_position_hints(table.house, APP, "p2")


def test_what_has_expired_is_told_from_what_never_was(table: Table) -> None:
    table.house = replace(table.house, hint_ttl_s=60)
    ask(table)
    table.clock.now_s += 61

    with pytest.raises(TaskExpired):
        read_position_hints(table.house, APP, "p1")
