"""Redis away: 503 with Retry-After, and recovery without a restart of ours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.app import create_app
from service.config import Settings
from service.embedded import RedisServer
from tests.api.client import FOUR_PEOPLE, Answer, ApiClient, Table


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Return a Redis that keeps its data, not yet started."""
    server = RedisServer(tmp_path / "redis")
    yield server
    server.stop()


def client_of(server: RedisServer) -> ApiClient:
    """Return a client of a service that has its games and queues in `server`."""
    settings = Settings(redis_url=server.url, queue_redis_url=server.url, redis_timeout_s=0.5)
    return ApiClient(create_app(settings))


def check_away(answer: Answer) -> None:
    """Assert that the answer says so: 503, and when to come again."""
    assert answer.status == 503
    assert answer.json["type"] == "/docs/problems/unavailable"
    assert int(answer.headers["Retry-After"]) >= 1


def test_the_service_starts_without_redis(server: RedisServer) -> None:
    """Nothing is connected at the start; health and docs answer; the rest when Redis is there."""
    api = client_of(server)
    check_away(api.post("/games", {"seats": FOUR_PEOPLE}))
    for path in ("/healthz", "/bots", "/rules", "/openapi.json", "/docs", "/metrics"):
        assert api.get(path).status == 200
    assert api.get("/readyz").json["dependencies"] == {"store": "away", "queue": "away"}
    server.start()

    assert api.get("/readyz").status == 200
    assert api.post("/games", {"seats": FOUR_PEOPLE}).status == 201


def test_a_game_goes_on_after_redis_was_away(server: RedisServer) -> None:
    """503 in bounded time on every path; then the same process serves the same game."""
    server.start()
    api = client_of(server)
    table = Table(api)
    seat, token = table.turn, table.tokens[table.turn]
    table.play(seat, {"type": "draw_stock"})
    server.stop()
    began = time.monotonic()
    for answer in (
        api.get(table.path),
        api.get(table.path, token=token),
        api.get(f"{table.path}?since=1&wait=20"),
        api.get("/games"),
        api.get("/games", token="prk_any"),
        api.get(f"{table.path}/actions"),
        api.get(f"{table.path}/legal-actions"),
        api.post(f"{table.path}/actions", {"type": "draw_stock"}, token=token),
        api.post(f"{table.path}/hints", {}, token=token),
        api.post(f"{table.path}/bot-moves", {}, token=token),
        api.get(f"{table.path}/hints/h1", token=token),
        api.post(f"{table.path}/seats/0/join", {}),
        api.delete(table.path),
    ):
        check_away(answer)
    assert time.monotonic() - began < 10
    server.start()

    assert table.view(seat)["version"] == 1
    assert table.play(seat, table.legal(seat)[-1]).status == 201
