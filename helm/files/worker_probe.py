"""Tell Kubernetes whether the worker in this pod is there: `worker_probe.py ready|alive`.

A worker has no port. RQ keeps a hash for each in Redis, with its host's name (the pod's) and its
last sign of life; those are looked at. `ready`: it has registered, so its kernels are warm.
`alive`: it gave a sign of life lately. While Redis is away `alive` blames nobody: starting workers
again would not bring it back.
"""

from __future__ import annotations

import socket
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import redis

from service.config import Settings
from service.store.connecting import connect

SILENCE = timedelta(seconds=180)
"""An idle worker gives a sign every 5 s, one with a job every second."""


def signs_of_life(client: Any, hostname: str) -> list[datetime]:
    """Return the last sign of life of each worker of that host."""
    found = []
    for key in client.smembers("rq:workers"):
        host, sign = client.hmget(key, "hostname", "last_heartbeat")
        if host is not None and sign is not None and host.decode() == hostname:
            found.append(datetime.fromisoformat(sign.decode().replace("Z", "+00:00")))
    return found


def main(question: str) -> str:
    """Return what is wrong, or nothing."""
    settings = Settings.from_env()
    with connect(settings.queue_redis_url, settings.redis_timeout_s) as client:
        try:
            signs = signs_of_life(client, socket.gethostname())
        except redis.RedisError as error:
            return "" if question == "alive" else f"Redis is away: {error}"
    if not signs:
        return "no worker of this pod has registered"
    silence = datetime.now(UTC) - max(signs)
    if question == "alive" and silence > SILENCE:
        return f"the worker has been silent for {silence.total_seconds():.0f} s"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) or 0)
