"""The workers' House: the use cases' ports over Redis and RQ, made once a process from the
environment.
"""

import secrets
from functools import cache

from service.config import Settings
from service.games.house import House
from service.jobqueue import RqQueue
from service.store.clock import StoreClock
from service.store.connecting import connect
from service.store.redis_store import RedisStore


@cache
def house() -> House:
    """Return this process's House. A fork may share it: redis-py opens connections anew in the
    child.
    """
    settings = Settings.from_env()
    client = connect(settings.redis_url, settings.redis_timeout_s)
    clock = StoreClock(client)
    store = RedisStore(
        client,
        finished_ttl_s=settings.finished_ttl_s,
        idle_ttl_s=settings.idle_ttl_s,
        idempotency_ttl_s=settings.idempotency_ttl_s,
        wait_replicas=settings.wait_replicas,
        wait_s=settings.redis_timeout_s / 2,
    )
    queue = RqQueue(
        connect(settings.queue_redis_url, settings.redis_timeout_s),
        max_queued_jobs=settings.max_queued_jobs,
        job_timeout_s=settings.job_timeout_s,
        job_timeouts_s={"reviews": settings.review_timeout_s},
        clock=clock,
    )
    return House(
        store,
        queue,
        clock,
        secrets.token_urlsafe,
        settings.hint_ttl_s,
        settings.webhook_addresses == "any",
        review_ttl_s=settings.finished_ttl_s,
    )
