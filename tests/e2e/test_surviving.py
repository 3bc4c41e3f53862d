"""Processes are killed, stopped, started again under running games: nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from service.embedded import RedisServer
from tests.e2e.harness import (
    Referee,
    Service,
    Table,
    is_running,
    make_table,
    wait_until,
)

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
Start = Callable[..., Service]

NOTICED_S = 30
"""More than a lost turn takes to be found and played: about 3 s until it is found, and a start."""


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory, warm_kernels: None) -> Iterator[Service]:
    """Run a service for the tests after which all its processes are there again."""
    with Service(tmp_path_factory.mktemp("lasting")).running() as running:
        yield running


def play_to_the_end(table: Table) -> Json:
    """Play a person's first legal action each time until the game is over; return the game."""
    person = table.players[0]
    while (game := person.await_turn(table.id, 0))["status"] == "playing":
        person.must(201, "POST", f"{table.path}/actions", game["legal_actions"][0])
    return game


def discard(table: Table, game: Json) -> Json:
    """Draw and discard for the person at seat 0, whose turn it is; return the game."""
    person = table.players[0]
    person.must(201, "POST", f"{table.path}/actions", {"type": "draw_stock"})
    card = game["deal"]["hand"][0]
    action = {"type": "discard", "card": card}
    changed: Json = person.must(201, "POST", f"{table.path}/actions", action)["game"]
    return changed


def check_whole_log(table: Table) -> None:
    """Replay the log: no gap, no repetition, all of it legal, scores right so far."""
    game = table.app.must(200, "GET", f"{table.path}?seat=0")
    log = [event for event in table.app.log(table.id) if event["version"] <= game["version"]]
    Referee(table).follow(log).check_view(game)


def test_a_worker_killed_in_a_bots_turn_leaves_the_turn_to_be_played_once(
    lasting: Service,
) -> None:
    """kill -9 while a bot thinks, its sweep with it: the turn is gone on with, nothing twice."""
    table = make_table(lasting.app, "e2e-kill", "human", "master", "greedy", "greedy", deals=1)
    person = table.players[0]
    killed = False
    for _ in range(3):
        game = person.await_turn(table.id, 0)
        game = discard(table, game)
        # The next seat is a master's, who thinks for a moment before the draw and after it.
        person.await_version(table.id, game["version"] + 1)
        worker = lasting.worker("bots")
        os.kill(worker, signal.SIGKILL)
        killed_at = time.monotonic()
        seen = person.must(200, "GET", table.path)
        killed = seen["deal"]["turn"] == 1
        after = person.await_turn(table.id, 0, NOTICED_S)
        print(
            f"\nkilled at version {seen['version']}: {time.monotonic() - killed_at:.1f} s", end=""
        )
        check_whole_log(table)
        if killed or after["status"] != "playing":
            break
    assert killed, "no kill came in the middle of a turn"


def test_a_queue_that_was_emptied_is_filled_again(lasting: Service) -> None:
    """The sweep finds games whose bot is to move and has no job."""
    table = make_table(lasting.app, "e2e-flush", "human", "greedy", "greedy", "greedy")
    game = table.players[0].await_turn(table.id, 0)
    worker = lasting.worker("bots")
    os.kill(worker, signal.SIGSTOP)
    try:
        discard(table, game)
        with redis_py.Redis(unix_socket_path=str(socket_of(lasting))) as connection:
            lost = list(connection.scan_iter("rq:job:*")) + list(connection.scan_iter("rq:queue:*"))
            assert any(b"bot-" in key for key in lost)
            connection.delete(*lost)
        emptied_at = time.monotonic()
    finally:
        os.kill(worker, signal.SIGCONT)

    table.players[0].await_turn(table.id, 0, NOTICED_S)

    print(f"\nplayed {time.monotonic() - emptied_at:.1f} s after its job was lost")
    check_whole_log(table)


def socket_of(service: Service) -> Path:
    """Return the socket of the Redis that the service has started."""
    return service.folder / "data" / "redis" / "redis.sock"


