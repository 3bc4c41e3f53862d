"""The queues' Redis with things in it that RQ never wrote: games go on, operators see it.

Whoever writes there can lose jobs; he is not to blind those who would notice, nor to let an action
that is done be answered 500."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pytest
import redis as redis_py

from service.app import create_app
from service.config import Settings
from service.store.app_keys import RedisAppKeys
from tests.api.client import FOUR_PEOPLE, ApiClient

BOTS = [{"player": "bot", "level": "greedy"}] * 4
JUNK = "rq:job:junk"
Spoil = Callable[[redis_py.Redis], object]


def put_junk(redis: redis_py.Redis, **fields: str | bytes) -> None:
    """Put a job that is none in front of the others, and among those that run and have failed."""
    redis.hset(JUNK, mapping={"data": b"\x00", **fields})  # type: ignore[arg-type]
    redis.lpush("rq:queue:bots", "junk")
    redis.zadd("rq:failed:bots", {"junk": 1e10})
    redis.zadd("rq:wip:bots", {"junk:1": 1e10})


def put_text(redis: redis_py.Redis) -> None:
    """Put a text where a job is looked for."""
    put_junk(redis)
    redis.delete(JUNK)
    redis.set(JUNK, "text")


JUNK_JOBS: dict[str, Spoil] = {
    "no data": lambda redis: put_junk(redis),
    "data that is no JSON": lambda redis: put_junk(redis, data=b"\xff\xfe"),
    "moments that are none": lambda redis: put_junk(redis, created_at="never", enqueued_at="x"),
    "numbers that are none": lambda redis: put_junk(redis, timeout="x", result_ttl="y"),
    "a state that is none": lambda redis: put_junk(redis, status="?", meta=b"\x80"),
    "a text": put_text,
}
JUNK_QUEUES: dict[str, Spoil] = {
    f"{key} is a text": lambda redis, key=key: redis.set(key, "text")  # type: ignore[misc]
    for key in ("rq:queue:bots", "rq:wip:bots", "rq:failed:bots", "rq:queues")
}


@pytest.fixture
def api(redis: redis_py.Redis, redis_url: str) -> ApiClient:
    """Return a client of the service over the session's Redis, keys required."""
    settings = Settings(redis_url=redis_url, queue_redis_url=redis_url, auth="required")
    return ApiClient(create_app(settings))


@pytest.fixture
def key(redis: redis_py.Redis) -> str:
    return RedisAppKeys(redis).create("own", secrets.token_urlsafe, 0.0)


@pytest.mark.parametrize("spoil", JUNK_JOBS.values(), ids=list(JUNK_JOBS))
def test_operators_see_the_queue_with_a_job_that_is_none(
    api: ApiClient, redis: redis_py.Redis, key: str, spoil: Spoil
) -> None:
    """It is told of as `other`, beside the jobs that are some."""
    api.post("/games", {"seats": BOTS}, token=key)
    spoil(redis)
    told = api.get("/queues/bots", token=key)
    failed = told.json["failed"][0]["job"]

    assert [job["kind"] for job in told.json["waiting"]] == ["other", "play_bot_turn"]
    assert api.get("/queues", token=key).json["queues"][0]["queued"] == 2
    assert api.get("/metrics").status == 200
    again = api.post(f"/queues/bots/failed/{failed}/requeue", token=key)
    assert again.status in (202, 404, 503)


@pytest.mark.parametrize("spoil", JUNK_QUEUES.values(), ids=list(JUNK_QUEUES))
def test_games_go_on_without_a_queue_that_can_be_used(
    api: ApiClient, redis: redis_py.Redis, key: str, spoil: Spoil
) -> None:
    """What is done is told as done; work that cannot be queued is put off, as in a full queue."""
    spoil(redis)
    made = api.post("/games", {"seats": BOTS}, token=key)
    people = api.post("/games", {"seats": FOUR_PEOPLE}, token=key).json["game"]
    hint = api.post(f"/games/{people['id']}/bot-moves", {"seat": people["deal"]["turn"]}, token=key)

    assert made.status == 201
    assert hint.status in (202, 503)
    for path in ("/queues", "/queues/bots"):
        assert api.get(path, token=key).status in (200, 503)
    assert api.get("/metrics").status == 200
