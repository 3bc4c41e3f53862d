"""What is counted and read for operators beside the games: the queues' figures, and the counters
that stores and workers keep in one hash.

Read by whoever answers `/metrics`, over connections of its own with a short patience. Nothing here
decides anything about a game.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis
from rq.utils import str_to_date

from service.games.ports import BOTS, QUEUES
from service.store import keys
from service.store.errors import queue_errors, store_errors

LASTING, ENDED = ("open", "playing"), ("finished", "abandoned")
STATUSES = LASTING + ENDED
MOST_LOOKED_AT = 1000
"""Games of a status whose time seems over that are looked at in one reading."""


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """One queue, as it is now."""

    queued: int
    """Jobs that wait."""
    running: int
    """Jobs that a worker has in hand, as KEDA counts them."""
    failed: int
    """Jobs that failed in the last hour."""
    workers: int
    """Workers that have registered."""
    oldest_s: float
    """Seconds since the job that is next was queued; 0 where none waits."""


class Figures:
    """The figures in Redis: of the store's and of the queues'."""

    def __init__(self, state: redis.Redis, queues: redis.Redis) -> None:
        """Use two clients that answer in bytes; nothing is sent yet."""
        # Their answers are typed as bytes or text, whichever a client may have been made for.
        self._state: Any = state
        self._queues: Any = queues

    def queues(self, now_s: float) -> dict[str, QueueFigures]:
        """Return the figures of each queue; raises StoreUnavailable."""
        with queue_errors():
            pipeline = self._queues.pipeline(transaction=False)
            for queue in QUEUES:
                pipeline.llen(f"rq:queue:{queue}")
                pipeline.zcard(f"rq:wip:{queue}")
                pipeline.zcount(f"rq:failed:{queue}", now_s, "+inf")
                pipeline.scard(f"rq:workers:{queue}")
                pipeline.lindex(f"rq:queue:{queue}", 0)
            answers = pipeline.execute()
            heads = answers[4::5]
            for head in heads:
                pipeline.hget(b"rq:job:" + (head or b""), "enqueued_at")
            since = pipeline.execute(raise_on_error=False)
        found = {}
        for number, queue in enumerate(QUEUES):
            queued, running, failed, workers, head = answers[5 * number : 5 * number + 5]
            # A job that is taken between the two looks has left no trace, or runs.
            at_s = _seconds_of(since[number], now_s)
            found[queue] = QueueFigures(
                queued, running, failed, workers, max(now_s - at_s, 0.0) if head else 0.0
            )
        return found

    def waiting_for_bots(self) -> int:
        """Return how many games wait for a bot; raises StoreUnavailable."""
        with store_errors():
            return int(self._state.zcard(keys.waiting_key(BOTS)))

    def games(self, now_s: float) -> dict[str, int]:
        """Return how many games are stored, by status; raises StoreUnavailable."""
        with store_errors():
            self._drop_expired(now_s)
            pipeline = self._state.pipeline(transaction=False)
            for status in STATUSES:
                pipeline.zcard(keys.status_key(status))
            return dict(zip(STATUSES, pipeline.execute(), strict=True))

    def _drop_expired(self, now_s: float) -> None:
        """Take games off the lists that are no longer kept: of those in play the time to live has
        begun anew with each action, which their note does not say, so they are looked at.
        """
        pipeline = self._state.pipeline(transaction=False)
        for status in ENDED:
            pipeline.zremrangebyscore(keys.status_key(status), "-inf", now_s)
        for status in LASTING:
            pipeline.zrangebyscore(keys.status_key(status), "-inf", now_s, 0, MOST_LOOKED_AT)
        due = pipeline.execute()[len(ENDED) :]
        noted = [
            (s, game.decode()) for s, games in zip(LASTING, due, strict=True) for game in games
        ]
        for _, game in noted:
            pipeline.ttl(keys.state_key(game))
        for (status, game), left_s in zip(noted, pipeline.execute(), strict=True):
            if left_s > 0:
                pipeline.zadd(keys.status_key(status), {game: now_s + left_s}, xx=True)
            else:
                pipeline.zrem(keys.status_key(status), game)
        pipeline.execute()

    def counters(self) -> dict[str, float]:
        """Return all that `count` was given so far, by name; raises StoreUnavailable."""
        with store_errors():
            stored = self._state.hgetall(keys.COUNTERS)
        return {name.decode(): float(value) for name, value in stored.items()}


def _seconds_of(written: object, otherwise_s: float) -> float:
    """Return a moment as RQ writes it in seconds since 1970; `otherwise_s` where none is written,
    or what nobody can read.
    """
    if not isinstance(written, bytes):
        return otherwise_s
    try:
        return float(str_to_date(written).timestamp())
    except ValueError:
        return otherwise_s


def note_status(
    client: redis.Redis, game_id: str, status: str, left: str | None, expires_at_s: float
) -> None:
    """Put a game on the list of its status and off the list of the one that it left; raises
    StoreUnavailable.
    """
    with store_errors():
        pipeline = client.pipeline(transaction=False)
        if left is not None:
            pipeline.zrem(keys.status_key(left), game_id)
        pipeline.zadd(keys.status_key(status), {game_id: expires_at_s})
        pipeline.execute()


def count(client: redis.Redis, amounts: Mapping[str, float]) -> None:
    """Add to the counters, in one go; raises StoreUnavailable."""
    with store_errors():
        pipeline = client.pipeline(transaction=False)
        for name, amount in amounts.items():
            pipeline.hincrbyfloat(keys.COUNTERS, name, amount)
        pipeline.execute()
