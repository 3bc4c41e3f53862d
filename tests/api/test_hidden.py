"""R33 over HTTP: the bytes that a seat is sent do not depend on the cards that it cannot see.

Two stored games differ in nothing but those cards (`tests/games/test_hidden.py` deals them anew).
Each request is sent to both: status, headers and body must be the same, over every GET route of the
document, for what is refused, for the beginning of a stream, and for the jobs and messages that go
out. Then a whole game, in which every card that a seat must not know is a canary.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st

from service.games.externals import question_for
from service.games.house import House
from service.games.model import Game
from service.games.webhooks import DELIVERY, announce
from service.rules.deal import SEATS
from service.store.app_keys import MemoryAppKeys
from service.store.memory import MemoryQueue
from tests.api.client import ApiClient, Table, document, memory_app
from tests.api.streams import Event, stream_of
from tests.api.test_whole_game import choose_action, play_both, referee_for
from tests.games import tables
from tests.games.test_hidden import exchange_drawn, exchange_unseen
from tests.oracle import RefereeDeal
from tests.receivers import SECRET

Json = dict[str, Any]
LONGEST = 120
"""Actions before the look; a random game takes some 200."""
KEY = "prk_of-the-app"
HOOK = {"url": "https://example.org/hook", "secret": SECRET}
GETS = sorted(
    path
    for path, item in document()["paths"].items()
    if "get" in item and path not in ("/metrics", "/bots", "/rules", "/webhook")
)
"""All that may tell of a game. Of the metrics what is counted is compared, not how long it took."""
BAD_BODIES: list[Any] = [
    {},
    [],
    {"type": "lunch"},
    {"type": "discard"},
    {"type": "discard", "card": "1X"},
    {"type": "meld", "cards": ["7H"] * 60},
]


@dataclass
class Side:
    """One of the two services: its store with the game, its queue, and all that it has sent."""

    game: Game
    app: Flask
    queue: MemoryQueue
    sent: list[bytes] = field(default_factory=list)

    @property
    def house(self) -> House:
        """What its use cases work with."""
        house: House = self.app.extensions["persian_rummy"].house
        return house

    def ask(self, method: str, path: str, token: str, body: Any = None, **more: str) -> None:
        """Send a request and note all bytes of its answer; of a stream those of its beginning."""
        headers = {"X-Request-Id": "same", "Authorization": f"Bearer {token}"}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        data = None
        if body is not None:
            data = orjson.dumps(body)
            headers["Content-Type"] = "application/json"
        client = self.app.test_client(use_cookies=False)
        with client.open(path, method=method, data=data, headers=headers, buffered=False) as answer:
            chunks = answer.iter_encoded()
            content = next(chunks, b"") if "/events" in path else b"".join(chunks)
            told = f"{method} {path}\n{answer.status}\n{answer.headers}\n".encode()
            self.sent.append(told + content)

    def went_out(self) -> bytes:
        """Return what else it has told: jobs, messages for webhooks, counters."""
        store, game_id = self.house.store, self.game.id
        made = range(1, store.count_tasks(game_id, DELIVERY) + 1)
        letters = [store.load_task(game_id, DELIVERY, f"d{number}") for number in made]
        jobs = [(job.job, job.job_id, job.arguments) for job in self.queue.waiting]
        with self.app.test_client() as client:
            lines = client.get("/metrics").data.decode().split("\n")
        counted = [line for line in lines if "seconds" not in line and "_created" not in line]
        return orjson.dumps([letters, jobs, counted])


def side_of(game: Game, log: list[Json], tokens: dict[str, str]) -> Side:
    """Return a service whose clock stands still and whose secrets are counted."""
    table = tables.table_at(game, log, tokens)
    table.store.index_game(game.app, game.id, 1)
    numbers, keys = itertools.count(), MemoryAppKeys()
    keys.create(game.app, KEY)
    app = memory_app(
        store=table.store,
        queue=table.queue,
        keys=keys,
        clock=lambda: 1_790_000_100.0,
        new_secret=lambda size: f"{next(numbers):0{2 * size}d}",
        monotonic=lambda: 0.0,
    )
    return Side(game, app, table.queue)


def two_sides(
    seed: int, steps: int, viewer: int | None, rng: random.Random
) -> tuple[list[Side], dict[str, str]]:
    """Return services with a game after some random actions and with its twin; and its tokens."""
    table = tables.open_table(seed=f"over http {seed}", webhook=HOOK, spectators=True)
    table.play_randomly(random.Random(seed), steps)
    game, log = table.game, table.store.read_log(table.game_id, 0, 10_000)
    twin, twin_log = exchange_unseen(game, viewer, rng), exchange_drawn(log, viewer, rng)
    tokens = {**table.tokens, "spectator": str(table.spectator_token)}
    return [side_of(game, log, tokens), side_of(twin, twin_log, tokens)], tokens


def looks(game: Game, query: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield path and headers of every look at the game, with `query` at each."""
    for name in GETS:
        filled = name.replace("{game_id}", game.id).replace("{hint_id}", "h1")
        yield filled.replace("{move_id}", "b1") + query, {}
    path = f"/games/{game.id}"
    yield f"{path}/hints/h9{query}", {}
    yield f"{path}/nothing{query}", {}
    yield f"{path}{query}", {"If_None_Match": f'"{game.version}"'}
    yield f"{path}/events{query}", {"Last_Event_ID": str(max(game.version - 3, 0))}


