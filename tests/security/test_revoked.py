"""A key that is revoked opens nothing from then on, also to who was let in before and waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from service.config import Settings
from service.store.app_keys import MemoryAppKeys
from tests.api.client import FOUR_PEOPLE, ApiClient, memory_app
from tests.api.streams import Event, stream_of

KEY, SECOND = "prk_leaked", "prk_second"


class Game:
    """A game of four people, and the key that made it."""

    def __init__(self, app: Flask, keys: MemoryAppKeys) -> None:
        self.app, self.keys = app, keys
        self.api = ApiClient(app)
        made = self.api.post("/games", {"seats": FOUR_PEOPLE}, token=KEY).json
        self.path = f"/games/{made['game']['id']}"
        self.turn = made["game"]["deal"]["turn"]
        self.token = made["seat_tokens"][str(self.turn)]

    def draw(self) -> None:
        """Let the seat to move draw a card."""
        answer = self.api.post(f"{self.path}/actions", {"type": "draw_stock"}, token=self.token)
        assert answer.status == 201


@pytest.fixture
def game() -> Game:
    keys = MemoryAppKeys()
    for key in (KEY, SECOND):
        keys.create("own", key)
    app = memory_app(
        keys=keys, settings=Settings(auth="required", keep_alive_s=0.1, max_stream_s=20)
    )
    return Game(app, keys)


def told(events: Iterator[Event]) -> list[str]:
    """Return what else a stream tells of, to its end."""
    return [event.kind for event in events if event.kind != ":"]


def test_a_stream_ends_when_its_key_is_revoked(game: Game) -> None:
    """Before it tells of the next action, and its card; that of another key goes on."""
    path = f"{game.path}/events?seat={game.turn}"
    with stream_of(game.app, path, KEY) as leaked, stream_of(game.app, path, SECOND) as other:
        assert next(leaked).kind == next(other).kind == "game"
        game.keys.revoke(KEY)
        game.draw()

        assert told(leaked) == []
        assert next(event for event in other if event.kind != ":").data["card"]


def test_a_stream_without_news_ends_too(game: Game) -> None:
    with stream_of(game.app, f"{game.path}/events", KEY) as events:
        next(events)
        game.keys.revoke(KEY)

        assert told(events) == []


def test_who_waits_for_a_version_is_refused_when_it_comes(game: Game) -> None:
    """401 in place of the hand."""
    waits = threading.Event()

    def wait() -> int:
        waits.set()
        path = f"{game.path}?seat={game.turn}&since=0&wait=20"
        return ApiClient(game.app).get(path, token=KEY).status

    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(wait)
        assert waits.wait(10)
        # The request may still be read: it is refused then, and that proves less, not more.
        game.keys.revoke(KEY)
        game.draw()

        assert answer.result(30) == 401


def test_who_waits_for_a_hint_is_refused_when_it_comes() -> None:
    """The key is revoked between the first look at the hint and the last."""
    keys = MemoryAppKeys()
    keys.create("own", KEY)
    app = memory_app(
        keys=keys, settings=Settings(auth="required"), sleep=lambda _seconds: keys.revoke(KEY)
    )
    game = Game(app, keys)
    path, wait = f"{game.path}/hints", {"Prefer": "wait=1"}
    answer = game.api.post(path, {"seat": game.turn}, token=KEY, headers=wait)

    assert answer.status == 401
    assert b"candidates" not in answer.raw
