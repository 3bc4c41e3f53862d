"""Apps and their keys: who may use the service.

A key is shown once, when it is made; only its hash is kept. Revoking a key holds at once: nothing
here caches."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

from service.games.access import APP_KEY_PREFIX, LOCAL_APP, hash_secret
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


@dataclass(frozen=True, slots=True)
class AppKey:
    """A key as it is listed: without the key."""

    app: str
    key_hash: str
    """SHA-256 of the key; its first digits name the key when revoking."""
    created_at: str
    """RFC 3339, UTC."""


class RedisAppKeys:
    """Apps' keys in Redis. Every method raises StoreUnavailable when it cannot be reached."""

    def __init__(self, client: redis.Redis) -> None:
        """Use `client`, which answers in bytes; nothing is sent yet."""
        self._client: Any = client

    def find(self, key_hash: str) -> str | None:
        """Return the app whose key has that hash, None for none."""
        with store_errors():
            app = self._client.hget(keys.app_key_key(key_hash), "app")
        return None if app is None else app.decode()

    def create(self, app: str, new_secret: Callable[[int], str], at_s: float) -> str:
        """Make a key for `app` and return it; raises BadAppName."""
        if not _APP.fullmatch(app) or app == LOCAL_APP:
            raise BadAppName(app)
        key = APP_KEY_PREFIX + new_secret(SECRET_BYTES)
        key_hash = hash_secret(key)
        with store_errors():
            # On the list first: a key that works is always listed.
            self._client.sadd(keys.APP_KEYS, key_hash)
            self._client.hset(
                keys.app_key_key(key_hash), mapping={"app": app, "created_at": rfc3339(at_s)}
            )
        return key

    def list(self) -> list[AppKey]:
        """Return all keys, by app and age."""
        found = []
        with store_errors():
            for member in self._client.smembers(keys.APP_KEYS):
                key_hash = member.decode()
                app, created_at = self._client.hmget(
                    keys.app_key_key(key_hash), "app", "created_at"
                )
                if app is not None:
                    found.append(AppKey(app.decode(), key_hash, created_at.decode()))
        return sorted(found, key=lambda key: (key.app, key.created_at, key.key_hash))

    def revoke(self, key_hash: str) -> bool:
        """Take a key away, at once; False when there is none of that hash."""
        with store_errors():
            revoked = self._client.delete(keys.app_key_key(key_hash))
            self._client.srem(keys.APP_KEYS, key_hash)
        return bool(revoked)


class MemoryAppKeys:
    """Apps' keys in a dictionary, for tests."""

    def __init__(self) -> None:
        """Begin without any."""
        self._apps: dict[str, str] = {}

    def find(self, key_hash: str) -> str | None:
        """Return the app whose key has that hash, None for none."""
        return self._apps.get(key_hash)

    def create(self, app: str, key: str) -> str:
        """Keep `key` for `app` and return it."""
        self._apps[hash_secret(key)] = app
        return key

    def revoke(self, key: str) -> None:
        """Take a key away."""
        self._apps.pop(hash_secret(key), None)
