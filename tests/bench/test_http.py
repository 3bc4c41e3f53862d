"""Actions over HTTP beside their floor, a bot's answer, memory: of the whole service at work."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from service.games.ports import Commit
from service.store import keys
from service.store.redis_store import RedisStore
from tests.bench.figures import percentile, show, show_command
from tests.bench.processes import children_of, cpu_s, memory_mb
from tests.e2e.harness import ROOT, Service, free_port, make_table, wait_until

pytestmark = pytest.mark.bench

CLIENTS = 4
ROUND_S = 3.0
ROUNDS = 7
TURNS = 150
STORED = 100_000
DAY_S = 86_400


@dataclass(frozen=True)
class Floor:
    """The running app of `floor.py`: its port, and gunicorn's process."""

    port: int
    pid: int


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service as `make run` does, its lines written to where nobody reads them."""
    subprocess.run([sys.executable, "-m", "workers", "warm"], cwd=ROOT, check=True, timeout=300)
    running = Service(tmp_path_factory.mktemp("service"))
    try:
        yield running.start()
    finally:
        running.end()


@pytest.fixture(scope="module")
def floor(service: Service) -> Iterator[Floor]:
    """Run the floor under the same gunicorn with the same settings, on the same Redis."""
    port = free_port()
    url = f"unix://{redis_socket(service)}?db=0"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--config", "python:service.gunicorn_conf"),
            *("--bind", f"127.0.0.1:{port}", "tests.bench.floor:app"),
        ],
        cwd=ROOT,
        env={**os.environ, "REDIS_URL": url, "WEB_CONCURRENCY": "2"},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: load("floor", port, 0.05, clients=1, check=False), 30)
        yield Floor(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def load(
    kind: str, port: int, seconds: float, *, clients: int = CLIENTS, check: bool = True
) -> list[float]:
    """Let several clients make requests side by side; return the milliseconds of all requests."""
    command = [sys.executable, "-m", "tests.bench.load", str(port), kind, str(seconds)]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(clients)
    ]
    taken_ms: list[float] = []
    for process in running:
        out, err = process.communicate(timeout=seconds + 60)
        if check:
            assert process.returncode == 0, err.decode()
        if process.returncode == 0:
            taken_ms += json.loads(out)
    return taken_ms


def test_actions_a_second_beside_the_floor(service: Service, floor: Floor) -> None:
    """Rounds of both in turn, so that what else the machine does falls on both alike."""
    show_command("actions_a_second")
    load("actions", service.port, 1.0)
    load("floor", floor.port, 1.0)
    rates: dict[str, list[float]] = {"actions": [], "floor": []}
    cpu_ms: dict[str, list[float]] = {"actions": [], "floor": []}
    taken_ms: dict[str, list[float]] = {"actions": [], "floor": []}
    web = {"floor": floor.pid, "actions": pid_of_web(service)}
    for _ in range(ROUNDS):
        for kind, port in (("floor", floor.port), ("actions", service.port)):
            spent_before = cpu_s(children_of(web[kind]))
            answered = load(kind, port, ROUND_S)
            cpu_ms[kind].append(
                1000 * (cpu_s(children_of(web[kind])) - spent_before) / len(answered)
            )
            rates[kind].append(len(answered) / ROUND_S)
            taken_ms[kind] += answered
    for kind, values in rates.items():
        quantiles = ", ".join(
            f"p{part:g} {percentile(taken_ms[kind], part / 100):.2f} ms" for part in (50, 95, 99)
        )
        show(f"{kind}, {CLIENTS} clients", values, "requests/s", f"; {quantiles}")
        show(f"{kind}, processor time of the web processes a request", cpu_ms[kind], "ms")
    shares = [100 * a / f for a, f in zip(rates["actions"], rates["floor"], strict=True)]
    show("actions to floor, round by round", shares, "% (aim: 50)")
    cpu_shares = [100 * f / a for a, f in zip(cpu_ms["actions"], cpu_ms["floor"], strict=True)]
    show("the same by processor time, which other programs disturb less", cpu_shares, "%")


def test_actions_a_second_with_games_stored(service: Service, tmp_path: Path) -> None:
    """Of two services, one with many games stored and one with few, in turn."""
    show_command("games_stored")
    other = Service(tmp_path)
    try:
        with_many(service, other.start())
    finally:
        other.end()


def with_many(few: Service, many: Service) -> None:
    """Measure both, round by round."""
    store_games(redis_of(many), STORED)
    rates: dict[str, list[float]] = {}
    cpu_ms: dict[str, list[float]] = {}
    for measured in range(-1, ROUNDS):
        for name, service in (("few", few), (f"{STORED:,}", many)):
            servers = [pid_of_redis(service), *children_of(pid_of_web(service))]
            spent_before = cpu_s(servers)
            answered = load("actions", service.port, ROUND_S)
            spent = 1000 * (cpu_s(servers) - spent_before) / len(answered)
            if measured >= 0:
                cpu_ms.setdefault(name, []).append(spent)
                rates.setdefault(name, []).append(len(answered) / ROUND_S)
    used_mb = redis_of(many).info("memory")["used_memory"] / 1e6
    for name in rates:
        show(f"actions, {name} games stored", rates[name], "requests/s")
        show("processor time of web processes and Redis a request", cpu_ms[name], "ms")
    for figures, what in ((rates, "rate"), (cpu_ms, "processor time")):
        changes = [100 * (m / f - 1) for f, m in zip(*figures.values(), strict=True)]
        show(f"{what} with {STORED:,} games, {used_mb:,.0f} MB, to few", changes, "% (aim: 10)")


def store_games(client: Any, number: int) -> None:
    """Store copies of a game of two deals, on its app's list and on that of its status."""
    kept = json.loads((ROOT / "tests/games/samples/format-2.json").read_text("utf-8"))
    store = RedisStore(client, finished_ttl_s=DAY_S, idle_ttl_s=DAY_S, idempotency_ttl_s=DAY_S)
    for version in range(191):
        entry = {**kept["log"][version % 150 - 1], "version": version} if version else None
        store.commit(Commit("pattern", version, "playing", kept["state"], entry))
    parts = [(key, client.dump(key("pattern"))) for key in (keys.state_key, keys.log_key)]
    now_s = time.time()
    for start in range(0, number, 500):
        pipeline = client.pipeline(transaction=False)
        for game_id in (f"stored{start + n}" for n in range(500)):
            for key, dumped in parts:
                pipeline.restore(key(game_id), 1000 * DAY_S, dumped)
            pipeline.zadd(keys.app_games_key("local"), {game_id: 1000 * now_s})
            pipeline.zadd(keys.status_key("playing"), {game_id: now_s + DAY_S})
        pipeline.execute()
    wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"], 120)


