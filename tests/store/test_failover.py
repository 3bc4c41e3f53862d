"""Sentinels, a master and its replica: games go on through a failover, and what was acknowledged is
counted against what is there afterwards.

A Sentinel's failover comes in two kinds. The master dies: the replica has all but what was under
way to it. Or the Sentinels change masters while the old one still answers (somebody asked them to,
or they took it for dead): until it is told, it acknowledges changes that nobody will ever see
again. `wait_replicas=1` is meant for both: what no replica has is not acknowledged.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from service.app import create_app
from service.config import Settings
from service.embedded import dying_with_parent, find_server_binary
from service.jobqueue import RqQueue
from service.store.redis_store import RedisStore
from tests.api.client import ApiClient, Table
from tests.e2e.harness import free_port, wait_until
from workers.main import worker_connection

pytestmark = pytest.mark.slow

SERVICE = "games"
PLAYERS = 4
"""Games that are played at once."""
PATIENCE_S = 30.0
SENTINEL = """
port {port}
dir {folder}
bind 127.0.0.1
sentinel monitor games 127.0.0.1 {master} 2
sentinel down-after-milliseconds games 700
sentinel failover-timeout games 3000
"""


class Node:
    """A server on loopback."""

    def __init__(self, folder: Path, port: int, arguments: list[str]) -> None:
        """Start it; `arguments` follow the binary."""
        self.port = port
        self._folder = folder
        self._command = [str(find_server_binary().path), *arguments]
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, or start it anew."""
        with (self._folder / f"{self.port}.log").open("ab") as log:
            self.process = subprocess.Popen(
                dying_with_parent(self._command), stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self._answers, 10, f"the server at {self.port}")
        return self.process

    def kill(self) -> None:
        """Kill it at once."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def client(self) -> Any:
        """A client of this server alone."""
        return redis_py.Redis(port=self.port, socket_timeout=1, decode_responses=True)

    @property
    def raw(self) -> redis_py.Redis:
        """The same, answering in bytes."""
        return redis_py.Redis(port=self.port, socket_timeout=1)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis_py.RedisError:
            return False


class Group:
    """A master, its replica, and three Sentinels that agree about them."""

    def __init__(self, folder: Path) -> None:
        """Start all and wait until they know each other."""
        ports = [free_port() for _ in range(5)]
        common = ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", str(folder)]
        # Else a replica that begins anew is sent its data only after five seconds.
        common += ["--repl-diskless-sync-delay", "0"]
        master, replica, *sentinels = ports
        self.nodes = [
            Node(folder, master, ["--port", str(master), *common]),
            Node(
                folder,
                replica,
                ["--port", str(replica), *common, "--replicaof", "127.0.0.1", str(master)],
            ),
        ]
        wait_until(lambda: self.replicas_of(self.nodes[0]) == 1, 10, "the replica")
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

    @staticmethod
    def replicas_of(node: Node) -> int:
        """Return how many replicas are in step with a server."""
        told = node.client.info("replication")
        return sum(
            1
            for name, value in told.items()
            if name.startswith("slave") and isinstance(value, dict) and value["state"] == "online"
        )

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


class Client(threading.Thread):
    """Plays one game until told to stop, and remembers what it was told is done."""

    def __init__(self, api: ApiClient) -> None:
        """Make the game; nothing is played yet."""
        super().__init__(daemon=True)
        self.table = Table(api)
        self.acknowledged: list[tuple[str, dict[str, Any]]] = []
        self.refused = 0
        """Answers 503."""
        self.longest_s = 0.0
        """Between two acknowledged actions."""
        self.is_to_stop = threading.Event()
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Play; a lost game (its creation was acknowledged too) ends it as a fault."""
        try:
            last = time.monotonic()
            while not self.is_to_stop.is_set():
                if self._act():
                    self.longest_s = max(self.longest_s, time.monotonic() - last)
                    last = time.monotonic()
        except BaseException as error:
            self.fault = error

    def _act(self) -> bool:
        """Ask what is legal and play it; repeat what was put off, by its key."""
        game = self._ask(lambda: self.table.api.get(self.table.path)).json
        seat = game["deal"]["turn"]
        token = self.table.tokens[seat]
        legal = self._ask(
            lambda: self.table.api.get(f"{self.table.path}/legal-actions", token=token)
        )
        if legal.status != 200 or not legal.json["actions"]:
            return False
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        action = legal.json["actions"][-1]
        answer = self._ask(lambda: self.table.play(seat, action, headers=headers))
        if answer.status != 201:
            return False
        self.acknowledged.append((headers["Idempotency-Key"], answer.json["action"]))
        return True

    def _ask(self, ask: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while (answer := ask()).status == 503:
            self.refused += 1
            assert time.monotonic() < deadline, "503 for too long"
            time.sleep(0.05)
        return answer

    def lost(self, log: list[dict[str, Any]]) -> int:
        """Return how many actions that were acknowledged are not in the log."""
        entries = {entry["version"]: entry for entry in log}
        return sum(
            1
            for _key, event in self.acknowledged
            if (entry := entries.get(event["version"])) is None
            or entry["at"] != event["at"]
            or entry["action"] != event["action"]
        )


def kill_master(group: Group) -> None:
    """The master dies."""
    group.nodes[0].kill()


def change_masters(group: Group) -> None:
    """The Sentinels are asked to make the replica the master, while the master is well."""
    group.sentinels[0].client.execute_command("SENTINEL", "FAILOVER", SERVICE)


def role_of(node: Node) -> str:
    """Return what a server takes itself for."""
    role: str = node.client.role()[0]
    return role


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
    clients = [Client(api) for _ in range(PLAYERS)]
    for client in clients:
        client.start()
    time.sleep(1)

    fail_over(group)
    wait_until(lambda: group.is_master(group.nodes[1]), 20, "the replica to be master")
    if fail_over is kill_master:
        # Before, it would come back as the master, with nothing in it.
        group.nodes[0].start()
    if fail_over is change_masters or wait_replicas:
        wait_until(lambda: role_of(group.nodes[0]) == "slave", 30, "the old master to be told")
    before = [len(client.acknowledged) for client in clients]
    wait_until(lambda: all(map(has_gone_on, clients, before)), PATIENCE_S, "games to go on")
    for client in clients:
        client.is_to_stop.set()
    for client in clients:
        client.join()

    store = RedisStore(group.nodes[1].raw, finished_ttl_s=60, idle_ttl_s=60, idempotency_ttl_s=60)
    lost = [client.lost(store.read_log(client.table.id, 0, 100_000)) for client in clients]
    figures = {
        "acknowledged": sum(len(client.acknowledged) for client in clients),
        "lost": sum(lost),
        "put_off": sum(client.refused for client in clients),
        "longest_s": round(max(client.longest_s for client in clients), 2),
    }
    print(fail_over.__name__, "wait", wait_replicas, figures)
    for name, value in figures.items():
        record_property(name, value)
    assert [] == [client.fault for client in clients if client.fault]
    assert figures["acknowledged"] > 50
    if wait_replicas:
        assert 0 == figures["lost"]
    assert queue.is_active("job")
    assert api.get("/readyz").status == 200
    assert 'jobs_queued{queue="bots"} 1.0' in api.get("/metrics").raw.decode()


def has_gone_on(client: Client, before: int) -> bool:
    """Tell whether a client has played some more, or ended."""
    return client.fault is not None or len(client.acknowledged) > before + 5
