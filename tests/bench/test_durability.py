"""What a commit costs as Redis brings its file to the disk: once a second, or each time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from service.embedded import RedisServer
from service.games.ports import Commit
from service.store.connecting import connect
from service.store.redis_store import RedisStore
from tests.bench.figures import percentile, show, show_command

pytestmark = pytest.mark.bench

ROUNDS = 9
ROUND_S = 1.0
STATE = {"of": "a usual size " * 200}
ENTRY = {"of": "a usual size " * 16}


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[dict[str, RedisStore]]:
    """Return a store for each value of `appendfsync`, each over a Redis of its own."""
    found = {}
    with ExitStack() as stack:
        for value in ("everysec", "always"):
            server = stack.enter_context(RedisServer(tmp_path / value))
            client = stack.enter_context(connect(server.url, 5.0))
            client.config_set("appendfsync", value)
            found[value] = RedisStore(
                client, finished_ttl_s=600, idle_ttl_s=600, idempotency_ttl_s=600
            )
        yield found


def test_what_the_disk_costs(stores: dict[str, RedisStore]) -> None:
    """One client, commit after commit; rounds alternate."""
    taken_ms: dict[str, list[float]] = {value: [] for value in stores}
    for number in range(ROUNDS):
        for value, store in stores.items():
            until, version = time.perf_counter() + ROUND_S, 0
            while (began := time.perf_counter()) < until:
                entry = ENTRY if version else None
                store.commit(Commit(f"g{number}", version, "playing", STATE, entry))
                taken_ms[value].append(1000 * (time.perf_counter() - began))
                version += 1

    show_command("what_the_disk_costs")
    for value, taken in taken_ms.items():
        note = f"; p99 {percentile(taken, 0.99):.3g} ms"
        show(f"a commit with appendfsync {value}", taken, "ms", note)
