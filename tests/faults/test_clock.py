"""The clock of the service jumps by an hour, forward and back, under games in play.

Redis's clock is everybody's (`service/store/clock.py`); a proxy tells another time in its place.
What each part does about it is tried apart: `tests/games/test_jumps.py`,
`tests/store/test_clock.py`, `tests/test_jobqueue.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest

from service.embedded import RedisServer
from service.store.clock import LOOK_EVERY_S
from tests.e2e.harness import Player, Service, Table, make_table, seats, wait_until
from tests.e2e.test_surviving import check_whole_log, discard
from tests.faults.proxies import Shifted

pytestmark = pytest.mark.e2e

HOUR_S = 3600
TURN_S = 20
NOTICED_S = 60.0
"""How long is waited for what takes some seconds, on a busy machine."""


@dataclass
class Clocked:
    """The whole service, and the proxy that tells it the time."""

    service: Service
    proxy: Shifted


@pytest.fixture(scope="module")
def clocked(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory, warm_kernels: None
) -> Iterator[Clocked]:
    """Run the service for the tests of this file; its clock is right."""
    proxy = Shifted(redis_server.socket_path)
    service = Service(tmp_path_factory.mktemp("clock"), {"REDIS_URL": proxy.url})
    try:
        service.start()
        # What did not run before the jump cannot know of it.
        wait_until(lambda: service.says("sweep_begun"), NOTICED_S, "the sweep")
        yield Clocked(service, proxy)
    finally:
        service.end()
        proxy.close()


def deadline_of(table: Table) -> float:
    """Return when the turn in hand must be over, in seconds since 1970."""
    game = table.app.must(200, "GET", table.path)
    return datetime.fromisoformat(game["deal"]["deadline"]).timestamp()


def moves_of_the_clock(table: Table) -> list[int]:
    """Return by how much the log says that a deadline was moved."""
    return [entry["seconds"] for entry in table.app.log(table.id) if entry["type"] == "clock_moved"]


def make_timed(app: Player, seed: str) -> Table:
    """Make a game of four people whose turns are timed."""
    made = app.must(
        201,
        "POST",
        "/games",
        {"seats": seats(*["human"] * 4), "seed": seed, "turn_seconds": TURN_S},
    )
    return Table(made["game"]["id"], seed, app, {}, made["game"])


@pytest.mark.parametrize("by_s", [HOUR_S, -HOUR_S])
def test_a_clock_that_jumps_ends_no_turn_and_holds_up_no_bot(clocked: Clocked, by_s: int) -> None:
    """Turns get their time anew, once; what was answered is answered again; bots, hints go on."""
    app = clocked.service.app
    # Processes learn of an earlier jump one after the other; until then they set deadlines apart.
    time.sleep(LOOK_EVERY_S + 1 if clocked.proxy.ahead_s else 0)
    timed = make_timed(app, f"a clock that jumps by {by_s}")
    played = make_table(app, f"meanwhile {by_s}", "human", "greedy", "greedy", "greedy")
    game = played.players[0].await_turn(played.id, 0)
    draw = {"type": "draw_stock", "seat": (timed.made["seating"]["dealer"] + 1) % 4}
    first = app.must(201, "POST", f"{timed.path}/actions", draw, Idempotency_Key="k")
    told = clocked.proxy.times_told

    clocked.proxy.ahead_s += by_s
    wait_until(lambda: moves_of_the_clock(timed), NOTICED_S, "the sweep to notice")
    left_s = deadline_of(timed) - (time.time() + clocked.proxy.ahead_s)
    discard(played, game)
    played.players[0].await_turn(played.id, 0)
    hint = app.must(200, "POST", f"{played.path}/hints", {"iterations": 20}, Prefer="wait=30")
    again = app.must(201, "POST", f"{timed.path}/actions", draw, Idempotency_Key="k")

    moved = moves_of_the_clock(timed)
    log = app.log(timed.id)
    print(
        f"\n{by_s:+d} s: deadlines moved by {moved}, {left_s:.1f} s left then; asked for the time "
        f"{clocked.proxy.times_told - told} times"
    )
    assert len(moved) == 1
    assert left_s <= TURN_S
    assert log[0]["by"] == "human"
    assert log[1]["type"] == "clock_moved", "the turn was finished for its player"
    assert hint["status"] == "done"
    assert again == first
    check_whole_log(played)
