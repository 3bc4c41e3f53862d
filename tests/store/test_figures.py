"""What operators see of what lies in Redis: queues, games, counters; and what is left out."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
import redis as redis_py
from prometheus_client import CollectorRegistry, generate_latest
from rq import SimpleWorker

from service.api.figures import FiguresCollector
from service.games.counting import THOUGHT_BUCKETS_S, searched, thought, waited
from service.games.errors import StoreUnavailable
from service.games.ports import Commit
from service.jobqueue import RqQueue
from service.store import keys
from service.store.connecting import connect
from service.store.figures import QUEUES, Figures
from service.store.redis_store import RedisStore
from workers import main


@pytest.fixture
def store(redis: redis_py.Redis) -> RedisStore:
    """Return a store over an empty Redis."""
    return RedisStore(redis, finished_ttl_s=60, idle_ttl_s=600, idempotency_ttl_s=300)


@pytest.fixture
def figures(redis: redis_py.Redis) -> Figures:
    """Return the figures of an empty Redis."""
    return Figures(redis, redis)


@pytest.fixture
def silent() -> Iterator[str]:
    """Return the address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def told(source: Figures) -> str:
    """Return what Prometheus would read."""
    registry = CollectorRegistry()
    registry.register(FiguresCollector(source))
    return generate_latest(registry).decode()


def test_the_queues_are_those_that_workers_work_on() -> None:
    assert QUEUES == main.QUEUES


def test_a_queue_tells_how_many_wait_and_for_how_long(
    redis: redis_py.Redis, figures: Figures
) -> None:
    """The first in is the oldest; other queues are told too, with nothing in them."""
    queue = RqQueue(redis, max_queued_jobs=9, job_timeout_s=9)
    for number in range(3):
        queue.enqueue("bots", "tests.queued_jobs.add", f"job-{number}", {"a": 1, "b": 2})
    first_s = time.time()
    redis.hset("rq:job:job-1", "enqueued_at", "2036-01-01T00:00:00.000000Z")

    found = figures.queues(first_s + 60)

    assert set(QUEUES) == found.keys()
    assert (3, 0, 0) == (found["bots"].queued, found["bots"].running, found["bots"].workers)
    assert 59 < found["bots"].oldest_s < 70
    assert 0.0 == found["hints"].oldest_s


def test_a_job_in_hand_and_its_worker_are_counted(redis: redis_py.Redis, figures: Figures) -> None:
    """As RQ keeps them, under the keys that KEDA reads too."""
    redis.zadd("rq:wip:hints", {"job:execution": time.time() + 60})
    worker = SimpleWorker(["hints"], connection=redis, serializer="json")
    worker.register_birth()

    found = figures.queues(time.time())["hints"]
    worker.register_death()

    assert (1, 1) == (found.running, found.workers)


def test_games_are_counted_by_status_until_they_expire(
    store: RedisStore, figures: Figures, redis: redis_py.Redis
) -> None:
    """From status to status; one in play whose time to live has begun anew is still there after
    the old one is over, one that is gone is not.
    """
    for name in "abcd":
        store.commit(Commit(name, 0, "open", {}))
    for name in "bcd":
        store.commit(Commit(name, 1, "playing", {}, {"version": 1}, left="open"))
    store.commit(Commit("c", 2, "finished", {}, {"version": 2}, left="playing"))
    store.commit(Commit("d", 2, "playing", {}, {"version": 2}))
    now_s = time.time()
    assert {"open": 1, "playing": 2, "finished": 1, "abandoned": 0} == figures.games(now_s)

    redis.delete(keys.state_key("b"), keys.state_key("a"))
    assert {"open": 0, "playing": 1, "finished": 0, "abandoned": 0} == figures.games(now_s + 601)

    assert now_s + 601 < (redis.zscore(keys.status_key("playing"), "d") or 0) < now_s + 1300


def test_a_change_that_is_stale_leaves_the_lists_as_they_are(
    store: RedisStore, figures: Figures
) -> None:
    store.commit(Commit("g", 0, "playing", {}))
    store.commit(Commit("g", 9, "finished", {}, {"version": 9}, left="playing"))

    assert 1 == figures.games(time.time())["playing"]


