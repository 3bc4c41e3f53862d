"""The clock of the service: Redis's own, so that all processes have one, on whatever machine.

A deadline is set by one process and judged by another, a game that waits is marked by one and found
by another. By clocks of their own they would have to agree to the second, and one that is an hour
ahead would end everybody's turns. Between two looks at Redis, time is counted by the monotonic
clock, so a machine whose clock is put forward or back tells the same time as before."""

import time
from collections.abc import Callable
from contextlib import suppress

import redis

from service.games.errors import StoreUnavailable
from service.store.errors import store_errors

LOOK_EVERY_S = 5.0
"""Clocks drift by far less than what matters here; one TIME in so long costs nothing."""


class StoreClock:
    """Seconds since 1970. May be shared by threads and greenlets.

    While Redis is away it goes on by what it knew; before it ever knew, by this machine's clock."""

    def __init__(
        self,
        client: redis.Redis,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use `client`; nothing is sent yet."""
        self._client = client
        self._monotonic = monotonic
        self._ahead_s = clock() - monotonic()
        """What to add to the monotonic clock."""
        self._look_at = monotonic()

    def __call__(self) -> float:
        """Return the time."""
        if self._monotonic() >= self._look_at:
            with suppress(StoreUnavailable):
                self._look()
        return self._monotonic() + self._ahead_s

    def _look(self) -> None:
        """Ask Redis; raises StoreUnavailable, and asks again after a while only."""
        before = self._monotonic()
        # Others need not ask meanwhile.
        self._look_at = before + LOOK_EVERY_S
        with store_errors():
            seconds, micros = self._client.time()
        # It was read half-way between question and answer, as far as one can tell.
        half_way = (before + self._monotonic()) / 2
        self._ahead_s = seconds + micros / 1e6 - half_way
