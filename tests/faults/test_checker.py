"""Many clients, faults at random, and then: is what they were told the truth?

Fifteen seconds of faults in the tests; `make faults` takes two minutes (`FAULTS_S`)."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis as redis_py

from service.embedded import RedisServer
from service.supervisor import session_members
from tests.e2e.harness import Service
from tests.faults.crowd import SETTLE_S, Crowd
from tests.faults.history import Acknowledged, check_history

pytestmark = pytest.mark.e2e

FAULTS_S = float(os.environ.get("FAULTS_S", "15"))
SPARED_S = 15.0
"""More than the supervisor calls early: it waits longer each time before it starts a worker again.
"""


@dataclass
class Chaos:
    """Faults, done by the thread that runs the test: a child dies with the thread that made it."""

    service: Service
    server: RedisServer
    rng: random.Random
    done: Counter[str] = field(default_factory=Counter)
    killed_at: float = -1000.0
    """When the bots' worker was killed."""

    def run(self, seconds: float) -> None:
        """Do faults of all kinds in random order, with pauses between them, for some seconds."""
        end = time.monotonic() + seconds
        while True:
            kinds = [
                self.kill_an_api_worker,
                self.kill_the_bots_worker,
                self.stop_redis,
                self.empty_the_queue,
                self.hang_redis,
                self.hang_the_bots_worker,
                self.kill_an_api_worker,
                self.kill_the_sweep,
            ]
            self.rng.shuffle(kinds)
            for fault in kinds:
                if time.monotonic() > end:
                    return
                fault()
                self.done[fault.__name__.replace("_", " ")] += 1
                time.sleep(self.rng.uniform(0.5, 2))

    def kill_an_api_worker(self) -> None:
        """kill -9, in the middle of whatever it does; gunicorn starts another."""
        master = self.service.child("gunicorn")
        assert master is not None
        workers = [pid for pid in session_members(master) if pid != master]
        if workers:
            kill(self.rng.choice(workers))

    def kill_the_bots_worker(self) -> None:
        """kill -9; the supervisor starts another, the sweep calls for the lost turn."""
        pid = self._worker_to_kill()
        if pid is not None:
            kill(pid)

    def kill_the_sweep(self) -> None:
        """kill -9 to the small process beside the bots' worker, and to that worker."""
        pid = self._worker_to_kill()
        if pid is not None:
            for member in session_members(pid):
                kill(member)

    def _worker_to_kill(self) -> int | None:
        """Return the bots' worker, seldom enough that there is one most of the time."""
        pid = self.service.child("workers\0work", "bots")
        if pid is None or time.monotonic() - self.killed_at < SPARED_S:
            return None
        self.killed_at = time.monotonic()
        return pid

    def hang_the_bots_worker(self) -> None:
        """For longer than its jobs count as alive: they are queued again, and run twice."""
        pid = self.service.child("workers\0work", "bots")
        if pid is not None:
            self._hang(pid, self.rng.uniform(3, 4.5))

    def stop_redis(self) -> None:
        """It comes again after a while, with what is in its append-only file."""
        self.server.stop()
        time.sleep(self.rng.uniform(0.2, 1.5))
        self.server.start()

    def hang_redis(self) -> None:
        """Callers give up while their commands lie in its socket, and are done later."""
        assert self.server.process is not None
        self._hang(self.server.process.pid, self.rng.uniform(0.3, 1.5))

    def empty_the_queue(self) -> None:
        """As if somebody had flushed the queues' database."""
        with redis_py.Redis.from_url(self.server.url) as connection:
            lost = list(connection.scan_iter("rq:job:*")) + list(connection.scan_iter("rq:queue:*"))
            if lost:
                connection.delete(*lost)

    def _hang(self, pid: int, seconds: float) -> None:
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            kill(pid, signal.SIGCONT)


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process that may have ended by itself."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def test_what_clients_were_told_is_true_whatever_failed(
    start_service: Callable[..., Service], tmp_path: Path
) -> None:
    """Workers killed and hung, Redis stopped and hung, queues emptied, under games in play."""
    seed = int(os.environ.get("FAULTS_SEED", time.time_ns() % 10**6))
    print(f"\nFAULTS_SEED={seed}")
    rng = random.Random(seed)
    with RedisServer(tmp_path / "redis-of-others") as server:
        service = start_service(REDIS_URL=server.url, PERSIAN_RUMMY_REDIS_TIMEOUT_S="0.5")
        crowd, chaos = Crowd(service.app, rng), Chaos(service, server, rng)
        threads = crowd.start()
        time.sleep(1)
        try:
            chaos.run(FAULTS_S)
        finally:
            crowd.end(threads, SETTLE_S)
        for error in crowd.errors:
            told = [line for line in service.lines if not line.startswith("{")]
            print("faults:", dict(chaos.done), "the service's own lines:", *told[-60:], sep="\n")
            raise error

        lengths = [check_history(history) for history in crowd.histories]
        check_games_made(service, crowd)
        report(crowd, chaos, lengths)
        service.stop()


def check_games_made(service: Service, crowd: Crowd) -> None:
    """Each order made one game, though it was sent many times; all came to their end."""
    listed = []
    path: str | None = "/games?limit=100"
    while path:
        page = service.app.must(200, "GET", path)
        listed += page["games"]
        path = page["next"]
    assert sorted(game["id"] for game in listed) == sorted(h.table.id for h in crowd.histories)
    assert {game["status"] for game in listed} == {"finished"}


def report(crowd: Crowd, chaos: Chaos, lengths: list[int]) -> None:
    """Print what was counted, and make sure that it was worth counting."""
    acknowledged = [done for history in crowd.histories for done in history.acknowledged]
    views = sum(len(history.views) for history in crowd.histories)
    print("faults:", dict(chaos.done))
    print(
        f"{len(lengths)} games, {sum(lengths)} actions in their logs, {len(acknowledged)} "
        f"acknowledged to clients, {sum(done.is_replayed for done in acknowledged)} of these by a "
        f"replay; {views} views checked; {dict(crowd.total())}"
    )
    assert chaos.done.total() >= 4
    assert len(acknowledged) > 20
    assert any(done.is_replayed for done in acknowledged)


def test_the_checker_catches_what_is_not_true(start_service: Callable[..., Service]) -> None:
    """A check of the check: a lost action, a doubled one, a view that is not the log's."""
    service = start_service()
    crowd = Crowd(service.app, random.Random(1))
    crowd.is_last.set()
    crowd.play_one(crowd.make_table("checker"), random.Random(1))
    (history,) = crowd.histories
    assert check_history(history) > 20
    done, view = history.acknowledged[5], history.views[9]

    for spoil, undo in (
        (lambda: history.acknowledged.remove(done), lambda: history.acknowledged.append(done)),
        (
            lambda: history.acknowledged.append(Acknowledged("k", done.event, False)),
            lambda: history.acknowledged.pop(),
        ),
        (
            lambda: view.update(version=view["version"] + 1),
            lambda: view.update(version=view["version"] - 1),
        ),
        (lambda: history.told.pop(3), None),
    ):
        spoil()
        with pytest.raises(AssertionError):
            check_history(history)
        if undo is not None:
            undo()
