"""Nothing that leaves depends on what its reader must not know, whatever is asked by whomever.

Two worlds differ in the cards that somebody cannot see, and in nothing else. Each request of
`REQUESTS` is made in both: status, headers (so the length too), body, lines of the log, counters,
jobs and messages to webhooks must be the same. `tests/api/test_hidden.py` does it for many looks at
many moments of a game; here are all operations, those that change something too, and the log."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from service.games.house import House
from service.games.webhooks import DELIVERY, announce
from tests.api.client import Answer, ApiClient, Table, memory_app
from tests.api.test_hidden import hidden_from
from tests.api.test_whole_game import choose_action, play_both, referee_for
from tests.games.test_hidden import exchange_drawn, exchange_unseen, give_the_same_top
from tests.receivers import SECRET
from tests.security.world import (
    NEIGHBOUR,
    REQUESTS,
    SEAT,
    Json,
    Request,
    World,
    game_of,
    operations,
)

IN_PLAY = [
    name
    for name, request in REQUESTS.items()
    if request.world != "finished" and name != "getMetrics"
]
"""After the end nothing is hidden. Of the metrics what is counted is compared after each request,
and not how long it took."""
VIEWERS: dict[str, int | None] = {
    "own-seat": SEAT,
    "other-seat": NEIGHBOUR,
    "spectator": None,
    "other-app": None,
    "other-game": None,
    "replaced": None,
    "unknown": None,
    "nobody": None,
}
"""Whose hand each caller may see. The app may see all that people hold."""


def twins(name: str, viewer: int | None) -> list[World]:
    """Return two worlds for a request that differ in what `viewer` cannot see; the next card is the
    same if the viewer is the one who may draw it.
    """
    worlds = _twins(REQUESTS[name].world, REQUESTS[name].needs, viewer)
    for world in worlds:
        world.put_back()
    return worlds


@cache
def _twins(kind: str, needs: str, viewer: int | None) -> list[World]:
    request = Request(kind, needs=needs)
    game, log, tokens = game_of(kind)
    rng = random.Random(f"{viewer}")
    twin = exchange_unseen(game, viewer, rng)
    if viewer is not None and game.match.deal.turn == viewer:
        give_the_same_top(twin, game)
    assert twin.match.deal.hands != game.match.deal.hands
    return [World(request), World(request, (twin, exchange_drawn(log, viewer, rng), tokens))]


def shown(answer: Answer) -> bytes:
    """Return all of an answer's bytes."""
    return f"{answer.status}\n{answer.headers}\n".encode() + answer.raw


def left_besides(world: World, lines: list[Any]) -> dict[str, Any]:
    """Return what else left the process: lines of the log, messages, counters.

    That Redis is away is said by the clock, once in some seconds, and left out."""
    lines = [line for line in lines if line["event"] != "store_away"]
    house: House = world.api.app.extensions["persian_rummy"].house
    made = announce(house, world.game_id)
    counters = world.api.get("/metrics").raw.decode().split("\n")
    return {
        "log": [{name: value for name, value in line.items() if name != "ms"} for line in lines],
        "messages": [house.store.load_task(world.game_id, DELIVERY, letter) for letter in made],
        "counters": [line for line in counters if "seconds" not in line and "_created" not in line],
    }


def ask_both(name: str, caller: str, worlds: list[World]) -> tuple[list[bytes], list[Any]]:
    """Make a request in both worlds; return the answers, and what else left."""
    answers, besides = [], []
    for world in worlds:
        with capture_logs() as lines:
            answers.append(shown(world.ask(name, caller)))
        besides.append(left_besides(world, lines))
    return answers, besides


