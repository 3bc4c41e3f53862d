"""The time that an answer takes tells nothing of hidden cards.

Twice: by the path that our code takes, which must be the very same line by line whatever the unseen
cards are, and by the processor's time over many answers, for what the lines do not show. The second
is a randomisation test: requests to the twins in an order drawn by lot, so that nothing else that
the machine does can make a difference, and a bound that chance passes once in two million runs."""

from __future__ import annotations

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import service
from tests.api.test_hidden import Side, two_sides

CODE = str(Path(service.__file__).parent)
SEAT = 1
LOOKS = ("", "/legal-actions", "/actions", "/hints/h9")
ANSWERS = 1200
"""Of each twin."""
MOST_Z = 5.0
"""Standard deviations: by chance one run in 1.7 million is beyond."""


def lines_run(ask: Callable[[], None]) -> Counter[tuple[str, int]]:
    """Return how often each line of ours is run."""
    found: Counter[tuple[str, int]] = Counter()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            found[frame.f_code.co_filename, frame.f_lineno] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        ask()
    finally:
        sys.settrace(before)
    return found


def look(side: Side, path: str, token: str) -> None:
    """Ask, and forget the answer."""
    side.ask("GET", f"/games/{side.game.id}{path}", token)
    side.sent.clear()


@pytest.mark.parametrize("steps", [0, 9, 30, 60, 90])
def test_the_same_lines_run_whatever_the_unseen_cards_are(steps: int) -> None:
    """For a seat and for a spectator; the second time, when all that is kept is there."""
    looked = 0
    for viewer, name in ((SEAT, str(SEAT)), (None, "spectator")):
        sides, tokens = two_sides(steps, steps, viewer, random.Random(steps))
        for path in LOOKS:
            for side in sides:
                look(side, path, tokens[name])
            token = tokens[name]
            runs = [lines_run(partial(look, side, path, token)) for side in sides]
            assert runs[0] == runs[1]
            looked += sum(runs[0].values())
    assert looked > 1_000


def z_of_ranks(times: list[int], is_second: list[bool]) -> float:
    """Return by how many standard deviations the second group's ranks are off (Mann and Whitney).

    Ties, few among nanoseconds, share their ranks by lot of the order."""
    ranks = np.empty(len(times))
    ranks[np.argsort(times, kind="stable")] = np.arange(1, len(times) + 1)
    second = np.array(is_second)
    n, m = int(second.sum()), int((~second).sum())
    off = float(ranks[second].sum()) - n * (n + m + 1) / 2
    return off / math.sqrt(n * m * (n + m + 1) / 12)


def compare_times(asks: list[Callable[[], None]]) -> tuple[float, int]:
    """Ask both, often and in an order drawn by lot; return by how much their times differ, and the
    median time in nanoseconds.
    """
    order = [index % 2 == 1 for index in range(2 * ANSWERS)]
    random.Random(1).shuffle(order)
    times = []
    for is_second in order:
        began = time.thread_time_ns()
        asks[is_second]()
        times.append(time.thread_time_ns() - began)
    return z_of_ranks(times, order), int(np.median(times))


def test_the_time_of_an_answer_does_not_tell_the_twins_apart() -> None:
    sides, tokens = two_sides(7, 45, SEAT, random.Random(7))
    assert sides[0].game.match.deal.hands != sides[1].game.match.deal.hands
    asks = [lambda side=side: look(side, "", tokens[str(SEAT)]) for side in sides]
    for ask in asks:
        ask()

    z, median_ns = compare_times(asks)
    # A check of the check: had one of the twins a third more to do, it would be seen.
    longer, _ = compare_times([asks[0], lambda: work_on(asks[1], median_ns // 3)])

    print(f"\nthe twins differ by {z:+.2f} standard deviations, {longer:+.1f} with a third more")
    assert abs(z) < MOST_Z
    assert longer > MOST_Z


def work_on(ask: Callable[[], None], more_ns: int) -> None:
    """Ask, and work for so long besides."""
    ask()
    end_at = time.thread_time_ns() + more_ns
    while time.thread_time_ns() < end_at:
        pass