def test_waits_are_counted_by_queue(store: RedisStore, figures: Figures) -> None:
    """In growing buckets, as a bot's seconds are."""
    for seconds in (0.001, 0.03, 99.0):
        store.count(waited("bots", seconds))

    text = told(figures)

    name = "persian_rummy_job_wait_seconds"
    for end, count in ((0.002, 1), (0.05, 2), (60.0, 2), ("+Inf", 3)):
        assert f'{name}_bucket{{le="{end}",queue="bots"}} {count}.0' in text
    assert f'{name}_sum{{queue="bots"}} 99.031' in text


def test_games_and_thoughts_are_counted_over_all_processes(
    store: RedisStore, figures: Figures
) -> None:
    """Created, finished; iterations by work; a bot's seconds by level, in growing buckets."""
    store.commit(Commit("g", 0, "playing", {}))
    store.commit(Commit("g", 1, "playing", {}, {"version": 1}))
    store.commit(Commit("g", 2, "finished", {}, {"version": 2}))
    store.commit(Commit("g", 2, "finished", {}, {"version": 2}))
    store.mark_waiting("g", 1.0)
    for seconds in (0.0, 0.3, 99.0):
        store.count(thought("casual", seconds, 250))
    store.count(searched("hint", 5000))

    text = told(figures)

    assert 'persian_rummy_games_total{event="created"} 1.0' in text
    assert 'persian_rummy_games_total{event="finished"} 1.0' in text
    assert "persian_rummy_games_waiting_for_bot 1.0" in text
    assert 'persian_rummy_search_iterations_total{work="bot"} 750.0' in text
    assert 'persian_rummy_search_iterations_total{work="hint"} 5000.0' in text
    name = "persian_rummy_bot_think_seconds"
    for end, count in ((0.001, 1), (0.25, 1), (0.5, 2), (10.0, 2), ("+Inf", 3)):
        assert f'{name}_bucket{{le="{end}",level="casual"}} {count}.0' in text
    assert f'{name}_sum{{level="casual"}} 99.3' in text
    assert f'{name}_count{{level="casual"}} 3.0' in text


def test_a_thought_falls_into_one_bucket() -> None:
    """Also at the buckets' ends, and beyond the last."""
    for seconds in (0.0, *THOUGHT_BUCKETS_S, 11.0):
        amounts = thought("greedy", seconds, 0)

        assert 2 == len(amounts)
        assert 1.0 == next(iter(amounts.values()))


@pytest.mark.parametrize("away", ["state", "queues", "both"])
def test_what_does_not_answer_is_left_out_soon(
    redis: redis_py.Redis, redis_url: str, silent: str, away: str
) -> None:
    """A server that hangs costs its patience once, however many figures it has."""
    hung, here = connect(silent, 0.2), connect(redis_url, 0.2)
    state = here if away == "queues" else hung
    queues = here if away == "state" else hung
    began = time.monotonic()

    text = told(Figures(state, queues))

    assert time.monotonic() - began < 2.0
    assert ("games_waiting" in text) == (away == "queues")
    assert ("jobs_queued" in text) == (away == "state")


def test_counting_waits_for_no_store_and_fails_nobody(silent: str) -> None:
    """The move is in the log already."""
    store = RedisStore(
        connect(silent, 0.1), finished_ttl_s=60, idle_ttl_s=600, idempotency_ttl_s=300
    )

    store.count({"games:created": 1})

    with pytest.raises(StoreUnavailable):
        store.ping()


def test_the_names_are_known_without_asking(silent: str) -> None:
    """Registering the figures opens no connection."""
    client = connect(silent, 0.1)
    names = {metric.name for metric in FiguresCollector(Figures(client, client)).describe()}

    assert {
        "persian_rummy_jobs_queued",
        "persian_rummy_jobs_running",
        "persian_rummy_workers",
        "persian_rummy_oldest_job_seconds",
        "persian_rummy_jobs_failed",
        "persian_rummy_job_wait_seconds",
        "persian_rummy_games_waiting_for_bot",
        "persian_rummy_games_stored",
        "persian_rummy_games",
        "persian_rummy_search_iterations",
        "persian_rummy_bot_think_seconds",
    } == names
