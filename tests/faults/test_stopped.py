"""Redis is stopped under games in play, and killed; the worker of the hints is killed in a hint.

Redis is as `make run` has it: an append-only file, written before an action is acknowledged and
brought to the disk once a second. Three seconds in the tests, ten with `make faults`."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from service.embedded import RedisServer
from tests.e2e.harness import Service, Table, make_table, wait_until
from tests.faults.crowd import SETTLE_S, Crowd
from tests.faults.history import check_history

pytestmark = pytest.mark.e2e

AWAY_S = 10.0 if "FAULTS_S" in os.environ else 3.0
PLAY_S = 2.0
HINT_S = 30.0
"""How long a hint is waited for on a busy machine."""


def kill_in_a_hint(service: Service) -> tuple[Table, str]:
    """Ask for a hint and kill its worker while it searches; return the game and the hint's path."""
    table = make_table(service.app, "hinted", "human", "human", "human", "human")
    hint = service.app.must(202, "POST", f"{table.path}/hints", {"seconds": 10})
    path = f"{table.path}/hints/{hint['id']}"
    wait_until(
        lambda: service.app.must(200, "GET", path)["progress"] > 0, HINT_S, "a hint to begin"
    )
    os.kill(service.worker("hints"), signal.SIGKILL)
    return table, path


def ask_meanwhile(service: Service, seconds: float) -> Counter[str]:
    """Ask for this and that while Redis is away; return how often which answer came."""
    answers: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for method, path, body in (
            ("GET", "/readyz", None),
            ("GET", "/games", None),
            ("POST", "/games", {"seats": [{"player": "open"}] * 4}),
            ("GET", "/healthz", None),
        ):
            answer = service.app.ask(method, path, body)
            answers[f"{path} {answer.status}"] += 1
        time.sleep(0.2)
    return answers


def test_redis_stopped_and_killed_in_play_loses_nothing_that_was_told(
    start_service: Callable[..., Service], tmp_path: Path
) -> None:
    """503 while it is away, then all go on by themselves; a hint whose worker died says so."""
    with RedisServer(tmp_path / "redis-of-others") as server:
        service = start_service(REDIS_URL=server.url, PERSIAN_RUMMY_REDIS_TIMEOUT_S="0.5")
        table, hint_path = kill_in_a_hint(service)
        wait_until(lambda: service.says("^hints +started again"), 20, "the supervisor")
        before = set(service.everything())
        crowd = Crowd(service.app, random.Random(1))
        threads = crowd.start()
        try:
            time.sleep(PLAY_S)
            server.stop()
            answers = ask_meanwhile(service, AWAY_S)
            server.start()
            time.sleep(PLAY_S)
            server.kill()
            server.start()
            time.sleep(PLAY_S)
        finally:
            crowd.end(threads, SETTLE_S)
        for error in crowd.errors:
            raise error
        lengths = [check_history(history) for history in crowd.histories]
        acknowledged = sum(len(history.acknowledged) for history in crowd.histories)
        state = service.app.must(200, "GET", hint_path)["status"]
        again = service.app.must(
            200, "POST", f"{table.path}/hints", {"iterations": 20}, Prefer="wait=30"
        )

        print(
            f"\naway {AWAY_S:g} s: {dict(answers)}; {len(lengths)} games, {sum(lengths)} actions, "
            f"{acknowledged} acknowledged, {dict(crowd.total())}; the hint: {state}"
        )
        assert answers.keys() == {"/readyz 503", "/games 503", "/healthz 200"}
        assert crowd.total()["503"] > 0
        assert acknowledged > 20
        assert state in ("failed", "done")
        assert again["status"] == "done"
        assert before <= set(service.everything()), "a process did not outlast it"
