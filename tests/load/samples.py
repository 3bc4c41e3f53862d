"""What `/metrics` says at one moment, and what happened between two."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

PREFIX = "persian_rummy_"
ACTIONS = "actions"
WAITS = "waits"
NOT_COUNTED = ("/metrics", "/healthz", "/readyz")
Buckets = dict[float, float]
"""Counts of values up to each end, as Prometheus has them."""


@dataclass(frozen=True)
class Sample:
    """The counters at one moment."""

    at_s: float
    requests: float
    """Answered so far, by all processes; without those that look on."""
    queued: float
    """Jobs that wait in all queues."""
    finished: float
    """Games finished so far."""
    iterations: float
    """Of the search so far."""
    attended: frozenset[str] = frozenset()
    """Queues that have a worker."""
    buckets: dict[str, Buckets] = field(default_factory=dict)
    """Seconds of `ACTIONS` (from a request to its answer) and of `WAITS` (of jobs in queues)."""


def read_sample(text: str, at_s: float) -> Sample:
    """Read Prometheus' text format."""
    sums: dict[str, float] = defaultdict(float)
    attended = set()
    buckets: dict[str, Buckets] = {ACTIONS: defaultdict(float), WAITS: defaultdict(float)}
    for family in text_string_to_metric_families(text):
        for each in family.samples:
            name, labels = each.name.removeprefix(PREFIX), each.labels
            if name == "http_requests_total" and labels["route"] not in NOT_COUNTED:
                sums["requests"] += each.value
            elif name == "jobs_queued":
                sums["queued"] += each.value
            elif name == "workers" and each.value:
                attended.add(labels["queue"])
            elif name == "games_total" and labels["event"] == "finished":
                sums["finished"] += each.value
            elif name == "search_iterations_total":
                sums["iterations"] += each.value
            elif name == "job_wait_seconds_bucket":
                buckets[WAITS][float(labels["le"])] += each.value
            elif (
                name == "http_request_seconds_bucket"
                and labels["route"] == "/games/{game_id}/actions"
                and labels["method"] == "POST"
            ):
                buckets[ACTIONS][float(labels["le"])] += each.value
    return Sample(
        at_s,
        sums["requests"],
        sums["queued"],
        sums["finished"],
        sums["iterations"],
        frozenset(attended),
        {kind: dict(counts) for kind, counts in buckets.items()},
    )


def percentile_between(before: Sample, after: Sample, kind: str, part: float) -> float:
    """Return the seconds that this part of the values between two samples was below; 0 for none.

    Within a bucket they count as evenly spread; beyond the last end that end is returned.

    >>> one, other = ({"waits": {1.0: low, 2.0: high}} for low, high in ((0.0, 0.0), (4.0, 8.0)))
    >>> before, after = (Sample(0, 0, 0, 0, 0, buckets=buckets) for buckets in (one, other))
    >>> percentile_between(before, after, "waits", 0.75)
    1.5
    """
    old, new = before.buckets.get(kind, {}), after.buckets.get(kind, {})
    counts = [(end, new[end] - old.get(end, 0.0)) for end in sorted(new)]
    wanted = part * counts[-1][1] if counts else 0.0
    low_end, low_count = 0.0, 0.0
    for end, count in counts:
        if wanted > 0 and count >= wanted:
            if end == float("inf"):
                return low_end
            return low_end + (end - low_end) * (wanted - low_count) / (count - low_count)
        low_end, low_count = end, count
    return 0.0
