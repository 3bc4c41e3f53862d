"""Clients of Redis by URL: of one server, of the master that Sentinels name, or of a cluster.

With Sentinels each new connection asks them who the master is. A connection to one that has been
demoted is dropped when it refuses a write, so a failover looks to all others like a restart.

A cluster (`ClusterClient`) looks like one server too: each command goes to the node that has its
key, by redis-py's own client of clusters. What must happen on one connection, and what is no
command, asks for it by name: `at_server_of`, `connection_apart`.
"""

import random
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from redis._parsers import Encoder
from redis.backoff import ConstantBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import ClusterDownError, ConnectionError, MovedError, TimeoutError
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry
from redis.sentinel import Sentinel

from service.config import TLS_OPTIONS, ClusterUrl, SentinelUrl
from service.store.traced import tell_of

MAX_CONNECTIONS = 10_000
"""Redis's own default limit."""
NO_NOTICES = MaintNotificationsConfig(enabled=False)
"""redis-py's notices of maintenance are of the vendor's cloud, and would bind all connections to
RESP 3; what is published is read over RESP 2."""
IDLE_CHECK_S = 30
"""A connection unused for longer is tried with a PING first: the peer may be gone unnoticed."""
SENTINEL_PATIENCE_S = 1.0
"""A Sentinel that says nothing for so long is passed over for the next one."""
Result = TypeVar("Result")


def connect(url: str, timeout_s: float) -> redis.Redis:
    """Return a client for `url`; nothing is opened yet.

    A command waits at most `timeout_s` for its answer, and as long for the connection. A broken
    connection is made anew once: after a restart of Redis all pooled ones are broken.
    """
    return client_for(
        url,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(ConstantBackoff(0.05), 1, supported_errors=(ConnectionError,)),
        health_check_interval=IDLE_CHECK_S,
        max_connections=MAX_CONNECTIONS,
    )


def client_for(url: str, **options: Any) -> redis.Redis:
    """Return a client for `url` with redis-py's `options`; nothing is opened yet."""
    return tell_of(_client_for(url, **options))


def _client_for(url: str, **options: Any) -> redis.Redis:
    cluster = ClusterUrl.parse(url)
    if cluster is not None:
        return ClusterClient(cluster, **options)
    sentinels = SentinelUrl.parse(url)
    if sentinels is not None:
        return _master_by(sentinels, **options)
    return redis.Redis.from_url(url, maint_notifications_config=NO_NOTICES, **options)


def _tls(found: SentinelUrl | ClusterUrl) -> dict[str, Any]:
    """Return redis-py's options for TLS, if it is wanted."""
    if not found.is_tls:
        return {}
    options: dict[str, Any] = {k: v for k, v in found.options.items() if k in TLS_OPTIONS}
    if "ssl_check_hostname" in options:
        options["ssl_check_hostname"] = options["ssl_check_hostname"] == "true"
    return {"ssl": True, **options}


def _login(found: SentinelUrl | ClusterUrl) -> dict[str, Any]:
    return {"username": found.username or None, "password": found.password or None}


def _master_by(found: SentinelUrl, **options: Any) -> redis.Redis:
    """Return a client of the master that Sentinels name."""
    patience_s = min(options.get("socket_timeout") or SENTINEL_PATIENCE_S, SENTINEL_PATIENCE_S)
    of_sentinels = {
        name: found.options[f"sentinel_{name}"]
        for name in ("username", "password")
        if f"sentinel_{name}" in found.options
    }
    sentinel = Sentinel(  # type: ignore[no-untyped-call]
        found.sentinels,
        sentinel_kwargs={
            "socket_timeout": patience_s,
            "socket_connect_timeout": patience_s,
            # Another Sentinel is asked at once; redis-py would ask the same one again for seconds.
            "retry": Retry(ConstantBackoff(0), 0),
            **of_sentinels,
            **_tls(found),
        },
    )
    client: redis.Redis = sentinel.master_for(  # type: ignore[no-untyped-call]
        found.service,
        db=found.database,
        maint_notifications_config=NO_NOTICES,
        **_login(found),
        **_tls(found),
        **options,
    )
    return client


