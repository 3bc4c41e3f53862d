"""Apps' keys in Redis: shown once, kept hashed, revoked at once."""

from __future__ import annotations

import itertools

import pytest
import redis as redis_py

from service.games.access import SCOPES, hash_secret
from service.games.errors import StoreUnavailable
from service.store.app_keys import BadAppName, BadScope, RedisAppKeys
from service.store.connecting import connect

NUMBERS = itertools.count()


def secret(size: int) -> str:
    """Return a text that was not there before."""
    return f"{next(NUMBERS):0{size}}"


def test_a_key_is_found_by_its_hash(redis: redis_py.Redis) -> None:
    """What `create` returns belongs to its app; nothing else does."""
    keys = RedisAppKeys(redis)
    key = keys.create("club", secret, 0.0)

    assert key.startswith("prk_")
    found = keys.find(hash_secret(key))
    assert found is not None
    assert (found.app, found.scopes, found.is_test) == ("club", SCOPES, False)
    assert keys.find(hash_secret(key + "x")) is None


def test_a_key_reaches_as_far_as_it_was_made_to(redis: redis_py.Redis) -> None:
    """Scopes in their usual order, and the mark of the sandbox."""
    keys = RedisAppKeys(redis)
    key = keys.create("club", secret, 0.0, ["hints", "play", "hints"], is_test=True)
    none = keys.create("club", secret, 1.0, [])

    found, empty = keys.find(hash_secret(key)), keys.find(hash_secret(none))
    assert found is not None
    assert empty is not None
    assert (found.scopes, found.is_test) == (("play", "hints"), True)
    assert (empty.scopes, empty.is_test) == ((), False)
    assert keys.list() == [found, empty]
    with pytest.raises(BadScope):
        keys.create("club", secret, 0.0, ["play", "everything"])


def test_a_key_of_the_first_release_has_all_scopes(redis: redis_py.Redis) -> None:
    """They were kept without any."""
    digest = hash_secret("prk_old")
    redis.hset(f"prs:appkey:{digest}", mapping={"app": "club", "created_at": "then"})

    found = RedisAppKeys(redis).find(digest)
    assert found is not None
    assert (found.app, found.scopes, found.is_test) == ("club", SCOPES, False)


def test_the_key_itself_is_kept_nowhere(redis: redis_py.Redis) -> None:
    """Whoever reads the database cannot use what stands there."""
    key = RedisAppKeys(redis).create("club", secret, 0.0)

    for name in redis.scan_iter():
        stored = redis.hgetall(name) if redis.type(name) == b"hash" else redis.smembers(name)
        assert key not in str((name, stored))


def test_keys_are_listed_by_app_and_age(redis: redis_py.Redis) -> None:
    """An app may have several, to change one for the next."""
    keys = RedisAppKeys(redis)
    for app, at_s in (("club", 20.0), ("arena", 5.0), ("club", 10.0)):
        keys.create(app, secret, at_s)

    listed = keys.list()
    assert [(key.app, key.created_at[:19]) for key in listed] == [
        ("arena", "1970-01-01T00:00:05"),
        ("club", "1970-01-01T00:00:10"),
        ("club", "1970-01-01T00:00:20"),
    ]


def test_a_revoked_key_is_gone_at_once(redis: redis_py.Redis) -> None:
    """The other keys of the app stay."""
    keys = RedisAppKeys(redis)
    first, second = (keys.create("club", secret, 0.0) for _ in range(2))

    assert keys.revoke(hash_secret(first))
    assert not keys.revoke(hash_secret(first))
    assert keys.find(hash_secret(first)) is None
    assert keys.find(hash_secret(second)) is not None
    assert len(keys.list()) == 1


@pytest.mark.parametrize("app", ["", "local", "Club", "a b", "-x", "a" * 41, "ä", "a\n"])
def test_an_app_has_a_plain_name(redis: redis_py.Redis, app: str) -> None:
    """And not the one of callers without a key."""
    with pytest.raises(BadAppName):
        RedisAppKeys(redis).create(app, secret, 0.0)


def test_a_redis_that_is_away_is_told_of() -> None:
    """StoreUnavailable, as from the store of games."""
    with connect("redis://127.0.0.1:1/0", 0.1) as client, pytest.raises(StoreUnavailable):
        RedisAppKeys(client).find("x")
