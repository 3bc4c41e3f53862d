"""Tokens are shown once and kept nowhere: whatever Redis holds afterwards, they are not in it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import redis as redis_py

from service.store.app_keys import RedisAppKeys
from tests.api.client import FOUR_PEOPLE, ApiClient

Json = dict[str, Any]
SEATS = [*FOUR_PEOPLE[:3], {"player": "open"}]
KEY = "prk_" + "k" * 32


@pytest.fixture
def app_key(redis: redis_py.Redis) -> str:
    """Return the key of an app."""
    return RedisAppKeys(redis).create("shop", lambda _: KEY[4:], 0.0)


def kept(redis: redis_py.Redis) -> Iterator[bytes]:
    """Yield all that Redis holds: names, fields, members and values; what is packed also open."""
    for name in redis.scan_iter():
        kind = redis.type(name)
        yield name
        if kind == b"string":
            yield from opened(redis.get(name))
        elif kind == b"hash":
            for field, value in redis.hgetall(name).items():
                yield field
                yield from opened(value)
        elif kind == b"list":
            for item in redis.lrange(name, 0, -1):
                yield from opened(item)
        elif kind == b"set":
            yield from redis.smembers(name)
        elif kind == b"zset":
            yield from redis.zrange(name, 0, -1)
        else:
            pytest.fail(f"{name!r} is a {kind!r}, which nobody has looked into")


def opened(value: bytes) -> Iterator[bytes]:
    """Yield a value and, if it or the end of it is packed by zlib, what was packed."""
    yield value
    for start in range(min(len(value), 32)):
        try:
            yield zlib.decompress(value[start:])
        except zlib.error:
            continue


def tokens_in(body: Any) -> list[str]:
    """Return every token in an answer."""
    if isinstance(body, dict):
        return [token for value in body.values() for token in tokens_in(value)]
    if isinstance(body, list):
        return [token for value in body for token in tokens_in(value)]
    return [body] if isinstance(body, str) and body.startswith("prs_") else []


@pytest.mark.parametrize("has_key", [True, False])
def test_no_token_and_no_key_is_in_redis(
    redis: redis_py.Redis, redis_api: ApiClient, app_key: str, has_key: bool
) -> None:
    """After each request that shows a token, with an Idempotency-Key each; nor is that in Redis."""
    used: list[str] = []

    def post(path: str, body: Any, token: str | None) -> Json:
        headers = {"Idempotency-Key": f"key-of-my-own-{len(used)}"}
        used.append(headers["Idempotency-Key"])
        first = redis_api.post(path, body, token=token, headers=headers)
        again = redis_api.post(path, body, token=token, headers=headers)
        assert (first.status, first.json) == (201, again.json)
        assert again.headers["Idempotent-Replayed"] == "true"
        answered: Json = first.json
        return answered

    key = app_key if has_key else None
    made = post("/games", {"seats": SEATS}, key)
    game = f"/games/{made['game']['id']}"
    joined = post(f"{game}/seats/3/join", {"name": "Di"}, None)
    rotated = post(f"{game}/seats/3/token", {}, joined["token"])
    by_app = post(f"{game}/seats/0/token", {}, key)
    redis_api.delete(game, token=key)
    again = post(f"{game}/rematch", {}, key)
    match = post("/matches", {"seats": FOUR_PEOPLE}, key)
    shown = [tokens_in(body) for body in (made, joined, rotated, by_app, again, match)]
    everything = list(kept(redis))

    assert [len(tokens) for tokens in shown] == [4, 1, 1, 1, 5, 10]
    secrets = [token.split("_", 2)[2] for tokens in shown for token in tokens]
    for secret in (*secrets, *used, KEY[4:]):
        for value in everything:
            assert secret.encode() not in value
    assert sum(b":idem:" in value for value in everything) == len(used)


def test_another_of_the_apps_keys_opens_no_answer(
    redis: redis_py.Redis, redis_api: ApiClient, app_key: str
) -> None:
    """422: what was answered is sealed by the key that asked; nothing is made twice."""
    other = RedisAppKeys(redis).create("shop", lambda _: "o" * 32, 0.0)
    headers = {"Idempotency-Key": "once"}
    made = redis_api.post("/games", {"seats": SEATS}, token=app_key, headers=headers)
    answer = redis_api.post("/games", {"seats": SEATS}, token=other, headers=headers)

    assert made.status == 201
    assert (answer.status, answer.json["type"]) == (422, "/docs/problems/key-reused")
    assert len(redis_api.get("/games", token=other).json["games"]) == 1
