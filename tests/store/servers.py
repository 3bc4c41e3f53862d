"""Servers on loopback, each a process of its own, and groups of them."""

from __future__ import annotations

import os
import signal
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

import redis as redis_py

from service.embedded import dying_with_parent, find_server_binary
from tests.e2e.harness import free_port, wait_until

WITHOUT_DISK = (
    *("--save", "", "--appendonly", "no", "--bind", "127.0.0.1"),
    # Else a replica that begins anew is sent its data only after five seconds.
    *("--repl-diskless-sync-delay", "0"),
)


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

    @cached_property
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


def role_of(node: Node) -> str:
    """Return what a server takes itself for."""
    role: str = node.client.role()[0]
    return role


def replicas_of(node: Node) -> int:
    """Return how many replicas are in step with a server."""
    told = node.client.info("replication")
    return sum(
        1
        for name, value in told.items()
        if name.startswith("slave") and isinstance(value, dict) and value["state"] == "online"
    )


class Cluster:
    """Three masters that share the slots, with a replica each."""

    def __init__(self, folder: Path) -> None:
        """Start all and wait until they agree."""
        self.nodes = [self._node(folder) for _ in range(6)]
        masters, replicas = self.nodes[:3], self.nodes[3:]
        ids = [node.client.execute_command("CLUSTER MYID") for node in masters]
        for number, master in enumerate(masters):
            slots = range(number * 16384 // 3, (number + 1) * 16384 // 3)
            master.client.execute_command("CLUSTER ADDSLOTS", *slots)
            # Else they quarrel about who is right until each has a number of its own.
            master.client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            meet = ("CLUSTER MEET", "127.0.0.1", self.nodes[0].port, self._bus[self.nodes[0].port])
            node.client.execute_command(*meet)
        wait_until(self._all_know_all, 20, "the nodes to know each other")
        for master_id, replica in zip(ids, replicas, strict=True):
            replica.client.execute_command("CLUSTER REPLICATE", master_id)
        self.wait_whole()

    def _node(self, folder: Path) -> Node:
        port, bus = free_port(), free_port()
        self._bus = {**getattr(self, "_bus", {}), port: bus}
        return Node(
            folder,
            port,
            [
                *("--port", str(port), "--dir", str(folder), *WITHOUT_DISK),
                *("--cluster-enabled", "yes", "--cluster-port", str(bus)),
                *("--cluster-config-file", f"nodes-{port}.conf"),
                *("--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"),
            ],
        )

    def _all_know_all(self) -> bool:
        return all(
            int(node.client.execute_command("CLUSTER INFO")["cluster_known_nodes"]) == 6
            for node in self.nodes
        )

    @property
    def masters(self) -> list[Node]:
        """The nodes that take themselves for masters."""
        return [node for node in self.nodes if role_of(node) == "master"]

    def replica_of(self, master: Node) -> Node:
        """Return the replica of a master."""
        (replica,) = (
            node
            for node in self.nodes
            if role_of(node) == "slave" and node.client.role()[2] == master.port
        )
        return replica

    def wait_whole(self) -> None:
        """Wait until there are three masters with a replica each, and all say that all is well."""
        wait_until(self._is_whole, 30, "the cluster to be whole")

    def _is_whole(self) -> bool:
        states = [node.client.execute_command("CLUSTER INFO") for node in self.nodes]
        masters = self.masters
        return (
            all(state["cluster_state"] == "ok" for state in states)
            and len(masters) == 3
            and all(replicas_of(node) == 1 for node in masters)
        )

    @property
    def url(self) -> str:
        """The address of the cluster, as settings have it: by two of its nodes."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes[1:3])
        return f"redis+cluster://{hosts}"

    def stop(self) -> None:
        """Kill all."""
        for node in self.nodes:
            node.kill()