def tries(game: Game, seat: int, rng: random.Random) -> Iterator[tuple[str, Any, dict[str, str]]]:
    """Yield path, body and headers of what the seat may ask for, without changing the game."""
    path = f"/games/{game.id}"
    yield f"{path}/hints", {"level": "greedy", "seat": seat}, {}
    yield f"{path}/bot-moves", {"level": "greedy", "seat": seat}, {}
    for action in rng.sample(tables.every_action(game), 15):
        yield f"{path}/actions?dry_run=true", {**action, "seat": seat}, {}
    yield f"{path}/actions", {"type": "draw_stock", "seat": seat}, {"If_Match": '"99999"'}
    yield (
        f"{path}/actions",
        {"type": "draw_stock", "seat": (seat + 1) % SEATS},
        {"If_Match": '"99999"'},
    )
    for body in BAD_BODIES:
        yield f"{path}/actions", body, {}


def compare(one: Side, other: Side) -> None:
    """Assert that both have sent the same, to whomever."""
    for ours, theirs in zip(one.sent, other.sent, strict=True):
        assert ours == theirs
    assert one.went_out() == other.went_out()


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, LONGEST), st.integers(0, SEATS - 1), st.randoms())
def test_a_seat_is_sent_the_same_bytes_whatever_it_cannot_see(
    seed: int, steps: int, viewer: int, rng: random.Random
) -> None:
    """By its token, and by the app that names it: every look, what is refused, jobs."""
    sides, tokens = two_sides(seed, steps, viewer, rng)
    chosen = rng.random()
    for side in sides:
        own = tokens[str(viewer)]
        for path, body, headers in tries(sides[0].game, viewer, random.Random(chosen)):
            side.ask("POST", path, own, body, **headers)
            if body in BAD_BODIES or body["seat"] == viewer:
                side.ask("POST", path, KEY, body, **headers)
        for query in ("", *(f"?seat={seat}" for seat in range(SEATS))):
            for path, headers in looks(side.game, query):
                side.ask("GET", path, own, **headers)
        for path, headers in looks(side.game, f"?seat={viewer}"):
            side.ask("GET", path, KEY, **headers)

    compare(*sides)
    assert len(sides[0].sent) > 100


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, LONGEST), st.randoms())
def test_who_has_no_seat_is_sent_the_same_bytes_whatever_is_hidden(
    seed: int, steps: int, rng: random.Random
) -> None:
    """A spectator, the app that names no seat, and who is told by webhook."""
    sides, tokens = two_sides(seed, steps, None, rng)
    for side in sides:
        announce(side.house, side.game.id)
        for path, headers in looks(side.game, ""):
            side.ask("GET", path, tokens["spectator"], **headers)
            # The app that names no seat is told the legal actions of the one to move.
            if "legal-actions" not in path:
                side.ask("GET", path, KEY, **headers)

    compare(*sides)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, LONGEST), st.integers(0, SEATS - 1), st.randoms())
