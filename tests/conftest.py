"""Fixtures for all tests: a real Redis, one server for each process that runs tests.

It is always a server of the tests' own, whatever ``REDIS_URL`` says: they empty it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis as redis_py

from service.embedded import NoRedisServer, RedisServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes minutes: with several processes the others are done meanwhile."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> None:
    """Leave out the steps of a failure that have no line, as Python 3.11 has some: the report of
    one such failure would end in an error of its own, and the whole run with it.
    """
    error = call.excinfo.value if call.excinfo is not None else None
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None:
            while step.tb_next is not None and step.tb_next.tb_lineno is None:
                step.tb_next = step.tb_next.tb_next
            step = step.tb_next
        error = error.__cause__ or error.__context__


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Run a Redis for the whole session; fail, and do not skip, when there is no server to run."""
    try:
        server = RedisServer(tmp_path_factory.mktemp("redis"), durable=False)
    except NoRedisServer as error:
        pytest.fail(str(error), pytrace=False)
    with server:
        yield server


@pytest.fixture(scope="session")
def redis_url(redis_server: RedisServer) -> str:
    """Return the address of the session's Redis, which other tests may have written to."""
    return redis_server.url


@pytest.fixture
def redis(redis_url: str) -> Iterator[redis_py.Redis]:
    """Empty the session's Redis and return a client of it; answers are bytes."""
    with redis_py.Redis.from_url(redis_url, decode_responses=False) as client:
        client.flushall()
        yield client
