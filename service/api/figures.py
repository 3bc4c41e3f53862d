"""Prometheus' view of what lies in Redis: queues, games, the workers' search and bots.

Read when `/metrics` is asked for, by the process that answers, so it is never added up over
processes. What Redis does not tell at once is left out, and the rest is told.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from service.games.counting import (
    GAMES,
    ITERATIONS,
    THOUGHT,
    THOUGHT_BUCKETS_S,
    THOUGHT_S,
    WAITED,
    WAITED_BUCKETS_S,
    WAITED_S,
)
from service.games.errors import Unavailable
from service.store.figures import QueueFigures

Value = TypeVar("Value")


class Source(Protocol):
    """Where the figures are read; `service/store/figures.py` has them in Redis."""

    def queues(self, now_s: float) -> dict[str, QueueFigures]:
        """Return the figures of each queue."""

    def waiting_for_bots(self) -> int:
        """Return how many games wait for a bot."""

    def games(self, now_s: float) -> dict[str, int]:
        """Return how many games are stored, by status."""

    def counters(self) -> dict[str, float]:
        """Return the counters by name."""


class FiguresCollector(Collector):
    """Makes metrics of the figures."""

    def __init__(self, source: Source, clock: Callable[[], float] = time.time) -> None:
        """Read from `source`, later."""
        self._source = source
        self._clock = clock

    def describe(self) -> Iterable[Metric]:
        """Return all metrics without values: Redis is not asked when this is registered."""
        return [*_of_queues({}), *_of_games(None, {}), *_of_counters({})]

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of what answers."""
        queues = _or_none(lambda: self._source.queues(self._clock()))
        if queues is not None:
            yield from _of_queues(queues)
        # One server has both: when it did not answer the first, the second is not waited for.
        waiting = _or_none(self._source.waiting_for_bots)
        if waiting is None:
            return
        yield from _of_games(waiting, _or_none(lambda: self._source.games(self._clock())) or {})
        counters = _or_none(self._source.counters)
        if counters is not None:
            yield from _of_counters(counters)


def _or_none(read: Callable[[], Value]) -> Value | None:
    try:
        return read()
    except Unavailable:
        return None


def _of_queues(queues: dict[str, QueueFigures]) -> list[Metric]:
    def gauge(name: str, about: str, value: Callable[[QueueFigures], float]) -> Metric:
        family = GaugeMetricFamily(f"persian_rummy_{name}", about, labels=("queue",))
        for queue, figures in queues.items():
            family.add_metric((queue,), value(figures))
        return family

    return [
        gauge("jobs_queued", "Jobs that wait.", lambda queue: queue.queued),
        gauge("jobs_running", "Jobs in hand.", lambda queue: queue.running),
        gauge("jobs_failed", "Jobs that failed in the last hour.", lambda queue: queue.failed),
        gauge("workers", "Workers registered.", lambda queue: queue.workers),
        gauge(
            "oldest_job_seconds",
            "Seconds since the next job was queued; 0 where none waits.",
            lambda queue: queue.oldest_s,
        ),
    ]


def _of_games(waiting: int | None, by_status: dict[str, int]) -> list[Metric]:
    stored = GaugeMetricFamily(
        "persian_rummy_games_stored", "Games that are kept.", labels=("status",)
    )
    for status, count in by_status.items():
        stored.add_metric((status,), count)
    return [
        GaugeMetricFamily(
            "persian_rummy_games_waiting_for_bot", "Games in which a bot is to move.", value=waiting
        ),
        stored,
    ]


def _of_counters(counters: dict[str, float]) -> list[Metric]:
    games = CounterMetricFamily(
        "persian_rummy_games", "Games created, finished, abandoned.", labels=("event",)
    )
    iterations = CounterMetricFamily(
        "persian_rummy_search_iterations", "Iterations of the tree search.", labels=("work",)
    )
    thought = HistogramMetricFamily(
        "persian_rummy_bot_think_seconds", "Seconds that a bot thought.", labels=("level",)
    )
    waited = HistogramMetricFamily(
        "persian_rummy_job_wait_seconds", "Seconds that a job waited.", labels=("queue",)
    )
    for name, value in sorted(counters.items()):
        kind, _, rest = name.partition(":")
        if kind == GAMES:
            games.add_metric((rest,), value)
        elif kind == ITERATIONS:
            iterations.add_metric((rest,), value)
    _fill(thought, counters, (THOUGHT, THOUGHT_S), THOUGHT_BUCKETS_S)
    _fill(waited, counters, (WAITED, WAITED_S), WAITED_BUCKETS_S)
    return [games, iterations, thought, waited]


def _fill(
    family: HistogramMetricFamily,
    counters: dict[str, float],
    kinds: tuple[str, str],
    ends: Sequence[float],
) -> None:
    """Fill a histogram from the counters of its buckets (`KIND:LABEL:BUCKET`) and of its sum."""
    kind, sum_kind = kinds
    found: dict[str, list[float]] = {}
    for name, value in sorted(counters.items()):
        of, _, rest = name.partition(":")
        if of == kind:
            label, _, bucket = rest.partition(":")
            counts = found.setdefault(label, [0.0] * (len(ends) + 1))
            counts[bisect_left(ends, float(bucket))] += value
    for label, counts in found.items():
        below = [sum(counts[: place + 1]) for place in range(len(counts))]
        family.add_metric(
            (label,),
            buckets=list(zip([*map(str, ends), "+Inf"], below, strict=True)),
            sum_value=counters.get(f"{sum_kind}:{label}", 0.0),
        )
