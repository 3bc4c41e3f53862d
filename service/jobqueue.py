"""The queue of jobs over RQ.

Jobs are named by dotted path, so that this process never loads what the workers run. Arguments are
JSON: with RQ's default, pickle, whoever writes to Redis would run code in the workers.

An id stands for one piece of work, and is queued or running at most once. RQ itself refuses an id
as long as anything of that name is kept; here only a job that is alive keeps its id. A finished or
failed one gives it up, and so does one whose worker died: a running job is given a sign of life
every second (the workers' `job_monitoring_interval=1`), written by the clock of the service, so one
without any for `DEAD_AFTER_S` counts as dead, and so does one whose last sign is as far in the
future: the clock was put back. That may be wrong for a worker that was only held up; the job then
runs twice, which jobs here must and do bear. RQ alone would notice after a minute.

The judgement, and taking the remains away, are one Lua script (`store/scripts/free_job_id.lua`);
putting the job on the queue is RQ's own script, which takes an id once: of two callers that find
the same dead job, one enqueues.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import redis
from rq import Queue
from rq.exceptions import DuplicateJobError, NoSuchJobError
from rq.job import Job
from rq.utils import as_text, utcformat
from structlog.contextvars import get_contextvars

from service.games.errors import QueueFull
from service.store.errors import queue_errors
from service.store.redis_store import load_script
from service.tracing import carry, span

DEAD_AFTER_S = 3.0
"""Three missed signs of life."""
RESULT_TTL_S = 60
FAILURE_TTL_S = 3600
"""How long a failed job can be looked at; its id is free at once."""
_JOB_ID = re.compile(r"[A-Za-z0-9_-]+")
_ALL_QUEUES = "rq:queues"


def job_attributes(queue: str, job: str, job_id: str) -> dict[str, str]:
    """Return what spans tell of a job: never its arguments."""
    return {
        "messaging.system": "rq",
        "messaging.destination.name": queue,
        "messaging.message.id": job_id,
        "code.function.name": job,
    }


class RqQueue:
    """`JobQueue` over RQ. May be shared by threads and greenlets."""

    def __init__(
        self,
        connection: redis.Redis,
        *,
        max_queued_jobs: int,
        job_timeout_s: int,
        job_timeouts_s: Mapping[str, int] | None = None,
        dead_after_s: float = DEAD_AFTER_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use `connection`, which answers in bytes; nothing is sent yet.

        `max_queued_jobs` may wait in each queue; a job may run for `job_timeout_s`, or as long as
        `job_timeouts_s` says for its queue. `clock` is the one that signs of life are written by.
        """
        self._connection = connection
        self._max_queued_jobs = max_queued_jobs
        self._job_timeout_s = job_timeout_s
        self._job_timeouts_s = dict(job_timeouts_s or {})
        self._dead_after_s = dead_after_s
        self._clock = clock
        self._free_job_id = load_script(connection, "free_job_id")
        self._queues: dict[str, Queue] = {}

    def enqueue(self, queue: str, job: str, job_id: str, arguments: Mapping[str, Any]) -> bool:
        """Put a job on `queue`; False when one of that id waits or runs and is alive.

        A request id that structlog's context holds goes along in the job's `meta`, and so does the
        trace. Raises ValueError for an id that RQ would not take, QueueFull, StoreUnavailable.
        """
        if not _JOB_ID.fullmatch(job_id):
            raise ValueError(f"{job_id!r} is no job id: letters, digits, _ and - only")
        attributes = job_attributes(queue, job, job_id)
        with span(f"send {queue}", "producer", attributes), queue_errors():
            if self._connection.llen(self._queue(queue).key) >= self._max_queued_jobs:
                if self._is_alive(queue, job_id):
                    return False
                raise QueueFull(queue)
            if self._put(queue, job, job_id, arguments):
                return True
            if self._is_alive(queue, job_id, take_away_dead=True):
                return False
            return self._put(queue, job, job_id, arguments)

    def is_active(self, job_id: str) -> bool:
        """Tell whether a job of that id waits or runs and is alive."""
        with queue_errors():
            origin = self._connection.hget(f"rq:job:{job_id}", "origin")
            return origin is not None and self._is_alive(as_text(origin), job_id)

    def take_back(self, queue: str, job_id: str) -> bool:
        """Take a job that still waits off `queue`; tell whether it was there. Redis hands it either
        to a worker or to the caller.
        """
        with queue_errors():
            was_waiting = bool(self._connection.lrem(self._queue(queue).key, 1, job_id))
            if was_waiting:
                self._connection.delete(f"rq:job:{job_id}")
        return was_waiting

    def result_of(self, job_id: str) -> dict[str, Any] | None:
        """Return what a job returned that ended at most `RESULT_TTL_S` ago; None for any other."""
        with queue_errors(), suppress(NoSuchJobError):
            job = Job.fetch(job_id, connection=self._connection, serializer="json")
            found: dict[str, Any] | None = job.return_value()
            return found
        return None

    def depths(self) -> dict[str, int]:
        """Return how many jobs wait, by queue, for every queue that ever had one."""
        with queue_errors():
            queue_keys = sorted(map(as_text, self._connection.smembers(_ALL_QUEUES)))
            pipeline = self._connection.pipeline(transaction=False)
            for key in queue_keys:
                pipeline.llen(key)
            lengths = pipeline.execute()
        names = [key.removeprefix("rq:queue:") for key in queue_keys]
        return dict(zip(names, lengths, strict=True))

    def ping(self) -> None:
        """Return when the queue answers; raises StoreUnavailable."""
        with queue_errors():
            self._connection.ping()

    def _queue(self, name: str) -> Queue:
        queue = self._queues.get(name)
        if queue is None:
            queue = Queue(name, connection=self._connection, serializer="json")
            self._queues[name] = queue
        return queue

    def _put(self, queue: str, job: str, job_id: str, arguments: Mapping[str, Any]) -> bool:
        """Enqueue unless RQ still keeps a job of that id; tell whether it was done."""
        request_id = get_contextvars().get("request_id")
        try:
            self._queue(queue).enqueue_call(
                job,
                kwargs=dict(arguments),
                timeout=self._job_timeouts_s.get(queue, self._job_timeout_s),
                result_ttl=RESULT_TTL_S,
                failure_ttl=FAILURE_TTL_S,
                # RQ's own description has all arguments in it, which then stand in the logs.
                description=job,
                job_id=job_id,
                meta=({"request_id": request_id} if request_id else {}) | carry(),
                unique=True,
            )
        except DuplicateJobError:
            return False
        return True

    def _is_alive(self, queue: str, job_id: str, *, take_away_dead: bool = False) -> bool:
        now = self._clock()
        earliest, latest = (
            utcformat(datetime.fromtimestamp(now + seconds, UTC))
            for seconds in (-self._dead_after_s, self._dead_after_s)
        )
        queue_key = self._queue(queue).key
        intermediate_key = f"{queue_key}:intermediate"
        registries = ("wip", "finished", "failed", "canceled")
        job_keys = ("executions:{}", "results:{}", "job:{}:dependents")
        return bool(
            self._free_job_id(
                keys=[
                    f"rq:job:{job_id}",
                    queue_key,
                    intermediate_key,
                    f"{intermediate_key}:first_seen:{job_id}",
                    *(f"rq:{registry}:{queue}" for registry in registries),
                    *("rq:" + key.format(job_id) for key in job_keys),
                ],
                args=[
                    job_id,
                    int(take_away_dead),
                    "rq:execution:",
                    now,
                    self._dead_after_s,
                    earliest,
                    latest,
                ],
            )
        )
