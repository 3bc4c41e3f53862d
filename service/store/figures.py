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
from service.store.errors import store_errors


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """One queue, as it is now."""

    queued: int
    """Jobs that wait."""
    running: int
    """Jobs that a worker has in hand, as KEDA counts them."""
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
        with store_errors():
            pipeline = self._queues.pipeline(transaction=False)
            for queue in QUEUES:
                pipeline.llen(f"rq:queue:{queue}")
                pipeline.zcard(f"rq:wip:{queue}")
                pipeline.scard(f"rq:workers:{queue}")
                pipeline.lindex(f"rq:queue:{queue}", 0)
            answers = pipeline.execute()
            heads = answers[3::4]
            for head in heads:
                pipeline.hget(b"rq:job:" + (head or b""), "enqueued_at")
            since = pipeline.execute()
        found = {}
        for number, queue in enumerate(QUEUES):
            queued, running, workers, head = answers[4 * number : 4 * number + 4]
            # A job that is taken between the two looks has left no trace, or runs.
            at_s = now_s if since[number] is None else str_to_date(since[number]).timestamp()
            found[queue] = QueueFigures(
                queued, running, workers, max(now_s - at_s, 0.0) if head else 0.0
            )
        return found

    def waiting_for_bots(self) -> int:
        """Return how many games wait for a bot; raises StoreUnavailable."""
        with store_errors():
            return int(self._state.zcard(keys.waiting_key(BOTS)))

    def counters(self) -> dict[str, float]:
        """Return all that `count` was given so far, by name; raises StoreUnavailable."""
        with store_errors():
            stored = self._state.hgetall(keys.COUNTERS)
        return {name.decode(): float(value) for name, value in stored.items()}


def count(client: redis.Redis, amounts: Mapping[str, float]) -> None:
    """Add to the counters, in one go; raises StoreUnavailable."""
    with store_errors():
        pipeline = client.pipeline(transaction=False)
        for name, amount in amounts.items():
            pipeline.hincrbyfloat(keys.COUNTERS, name, amount)
        pipeline.execute()
