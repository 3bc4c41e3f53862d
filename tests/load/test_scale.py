"""The simulation of queue and pods: against what theory says, and that it keeps its own rules."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.load.scale import Chart, Measured, draw, reckon, simulate, table

STEADY = Chart(min_pods=4, max_pods=4)


def waiting_part(pods: int, load: float) -> float:
    """Return the part of jobs that wait at all, by Erlang's formula C."""
    terms = [load**n / math.factorial(n) for n in range(pods)]
    last = load**pods / math.factorial(pods) / (1 - load / pods)
    return last / (sum(terms) + last)


def test_the_waits_are_those_of_theory() -> None:
    """Four pods, 75 % busy, service of the Erlang kind: mean wait by Lee's and Longton's formula,
    that of M/M/c times half of one and the squared variation.
    """
    turn_s, rate = 0.1, 10.0
    load = 3 * rate * turn_s
    seen = simulate(STEADY, turn_s, (rate, rate), (100.0, 700.0), seed=3)

    waits = [wait for at, wait in seen.waits_s if at > 100]
    expected = waiting_part(4, load) * turn_s / (4 - load) * (1 + 1 / 3) / 2
    assert len(waits) > 15_000
    # Rounds are no Poisson process of jobs: a round's turns come one after the other.
    assert expected * 0.8 < sum(waits) / len(waits) < expected * 1.2


def test_no_job_is_lost_and_no_pod_goes_before_its_job_is_done() -> None:
    """What was begun is done, but for what is in hand or waits at the end."""
    chart = replace(Chart(), cooldown_s=10.0, max_pods=30)
    seen = simulate(chart, 0.5, (10.0, 0.01), (60.0, 200.0), seed=1)

    # At the very end one may be in hand.
    assert 1500 < seen.done <= seen.begun <= seen.done + 1
    counts = [count for _, count in seen.pods]
    assert max(counts) > 10
    assert 1 == counts[-1]


def test_pods_never_pass_their_bounds_and_a_full_queue_refuses() -> None:
    chart = Chart(min_pods=2, max_pods=3, max_queued=20)
    seen = simulate(chart, 1.0, (5.0, 5.0), (30.0, 30.0), seed=1)

    assert {count for _, count in seen.pods} <= {2, 3}
    assert seen.put_off > 100
    assert max(count for _, count in seen.queued) <= 20


def test_a_hundred_times_the_games_take_a_hundred_times_the_memory() -> None:
    """And the busy cores; the table tells of each, and its plot is drawn."""
    few, many = (
        reckon(games, "greedy", Measured(), Chart(max_pods=100), phases_s=(3.0, 3.0))
        for games in (10_000, 1_000_000)
    )

    assert many.redis_gb == pytest.approx(100 * few.redis_gb)
    assert many.bot_cores == pytest.approx(100 * few.bot_cores)
    assert few.pods <= many.pods <= 100
    assert few.redis_gb == pytest.approx(0.01e6 * (7 * 7_400 + 48 * 1_400) / 1e9)
    assert 4 == len(table([few, many], Chart(), (0.04, 0.01)).split("\n\n")[0].splitlines())


def test_it_is_drawn(tmp_path: Path) -> None:
    found = reckon(1000, "skilled", Measured(), Chart(), phases_s=(3.0, 3.0))

    draw([found], tmp_path / "plot.svg")

    assert "<svg" in (tmp_path / "plot.svg").read_text()
