"""Every process replaced under load, the new one first: no request fails, each turn is played once.

The processes are stopped as Kubernetes stops those of the chart: taken out of the service, after a
pause told to stop, given time to end. What stands in front of them tries nothing again."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis as redis_py

from service.embedded import RedisServer
from tests.api.streams import served
from tests.e2e.harness import ROOT, Player, free_port, is_running, make_table, wait_until
from tests.faults.balancing import NEWS_TRAVEL_S, Backend, Balancer
from tests.faults.crowd import SETTLE_S, Crowd
from tests.faults.history import check_history

pytestmark = pytest.mark.e2e

ROUNDS = max(1, int(float(os.environ.get("FAULTS_S", "0")) // 15))
START_S = 120.0
END_S = 90.0
PRE_STOP_S = 2 * NEWS_TRAVEL_S
GRACE = "20"
"""Seconds that a process told to stop gives its requests; the chart's are 35."""


@dataclass
class Fleet:
    """Two API processes behind the balancer, and the worker of the bots."""

    redis: RedisServer
    client: redis_py.Redis
    stack: ExitStack
    balancer: Balancer = field(default_factory=Balancer)
    backends: dict[Backend, subprocess.Popen[bytes]] = field(default_factory=dict)
    worker: subprocess.Popen[bytes] | None = None
    done: Counter[str] = field(default_factory=Counter)

    def add_api(self) -> None:
        """Start an API process and wait until it is in service."""
        port = free_port()
        run = served(self.redis.url, port, GUNICORN_CMD_ARGS=f"--graceful-timeout {GRACE}")
        process = self.stack.enter_context(run)
        backend = self.balancer.add(port)
        self.backends[backend] = process
        wait_until(lambda: backend.is_in_service, START_S, "a new process to be ready")

    def replace_api(self, old: Backend) -> None:
        """Put a new process in an old one's place."""
        self.add_api()
        process = self.backends.pop(old)
        self.balancer.take_out(old)
        time.sleep(PRE_STOP_S)
        process.send_signal(signal.SIGTERM)
        assert process.wait(END_S) == 0
        assert old.connections > 0, "it was replaced before it was used"
        self.done["API processes replaced"] += 1

    def reload_api(self, backend: Backend) -> None:
        """Let a gunicorn put a new worker in its worker's place (SIGHUP)."""
        master = self.backends[backend].pid
        (old,) = _children(master)
        os.kill(master, signal.SIGHUP)
        wait_until(lambda: not is_running(old) and _children(master), END_S, "a reload")
        self.done["API workers reloaded"] += 1

    def replace_worker(self) -> None:
        """Start a worker of the bots; the old one, if any, is told to stop when it works."""
        old, before = self.worker, self.client.scard("rq:workers:bots")
        self.worker = self.stack.enter_context(working(self.redis.url))
        wait_until(
            lambda: self.client.scard("rq:workers:bots") == before + 1, START_S, "a new worker"
        )
        if old is not None:
            old.send_signal(signal.SIGTERM)
            assert old.wait(END_S) == 0
            self.done["workers replaced"] += 1


def _children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def working(redis_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker of the bots' queue."""
    command = [sys.executable, "-m", "workers", "work", "bots"]
    env = {**os.environ, "REDIS_URL": redis_url, "QUEUE_REDIS_URL": redis_url}
    with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            process.kill()


@pytest.fixture
def fleet(redis_server: RedisServer, redis: redis_py.Redis, warm_kernels: None) -> Iterator[Fleet]:
    """Run two API processes and a worker."""
    with ExitStack() as stack:
        fleet = Fleet(redis_server, redis, stack)
        stack.callback(fleet.balancer.close)
        for _ in range(2):
            fleet.add_api()
        fleet.replace_worker()
        yield fleet


def keep_asking(port: int, path: str, is_over: threading.Event, seen: Counter[str]) -> None:
    """Wait for news of a game, again and again, on one connection as long as it is kept."""
    while not is_over.is_set():
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            seen["connections"] += 1
            is_kept = True
            while is_kept and not is_over.is_set():
                try:
                    connection.request("GET", f"{path}?since={seen['version']}&wait=2")
                    answer = connection.getresponse()
                    game = json.loads(answer.read())
                except (OSError, http.client.HTTPException, ValueError) as error:
                    seen[f"failed: {error!r}"] += 1
                    break
                seen[f"{answer.status}"] += 1
                seen["version"] = game.get("version", 0)
                is_kept = answer.headers.get("Connection") != "close"


def test_no_request_fails_while_every_process_is_replaced(fleet: Fleet) -> None:
    """Played, read, waited for on kept connections; the bots' turns are each played once."""
    app = Player(f"http://127.0.0.1:{fleet.balancer.port}")
    crowd = Crowd(app, random.Random(1))
    lonely = make_table(app, "rolling", "human", "greedy", "greedy", "greedy")
    is_over, seen = threading.Event(), Counter[str]()
    asking = threading.Thread(
        target=keep_asking, args=(fleet.balancer.port, lonely.path, is_over, seen)
    )
    asking.start()
    threads = crowd.start()
    try:
        for _ in range(ROUNDS):
            for backend in list(fleet.backends):
                fleet.replace_api(backend)
            fleet.replace_worker()
            fleet.reload_api(next(iter(fleet.backends)))
    finally:
        crowd.end(threads, SETTLE_S)
        is_over.set()
        asking.join()

    total = crowd.total()
    lengths = [check_history(history) for history in crowd.histories]
    acknowledged = sum(len(history.acknowledged) for history in crowd.histories)
    views = sum(len(history.views) for history in crowd.histories)
    print(
        f"\n{dict(fleet.done)}; {len(lengths)} games, {sum(lengths)} actions, {acknowledged} "
        f"acknowledged, {views} views; {dict(total)}; waited for: {dict(seen)}"
    )
    for error in crowd.errors:
        raise error
    assert not total.keys() & {"no answer", "503", "streams refused"}
    assert not fleet.balancer.turned_away
    assert {name for name in seen if name not in ("connections", "version")} == {"200"}
    assert seen["connections"] >= 2, "no kept connection met a process that stopped"
    assert acknowledged > 20