def test_a_game_goes_on_after_all_processes_were_stopped_and_started(start_service: Start) -> None:
    """Ctrl-C in the middle of a game, `make run` again, and it is played to its end."""
    service = start_service()
    table = make_table(service.app, "e2e-restart", "human", "greedy", "casual", "greedy", deals=1)
    game = table.players[0].await_turn(table.id, 0)
    discard(table, game)
    everything = service.everything()
    assert len(everything) >= 8, "supervisor, Redis, gunicorn and two, two workers, a sweep"
    began = time.monotonic()

    code = service.stop(signal.SIGINT)

    print(f"\nstopped in {time.monotonic() - began:.1f} s")
    assert (0, "stopped") == (code, service.lines[-1])
    assert not list(filter(is_running, everything))
    service.start()
    finished = play_to_the_end(table)
    Referee(table).follow(table.app.log(table.id)).check_result(finished)
    assert 0 == service.stop(signal.SIGTERM)


def test_all_processes_killed_at_once_lose_nothing_that_was_answered(start_service: Start) -> None:
    """kill -9 for all but Redis, whose file is written once a second: the same game goes on."""
    service = start_service()
    table = make_table(service.app, "e2e-crash", "human", "greedy", "greedy", "greedy")
    game = table.players[0].await_turn(table.id, 0)
    answered = discard(table, game)
    everything = service.everything()

    for pid in everything:
        if "redis" not in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(pid, signal.SIGKILL)
    service.end()
    wait_until(lambda: not any(map(is_running, everything)), 20, "all processes to be gone")
    service.start()

    after = table.players[0].await_turn(table.id, 0, NOTICED_S)
    assert after["version"] > answered["version"]
    check_whole_log(table)


def test_without_redis_requests_are_put_off_and_then_answered_again(
    start_service: Start, tmp_path: Path
) -> None:
    """503 with Retry-After while it is away; afterwards web and workers go on, not restarted."""
    with RedisServer(tmp_path / "redis-of-others") as server:
        service = start_service(REDIS_URL=server.url, PERSIAN_RUMMY_REDIS_TIMEOUT_S="0.5")
        table = make_table(service.app, "e2e-redis", "human", "greedy", "greedy", "greedy")
        game = table.players[0].await_turn(table.id, 0)
        before = set(service.everything())
        server.kill()

        for method, path, body in (
            ("GET", table.path, None),
            ("POST", f"{table.path}/actions", {"type": "draw_stock"}),
            ("POST", "/games", {"seats": [{"player": "open"}] * 4}),
            ("GET", "/readyz", None),
        ):
            answer = service.app.ask(method, path, body)
            assert 503 == answer.status, answer
            assert "application/problem+json" == answer.headers["content-type"]
            assert 0 < int(answer.headers["retry-after"]) <= 60
        assert 200 == service.app.ask("GET", "/healthz").status
        time.sleep(3)
        server.start()
        back_at = time.monotonic()
        wait_until(lambda: 200 == service.app.ask("GET", "/readyz").status, 20, "recovery")
        print(f"\nanswered again after {time.monotonic() - back_at:.2f} s", end="")
        discard(table, game)
        table.players[0].await_turn(table.id, 0, NOTICED_S)
        print(f", bots after {time.monotonic() - back_at:.2f} s")

        hint = table.players[0].must(
            200, "POST", f"{table.path}/hints", {"iterations": 100}, Prefer="wait=30"
        )
        assert "done" == hint["status"]
        check_whole_log(table)
        assert before == set(service.everything())
        assert 0 == service.stop(signal.SIGINT)


def test_a_redis_of_ours_that_is_killed_is_started_again(lasting: Service) -> None:
    """And the game goes on."""
    table = make_table(lasting.app, "e2e-ours", "human", "greedy", "greedy", "greedy")
    game = table.players[0].await_turn(table.id, 0)
    # What was written in the last second may be lost with a killed Redis, but not before.
    time.sleep(1.5)
    redis_server = lasting.child("valkey-server") or lasting.child("redis-server")
    assert redis_server is not None

    os.kill(redis_server, signal.SIGKILL)

    wait_until(lambda: lasting.says("^redis +was killed by SIGKILL"), 20, "the supervisor")
    wait_until(lambda: 200 == lasting.app.ask("GET", "/readyz").status, 20, "recovery")
    discard(table, game)
    table.players[0].await_turn(table.id, 0, NOTICED_S)
    check_whole_log(table)
