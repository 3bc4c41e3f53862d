"""Errors of Redis, in one place: those that mean "not there for us now" become StoreUnavailable.

Why it is not there (no answer, a certificate, a password) is told in the log, once in a while:
callers are told that it is away and no more."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import (
    AskError,
    ConnectionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    ResponseError,
    SlotNotCoveredError,
    TimeoutError,
    TryAgainError,
)

from service.games.errors import StoreUnavailable
from service.logs import get_logger

log = get_logger(__name__)
TOLD_EVERY_S = 5.0
_told_at = float("-inf")
_REFUSALS = ("BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM")
"""First words of answers that say "not now"; inside a script they stand behind other text."""

_AWAY = (
    ConnectionError,
    TimeoutError,
    ReadOnlyError,
    OutOfMemoryError,
    # A slot of a cluster that nobody has, or that is being moved.
    SlotNotCoveredError,
    AskError,
    TryAgainError,
)


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn errors of a Redis that cannot be used now into StoreUnavailable; let others pass."""
    try:
        yield
    except _AWAY as error:
        tell_away(error)
        raise StoreUnavailable from error
    except RedisClusterException as error:
        # Of one class with faults of the program: no node could be reached.
        if isinstance(error.__cause__, (ConnectionError, TimeoutError)):
            tell_away(error.__cause__)
            raise StoreUnavailable from error
        raise
    except ResponseError as error:
        if any(word in str(error) for word in _REFUSALS):
            tell_away(error)
            raise StoreUnavailable from error
        raise


@contextmanager
def queue_errors() -> Iterator[None]:
    """As `store_errors`, for the queues' Redis, which may be less guarded than the games': what
    somebody has put there in the place of what RQ keeps cannot be used now.
    """
    with store_errors():
        try:
            yield
        except ResponseError as error:
            if "WRONGTYPE" in str(error):
                raise StoreUnavailable from error
            raise


def tell_away(error: Exception) -> None:
    """Tell why Redis cannot be used, unless that was told just now."""
    global _told_at
    now = time.monotonic()
    if now - _told_at < TOLD_EVERY_S:
        return
    _told_at = now
    if isinstance(error, (ConnectionError, TimeoutError)):
        why = str(error)
    else:
        # An answer of Redis's. redis-py puts the command before it, which may have cards in it.
        why = next((word for word in _REFUSALS if word in str(error)), "")
    log.warning("store_away", error=type(error).__name__, why=why)


def is_full(error: StoreUnavailable) -> bool:
    """Tell whether Redis is there and only takes nothing more: what it has can be read."""
    cause = error.__cause__
    return isinstance(cause, OutOfMemoryError) or "OOM " in str(cause)
