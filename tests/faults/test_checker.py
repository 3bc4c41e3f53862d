"""Many clients, faults at random, and then: is what they were told the truth?

Fifteen seconds of faults in the tests; `make faults` takes two minutes (`FAULTS_S`)."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis as redis_py

from service.embedded import RedisServer
from service.supervisor import session_members
from tests.e2e.harness import Player, Service, Table, seats
from tests.faults.history import Acknowledged, Client, History, check_history, insist, listen

pytestmark = pytest.mark.e2e

FAULTS_S = float(os.environ.get("FAULTS_S", "15"))
TABLES = 2
SPARED_S = 15.0
"""More than the supervisor calls early: it waits longer each time before it starts a worker again.
"""
SETTLE_S = 30.0
"""How long games may take to their end after the last fault."""


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


class Crowd:
    """Clients at some tables: for each two people, their app, a listener; and two bots."""

    def __init__(self, service: Service, rng: random.Random) -> None:
        """Nothing is asked yet."""
        self.service = service
        self.rng = rng
        self.histories: list[History] = []
        self.errors: list[BaseException] = []
        self.counts: Counter[str] = Counter()
        self.is_last = threading.Event()
        """Set: no new game is begun."""
        self.is_over = threading.Event()
        """Set: games are left as they are."""

    def start(self) -> list[threading.Thread]:
        """Start a thread for each table, which starts those of its clients, game after game."""
        threads = [threading.Thread(target=self._play_games, args=(n,)) for n in range(TABLES)]
        for thread in threads:
            thread.start()
        return threads

    def _play_games(self, number: int) -> None:
        rng = random.Random(self.rng.random())
        game = 0
        while not self.is_last.is_set() and not self.errors:
            game += 1
            with self._noting_errors():
                self._play_one(self._make_table(f"faults {number} {game}"), rng)

    def _make_table(self, seed: str) -> Table:
        """Make a game, though it take many tries: of these one makes it."""
        app = self.service.app
        order = {"seats": seats("human", "greedy", "human", "greedy"), "seed": seed, "deals": 1}
        key = uuid.uuid4().hex
        answer = insist(app, self._count, "POST", "/games", order, Idempotency_Key=key)
        assert answer.status == 201, answer
        made = answer.body
        players = {int(s): Player(app.base_url, t) for s, t in made["seat_tokens"].items()}
        return Table(made["game"]["id"], seed, app, players, made["game"])

    def _count(self, what: str) -> None:
        self.counts[what] += 1

    def _play_one(self, table: Table, rng: random.Random) -> None:
        history = History(table)
        self.histories.append(history)
        players = [{seat: player} for seat, player in table.players.items()]
        players.append(dict.fromkeys(table.players, table.app))
        clients = [Client(history, played, random.Random(rng.random())) for played in players]
        threads = [threading.Thread(target=self._play, args=(client,)) for client in clients]
        port = self.service.port
        listening = threading.Thread(target=listen, args=(history, port, self._is_given_up))
        for thread in (*threads, listening):
            thread.start()
        for thread in (*threads, listening):
            thread.join()

    def _play(self, client: Client) -> None:
        with self._noting_errors():
            while client.step() and not self._is_given_up():
                pass

    def _is_given_up(self) -> bool:
        return self.is_over.is_set() or bool(self.errors)

    def _noting_errors(self) -> _Noting:
        return _Noting(self.errors)


class _Noting:
    """Keeps what was raised in a thread for the test to raise."""

    def __init__(self, errors: list[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if error is not None:
            self._errors.append(error)
        return error is not None


def test_what_clients_were_told_is_true_whatever_failed(
    start_service: Callable[..., Service], tmp_path: Path
) -> None:
    """Workers killed and hung, Redis stopped and hung, queues emptied, under games in play."""
    seed = int(os.environ.get("FAULTS_SEED", time.time_ns() % 10**6))
    print(f"\nFAULTS_SEED={seed}")
    rng = random.Random(seed)
    with RedisServer(tmp_path / "redis-of-others") as server:
        service = start_service(REDIS_URL=server.url, PERSIAN_RUMMY_REDIS_TIMEOUT_S="0.5")
        crowd, chaos = Crowd(service, rng), Chaos(service, server, rng)
        threads = crowd.start()
        time.sleep(1)
        try:
            chaos.run(FAULTS_S)
        finally:
            crowd.is_last.set()
            deadline = time.monotonic() + SETTLE_S
            for thread in threads:
                thread.join(max(0, deadline - time.monotonic()))
            crowd.is_over.set()
            for thread in threads:
                thread.join()
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
    counts: Counter[str] = sum((h.counts for h in crowd.histories), crowd.counts)
    acknowledged = [done for history in crowd.histories for done in history.acknowledged]
    views = sum(len(history.views) for history in crowd.histories)
    print("faults:", dict(chaos.done))
    print(
        f"{len(lengths)} games, {sum(lengths)} actions in their logs, {len(acknowledged)} "
        f"acknowledged to clients, {sum(done.is_replayed for done in acknowledged)} of these by a "
        f"replay; {views} views checked; {dict(counts)}"
    )
    assert chaos.done.total() >= 4
    assert len(acknowledged) > 20
    assert any(done.is_replayed for done in acknowledged)


def test_the_checker_catches_what_is_not_true(start_service: Callable[..., Service]) -> None:
    """A check of the check: a lost action, a doubled one, a view that is not the log's."""
    service = start_service()
    crowd = Crowd(service, random.Random(1))
    crowd.is_last.set()
    crowd._play_one(crowd._make_table("checker"), random.Random(1))
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
