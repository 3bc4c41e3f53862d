"""Credentials that are made up: refused, and nothing of them is kept, however many come.

A counter for each token that somebody makes up would let him fill Redis; so only who is known is
counted, and a seat rather than its token, since its owner may have as many tokens as he likes."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator

import pytest
import redis as redis_py

from service.app import create_app
from service.config import Settings
from service.store.app_keys import RedisAppKeys
from tests.api.client import FOUR_PEOPLE, ApiClient

MANY = 200
NOW_S = 1_790_000_085.0


@pytest.fixture
def api(redis: redis_py.Redis, redis_url: str) -> ApiClient:
    """Return a client of the service over the session's Redis, keys required."""
    settings = Settings(redis_url=redis_url, queue_redis_url=redis_url, auth="required")
    return ApiClient(create_app(settings, clock=lambda: NOW_S), check_every=20)


@pytest.fixture
def key(redis: redis_py.Redis) -> str:
    return RedisAppKeys(redis).create("own", secrets.token_urlsafe, 0.0)


def made_up(game_id: str) -> Iterator[str]:
    """Yield keys and tokens that nobody has, of games that are there and of others."""
    for number in itertools.count():
        secret = secrets.token_urlsafe(24)
        yield (f"prk_{secret}", f"prs_{game_id}_{secret}", f"prs_none{number}_{secret}")[number % 3]


def test_what_is_made_up_leaves_nothing_in_redis(
    api: ApiClient, redis: redis_py.Redis, key: str
) -> None:
    """Of whatever game, at whatever path; each is refused and told nothing of a limit."""
    game_id = api.post("/games", {"seats": FOUR_PEOPLE}, token=key).json["game"]["id"]
    paths = [
        ("GET", f"/games/{game_id}", None),
        ("POST", f"/games/{game_id}/actions", {"type": "draw_stock"}),
        ("POST", f"/games/{game_id}/hints", {}),
        ("POST", f"/games/{game_id}/seats/0/token", None),
        ("GET", "/games", None),
        ("GET", "/games/none0", None),
    ]
    before, size = sorted(redis.keys("*")), redis.dbsize()
    tokens = made_up(game_id)
    statuses = set()
    for number in range(MANY):
        method, path, body = paths[number % len(paths)]
        headers = {"Idempotency-Key": f"k{number}"}
        given = {} if body is None else {"body": body}
        answer = api.send(method, path, token=next(tokens), headers=headers, **given)
        statuses.add(answer.status)
        assert "RateLimit" not in answer.headers

    print(f"\n{MANY} made-up credentials: {size} keys in Redis before and {redis.dbsize()} after")
    assert statuses <= {401, 403, 404}
    assert sorted(redis.keys("*")) == before


def test_a_known_token_is_counted_and_its_successor_goes_on_from_there(
    api: ApiClient, redis: redis_py.Redis, key: str
) -> None:
    """A new token is no new bucket; another seat's is one, and so is that of who looks on."""
    made = api.post("/games", {"seats": FOUR_PEOPLE}, token=key).json
    path = f"/games/{made['game']['id']}"
    token = made["seat_tokens"]["1"]
    left = []
    for _ in range(3):
        token = api.post(f"{path}/seats/1/token", token=token).json["token"]
        told = api.get(path, token=token).headers["RateLimit"]
        left.append(int(told.partition("r=")[2].partition(";")[0]))
    for other in (made["seat_tokens"]["2"], made["spectator_token"]):
        assert "RateLimit" in api.get(path, token=other).headers

    assert left == [11_998, 11_996, 11_994]
    # Of the key, of two seats, of those who look on.
    assert len(redis.keys("prs:limit*")) == 4


def test_a_token_that_was_replaced_is_let_in_no_longer_though_it_was_known(
    api: ApiClient, key: str
) -> None:
    """What is remembered is for counting only."""
    made = api.post("/games", {"seats": FOUR_PEOPLE}, token=key).json
    path, token = f"/games/{made['game']['id']}", made["seat_tokens"]["1"]
    assert api.get(path, token=token).status == 200
    api.post(f"{path}/seats/1/token", token=key)

    assert api.get(path, token=token).status == 401