def test_a_seat_outside_is_asked_the_same_whatever_it_cannot_see(
    seed: int, steps: int, seat: int, rng: random.Random
) -> None:
    table = tables.open_table(seed=f"outside {seed}")
    table.play_randomly(random.Random(seed), steps)
    game = table.game
    questions = []
    for dealt in (game, exchange_unseen(game, seat, rng)):
        dealt.extra["external"] = {str(seat): {"url": "https://example.org", "secret": SECRET}}
        questions.append(orjson.dumps(question_for(dealt, seat, "now").body))

    assert questions[0] == questions[1]


# A whole game, its hidden cards the canaries.


def hidden_from(referee: RefereeDeal, seat: int | None) -> set[str]:
    """Return the cards that the seat, or who has none, must not know."""
    hidden = set(referee.stock)
    for other in range(SEATS):
        if other != seat:
            hidden |= set(referee.hands[other]) - referee.known[other]
    return hidden


def cards_in(told: Any) -> set[str]:
    """Return all that looks like a card in what was told, wherever it stands."""
    return set(re.findall(r"[2-9TJQKA][CDHS]|X[1-4]", orjson.dumps(told).decode()))


@pytest.mark.parametrize("seed", ["canary-1", "canary-2"])
def test_no_hidden_card_leaves_in_a_stream_a_webhook_or_a_job(seed: str) -> None:
    """Five streams, the messages and the jobs of a whole deal, against what the referee hides."""
    queue = MemoryQueue()
    api = ApiClient(memory_app(queue=queue), check_every=50)
    table = Table(api, seed=seed, deals=1, webhook=HOOK)
    house: House = api.app.extensions["persian_rummy"].house
    choose, referee = random.Random(seed), referee_for(table)
    looked_at = 0
    with ExitStack() as stack:
        streams: dict[int | None, Iterator[Event]] = {
            seat: stack.enter_context(stream_of(api.app, f"{table.path}/events", token))
            for seat, token in [(None, None), *table.tokens.items()]
        }
        for stream in streams.values():
            next(stream)
        while not referee.over:
            seat = referee.turn
            play_both(table, referee, seat, choose_action(choose, table.legal(seat)))
            for viewer, stream in streams.items():
                event = next(stream)
                assert event.kind == "action"
                assert not cards_in(event.data) & hidden_from(referee, viewer)
                looked_at += 1
            for made in announce(house, table.id):
                letter = house.store.load_task(table.id, DELIVERY, made)
                assert letter is not None
                if letter["event"] != "game.finished":
                    assert not cards_in(letter["data"]) & hidden_from(referee, None)
                looked_at += 1
            if not referee.over:
                api.post(f"{table.path}/hints", {"iterations": 5})
                job = queue.waiting[-1]
                assert "view" in job.arguments
                assert not cards_in(job.arguments["view"]) & hidden_from(referee, referee.turn)
                looked_at += 1
    print(f"\n{looked_at} messages")
    assert looked_at > 300


def test_the_comparison_catches_what_another_seat_is_sent() -> None:
    """A check of the check: the twins of one seat are not alike to the next."""
    sides, tokens = two_sides(1, 30, 0, random.Random(1))
    statuses = set()
    for side in sides:
        for path, headers in looks(side.game, ""):
            side.ask("GET", path, tokens["1"], **headers)
        statuses |= {sent.split(b"\n")[1][:3] for sent in side.sent}

    assert statuses >= {b"200", b"304", b"403", b"404", b"409"}
    with pytest.raises(AssertionError):
        compare(*sides)
