"""A worker of hints alone: what it costs to have, and how soon it begins, answers and stops.

A real process on a real Redis. The times of a job are those that RQ notes at its start and end;
when something can first be read is seen by looking again and again. Other programs add to all of
these, so the same is measured once more in processor time, without a queue.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from rq.job import Job

from service.games.advice import HINT, ask_hint, cancel_hint
from service.games.house import House
from tests.bench.figures import show, show_command
from tests.bench.processes import cpu_s, memory_mb, peak_mb
from tests.e2e.harness import ROOT, wait_until
from tests.workers.tables import APP, four_people, view_of
from workers.hints import write_hint
from workers.house import house
from workers.search.search import Search
from workers.warmup import choose_cache, warm_up

pytestmark = pytest.mark.bench

START_S = 600.0
"""On a busy machine; a cold start takes a minute, a warm one two seconds."""
WARM_STARTS = 5
LONG_HINT = 1_000_000
"""Iterations of a hint for the memory, some ten seconds: its tree is what grows."""
HINTS = 25
LOOK_EVERY_S = 0.002
STEPS = 45
"""Random actions before the hint: about the middle of a deal."""


@dataclass(frozen=True)
class Worker:
    """A running worker of hints, warm."""

    pid: int
    start_s: float
    """From its process's start until it was warm."""
    processor_s: float
    """Processor time that this took."""


