"""The clock of the service is Redis's, whatever this machine's says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as redis_py

from service.embedded import RedisServer
from service.games.ports import BOTS, CLOCK, DELIVERIES, NEWS, GameStore
from service.store.clock import LOOK_EVERY_S, StoreClock
from service.store.connecting import connect
from service.store.memory import MemoryStore
from service.store.redis_store import RedisStore

HOUR_S = 3600.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Run a Redis that may be stopped."""
    with RedisServer(tmp_path / "data", durable=False) as server:
        yield server


def now(client: redis_py.Redis) -> float:
    """Return what Redis's clock says."""
    seconds, micros = client.time()
    return float(seconds + micros / 1e6)


@pytest.mark.parametrize("ahead_s", [0, HOUR_S, -HOUR_S])
def test_processes_whose_machines_differ_have_one_clock(
    redis: redis_py.Redis, ahead_s: float
) -> None:
    """By an hour."""
    clock = StoreClock(redis, clock=lambda: now(redis) + ahead_s)

    assert clock() == pytest.approx(now(redis), abs=1)


def test_redis_is_asked_seldom(redis: redis_py.Redis) -> None:
    """Between two questions the monotonic clock counts."""
    monotonic = [100.0]
    clock = StoreClock(redis, monotonic=lambda: monotonic[0])
    asked = redis.info("commandstats").get("cmdstat_time", {"calls": 0})["calls"]
    first = clock()
    for _ in range(50):
        monotonic[0] += LOOK_EVERY_S / 100
        clock()

    assert redis.info("commandstats")["cmdstat_time"]["calls"] == asked + 1
    assert clock() - first == pytest.approx(LOOK_EVERY_S / 2)
    monotonic[0] += LOOK_EVERY_S
    clock()
    assert redis.info("commandstats")["cmdstat_time"]["calls"] == asked + 2


def test_it_goes_on_while_redis_is_away(server: RedisServer) -> None:
    """By what it knew, and before it knew anything by this machine's clock."""
    monotonic = [100.0]
    with connect(server.url, 0.5) as client:
        clock = StoreClock(client, monotonic=lambda: monotonic[0], clock=lambda: 5.0)
        known = clock()
        server.kill()
        monotonic[0] += 2 * LOOK_EVERY_S
        ignorant = StoreClock(client, monotonic=lambda: monotonic[0], clock=lambda: 5.0)

        assert clock() - known == pytest.approx(2 * LOOK_EVERY_S)
        assert ignorant() == pytest.approx(5.0)
        server.start()
        monotonic[0] += LOOK_EVERY_S
        assert ignorant() == pytest.approx(now(client), abs=1)


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> GameStore:
    """Return an empty store of each kind in turn."""
    if request.param == "memory":
        return MemoryStore()
    client = request.getfixturevalue("redis")
    return RedisStore(client, finished_ttl_s=60, idle_ttl_s=60, idempotency_ttl_s=60)


def test_what_is_noted_for_later_is_recalled_and_nothing_else(store: GameStore) -> None:
    """Of all four lists; what is due already keeps its place."""
    for what in (BOTS, NEWS):
        store.mark_waiting("later", 900.0, what)
        store.mark_waiting("due", 100.0, what)
    for agenda in (CLOCK, DELIVERIES):
        store.note_due(agenda, "later", 900.0)
        store.note_due(agenda, "due", 100.0)

    store.recall(200.0)

    for what in (BOTS, NEWS):
        assert store.waiting_games(199.0, 9, what) == ["due"]
        assert store.waiting_games(200.0, 9, what) == ["due", "later"]
    for agenda in (CLOCK, DELIVERIES):
        assert store.due(agenda, 199.0, 9) == ["due"]
        assert store.due(agenda, 200.0, 9) == ["due", "later"]
