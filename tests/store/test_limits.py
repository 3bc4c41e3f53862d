"""Counting requests: over Redis and in memory alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis as redis_py

from service.games.errors import StoreUnavailable
from service.games.limits import Allowance
from service.store.connecting import connect
from service.store.limits import KeyLimits, memory_limits, redis_limits

MINUTE_S = 1_790_000_040.0
"""The beginning of a minute."""


class Clock:
    """A clock that a test sets."""

    now_s = MINUTE_S

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "redis"])
def limits(request: pytest.FixtureRequest, clock: Clock) -> KeyLimits:
    """Return limits of each kind in turn, nothing used."""
    if request.param == "memory":
        return memory_limits(clock)
    client: redis_py.Redis = request.getfixturevalue("redis")
    return redis_limits(client, clock)


def test_a_bucket_is_used_up_and_full_again_with_the_next_minute(
    limits: KeyLimits, clock: Clock
) -> None:
    clock.now_s = MINUTE_S + 45
    taken = [limits.take("actions", "me", 3) for _ in range(4)]

    assert [one.left for one in taken] == [2, 1, 0, 0]
    assert [one.is_allowed for one in taken] == [True, True, True, False]
    assert taken[0] == Allowance("actions", 3, 2, 15, is_allowed=True)
    clock.now_s = MINUTE_S + 60
    assert limits.take("actions", "me", 3).left == 2


def test_buckets_and_callers_are_apart(limits: KeyLimits) -> None:
    """Hints never block play, and nobody is refused for another."""
    for _ in range(5):
        limits.take("hints", "me", 2)

    assert limits.take("actions", "me", 2).left == 1
    assert limits.take("hints", "you", 2).left == 1
    assert not limits.take("hints", "me", 2).is_allowed


def test_one_waits_for_a_second_at_least(limits: KeyLimits, clock: Clock) -> None:
    """Not for nought seconds: a client that obeys would come again at once."""
    clock.now_s = MINUTE_S + 59.9

    assert limits.take("actions", "me", 1).reset_s == 1


def test_requests_at_once_are_each_counted(limits: KeyLimits) -> None:
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: limits.take("actions", "me", 50), range(80)))

    assert sum(one.is_allowed for one in taken) == 50


def test_counters_do_not_stay(redis: redis_py.Redis, clock: Clock) -> None:
    """Two minutes are enough."""
    redis_limits(redis, clock).take("actions", "me", 3)

    (key,) = redis.keys("prs:limit*")
    assert 60 <= redis.ttl(key) <= 120


def test_a_redis_that_is_away_is_told_of(clock: Clock) -> None:
    with connect("redis://127.0.0.1:1/0", 0.1) as client, pytest.raises(StoreUnavailable):
        redis_limits(client, clock).take("actions", "me", 3)
