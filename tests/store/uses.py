"""What the service does with Redis, all of it once: for each way of reaching one."""

from __future__ import annotations

import uuid
from contextlib import closing

import redis as redis_py

from service.app import create_app
from service.config import Settings
from service.games.ports import Commit
from service.jobqueue import RqQueue
from service.store.connecting import connect
from service.store.redis_store import RedisStore
from tests.api.client import ApiClient, Table
from workers.main import worker_connection


def make_store(client: redis_py.Redis, wait_replicas: int = 0) -> RedisStore:
    """Return a store of games that are kept for a while."""
    return RedisStore(
        client,
        finished_ttl_s=700,
        idle_ttl_s=3000,
        idempotency_ttl_s=100,
        wait_replicas=wait_replicas,
    )


def use_all(settings: Settings, wait_replicas: int) -> None:
    """Use every kind of connection: the pool's, the one for news, the one that waits for replicas,
    the queues', a worker's own.
    """
    api = ApiClient(create_app(settings))
    table = Table(api)
    table.play(table.turn, {"type": "draw_stock"})
    asked = api.post(f"{table.path}/hints", {}, token=table.tokens[table.turn])
    assert (asked.status, api.get("/readyz").status) == (202, 200)
    assert 'jobs_queued{queue="hints"} 1.0' in api.get("/metrics").raw.decode()

    with connect(settings.redis_url, 2.0) as client:
        store = make_store(client, wait_replicas)
        game_id = uuid.uuid4().hex
        assert store.commit(Commit(game_id, 0, "playing", {})).is_done
        with closing(store.watch(game_id)) as watch:
            assert [] == watch.next(0, 0.01)
            assert store.commit(Commit(game_id, 1, "playing", {}, {"version": 1})).is_done
            assert [1] == [entry["version"] for entry in watch.next(0, 20)]
        store.end_watches()
    with worker_connection(settings) as connection:
        queue = RqQueue(connection, max_queued_jobs=9, job_timeout_s=9)
        assert queue.take_back("hints", f"hint-{table.id}-{asked.json['id']}")
