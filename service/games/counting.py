"""What is counted of games, of workers' thinking and of queues, by the names it is kept under.

A name is a kind and what it is of, with colons between. Counting is for operators only: what cannot
be counted is lost, and no game waits for it.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

GAMES = "games"
"""`games:EVENT`: games that were created, finished, abandoned."""
ITERATIONS = "iterations"
"""`iterations:WORK`: of the tree search, for bots, hints, positions, reviews."""
THOUGHT = "thought"
"""`thought:LEVEL:BUCKET`: a bot's actions that took up to BUCKET seconds and no shorter bucket."""
THOUGHT_S = "thought_s"
"""`thought_s:LEVEL`: the seconds of them all."""
THOUGHT_BUCKETS_S = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
WAITED = "waited"
"""`waited:QUEUE:BUCKET`: jobs that waited up to BUCKET seconds and no shorter bucket."""
WAITED_S = "waited_s"
"""`waited_s:QUEUE`: the seconds of them all."""
WAITED_BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


def game_event(version: int, status: str) -> Mapping[str, float]:
    """Return what a commit adds to the counters: most add nothing.

    >>> game_event(0, "playing"), game_event(7, "playing")
    ({'games:created': 1}, {})
    """
    if version == 0:
        return {f"{GAMES}:created": 1}
    # Nothing follows in a game that is over.
    return {f"{GAMES}:{status}": 1} if status in ("finished", "abandoned") else {}


def thought(level: str, seconds: float, iterations: int) -> Mapping[str, float]:
    """Return what one action of a bot adds to the counters."""
    bucket = _bucket(THOUGHT_BUCKETS_S, seconds)
    amounts = {f"{THOUGHT}:{level}:{bucket}": 1.0, f"{THOUGHT_S}:{level}": seconds}
    return amounts | searched("bot", iterations)


def waited(queue: str, seconds: float) -> Mapping[str, float]:
    """Return what a job that waited so long in its queue adds to the counters."""
    bucket = _bucket(WAITED_BUCKETS_S, seconds)
    return {f"{WAITED}:{queue}:{bucket}": 1.0, f"{WAITED_S}:{queue}": seconds}


def _bucket(ends: Sequence[float], seconds: float) -> float:
    """Return the end of the shortest bucket that holds so many seconds."""
    place = bisect_left(ends, seconds)
    return ends[place] if place < len(ends) else float("inf")


def searched(work: str, iterations: int) -> dict[str, float]:
    """Return what a search adds to the counters."""
    return {f"{ITERATIONS}:{work}": iterations} if iterations else {}
