"""Asking for the review of a finished game, as a use case."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from service.games.errors import (
    Conflict,
    GameNotFinished,
    GameNotFound,
    QueueFull,
    TaskExpired,
    TaskNotFound,
)
from service.games.hosting import abandon_game
from service.games.ports import RequestKey
from service.games.reviews import (
    REVIEW,
    REVIEW_JOB,
    REVIEW_QUEUE,
    ask_review,
    cancel_review,
    read_review,
)
from service.store.memory import MemoryQueue
from tests.games.tables import APP, OTHER_APP, Table, open_table

Json = dict[str, Any]
KEY = RequestKey("name", "print-1")


@pytest.fixture
def table() -> Table:
    """Return a game that was played to its end."""
    table = open_table(deals=1)
    table.play_randomly(random.Random(1), 2000)
    assert table.game.status == "finished"
    return table


def ask(table: Table, options: Json | None = None, key: RequestKey | None = None) -> Json:
    return ask_review(table.house, APP, table.game_id, options or {}, key).body


def set_status(table: Table, status: str) -> None:
    """Save what a worker would."""
    document = read_review(table.house, APP, table.game_id)
    changed = {**document, "status": status}
    table.store.save_task(table.game_id, REVIEW, document["id"], changed, 60)


def test_a_review_is_queued_on_a_queue_of_its_own(table: Table) -> None:
    asked = ask(table)

    assert (asked["id"], asked["status"], asked["progress"]) == ("r1", "queued", 0.0)
    assert asked["options"] == {"iterations": 2000, "seed": ""}
    (job,) = table.queue.waiting
    assert (job.queue, job.job) == (REVIEW_QUEUE, REVIEW_JOB)
    assert job.arguments == {"scope": table.game_id, "task_id": "r1", "options": asked["options"]}
    assert read_review(table.house, APP, table.game_id) == asked


def test_there_is_none_before_the_end() -> None:
    """Nor after an end without a result: hands of mid-game would be told."""
    table = open_table()
    over = open_table()
    abandon_game(over.house, APP, over.game_id)

    for unfinished in (table, over):
        for use in (lambda t: ask(t), lambda t: read_review(t.house, APP, t.game_id)):
            with pytest.raises(GameNotFinished):
                use(unfinished)
        assert unfinished.queue.calls == 0


def test_everybody_who_had_a_seat_may_ask_and_nobody_else(table: Table) -> None:
    for seat in range(4):
        assert ask_review(table.house, table.seat(seat), table.game_id, {}).body["id"] == "r1"
    with pytest.raises(GameNotFound):
        ask_review(table.house, OTHER_APP, table.game_id, {})


def test_what_is_under_way_or_done_is_not_done_again(table: Table) -> None:
    first = ask(table)
    assert ask(table) == first
    set_status(table, "done")
    assert ask(table)["status"] == "done"

    assert len(table.queue.waiting) == 1


def test_other_options_wait_for_the_one_under_way(table: Table) -> None:
    ask(table)
    with pytest.raises(Conflict):
        ask(table, {"iterations": 500})

    set_status(table, "done")
    assert ask(table, {"iterations": 500})["id"] == "r2"
    assert read_review(table.house, APP, table.game_id)["id"] == "r2"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_what_did_not_end_well_can_be_asked_for_again(table: Table, status: str) -> None:
    ask(table)
    if status == "cancelled":
        cancel_review(table.house, APP, table.game_id)
    else:
        set_status(table, status)

    assert ask(table)["id"] == "r2"


def test_a_full_queue_keeps_what_was_there(table: Table) -> None:
    """The refused one is forgotten; the one before is still read."""
    ask(table)
    set_status(table, "done")
    house = table.house
    table.house = replace(house, queue=MemoryQueue(max_queued_jobs=0))
    with pytest.raises(QueueFull):
        ask(table, {"seed": 1}, KEY)

    table.house = house
    assert read_review(table.house, APP, table.game_id)["id"] == "r1"
    assert ask(table, {"seed": 1}, KEY)["id"] == "r3"


def test_a_lost_job_is_told(table: Table) -> None:
    """Else who asked would wait for ever."""
    ask(table)
    table.queue.lose_all()
    table.clock.now_s += 60

    assert read_review(table.house, APP, table.game_id)["status"] == "failed"
    assert ask(table)["id"] == "r2"


def test_what_has_expired_is_told_from_what_never_was(table: Table) -> None:
    table.house = replace(table.house, review_ttl_s=60)
    with pytest.raises(TaskNotFound):
        read_review(table.house, APP, table.game_id)
    ask(table)
    table.clock.now_s += 61

    with pytest.raises(TaskExpired):
        read_review(table.house, APP, table.game_id)


def test_it_is_cancelled_once_and_what_is_done_stays(table: Table) -> None:
    ask(table)
    assert cancel_review(table.house, APP, table.game_id)["status"] == "cancelled"
    assert cancel_review(table.house, APP, table.game_id)["status"] == "cancelled"
    ask(table)
    set_status(table, "done")

    with pytest.raises(Conflict):
        cancel_review(table.house, APP, table.game_id)
