"""A search in parts: the same answer whoever takes them, nothing lost with a worker, nobody waits
for ever.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
import redis as redis_py
from rq import Queue, SimpleWorker

from service.games.advice import HINT, HINT_QUEUE, PART_JOB, ask_hint, cancel_hint, read_task
from service.games.house import House
from service.rules.view import SeatView, view_from_json, view_to_json
from service.store.memory import MemoryQueue
from tests.workers.tables import APP, four_people, view_of
from workers import jobs
from workers.bots.base import Budget
from workers.hints import search_part, write_hint
from workers.search.search import MoveStatistics, merge_rankings
from workers.splitting import Desk, ranking_from_json, ranking_to_json, share_out

Json = dict[str, Any]
REQUEST = {"iterations": 6_000, "seed": "s", "workers": 3}


@pytest.fixture
def view(here: House) -> SeatView:
    """Return a view from the middle of a deal."""
    return view_of(here, four_people(here, seed="parts", steps=31))


def ticking(step_s: float = 0.01) -> Callable[[], float]:
    """Return a clock that goes on by so much with each look at it."""
    return (step_s * number for number in itertools.count()).__next__


def hint_on(view: SeatView, request: Json, desk: Desk | None = None) -> Json:
    """Write a hint; the clock stands still."""
    return write_hint(view, request, {"status": "running"}, lambda _: True, str, lambda: 0.0, desk)


def a_desk(queue: MemoryQueue) -> Desk:
    return Desk(queue, "game", HINT, "h1")


class PromptQueue(MemoryQueue):
    """A queue on which another worker does each of the first `count` parts at once."""

    def __init__(self, count: int, *, dies: bool = False) -> None:
        super().__init__()
        self.count = count
        self.dies = dies
        self.done = 0

    def enqueue(self, queue: str, job: str, job_id: str, arguments: Any) -> bool:
        """Take the job and run or lose it."""
        is_put = super().enqueue(queue, job, job_id, arguments)
        if self.done < self.count:
            self.done += 1
            part = self.start()
            assert (PART_JOB, HINT_QUEUE) == (part.job, part.queue)
            found = search_part(
                view_from_json(part.arguments["view"]),
                part.arguments["seed"],
                Budget(**part.arguments["budget"]),
                ticking(),
                lambda _: True,
            )
            assert found is not None
            self.end(job_id, None if self.dies else {"moves": ranking_to_json(found)})
        return is_put


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_who_takes_the_parts_changes_nothing_in_the_answer(view: SeatView, taken: int) -> None:
    alone = hint_on(view, REQUEST)
    queue = PromptQueue(taken)

    helped = hint_on(view, REQUEST, a_desk(queue))

    assert json.dumps(alone) == json.dumps(helped)
    assert taken == queue.done
    assert [] == queue.waiting
    assert (6_000, 3) == (alone["search"]["iterations"], alone["search"]["workers"])
    assert 6_000 == sum(candidate["visits"] for candidate in alone["candidates"])


def test_a_part_whose_worker_died_is_searched_by_who_asked(view: SeatView) -> None:
    helped = hint_on(view, REQUEST, a_desk(PromptQueue(2, dies=True)))

    assert json.dumps(hint_on(view, REQUEST)) == json.dumps(helped)


def test_a_full_or_absent_queue_costs_only_time(view: SeatView) -> None:
    alone = json.dumps(hint_on(view, REQUEST))
    away = MemoryQueue()
    away.is_away = True

    assert alone == json.dumps(hint_on(view, REQUEST, a_desk(MemoryQueue(max_queued_jobs=1))))
    assert alone == json.dumps(hint_on(view, REQUEST, a_desk(away)))


def test_parts_are_searches_of_their_own(view: SeatView) -> None:
    """Another seed each: the same worlds twice would be worth nothing."""
    together = hint_on(view, REQUEST)
    apart = hint_on(view, {**REQUEST, "workers": 1})

    assert together["candidates"] != apart["candidates"]
    assert together["search"]["fresh_worlds"] == apart["search"]["fresh_worlds"]


def test_by_time_what_nobody_took_is_left_out(view: SeatView) -> None:
    queue = PromptQueue(1)
    request = {"seconds": 0.2, "workers": 3}
    hint = write_hint(view, request, {}, lambda _: True, str, ticking(), a_desk(queue))

    assert 2 == hint["search"]["workers"]
    assert [] == queue.waiting


def test_a_cancelled_hint_leaves_no_part_on_the_queue(view: SeatView) -> None:
    for saves_before in (0, 2, 4):
        queue = MemoryQueue()
        saves: list[str] = []

        def save(document: Json, saves: list[str] = saves, most: int = saves_before) -> bool:
            saves.append(document["status"])
            return len(saves) <= most

        request = {"iterations": 12_000, "workers": 3}
        document = {"status": "running"}
        hint = write_hint(view, request, document, save, str, ticking(1.0), a_desk(queue))

        assert "cancelled" == hint["status"]
        assert [] == queue.waiting


def test_merged_counts_are_sums() -> None:
    first = [MoveStatistics(5, 30, 10.0), MoveStatistics(9, 10, -2.0)]
    second = [MoveStatistics(9, 40, 3.0), MoveStatistics(7, 1, 0.0)]

    merged = merge_rankings([first, second])

    assert [(9, 50), (5, 30), (7, 1)] == [(move.code, move.visits) for move in merged]
    assert 2.0 == merged[0].mean
    assert first == ranking_from_json(json.loads(json.dumps(ranking_to_json(first))))


def test_iterations_are_shared_out_and_time_is_everybodys() -> None:
    assert [1, 1] == [part.iterations for part in share_out(Budget(iterations=2), 5)]
    seconds = [part.seconds for part in share_out(Budget(seconds=1.0), 3)]
    assert 1.0 == seconds[0]
    assert all(part is not None and part < 1.0 for part in seconds[1:])


# With a real queue.


def work_once(connection: redis_py.Redis, names: list[str]) -> SimpleWorker:
    """Work until the queues are empty, in this thread."""
    queues = [Queue(name, connection=connection, serializer="json") for name in names]
    worker = SimpleWorker(queues, connection=connection, serializer="json")
    worker._install_signal_handlers = lambda: None  # type: ignore[method-assign]
    worker.work(burst=True)
    return worker


def test_two_workers_share_a_hint_over_redis(here: House, redis: redis_py.Redis) -> None:
    """The one that works on the hint, and one that finds the parts on the queue."""
    game_id = four_people(here, seed="parts", steps=31)
    request = {"iterations": 60_000, "seed": "s", "workers": 3}
    hint_id = ask_hint(here, APP, game_id, None, request).body["id"]
    lead = Queue(HINT_QUEUE, connection=redis, serializer="json").jobs[0]
    expected = hint_on(view_of(here, game_id), request)
    helper = threading.Thread(target=help_until_done, args=(here, redis, game_id, hint_id))
    redis.delete(f"rq:queue:{HINT_QUEUE}")
    helper.start()

    jobs.give_hint(**lead.kwargs)
    helper.join()

    hint = read_task(here, APP, game_id, HINT, hint_id)
    assert "done" == hint["status"]
    assert expected["candidates"] == hint["candidates"]
    assert 0 == redis.llen(f"rq:queue:{HINT_QUEUE}")


def help_until_done(here: House, connection: redis_py.Redis, game_id: str, hint_id: str) -> None:
    while read_task(here, APP, game_id, HINT, hint_id)["status"] in ("queued", "running"):
        work_once(connection, [HINT_QUEUE])


def test_a_part_of_a_cancelled_hint_is_not_searched(here: House) -> None:
    game_id = four_people(here, seed="parts", steps=31)
    hint_id = ask_hint(here, APP, game_id, None, {"iterations": 1_000}).body["id"]
    view = view_to_json(view_of(here, game_id))
    arguments = {"scope": game_id, "kind": HINT, "task_id": hint_id, "view": view, "seed": "s"}
    budget = {"iterations": 3_000}

    found = jobs.search_for_part(**arguments, budget=budget)
    assert found is not None
    assert 3_000 == sum(visits for _code, visits, _mean in found["moves"])
    cancel_hint(here, APP, game_id, hint_id)
    assert jobs.search_for_part(**arguments, budget=budget) is None