@contextmanager
def worker(redis_url: str, cache: Path, output: Path) -> Iterator[Worker]:
    """Run one, its kernels kept in `cache`, its lines in `output`."""
    env = {**os.environ, "REDIS_URL": redis_url, "PERSIAN_RUMMY_NUMBA_CACHE_DIR": str(cache)}
    with output.open("wb") as lines:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "workers", "work", "hints"],
            cwd=ROOT,
            env={**env, "PERSIAN_RUMMY_LOG_FORMAT": "json"},
            stdout=lines,
            stderr=lines,
        )
    try:
        wait_until(lambda: b"worker_warm" in output.read_bytes(), START_S, "the worker")
        taken = time.perf_counter() - began
        yield Worker(process.pid, taken, cpu_s([process.pid]))
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def here(redis: redis_py.Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Return the House over the session's Redis, emptied."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("PERSIAN_RUMMY_JOB_TIMEOUT_S", f"{START_S:.0f}")
    house.cache_clear()
    yield house()
    house.cache_clear()


@pytest.fixture
def game_id(here: House) -> str:
    """Return a game of four people in the middle of a deal, with a choice for the one to move."""
    for number in range(100):
        made = four_people(here, f"bench-{number}", STEPS)
        if len(Search(view_of(here, made), "", 1).moves()) > 5:
            return made
    raise AssertionError("no such game")


def test_worker_starts_and_memory(
    redis_url: str, here: House, game_id: str, tmp_path: Path
) -> None:
    """Without the kernels' cache once, then with it; then a long hint."""
    show_command("worker_starts")
    with worker(redis_url, tmp_path / "cache", tmp_path / "cold") as cold:
        resident, own = memory_mb(cold.pid)
        print(
            f"\ncold start: {cold.start_s:.1f} s, {cold.processor_s:.1f} s of processor time "
            f"(aim: 60); {resident:.0f} MB resident then, {own:.0f} MB its own",
            end="",
        )
    started, spent = [], []
    for number in range(WARM_STARTS):
        with worker(redis_url, tmp_path / "cache", tmp_path / f"warm-{number}") as warm:
            started.append(warm.start_s)
            spent.append(warm.processor_s)
            if number == WARM_STARTS - 1:
                asked = ask_hint(here, APP, game_id, None, {"iterations": LONG_HINT}).body
                assert ended_job(here, asked["id"], game_id).is_finished
                resident, own = memory_mb(warm.pid)
                peak = peak_mb(warm.pid)
    show("warm start", started, "s (aim: 3)")
    show("processor time of it", spent, "s")
    print(
        f"\na hint of {LONG_HINT:,} iterations: {peak:.0f} MB resident at most (aim: 400), "
        f"{resident:.0f} MB after it, {own:.0f} MB of them its own",
        end="",
    )


def hint_of(here: House, game_id: str, task_id: str) -> dict[str, Any]:
    """Return the hint's document as it is now."""
    document = here.store.load_task(game_id, HINT, task_id)
    assert document is not None
    return document


def ended_job(here: House, task_id: str, game_id: str) -> Job:
    """Wait for the end of the hint's job; return it."""
    found: list[Job] = []

    def is_over() -> bool:
        connection = redis_py.Redis.from_url(os.environ["REDIS_URL"])
        with connection:
            job = Job.fetch(f"{HINT}-{game_id}-{task_id}", connection, serializer="json")
        found.append(job)
        return job.ended_at is not None

    wait_until(is_over, START_S, "the hint")
    return found[-1]


@dataclass(frozen=True)
class Course:
    """When things of one hint happened, in seconds since the epoch."""

    asked: float
    started: float
    """RQ took the job."""
    first: float | None
    """A best action could first be read."""
    told: float | None
    """The hint was cancelled."""
    ended: float
    """RQ noted the job's end."""


def follow(
    here: House, game_id: str, request: dict[str, Any], cancel_after_s: float | None = None
) -> Course:
    """Ask for a hint, look at it until it has a best action, cancel it if asked to; wait for its
    end.
    """
    asked = time.time()
    task_id = ask_hint(here, APP, game_id, None, request).body["id"]
    first = None
    while first is None and cancel_after_s is None:
        if hint_of(here, game_id, task_id)["best"] is not None:
            first = time.time()
        time.sleep(LOOK_EVERY_S)
    told = None
    if cancel_after_s is not None:
        wait_until(lambda: hint_of(here, game_id, task_id)["best"] is not None, 60, "an answer")
        time.sleep(cancel_after_s)
        told = time.time()
        cancel_hint(here, APP, game_id, task_id)
    job = ended_job(here, task_id, game_id)
    assert job.started_at is not None
    assert job.ended_at is not None
    return Course(asked, _seconds(job.started_at), first, told, _seconds(job.ended_at))


def _seconds(at: datetime) -> float:
    return at.replace(tzinfo=UTC).timestamp() if at.tzinfo is None else at.timestamp()


@pytest.fixture
def warm_worker(redis_url: str, here: House, game_id: str, tmp_path: Path) -> Iterator[Worker]:
    """Run a worker with the user's cache, which has done one hint."""
    base = choose_cache().parent
    with worker(redis_url, base, tmp_path / "output") as running:
        follow(here, game_id, {"iterations": 4_000})
        yield running


def test_worker_answers_and_stops_in_time(warm_worker: Worker, here: House, game_id: str) -> None:
    """The first best action, a deadline, a cancelling; each a hint of its own in mid-deal."""
    show_command("worker_answers")
    first, queued, late, stopped = [], [], [], []
    for number in range(HINTS):
        seconds = (0.25, 0.5, 1.0)[number % 3]
        course = follow(here, game_id, {"seconds": seconds, "seed": str(number)})
        assert course.first is not None
        first.append(1000 * (course.first - course.started))
        queued.append(1000 * (course.first - course.asked))
        late.append(1000 * (course.ended - course.started - seconds))
        course = follow(here, game_id, {"seconds": 20}, cancel_after_s=0.1 + 0.007 * number)
        assert course.told is not None
        stopped.append(1000 * (course.ended - course.told))
    show("first best action after the job's start", first, "ms (aim: 150)")
    show("the same after it was asked for", queued, "ms")
    show("end of the job after the time given", late, "ms (aim: within 50)")
    show("end of the job after it was cancelled", stopped, "ms (aim: 100)")


def test_worker_paces(here: House, game_id: str) -> None:
    """A hint's looks at whether it is still wanted, each a save of its document."""
    show_command("worker_paces")
    warm_up(choose_cache())
    view = view_of(here, game_id)
    for seconds in (0.25, 1.0, 4.0):
        first, longest, last, late = [], [], [], []
        for number in range(5):
            looks = [time.thread_time()]

            def look(_document: dict[str, Any], looks: list[float] = looks) -> bool:
                looks.append(time.thread_time())
                return True

            request = {"seconds": seconds, "seed": str(number)}
            write_hint(view, request, {"status": "running"}, look, str, time.thread_time)
            gaps = [1000 * (after - before) for before, after in itertools.pairwise(looks)]
            first.append(gaps[0])
            longest.append(max(gaps[1:-1]))
            last.append(gaps[-1])
            late.append(1000 * (looks[-1] - looks[0] - seconds))
        show(f"hint of {seconds:g} s: first look", first, "ms of processor time (aim: 150)")
        show("longest time between two looks while it searches", longest, "ms (aim: 100)")
        show("time without a look at the end, while it samples", last, "ms (aim: 100)")
        show("end after the time given", late, "ms (aim: within 50)")
