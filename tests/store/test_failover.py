"""Sentinels, a master and its replica: games go on through a failover, and what was acknowledged is
counted against what is there afterwards.

A Sentinel's failover comes in two kinds. The master dies: the replica has all but what was under
way to it. Or the Sentinels change masters while the old one still answers (somebody asked them to,
or they took it for dead): until it is told, it acknowledges changes that nobody will ever see
again. `wait_replicas=1` is meant for both: what no replica has is not acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.app import create_app
from service.config import Settings
from service.jobqueue import RqQueue
from tests.api.client import ApiClient
from tests.e2e.harness import wait_until
from tests.store.players import (
    figures_of,
    play_on_and_stop,
    played,
    put_off,
    start_players,
)
from tests.store.servers import SERVICE, Group
from tests.store.uses import make_store, use_all
from workers.main import worker_connection

pytestmark = pytest.mark.slow

PLAYERS = 4
"""Games that are played at once."""


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """Run a group of servers."""
    group = Group(tmp_path)
    yield group
    group.stop()


def kill_master(group: Group) -> None:
    """The master dies."""
    group.nodes[0].kill()


def change_masters(group: Group) -> None:
    """The Sentinels are asked to make the replica the master, while the master is well."""
    group.sentinels[0].client.execute_command("SENTINEL", "FAILOVER", SERVICE)


def app_of(group: Group, wait_replicas: int) -> ApiClient:
    settings = Settings(
        redis_url=group.url,
        queue_redis_url=group.url,
        redis_timeout_s=2.0,
        wait_replicas=wait_replicas,
    )
    return ApiClient(create_app(settings), check_every=50)


@pytest.mark.parametrize("wait_replicas", [0, 1])
def test_all_that_is_done_with_redis_is_done_on_the_master_of_sentinels(
    group: Group, wait_replicas: int
) -> None:
    use_all(Settings(redis_url=group.url, queue_redis_url=group.url), wait_replicas)


@pytest.mark.parametrize("fail_over", [kill_master, change_masters])
@pytest.mark.parametrize("wait_replicas", [0, 1])
def test_games_and_queues_go_on_through_a_failover(
    group: Group,
    fail_over: Callable[[Group], None],
    wait_replicas: int,
    record_property: Callable[[str, object], None],
) -> None:
    """With a replica waited for, nothing that was acknowledged is lost; without, it is counted.

    A job is where the master is, and the patient connection of a worker finds it there.
    """
    api = app_of(group, wait_replicas)
    connection = worker_connection(Settings(queue_redis_url=group.url))
    queue = RqQueue(connection, max_queued_jobs=9, job_timeout_s=9)
    queue.enqueue("bots", "tests.queued_jobs.add", "job", {"a": 1, "b": 2})
    connection.wait(1, 1000)
    clients = start_players(api, PLAYERS)

    old, new = group.nodes
    fail_over(group)
    wait_until(lambda: group.is_master(new), 20, "the replica to be master")
    if fail_over is kill_master:
        # Before, it would come back as the master, with nothing in it.
        old.start()
    else:
        answered = played(clients) + put_off(clients)
        wait_until(lambda: played(clients) + put_off(clients) > answered + 10, 20, "a late answer")
    if fail_over is change_masters or wait_replicas:
        group.tell(old, new)
    play_on_and_stop(clients)

    figures = figures_of(clients, make_store(group.nodes[1].raw))
    print(fail_over.__name__, "wait", wait_replicas, figures)
    for name, value in figures.items():
        record_property(name, value)
    assert [] == [client.fault for client in clients if client.fault]
    assert figures["acknowledged"] > 30
    if wait_replicas:
        assert 0 == figures["lost"]
    assert queue.is_active("job")
    assert api.get("/readyz").status == 200
    assert 'jobs_queued{queue="bots"} 1.0' in api.get("/metrics").raw.decode()
