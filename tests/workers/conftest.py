"""The jobs' surroundings: compiled kernels from one cache, and a House over the session's Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis as redis_py
from numba.core.config import reload_config

from service.games.house import House
from workers.house import house
from workers.warmup import choose_cache, warm_up

CACHE = choose_cache()
# Other tests may have imported numba before the cache's folder was chosen.
reload_config()


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    """Compile or load every kernel; only one process of the tests writes the cache."""
    warm_up(CACHE)


@pytest.fixture
def here(redis: redis_py.Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Return the workers' House, over the session's Redis emptied."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    house.cache_clear()
    yield house()
    house.cache_clear()
