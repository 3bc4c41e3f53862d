"""A Redis that takes 100 ms for each call, and one that takes longer than anybody waits for it."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from service.embedded import RedisServer
from tests.e2e.harness import Referee, Service, Table, make_table, wait_until
from tests.faults.proxies import Slow

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
SLOW_S = 0.1
TOO_SLOW_S = 1.2
TIMEOUT_S = 0.8
"""What a request waits for Redis at most, between the two."""
CLIENTS = 8
PEOPLE = ("human", "human", "human", "human")


@dataclass
class Slowed:
    """The whole service, with a proxy between it and its Redis."""

    service: Service
    proxy: Slow

    def calls_of(self, work: Callable[[], Any]) -> int:
        """Return how many calls of Redis were made meanwhile."""
        before = self.proxy.calls
        work()
        return self.proxy.calls - before


@pytest.fixture(scope="module")
def slowed(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory, warm_kernels: None
) -> Iterator[Slowed]:
    """Run the service for the tests of this file."""
    proxy = Slow(redis_server.socket_path)
    more = {"REDIS_URL": proxy.url, "PERSIAN_RUMMY_REDIS_TIMEOUT_S": str(TIMEOUT_S)}
    service = Service(tmp_path_factory.mktemp("slow"), more)
    try:
        yield Slowed(service.start(), proxy)
    finally:
        proxy.delay_s = 0
        service.end()
        proxy.close()


@pytest.fixture(autouse=True)
def quick_again(slowed: Slowed) -> Iterator[None]:
    """Let Redis be as quick as ever after each test."""
    yield
    slowed.proxy.delay_s = 0


def check_log(table: Table) -> int:
    """Hold a game's log and its last view against the referee; return the log's length."""
    game = table.app.must(200, "GET", f"{table.path}?seat=0")
    log = [event for event in table.app.log(table.id) if event["version"] <= game["version"]]
    Referee(table).follow(log).check_view(game)
    return len(log)


def test_with_a_slow_redis_all_is_right_and_only_slow(slowed: Slowed) -> None:
    """100 ms a call: nothing is refused, of eight who play one version one does; bots and hints
    are done; health and readiness say that all is well."""
    app = slowed.service.app
    table = make_table(app, "slow", "human", "greedy", "human", "human")
    while (game := app.must(200, "GET", f"{table.path}?seat=0"))["deal"]["turn"] != 0:
        seat = game["deal"]["turn"]
        legal = app.must(200, "GET", f"{table.path}/legal-actions")["actions"]
        app.must(201, "POST", f"{table.path}/actions", {**legal[0], "seat": seat})
    version, person = game["version"], table.players[0]
    headers = {"Idempotency_Key": "the-same", "If_Match": f'"{version}"'}
    slowed.proxy.delay_s = SLOW_S
    make_table(app, "made while it is slow", *PEOPLE)
    ready = threading.Barrier(CLIENTS)

    def draw(number: int) -> Any:
        ready.wait(30)
        more = {**headers, "Idempotency_Key": f"key-{number}"}
        return person.ask("POST", f"{table.path}/actions", {"type": "draw_stock"}, **more)

    with ThreadPoolExecutor(CLIENTS) as threads:
        answers = list(threads.map(draw, range(CLIENTS)))
    winner = next(number for number, answer in enumerate(answers) if answer.status == 201)
    again = person.ask(
        "POST",
        f"{table.path}/actions",
        {"type": "draw_stock"},
        Idempotency_Key=f"key-{winner}",
        If_Match=headers["If_Match"],
    )
    hint = person.must(200, "POST", f"{table.path}/hints", {"iterations": 50}, Prefer="wait=30")
    card = {"type": "discard", "card": answers[winner].body["game"]["deal"]["hand"][0]}
    calls = slowed.calls_of(lambda: person.must(201, "POST", f"{table.path}/actions", card))
    # The bot at seat 1, then the person at seat 2.
    after = app.await_version(table.id, version + 4)

    statuses = Counter(answer.status for answer in answers)
    length = check_log(table)
    print(f"\n{dict(statuses)}, {length} actions, an action is {calls} calls or fewer")
    assert statuses == {201: 1, 412: CLIENTS - 1}
    assert (again.status, again.body) == (201, answers[winner].body)
    assert hint["status"] == "done"
    assert {event["seat"] for event in app.log(table.id, version)} >= {0, 1}
    assert after["version"] == length
    assert app.ask("GET", "/readyz").body["status"] == "ok"
    assert app.ask("GET", "/healthz").status == 200


def test_a_redis_too_slow_to_wait_for_puts_requests_off_and_loses_nothing(slowed: Slowed) -> None:
    """503 and never 500, ready it is not; what was put off is done once when it is asked again."""
    app = slowed.service.app
    table = make_table(app, "too slow", *PEOPLE)
    bots = make_table(app, "too slow for bots", "human", "greedy", "greedy", "greedy")
    bots.players[0].await_turn(bots.id, 0)
    before = set(slowed.service.everything())
    rng = random.Random(1)
    answers: Counter[str] = Counter()
    orders = []

    slowed.proxy.delay_s = TOO_SLOW_S
    until = time.monotonic() + 3
    while time.monotonic() < until or len(orders) < 2:
        key = f"put-off-{len(orders)}"
        seat = (table.made["seating"]["dealer"] + 1) % 4
        body = {"type": "draw_stock", "seat": seat}
        orders.append((key, body))
        for method, path, sent in rng.sample(
            [
                ("POST", f"{table.path}/actions", body),
                ("GET", table.path, None),
                ("GET", "/readyz", None),
            ],
            3,
        ):
            more = {"Idempotency_Key": key} if sent else {}
            answer = app.ask(method, path, sent, **more)
            answers[f"{method} {answer.status}"] += 1
            assert answer.headers["content-type"] == "application/problem+json", answer
            assert 0 < int(answer.headers["retry-after"]) <= 60
        assert app.ask("GET", "/healthz").status == 200
    slowed.proxy.delay_s = 0

    wait_until(lambda: app.ask("GET", "/readyz").status == 200, 20, "recovery")
    again = [app.ask("POST", f"{table.path}/actions", b, Idempotency_Key=k) for k, b in orders]
    done = [answer for answer in again if answer.status == 201]
    log = app.log(table.id)
    print(
        f"\n{dict(answers)}; of {len(orders)} orders of one draw {len(done)} is done, "
        f"{sum(answer.status == 409 for answer in again)} refused; {len(log)} in the log"
    )
    assert answers.keys() == {"POST 503", "GET 503"}
    assert len(log) == len(done) == 1
    assert done[0].body["action"]["version"] == 1
    game = bots.players[0].must(200, "GET", bots.path)
    bots.players[0].must(201, "POST", f"{bots.path}/actions", {"type": "draw_stock"})
    card = {"type": "discard", "card": game["deal"]["hand"][0]}
    bots.players[0].must(201, "POST", f"{bots.path}/actions", card)
    bots.players[0].await_turn(bots.id, 0)
    check_log(bots)
    assert before <= set(slowed.service.everything()), "a process did not outlast it"
