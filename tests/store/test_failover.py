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
from service.store.redis_store import RedisStore
from tests.api.client import ApiClient
from tests.e2e.harness import free_port, wait_until
from tests.store.players import figures_of, play_on_and_stop, start_players
from tests.store.servers import WITHOUT_DISK, Node, replicas_of, role_of
from workers.main import worker_connection

pytestmark = pytest.mark.slow

SERVICE = "games"
PLAYERS = 4
"""Games that are played at once."""
SENTINEL = """
port {port}
dir {folder}
bind 127.0.0.1
sentinel monitor games 127.0.0.1 {master} 2
sentinel down-after-milliseconds games 700
sentinel failover-timeout games 3000
"""


class Group:
    """A master, its replica, and three Sentinels that agree about them."""

    def __init__(self, folder: Path) -> None:
        """Start all and wait until they know each other."""
        ports = [free_port() for _ in range(5)]
        common = ["--dir", str(folder), *WITHOUT_DISK]
        master, replica, *sentinels = ports
        self.nodes = [
            Node(folder, master, ["--port", str(master), *common]),
            Node(
                folder,
                replica,
                ["--port", str(replica), *common, "--replicaof", "127.0.0.1", str(master)],
            ),
        ]
        wait_until(lambda: replicas_of(self.nodes[0]) == 1, 10, "the replica")
        self.sentinels = []
        for port in sentinels:
            file = folder / f"sentinel-{port}.conf"
            place = folder / str(port)
            place.mkdir()
            file.write_text(SENTINEL.format(port=port, folder=place, master=master))
            self.sentinels.append(Node(folder, port, [str(file), "--sentinel"]))
        wait_until(self._is_agreed, 20, "the Sentinels")

    def _is_agreed(self) -> bool:
        states = [node.client.sentinel_master(SERVICE) for node in self.sentinels]
        return all(
            state["num-other-sentinels"] == 2 and state["num-slaves"] == 1 for state in states
        )

    def is_master(self, node: Node) -> bool:
        """Tell whether the server and all Sentinels say that it is the master."""
        told = {each.client.sentinel_get_master_addr_by_name(SERVICE)[1] for each in self.sentinels}
        return told == {node.port} and role_of(node) == "master"

    @property
    def url(self) -> str:
        """The address of the master, as settings have it."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.sentinels)
        return f"redis+sentinel://{hosts}/{SERVICE}/0"

    def stop(self) -> None:
        """Kill all."""
        for node in [*self.nodes, *self.sentinels]:
            node.kill()


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
        redis_timeout_s=1.0,
        wait_replicas=wait_replicas,
    )
    return ApiClient(create_app(settings), check_every=50)


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

    fail_over(group)
    wait_until(lambda: group.is_master(group.nodes[1]), 20, "the replica to be master")
    if fail_over is kill_master:
        # Before, it would come back as the master, with nothing in it.
        group.nodes[0].start()
    if fail_over is change_masters or wait_replicas:
        wait_until(lambda: role_of(group.nodes[0]) == "slave", 30, "the old master to be told")
    play_on_and_stop(clients)

    store = RedisStore(group.nodes[1].raw, finished_ttl_s=60, idle_ttl_s=60, idempotency_ttl_s=60)
    figures = figures_of(clients, store)
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
