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
from tests.store.certificates import DOOR, HOST, Certificates

WITHOUT_DISK = (
    *("--save", "", "--appendonly", "no", "--bind", "127.0.0.1", DOOR, "-::1"),
    # Else a replica that begins anew is sent its data only after five seconds.
    *("--repl-diskless-sync-delay", "0"),
)


PATIENCE_S = 10
"""A server on a busy machine may need seconds for an answer; one that is killed refuses at once."""
SERVICE = "games"
"""What the Sentinels call the master."""
SENTINEL = """
dir {folder}
bind 127.0.0.1 -::1
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip {host}
sentinel monitor {service} {host} {master} 2
sentinel down-after-milliseconds {service} 700
sentinel failover-timeout {service} 3000
"""


def host_of(certificates: Certificates | None) -> str:
    """Return what the servers of a group call each other; over TLS the certificates' name."""
    return "127.0.0.1" if certificates is None else HOST


def port_settings(port: int, certificates: Certificates | None) -> list[tuple[str, str]]:
    """Return the settings that make a server listen at a port, over TLS alone where there are
    certificates.
    """
    if certificates is None:
        return [("port", str(port))]
    return [
        ("port", "0"),
        ("tls-port", str(port)),
        ("tls-cert-file", str(certificates.server)),
        ("tls-key-file", str(certificates.server_key)),
        ("tls-ca-cert-file", str(certificates.authority)),
        ("tls-replication", "yes"),
    ]


def as_arguments(settings: list[tuple[str, str]]) -> list[str]:
    """Return settings as a server's command line has them."""
    return [word for name, value in settings for word in (f"--{name}", value)]


class Node:
    """A server on loopback."""

    def __init__(
        self,
        folder: Path,
        port: int,
        arguments: list[str],
        certificates: Certificates | None = None,
    ) -> None:
        """Start it; `arguments` follow the binary and say where it listens."""
        self.port = port
        self._folder = folder
        self._certificates = certificates
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
        return self._client(decode_responses=True)

    @property
    def raw(self) -> redis_py.Redis:
        """The same, answering in bytes."""
        return self._client()

    def _client(self, **options: Any) -> Any:
        if self._certificates is not None:
            options |= {"ssl": True, "host": HOST, **self._certificates.options}
        return redis_py.Redis(port=self.port, socket_timeout=PATIENCE_S, **options)

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

    def __init__(self, folder: Path, certificates: Certificates | None = None) -> None:
        """Start all, over TLS where there are certificates, and wait until they agree."""
        self._certificates = certificates
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
        arguments = [
            *as_arguments(port_settings(port, self._certificates)),
            *("--dir", str(folder), *WITHOUT_DISK),
            *("--cluster-enabled", "yes", "--cluster-port", str(bus)),
            *("--cluster-config-file", f"nodes-{port}.conf"),
            *("--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"),
        ]
        if self._certificates is not None:
            arguments += ["--tls-cluster", "yes", "--cluster-announce-hostname", HOST]
            arguments += ["--cluster-preferred-endpoint-type", "hostname"]
        return Node(folder, port, arguments, self._certificates)

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

    def lose_a_master(self) -> None:
        """Kill a master; return when its replica is one and it has come back as a replica."""
        victim = self.masters[0]
        heir = self.replica_of(victim)
        victim.kill()
        wait_until(lambda: role_of(heir) == "master", 20, "its replica to be master")
        # Before, it would come back as the master, with nothing in it.
        victim.start()
        self.wait_whole()

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
        door = "127.0.0.1" if self._certificates is None else DOOR
        hosts = ",".join(f"{door}:{node.port}" for node in self.nodes[1:3])
        if self._certificates is None:
            return f"redis+cluster://{hosts}"
        return f"rediss+cluster://{hosts}?{self._certificates.query}"

    def stop(self) -> None:
        """Kill all."""
        for node in self.nodes:
            node.kill()


class Group:
    """A master, its replica, and three Sentinels that agree about them."""

    def __init__(self, folder: Path, certificates: Certificates | None = None) -> None:
        """Start all, over TLS where there are certificates, and wait until they know each other."""
        self._certificates = certificates
        self._folder = folder
        host = host_of(certificates)
        master, replica, *sentinels = [free_port() for _ in range(5)]
        self.nodes = [
            self._node(master, []),
            self._node(replica, ["--replicaof", host, str(master)]),
        ]
        wait_until(lambda: replicas_of(self.nodes[0]) == 1, 10, "the replica")
        self.sentinels = []
        for port in sentinels:
            file = folder / f"sentinel-{port}.conf"
            place = folder / str(port)
            place.mkdir()
            listens = "\n".join(map(" ".join, port_settings(port, certificates)))
            rest = SENTINEL.format(folder=place, host=host, service=SERVICE, master=master)
            file.write_text(listens + rest)
            self.sentinels.append(Node(folder, port, [str(file), "--sentinel"], certificates))
        wait_until(self._is_agreed, 20, "the Sentinels")

    def _node(self, port: int, more: list[str]) -> Node:
        listens = as_arguments(port_settings(port, self._certificates))
        common = ["--dir", str(self._folder), *WITHOUT_DISK]
        common += ["--replica-announce-ip", host_of(self._certificates)]
        return Node(self._folder, port, [*listens, *common, *more], self._certificates)

    def _is_agreed(self) -> bool:
        states = [node.client.sentinel_master(SERVICE) for node in self.sentinels]
        return all(
            state["num-other-sentinels"] == 2 and state["num-slaves"] == 1 for state in states
        )

    def is_master(self, node: Node) -> bool:
        """Tell whether the server and all Sentinels say that it is the master."""
        told = {each.client.sentinel_get_master_addr_by_name(SERVICE)[1] for each in self.sentinels}
        return told == {node.port} and role_of(node) == "master"

    def tell(self, old: Node, new: Node) -> None:
        """Make a master that has been replaced a replica of the new one, with the words that the
        Sentinels use some eight seconds later.
        """
        with old.client.pipeline() as at_once:
            at_once.replicaof(host_of(self._certificates), new.port)
            at_once.client_kill_filter(_type="normal")
            at_once.execute()

    @property
    def url(self) -> str:
        """The address of the master, as settings have it."""
        hosts = ",".join(f"{host_of(self._certificates)}:{node.port}" for node in self.sentinels)
        if self._certificates is None:
            return f"redis+sentinel://{hosts}/{SERVICE}/0"
        return f"rediss+sentinel://{hosts}/{SERVICE}/0?{self._certificates.query}"

    def stop(self) -> None:
        """Kill all."""
        for node in [*self.nodes, *self.sentinels]:
            node.kill()
