"""Apps and their keys: who may use the service.

A key is shown once, when it is made; only its hash is kept. Revoking a key holds at once: nothing
here caches."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import redis

from service.games.access import APP_KEY_PREFIX, LOCAL_APP, SCOPES, AppKey, hash_secret
from service.games.house import rfc3339
from service.store import keys
from service.store.errors import store_errors

SECRET_BYTES = 24
"""192 bits."""
_APP = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class BadAppName(ValueError):
    """No name for an app."""

    def __init__(self, app: str) -> None:
        super().__init__(
            f"{app!r} is no name for an app: 1 to 40 of a-z, 0-9 and -, and not {LOCAL_APP!r}"
        )
        self.app = app


class BadScope(ValueError):
    """No scope of a key."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"{scope!r} is no scope: {', '.join(SCOPES)}")
        self.scope = scope


class RedisAppKeys:
    """Apps' keys in Redis. Every method raises StoreUnavailable when it cannot be reached."""

    def __init__(self, client: redis.Redis) -> None:
        """Use `client`, which answers in bytes; nothing is sent yet."""
        self._client: Any = client

    def find(self, key_hash: str) -> AppKey | None:
        """Return the key of that hash, None for none."""
        with store_errors():
            stored = self._client.hgetall(keys.app_key_key(key_hash))
        return _key_from(key_hash, stored) if stored else None

    def create(
        self,
        app: str,
        new_secret: Callable[[int], str],
        at_s: float,
        scopes: Iterable[str] = SCOPES,
        *,
        is_test: bool = False,
    ) -> str:
        """Make a key for `app` and return it; raises BadAppName, BadScope."""
        if not _APP.fullmatch(app) or app == LOCAL_APP:
            raise BadAppName(app)
        wanted = set(scopes)
        for scope in sorted(wanted.difference(SCOPES)):
            raise BadScope(scope)
        key = APP_KEY_PREFIX + new_secret(SECRET_BYTES)
        key_hash = hash_secret(key)
        fields = {
            "app": app,
            "created_at": rfc3339(at_s),
            "scopes": " ".join(scope for scope in SCOPES if scope in wanted),
            "test": int(is_test),
        }
        with store_errors():
            # On the list first: a key that works is always listed.
            self._client.sadd(keys.APP_KEYS, key_hash)
            self._client.hset(keys.app_key_key(key_hash), mapping=fields)
        return key

    def list(self) -> list[AppKey]:
        """Return all keys, by app and age."""
        found = []
        with store_errors():
            for member in self._client.smembers(keys.APP_KEYS):
                key_hash = member.decode()
                stored = self._client.hgetall(keys.app_key_key(key_hash))
                if stored:
                    found.append(_key_from(key_hash, stored))
        return sorted(found, key=lambda key: (key.app, key.created_at, key.key_hash))

    def revoke(self, key_hash: str) -> bool:
        """Take a key away, at once; False when there is none of that hash."""
        with store_errors():
            revoked = self._client.delete(keys.app_key_key(key_hash))
            self._client.srem(keys.APP_KEYS, key_hash)
        return bool(revoked)


def _key_from(key_hash: str, stored: dict[bytes, bytes]) -> AppKey:
    """Return a key as Redis keeps it; those of the first release have all scopes."""
    scopes = stored.get(b"scopes")
    return AppKey(
        app=stored[b"app"].decode(),
        key_hash=key_hash,
        created_at=stored[b"created_at"].decode(),
        scopes=SCOPES if scopes is None else tuple(scopes.decode().split()),
        is_test=stored.get(b"test") == b"1",
    )


class MemoryAppKeys:
    """Apps' keys in a dictionary, for tests."""

    def __init__(self) -> None:
        """Begin without any."""
        self._keys: dict[str, AppKey] = {}

    def find(self, key_hash: str) -> AppKey | None:
        """Return the key of that hash, None for none."""
        return self._keys.get(key_hash)

    def create(
        self, app: str, key: str, scopes: Iterable[str] = SCOPES, *, is_test: bool = False
    ) -> str:
        """Keep `key` for `app` and return it."""
        key_hash = hash_secret(key)
        self._keys[key_hash] = AppKey(app, key_hash, "", tuple(scopes), is_test)
        return key

    def revoke(self, key: str) -> None:
        """Take a key away."""
        self._keys.pop(hash_secret(key), None)
