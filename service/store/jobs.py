"""The jobs of the queues as operators see them, and a failed job's second try.

What is told of a job are its kind, its times and where it failed, never what is in it: arguments
hold what a seat sees, results what a search found, and the text of an error may quote either. Nor
is its id told, which names a game, and with it that a game of somebody else exists; a job is named
by a digest of its id. Nothing found in Redis is trusted: whoever writes there could name anything.

RQ's registries are read without the tidying that RQ does at a reading, which is the workers'.
"""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import redis
from redis.exceptions import ResponseError
from rq import Queue
from rq.exceptions import DeserializationError, InvalidJobOperation, NoSuchJobError
from rq.job import Job
from rq.registry import FailedJobRegistry, StartedJobRegistry

from service.store.errors import queue_errors

MOST_TOLD = 100
"""Jobs of one list."""
MOST_SEARCHED = 10_000
"""Failed jobs that are looked through for one."""
DIGITS = 16
UNREADABLE = (
    AssertionError,
    AttributeError,
    KeyError,
    ResponseError,
    TypeError,
    ValueError,
    zlib.error,
)
"""What RQ raises at a job that is none."""
_KIND = re.compile(r"workers\.[a-z]+\.([a-z_]{1,40})")
_FRAME = re.compile(
    r'^  File "[^"\n]*?/((?:service|workers)/[a-z_/]{1,60}\.py)", line (\d{1,5}), ', re.M
)
_ERROR = re.compile(r"^([A-Za-z_][A-Za-z0-9_.]{0,80})(?::|$)", re.M)


@dataclass(frozen=True, slots=True)
class ToldJob:
    """What is told of one job."""

    job: str
    """The first digits of the SHA-256 of its id."""
    kind: str
    """The function's name; `other` for what is no job of ours."""
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    error: str | None = None
    """The class of the error that it failed by."""
    where: str | None = None
    """Our file and line that the error came through last."""


class Jobs:
    """The jobs in one Redis."""

    def __init__(self, connection: redis.Redis) -> None:
        """Use a client that answers in bytes; nothing is sent yet."""
        self._connection = connection

    def waiting(self, queue: str) -> list[ToldJob]:
        """Return the jobs that wait, the next one first; raises StoreUnavailable."""
        with queue_errors():
            return self._told(self._queue(queue).get_job_ids(0, MOST_TOLD))

    def running(self, queue: str) -> list[ToldJob]:
        """Return the jobs in hand; raises StoreUnavailable."""
        with queue_errors():
            registry = StartedJobRegistry(queue=self._queue(queue))
            return self._told(registry.get_job_ids(0, MOST_TOLD - 1, cleanup=False))

    def failed(self, queue: str) -> list[ToldJob]:
        """Return the jobs that failed in the last hour, the newest first.

        Raises StoreUnavailable.
        """
        with queue_errors():
            registry = FailedJobRegistry(queue=self._queue(queue))
            job_ids = registry.get_job_ids(0, MOST_TOLD - 1, desc=True, cleanup=False)
            return self._told(job_ids, is_failed=True)

    def requeue(self, queue: str, name: str) -> str | None:
        """Put a failed job, named by its digest, on its queue again; return its id, or None where
        there is none. Jobs may run twice, so nothing comes of one too much. Raises
        StoreUnavailable.
        """
        with queue_errors():
            registry = FailedJobRegistry(queue=self._queue(queue))
            job_ids = registry.get_job_ids(0, MOST_SEARCHED - 1, desc=True, cleanup=False)
            for job_id in job_ids:
                if digest_of(job_id) == name:
                    return job_id if _is_requeued(registry, job_id) else None
        return None

    def _queue(self, name: str) -> Queue:
        return Queue(name, connection=self._connection, serializer="json")

    def _told(self, job_ids: Iterable[str], *, is_failed: bool = False) -> list[ToldJob]:
        told = (self._told_one(job_id, is_failed=is_failed) for job_id in job_ids)
        return [job for job in told if job is not None]

    def _told_one(self, job_id: str, *, is_failed: bool) -> ToldJob | None:
        """Return what is told of a job, None for one that is gone: of one that nobody can read,
        that it is there.
        """
        try:
            job = Job.fetch(job_id, self._connection, serializer="json")
            return _told_job(job, is_failed=is_failed)
        except NoSuchJobError:
            return None
        except UNREADABLE as error:
            _check_unreadable(error)
            return ToldJob(digest_of(job_id), "other", None, None, None)


def _is_requeued(registry: FailedJobRegistry, job_id: str) -> bool:
    try:
        registry.requeue(job_id)
    except (InvalidJobOperation, NoSuchJobError):
        return False
    except UNREADABLE as error:
        _check_unreadable(error)
        return False
    return True


def _check_unreadable(error: Exception) -> None:
    """Raise an error of Redis again that is none of the job's."""
    if isinstance(error, ResponseError) and "WRONGTYPE" not in str(error):
        raise error


def digest_of(job_id: str) -> str:
    """Return how a job is named to operators."""
    return sha256(job_id.encode()).hexdigest()[:DIGITS]


def _told_job(job: Job, *, is_failed: bool) -> ToldJob:
    try:
        kind = _KIND.fullmatch(str(job.func_name))
    except DeserializationError:
        kind = None
    error, where = None, None
    if is_failed:
        result: Any = job.latest_result()
        error, where = fault_of("" if result is None else str(result.exc_string))
    return ToldJob(
        job=digest_of(job.id),
        kind=kind[1] if kind else "other",
        queued_at=_utc(job.enqueued_at),
        started_at=_utc(job.started_at),
        ended_at=_utc(job.ended_at),
        error=error,
        where=where,
    )


def fault_of(text: str) -> tuple[str | None, str | None]:
    """Return the error's class and our file and line that it came through last, of a traceback.

    >>> fault_of('  File "/opt/service/games/x.py", line 7, in f\\n    f(1)\\nKeyError: 1')
    ('KeyError', 'service/games/x.py:7')
    """
    frames = list(_FRAME.finditer(text))
    error = _ERROR.search(text, frames[-1].end() if frames else 0)
    where = f"{frames[-1][1]}:{frames[-1][2]}" if frames else None
    return error[1] if error else None, where


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)
