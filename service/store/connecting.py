"""Clients of Redis by URL: of one server, or of the master that Sentinels name.

With Sentinels each new connection asks them who the master is. A connection to one that has been
demoted is dropped when it refuses a write, so a failover looks to all others like a restart.
"""

from typing import Any

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry
from redis.sentinel import Sentinel

from service.config import SentinelUrl

MAX_CONNECTIONS = 10_000
"""Redis's own default limit."""
IDLE_CHECK_S = 30
"""A connection unused for longer is tried with a PING first: the peer may be gone unnoticed."""
SENTINEL_PATIENCE_S = 1.0
"""A Sentinel that says nothing for so long is passed over for the next one."""


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
    found = SentinelUrl.parse(url)
    if found is None:
        # Of the vendor's cloud, and only over TCP; they would bind all connections to RESP 3.
        no_notices = MaintNotificationsConfig(enabled=False)
        return redis.Redis.from_url(url, maint_notifications_config=no_notices, **options)
    patience_s = min(options.get("socket_timeout") or SENTINEL_PATIENCE_S, SENTINEL_PATIENCE_S)
    tls: dict[str, Any] = {"ssl": True} if found.is_tls else {}
    if found.is_tls and "ssl_ca_certs" in found.options:
        tls["ssl_ca_certs"] = found.options["ssl_ca_certs"]
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
            **tls,
        },
    )
    login = {"username": found.username or None, "password": found.password or None}
    client: redis.Redis = sentinel.master_for(  # type: ignore[no-untyped-call]
        found.service, db=found.database, **login, **tls, **options
    )
    return client
