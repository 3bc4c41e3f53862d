"""From the start of a process until it can be worked with: the API, a worker with a warm cache."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable

import pytest
import redis as redis_py

from tests.bench.figures import show, show_command
from tests.bench.test_http import children_of, cpu_s
from tests.e2e.harness import ROOT, free_port, wait_until

pytestmark = pytest.mark.bench

ROUNDS = 5
LONGEST_S = 120.0


def answers(port: int) -> bool:
    """Tell whether `/readyz` says that it is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def start(command: list[str], env: dict[str, str], is_ready: Callable[[], bool]) -> list[float]:
    """Start a process, wait until it is ready, end it; return seconds passed and of processor."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, **env},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(is_ready, LONGEST_S)
        passed = time.perf_counter() - began
        return [passed, cpu_s([process.pid, *children_of(process.pid)])]
    finally:
        process.terminate()
        process.wait(60)


def show_both(what: str, rounds: list[list[float]], aim_s: float) -> None:
    """Print both kinds of seconds; those of the processor are what other programs disturb less."""
    show(f"{what} ready after", [passed for passed, _ in rounds], "s", f" (aim: {aim_s:g})")
    show(f"{what} ready, processor time", [spent for _, spent in rounds], "s")


def test_cold_start_of_the_api(redis_url: str) -> None:
    """gunicorn with one process, until it answers that Redis is there."""
    show_command("cold_start")
    rounds = []
    for _ in range(ROUNDS):
        port = free_port()
        env = {"REDIS_URL": redis_url, "PORT": str(port), "WEB_CONCURRENCY": "1"}
        command = ["gunicorn", "--config", "python:service.gunicorn_conf", "service.wsgi:app"]
        rounds.append(start(command, env, lambda port=port: answers(port)))  # type: ignore[misc]
    show_both("API", rounds, 2.0)


def test_cold_start_of_a_worker(redis: redis_py.Redis, redis_url: str) -> None:
    """Until it has registered for its first job, the compiled search loaded from the cache."""
    show_command("cold_start")
    subprocess.run([sys.executable, "-m", "workers", "warm"], cwd=ROOT, check=True)
    rounds = []

    def is_there() -> bool:
        return bool(redis.scard("rq:workers:hints"))

    for _ in range(ROUNDS):
        redis.flushall()
        rounds.append(start(["workers", "work", "hints"], {"REDIS_URL": redis_url}, is_there))
    show_both("worker of hints", rounds, 3.0)