@pytest.mark.parametrize("name", IN_PLAY)
def test_no_answer_depends_on_what_its_reader_must_not_know(name: str) -> None:
    """For every caller; and by the jobs that it puts on a queue."""
    for caller, viewer in VIEWERS.items():
        # Whoever joins is shown the hand that was dealt to the seat.
        worlds = twins(name, SEAT if name == "joinSeat" else viewer)
        if not worlds[0].has(caller):
            continue
        before = len(worlds[0].queue.waiting)
        answers, besides = ask_both(name, caller, worlds)
        jobs = [
            [(job.job, job.job_id, job.arguments) for job in world.queue.waiting[before:]]
            for world in worlds
        ]

        assert answers[0] == answers[1]
        assert besides[0] == besides[1]
        assert jobs[0] == jobs[1]


CHANGES = [name for name in IN_PLAY if operations()[name.partition(" ")[0]][0] != "GET"]


@pytest.mark.parametrize("name", CHANGES)
def test_who_does_something_tells_others_nothing_of_any_hand(name: str) -> None:
    """The log, the messages and the counters, when the seat itself or the app acts; and what those
    who hold no cards see afterwards.
    """
    for caller in ("own-seat", "app"):
        worlds = twins(name, None)
        if not worlds[0].has(caller):
            continue
        _, besides = ask_both(name, caller, worlds)
        assert besides[0] == besides[1]
        for look in ("getGame", "listActions"):
            after = [shown(world.ask(look, "spectator")) for world in worlds]
            assert after[0] == after[1]


def test_the_comparison_sees_what_differs() -> None:
    """A check of the check: what the app is shown of seat 1 differs when nobody's hand is kept."""
    answers, besides = ask_both("getGame ?seat=1", "app", twins("getGame", None))

    assert answers[0] != answers[1]
    assert besides[0] == besides[1]
    assert besides[0]["log"][0]["route"] == "/games/{game_id}"


# A whole game. Each card that somebody must not know is a canary.

CARD = re.compile(r"(?<![A-Za-z0-9])(?:[2-9TJQKA][CDHS]|X[1-4])(?![A-Za-z0-9])")
LOOKS = ("", "/legal-actions", "/actions", "/hints/h1", "/review", "/record", "/deliveries")


def cards_told(answer: Answer) -> set[str]:
    """Return the cards that stand anywhere in an answer: its headers, its body.

    The draw for the dealer is of another pack."""
    told = answer.json
    for game in (told, (told or {}).get("game") or {}):
        if isinstance(game, dict):
            game.pop("seating", None)
    return set(CARD.findall(f"{answer.headers}{orjson.dumps(told).decode()}"))


def test_no_canary_leaves_in_a_whole_game() -> None:
    """Every look of all four, of a spectator and of the app, and the whole log and the counters,
    step by step against what the referee hides.
    """
    hook: Json = {"url": "https://example.org/hook", "secret": SECRET}
    api = ApiClient(memory_app(), check_every=50)
    table = Table(api, seed="canaries", deals=1, webhook=hook, spectators=True)
    referee, choose = referee_for(table), random.Random(1)
    readers = {str(seat): (token, seat) for seat, token in table.tokens.items()}
    answers = lines = 0
    while not referee.over:
        turn = referee.turn
        readers["app"] = (None, None)
        with capture_logs() as logged:
            play_both(table, referee, turn, choose_action(choose, table.legal(turn)))
            if referee.over:
                break
            api.post(f"{table.path}/hints", {"iterations": 5, "seat": referee.turn})
            for name, (token, seat) in readers.items():
                for look in LOOKS:
                    if name == "app" and look in ("/legal-actions", "/hints/h1"):
                        continue
                    told = cards_told(api.get(table.path + look, token=token))
                    assert not told & hidden_from(referee, seat), (name, look)
                    answers += 1
            counters = api.get("/metrics").raw.decode()
        nobody = hidden_from(referee, None)
        assert not set(CARD.findall(repr(logged))) & nobody
        assert not set(CARD.findall(counters)) & nobody
        lines += len(logged)
    print(f"\n{answers} answers, {lines} lines of the log")
    assert answers > 2_000
    assert lines > 2_000
