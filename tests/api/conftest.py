"""The service under test: over stores in memory, and over a real Redis for the essentials."""

from __future__ import annotations

import pytest
from flask import Flask

from service.config import Settings
from service.store.app_keys import MemoryAppKeys
from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import ApiClient, Table, memory_app, quick_app


@pytest.fixture
def store() -> MemoryStore:
    """Return the store that `app` works on."""
    return MemoryStore()


@pytest.fixture
def queue() -> MemoryQueue:
    """Return the queue that `app` works on."""
    return MemoryQueue()


@pytest.fixture
def keys() -> MemoryAppKeys:
    """Return the apps' keys that `app` knows."""
    return MemoryAppKeys()


@pytest.fixture
def app(store: MemoryStore, queue: MemoryQueue, keys: MemoryAppKeys) -> Flask:
    """Return the service over stores in memory, app keys optional."""
    return memory_app(store=store, queue=queue, keys=keys)


@pytest.fixture
def api(app: Flask) -> ApiClient:
    """Return a client of `app`."""
    return ApiClient(app)


@pytest.fixture
def table(api: ApiClient) -> Table:
    """Return a game of four people."""
    return Table(api)


@pytest.fixture
def redis_app(redis: object, redis_url: str) -> Flask:
    """Return the service over a real, empty Redis."""
    return quick_app(Settings(redis_url=redis_url, queue_redis_url=redis_url))


@pytest.fixture
def redis_api(redis_app: Flask) -> ApiClient:
    """Return a client of `redis_app`."""
    return ApiClient(redis_app)


@pytest.fixture(params=["memory", "redis"])
def any_api(request: pytest.FixtureRequest) -> ApiClient:
    """Return a client of the service over memory, then of the one over Redis."""
    name = "api" if request.param == "memory" else "redis_api"
    found: ApiClient = request.getfixturevalue(name)
    return found
