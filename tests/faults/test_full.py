"""A Redis that is full (`maxmemory`, `noeviction`), and two sweeps at once.

Over real Redis, in this process."""

from __future__ import annotations

import random
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from flask import Flask

from service.app import create_app
from service.config import Settings
from service.embedded import RedisServer
from service.games.house import House
from service.games.sweeping import sweep_bots, sweep_clocks
from service.store import keys
from service.store.app_keys import RedisAppKeys
from tests.api.client import FOUR_PEOPLE, NOTHING, ONE_PERSON, Answer, ApiClient

Json = dict[str, Any]
ROOM = 400_000
"""Bytes left: for some games and not for many."""


class KeyedClient(ApiClient):
    """A client that sends an app's key with each request."""

    def __init__(self, app: Flask, key: str) -> None:
        """Send `key`."""
        super().__init__(app)
        self._key = key

    def send(self, method: str, path: str, body: Any = NOTHING, **more: Any) -> Answer:
        """Send a request with the key."""
        return super().send(method, path, body, token=self._key, **more)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Run a Redis of the test's own, which may be filled."""
    with RedisServer(tmp_path / "data", durable=False) as server:
        yield server


@pytest.fixture
def redis_of_own(server: RedisServer) -> Iterator[redis_py.Redis]:
    """Return a client of that Redis."""
    with redis_py.Redis.from_url(server.url) as client:
        yield client


@pytest.fixture
def api(server: RedisServer, redis_of_own: redis_py.Redis) -> ApiClient:
    """Return a client of the service over that Redis, with a key that requests are counted of."""
    own = RedisAppKeys(redis_of_own).create("own", secrets.token_urlsafe, 0.0)
    settings = Settings(redis_url=server.url, queue_redis_url=server.url, auth="required")
    return KeyedClient(create_app(settings), own)


def leave_room(client: redis_py.Redis, room: int) -> None:
    """Let Redis take `room` bytes more, and then refuse to write."""
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", client.info("memory")["used_memory"] + room)


def check_whole(client: redis_py.Redis, game_ids: set[str]) -> None:
    """Assert that just these games are stored, each with as long a log as its version says."""
    stored = {key.decode() for key in client.scan_iter(keys.state_key("*").replace("{*}", "*"))}
    assert stored == {keys.state_key(game_id) for game_id in game_ids}
    for game_id in game_ids:
        version, state = client.hmget(keys.state_key(game_id), "v", "s")
        assert state
        assert client.llen(keys.log_key(game_id)) == int(version)
        for key in (keys.state_key(game_id), *[keys.log_key(game_id)] * (int(version) > 0)):
            assert client.ttl(key) > 0


def is_put_off(answer: Answer) -> bool:
    """Tell whether the answer is 503 with when to come again."""
    return answer.status == 503 and 0 < int(answer.headers["Retry-After"]) <= 60


def test_a_full_redis_takes_whole_games_or_none(
    api: ApiClient, redis_of_own: redis_py.Redis
) -> None:
    """Games are made until 503: those made are whole, those refused have left nothing."""
    made: set[str] = set()
    for seats in (FOUR_PEOPLE, ONE_PERSON):
        made.add(api.post("/games", {"seats": seats}).json["game"]["id"])
    leave_room(redis_of_own, ROOM)
    refused = 0
    while refused < 5:
        seats = [FOUR_PEOPLE, ONE_PERSON][len(made) % 2]
        headers = {"Idempotency-Key": f"k{len(made)}-{refused}"}
        answer = api.post("/games", {"seats": seats}, headers=headers)
        if answer.status == 201:
            made.add(answer.json["game"]["id"])
        else:
            assert is_put_off(answer), answer.raw
            refused += 1
        assert len(made) < 1000

    print(f"\n{len(made)} games made, then {refused} refused")
    assert len(made) > 3
    check_whole(redis_of_own, made)
    redis_of_own.config_set("maxmemory", 0)
    listed = api.get("/games?limit=100").json["games"]
    assert {game["id"] for game in listed} <= made
    assert api.post("/games", {"seats": FOUR_PEOPLE}).status == 201


def test_running_games_go_on_as_far_as_a_full_redis_lets_them(
    api: ApiClient, redis_of_own: redis_py.Redis
) -> None:
    """What is seen can be seen; an action is done and told, or 503 and not done; nothing between.

    With room again all go on, and the first tries' keys give what was done."""
    games = [
        api.post("/games", {"seats": FOUR_PEOPLE, "seed": f"full {n}"}).json["game"]
        for n in range(3)
    ]
    versions = {game["id"]: 0 for game in games}
    rng = random.Random(1)
    done = put_off = 0
    for number in range(1000):
        if number == 10:
            # Scripts and connections have had what they need by now.
            leave_room(redis_of_own, ROOM)
        game = rng.choice(games)
        path = f"/games/{game['id']}"
        legal = api.get(f"{path}/legal-actions")
        assert legal.status == 200, "reading needs no room"
        headers = {"Idempotency-Key": f"a{number}"}
        action = rng.choice(legal.json["actions"])
        answer = api.post(f"{path}/actions", action, headers=headers)
        if answer.status == 201:
            versions[game["id"]] += 1
            done += 1
            assert answer.json["action"]["version"] == versions[game["id"]]
        else:
            assert is_put_off(answer), answer.raw
            put_off += 1
            assert api.get(path).json["version"] == versions[game["id"]]
        if put_off == 10:
            break
    hint = api.post(f"{path}/hints", {"iterations": 5})

    print(f"\n{done} actions done, {put_off} put off")
    assert put_off == 10
    assert done > 10
    assert is_put_off(hint)
    check_whole(redis_of_own, set(versions))
    redis_of_own.config_set("maxmemory", 0)
    again = api.post(f"{path}/actions", action, headers=headers)
    assert (again.status, again.json["action"]["version"]) == (201, versions[game["id"]] + 1)
    assert api.get(f"{path}/hints/h1").status in (404, 410)


def test_sweeps_at_once_call_each_bot_once(api: ApiClient, redis_of_own: redis_py.Redis) -> None:
    """Of eight that find the same twenty lost turns each turn is called for by one."""
    house: House = api.app.extensions["persian_rummy"].house
    seats = [{"player": "bot", "level": "greedy"}] * 4
    made = {api.post("/games", {"seats": seats}).json["game"]["id"] for _ in range(20)}
    lost = list(redis_of_own.scan_iter("rq:job:*")) + list(redis_of_own.scan_iter("rq:queue:*"))
    redis_of_own.delete(*lost)
    ready = threading.Barrier(8)

    def sweep(_: int) -> list[str]:
        ready.wait()
        return sweep_bots(house, -1) + sweep_clocks(house)

    with ThreadPoolExecutor(8) as threads:
        called = [game_id for found in threads.map(sweep, range(8)) for game_id in found]

    assert sorted(called) == sorted(made)
    assert house.queue.depths() == {"bots": len(made)}
    assert sweep_bots(house, -1) == []