def redis_of(service: Service) -> Any:
    """Return a client of the service's Redis."""
    return redis_py.Redis(unix_socket_path=str(redis_socket(service)))


def pid_of_redis(service: Service) -> int:
    """Return the process of the service's Redis."""
    pid: int = redis_of(service).info("server")["process_id"]
    return pid


def redis_socket(service: Service) -> Path:
    """Return where the service's Redis listens."""
    return service.folder / "data" / "redis" / "redis.sock"


def test_a_bots_answer(service: Service) -> None:
    """From before the POST of a person's discard to what the log says of the bots after it."""
    show_command("bots_answer")
    first_ms: list[float] = []
    round_ms: list[float] = []
    seen_ms: list[float] = []
    rng = random.Random(1)
    while len(first_ms) < TURNS:
        table = make_table(service.app, f"bench-{rng.random()}", *("human", *["greedy"] * 3))
        person = table.players[0]
        while (game := person.await_turn(table.id, 0))["status"] == "playing":
            actions = game["legal_actions"]
            if len(actions) > 1 or game["deal"]["phase"] != "draw":
                actions = [a for a in actions if a["type"] in ("draw_stock", "discard", "pass")]
            action = rng.choice(actions or game["legal_actions"])
            posted_at = time.time()
            began = time.perf_counter()
            played = person.must(201, "POST", f"{table.path}/actions", action)
            if action["type"] != "discard" or played["game"]["deal"]["turn"] == 0:
                continue
            version = played["game"]["version"]
            person.await_version(table.id, version + 1)
            seen_ms.append(1000 * (time.perf_counter() - began))
            after = person.await_turn(table.id, 0)
            events = person.log(table.id, version)
            first_ms.append(1000 * (_seconds(events[0]["at"]) - posted_at))
            if after["deal"]["number"] == played["game"]["deal"]["number"]:
                round_ms.append(1000 * (_seconds(events[-1]["at"]) - posted_at))
    show("POST to the bot's first action in the log (greedy)", first_ms, "ms (aim: 30)")
    show("POST to that action seen by a client's long poll", seen_ms, "ms")
    show("POST to the last of three bots' whole turns in the log", round_ms, "ms")


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def test_memory(service: Service) -> None:
    """After the service has worked: resident (RSS), and the part that is its own (USS)."""
    show_command("memory")
    load("actions", service.port, 1.0)
    table = make_table(service.app, "bench-memory", "human", *["greedy"] * 3)
    person = table.players[0]
    person.await_turn(table.id, 0)
    person.must(200, "POST", f"{table.path}/hints", {"seconds": 1.0}, Prefer="wait=20")
    gunicorn = pid_of_web(service)
    processes = [("API process", pid) for pid in children_of(gunicorn)]
    processes += [
        ("gunicorn's arbiter", gunicorn),
        ("worker of bots", service.worker("bots")),
        ("worker of hints", service.worker("hints")),
    ]
    for name, pid in processes:
        resident, own = memory_mb(pid)
        print(f"\n{name}: {resident:.0f} MB resident, {own:.0f} MB of them its own", end="")
    for pid in children_of(service.worker("bots")):
        resident, own = memory_mb(pid)
        print(
            f"\nsweep of the bots' queue: {resident:.0f} MB resident, {own:.0f} MB its own", end=""
        )


def pid_of_web(service: Service) -> int:
    """Return gunicorn's process, whose children answer."""
    found = service.child("gunicorn")
    assert found is not None
    return found