class ClusterClient(redis.Redis):
    """A client of a cluster that can be used like one of a server, and connects at its first use.

    redis-py's own asks the cluster for its nodes when it is made, and fails if none is there. What
    is sent in a pipeline must not be a script: for that, and for WAIT, there is `at_server_of`.
    """

    def __init__(self, url: ClusterUrl, **options: Any) -> None:
        """Describe the cluster; nothing is opened yet. A pool of connections belongs to a node."""
        self._url = url
        self._options = {**_login(url), **_tls(url), **options}
        self._cluster: Any = None
        self._making = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url.nodes})"

    @property
    def patience_s(self) -> float | None:
        """Seconds to wait for an answer."""
        limit: float | None = self._options.get("socket_timeout")
        return limit

    def connected(self) -> Any:
        """Return redis-py's client; raises what it raises when no node is there."""
        if self._cluster is None:
            with self._making:
                if self._cluster is None:
                    self._cluster = RedisCluster(
                        startup_nodes=[
                            ClusterNode(host, port)  # type: ignore[no-untyped-call]
                            for host, port in self._url.nodes
                        ],
                        # Games on the slots that are left go on when the cluster lets them.
                        require_full_coverage=False,
                        maint_notifications_config=NO_NOTICES,
                        **self._options,
                    )
        return self._cluster

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send a command to the node that has its key."""
        return self.connected().execute_command(*args, **options)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Any:
        """Return a pipeline that parts its commands by node."""
        return self.connected().pipeline(transaction, shard_hint)

    def at_server_of(self, key: str, work: Callable[[redis.Redis], Result]) -> Result:
        """See the function of that name. Once more where the node has died or lost the key."""
        cluster = self.connected()

        def work_there() -> Result:
            return work(tell_of(cluster.get_redis_connection(cluster.get_node_from_key(key))))

        try:
            return work_there()
        except (MovedError, ClusterDownError, ConnectionError, TimeoutError):
            cluster.nodes_manager.initialize()
            return work_there()

    def pools(self) -> list[Any]:
        """Return the pools of all nodes."""
        cluster = self.connected()
        return [cluster.get_redis_connection(node).connection_pool for node in cluster.get_nodes()]

    def get_encoder(self) -> Any:
        """Return how text becomes bytes."""
        return Encoder("utf-8", "strict", decode_responses=False)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Close all connections."""
        if self._cluster is not None:
            self._cluster.close()


def at_server_of(client: redis.Redis, key: str, work: Callable[[redis.Redis], Result]) -> Result:
    """Return what `work` returns, given a client of the one server that has `key`: for commands on
    one connection. It may be called twice, so what it writes must bear that.
    """
    return client.at_server_of(key, work) if isinstance(client, ClusterClient) else work(client)


def connection_apart(client: redis.Redis, **changes: Any) -> Any:
    """Return a new connection to the server, or to any node of the cluster, outside the pool, with
    some of its settings changed. Raises redis-py's ConnectionError and TimeoutError.
    """
    pools = client.pools() if isinstance(client, ClusterClient) else [client.connection_pool]
    random.shuffle(pools)
    while True:
        pool = pools.pop()
        connection = pool.connection_class(**{**pool.connection_kwargs, **changes})
        try:
            connection.connect()
        except (ConnectionError, TimeoutError):
            connection.disconnect()
            if not pools:
                raise
        else:
            return connection


def patience_of(client: redis.Redis) -> float | None:
    """Return how many seconds `client` waits for an answer; None for no end."""
    if isinstance(client, ClusterClient):
        return client.patience_s
    limit: float | None = client.connection_pool.connection_kwargs.get("socket_timeout")
    return limit
