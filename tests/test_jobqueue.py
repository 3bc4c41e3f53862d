"""The queue over RQ: an id is queued or running once, and a dead job gives it up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from rq import Queue, SimpleWorker
from rq.executions import Execution
from rq.job import Job, JobStatus
from structlog.contextvars import bound_contextvars, clear_contextvars

from service.embedded import RedisServer
from service.games.errors import QueueFull, StoreUnavailable
from service.games.ports import JobQueue
from service.jobqueue import RqQueue
from service.store.connecting import connect
from service.store.memory import MemoryQueue

ADD = "tests.queued_jobs.add"
FAIL = "tests.queued_jobs.fail"
SLEEP = "tests.queued_jobs.sleep"
ROOT = Path(__file__).resolve().parents[1]
WORKER = """
import sys
import redis, rq
connection = redis.Redis.from_url(sys.argv[1])
rq.Worker(
    ["bots"], connection=connection, serializer="json", worker_ttl=20, job_monitoring_interval=1
).work()
"""


def make_queue(connection: redis_py.Redis, **more: Any) -> RqQueue:
    """Return a queue in which 5 jobs may wait."""
    return RqQueue(connection, **{"max_queued_jobs": 5, "job_timeout_s": 90, **more})


@pytest.fixture
def queue(redis: redis_py.Redis) -> RqQueue:
    """Return the queue over an empty Redis."""
    return make_queue(redis)


@pytest.fixture(params=["memory", "rq"])
def any_queue(request: pytest.FixtureRequest) -> JobQueue:
    """Return an empty queue of each kind in turn."""
    if request.param == "memory":
        return MemoryQueue(max_queued_jobs=5)
    return make_queue(request.getfixturevalue("redis"))


def fetch(connection: redis_py.Redis, job_id: str = "job") -> Job:
    return Job.fetch(job_id, connection=connection, serializer="json")


def waiting(connection: redis_py.Redis, queue: str = "bots") -> list[str]:
    """Return the ids of the jobs that wait."""
    return Queue(queue, connection=connection, serializer="json").get_job_ids()


def run_all(connection: redis_py.Redis) -> None:
    """Work on what waits until nothing does."""
    SimpleWorker(["bots"], connection=connection, serializer="json").work(burst=True)


def begin(connection: redis_py.Redis, silent_s: float) -> Job:
    """Make the job that waits one that runs and gave its last sign of life so long ago."""
    connection.lrem("rq:queue:bots", 0, "job")
    job = fetch(connection)
    job.set_status(JobStatus.STARTED)
    job.heartbeat(datetime.now(UTC) - timedelta(seconds=silent_s), 60)
    with connection.pipeline() as pipeline:
        Execution.create(job, ttl=61, pipeline=pipeline, worker_name="gone")
        pipeline.execute()
    return job


# Both queues.


def test_a_job_that_waits_keeps_its_id(any_queue: JobQueue) -> None:
    assert any_queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})
    assert not any_queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})

    assert any_queue.is_active("job")
    assert not any_queue.is_active("other")
    assert any_queue.depths() == {"bots": 1}


def test_a_full_queue_takes_no_more_and_the_others_do(any_queue: JobQueue) -> None:
    for number in range(5):
        any_queue.enqueue("bots", ADD, f"job-{number}", {})

    with pytest.raises(QueueFull) as raised:
        any_queue.enqueue("bots", ADD, "job-5", {})

    assert raised.value.queue == "bots"
    assert not any_queue.is_active("job-5")
    assert any_queue.enqueue("hints", ADD, "job-6", {})
    assert any_queue.depths() == {"bots": 5, "hints": 1}


def test_what_is_in_a_full_queue_is_in_it(any_queue: JobQueue) -> None:
    for number in range(5):
        any_queue.enqueue("bots", ADD, f"job-{number}", {})

    assert not any_queue.enqueue("bots", ADD, "job-3", {})


def test_of_many_callers_at_once_one_enqueues(any_queue: JobQueue) -> None:
    with ThreadPoolExecutor(20) as threads:
        results = list(threads.map(lambda _: any_queue.enqueue("bots", ADD, "job", {}), range(20)))

    assert results.count(True) == 1
    assert any_queue.depths() == {"bots": 1}


def test_arguments_that_are_no_json_are_refused(any_queue: JobQueue) -> None:
    with pytest.raises(TypeError):
        any_queue.enqueue("bots", ADD, "job", {"a": object()})

    assert not any_queue.is_active("job")


def test_the_queue_answers(any_queue: JobQueue) -> None:
    any_queue.ping()

    assert any_queue.depths() == {}


# What RQ finds.


def test_a_job_is_a_name_and_json(queue: RqQueue, redis: redis_py.Redis) -> None:
    queue.enqueue("bots", ADD, "job", {"a": 1, "b": [None, "ö", 2**55]})

    job = fetch(redis)
    assert job.func_name == ADD
    assert job.kwargs == {"a": 1, "b": [None, "ö", 2**55]}
    assert job.args == []
    assert (job.origin, job.timeout, job.result_ttl, job.failure_ttl) == ("bots", 90, 60, 3600)
    assert job.data.startswith(b'["tests.queued_jobs.add"')


def test_a_jobs_arguments_are_not_in_what_is_logged_of_it(
    queue: RqQueue, redis: redis_py.Redis
) -> None:
    queue.enqueue("bots", ADD, "job", {"hand": ["secret"]})

    assert fetch(redis).description == ADD


def test_the_request_is_known_to_its_job(queue: RqQueue, redis: redis_py.Redis) -> None:
    # Other tests of this process may have answered requests.
    clear_contextvars()
    with bound_contextvars(request_id="r-1"):
        queue.enqueue("bots", ADD, "job", {})
    queue.enqueue("bots", ADD, "other", {})

    assert fetch(redis).meta == {"request_id": "r-1"}
    assert fetch(redis, "other").meta == {}


def test_jobs_wait_in_the_order_of_their_coming(queue: RqQueue, redis: redis_py.Redis) -> None:
    for job_id in ("b", "c", "a"):
        queue.enqueue("bots", ADD, job_id, {})

    assert waiting(redis) == ["b", "c", "a"]


@pytest.mark.parametrize("job_id", ["", "a b", "a:b", "ä", "a/b", "a\n", "a{b}"])
def test_an_id_that_rq_would_not_take_is_refused(
    queue: RqQueue, redis: redis_py.Redis, job_id: str
) -> None:
    with pytest.raises(ValueError, match="no job id"):
        queue.enqueue("bots", ADD, job_id, {})

    assert redis.dbsize() == 0


# Ids that are free again.


def test_a_finished_job_gives_its_id_up(queue: RqQueue, redis: redis_py.Redis) -> None:
    queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})
    run_all(redis)
    assert fetch(redis).return_value() == 3
    assert not queue.is_active("job")

    assert queue.enqueue("bots", ADD, "job", {"a": 3, "b": 4})

    assert waiting(redis) == ["job"]
    run_all(redis)
    assert fetch(redis).return_value() == 7


def test_a_failed_job_gives_its_id_up(queue: RqQueue, redis: redis_py.Redis) -> None:
    queue.enqueue("bots", FAIL, "job", {})
    run_all(redis)
    assert fetch(redis).is_failed

    assert queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})

    run_all(redis)
    assert fetch(redis).return_value() == 3
    assert redis.zcard("rq:failed:bots") == 0


def test_a_result_is_soon_gone(queue: RqQueue, redis: redis_py.Redis) -> None:
    queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})

    run_all(redis)

    assert 0 < redis.ttl("rq:job:job") <= 60


def test_a_running_job_that_gives_signs_of_life_keeps_its_id(
    queue: RqQueue, redis: redis_py.Redis
) -> None:
    queue.enqueue("bots", ADD, "job", {})
    begin(redis, silent_s=1.5)

    assert not queue.enqueue("bots", ADD, "job", {})

    assert queue.is_active("job")
    assert waiting(redis) == []


def test_a_running_job_that_fell_silent_gives_its_id_up_and_leaves_nothing(
    queue: RqQueue, redis: redis_py.Redis
) -> None:
    queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})
    begin(redis, silent_s=6)
    assert not queue.is_active("job")

    assert queue.enqueue("bots", ADD, "job", {"a": 5, "b": 5})

    assert waiting(redis) == ["job"]
    left = sorted(key.decode() for key in redis.scan_iter("rq:*"))
    # RQ keeps a set of executions a worker; it is the worker's and expires.
    left.remove("rq:worker:gone:executions")
    assert left == ["rq:job:job", "rq:queue:bots", "rq:queues"]
    assert redis.ttl("rq:job:job") == -1
    run_all(redis)
    assert fetch(redis).return_value() == 10


@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_signs_of_life_are_judged_by_the_clock_that_they_are_written_by(
    redis: redis_py.Redis, ahead_s: float
) -> None:
    """However far this machine's is from it."""
    queue = make_queue(redis, clock=lambda: time.time() + ahead_s)
    queue.enqueue("bots", ADD, "job", {})
    begin(redis, silent_s=1.5 - ahead_s)

    assert not queue.enqueue("bots", ADD, "job", {})

    assert queue.is_active("job")


def test_a_sign_of_life_from_the_future_is_none(queue: RqQueue, redis: redis_py.Redis) -> None:
    """The clock was put back: the job would count as alive for an hour after its end."""
    queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})
    begin(redis, silent_s=-3600)

    assert not queue.is_active("job")
    assert queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})


def test_a_job_that_waits_long_is_no_dead_one(redis: redis_py.Redis) -> None:
    """However long the queue: only who runs must give signs of life."""
    queue = make_queue(redis, dead_after_s=0.05)
    queue.enqueue("bots", ADD, "job", {})
    time.sleep(0.2)

    assert not queue.enqueue("bots", ADD, "job", {})

    assert queue.is_active("job")


def test_a_job_lost_between_taking_and_beginning_gives_its_id_up(redis: redis_py.Redis) -> None:
    """A worker took it and died before it said so: it is neither queued nor running."""
    queue = make_queue(redis, dead_after_s=0.3)
    queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})
    redis.lmove("rq:queue:bots", "rq:queue:bots:intermediate")

    assert not queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})
    assert queue.is_active("job")
    time.sleep(0.4)
    assert not queue.is_active("job")
    assert queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})

    assert waiting(redis) == ["job"]
    assert redis.lrange("rq:queue:bots:intermediate", 0, -1) == []
    assert list(redis.scan_iter("*first_seen*")) == []


@pytest.mark.parametrize("end", ["finished", "silent"])
def test_of_many_sweeps_that_find_an_id_free_one_enqueues(redis: redis_py.Redis, end: str) -> None:
    queue = make_queue(redis)
    for _ in range(10):
        redis.flushall()
        queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})
        if end == "finished":
            run_all(redis)
        else:
            begin(redis, silent_s=60)
        start = threading.Barrier(8)

        def sweep(_number: int, start: threading.Barrier = start) -> bool:
            start.wait()
            return queue.enqueue("bots", ADD, "job", {"a": 1, "b": 2})

        with ThreadPoolExecutor(8) as threads:
            results = list(threads.map(sweep, range(8)))

        assert results.count(True) == 1
        assert waiting(redis) == ["job"]


# Real workers.


class Worker:
    """A worker process with its own work-horses."""

    def __init__(self, redis_url: str) -> None:
        """Start it; it takes jobs from the queue `bots`."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, redis_url],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """Kill it at once."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def worker(redis: redis_py.Redis, redis_url: str) -> Iterator[Worker]:
    """Run a worker on the session's Redis, emptied before it starts."""
    worker = Worker(redis_url)
    yield worker
    worker.kill()


def await_horse(pid_file: Path, timeout_s: float = 20) -> int:
    """Return the process that runs the job, once it does."""
    deadline = time.monotonic() + timeout_s
    while not (pid_file.exists() and pid_file.read_text()):
        assert time.monotonic() < deadline, "no worker took the job"
        time.sleep(0.02)
    return int(pid_file.read_text())


@pytest.mark.slow
def test_a_job_lost_with_its_killed_worker_is_soon_queued_again(
    worker: Worker, redis: redis_py.Redis, tmp_path: Path
) -> None:
    """Worker and work-horse killed at once; RQ alone would notice after a minute."""
    queue = make_queue(redis)
    arguments = {"seconds": 60, "pid_file": str(tmp_path / "pid")}
    queue.enqueue("bots", SLEEP, "job", arguments)
    horse = await_horse(tmp_path / "pid")
    time.sleep(2.5)
    assert not queue.enqueue("bots", SLEEP, "job", arguments), "a job that runs was doubled"
    worker.kill()
    os.kill(horse, signal.SIGKILL)
    killed_at = time.monotonic()

    while not queue.enqueue("bots", SLEEP, "job", arguments):
        time.sleep(0.1)

    assert 1.5 < time.monotonic() - killed_at < 7
    assert waiting(redis) == ["job"]


@pytest.mark.slow
def test_a_job_that_runs_longer_than_the_limit_of_silence_is_not_doubled(
    worker: Worker, redis: redis_py.Redis, tmp_path: Path
) -> None:
    queue = make_queue(redis, dead_after_s=2.5)
    arguments = {"seconds": 4.5, "pid_file": str(tmp_path / "pid")}
    queue.enqueue("bots", SLEEP, "job", arguments)
    await_horse(tmp_path / "pid")

    while fetch(redis).get_status() == JobStatus.STARTED:
        assert queue.is_active("job") or fetch(redis).get_status() != JobStatus.STARTED
        time.sleep(0.1)

    assert fetch(redis).get_status() == JobStatus.FINISHED


# Redis is away.


def test_without_redis_every_method_says_so_and_works_again_after_a_restart(
    tmp_path: Path,
) -> None:
    with RedisServer(tmp_path / "data") as server, connect(server.url, 0.3) as client:
        queue = make_queue(client)
        queue.enqueue("bots", ADD, "job", {})
        uses = [
            lambda: queue.enqueue("bots", ADD, "other", {}),
            lambda: queue.is_active("job"),
            queue.depths,
            queue.ping,
        ]
        server.kill()

        for use in uses:
            with pytest.raises(StoreUnavailable):
                use()
        server.start()

        assert not queue.enqueue("bots", ADD, "job", {})
        assert queue.enqueue("bots", ADD, "other", {})
        assert queue.depths() == {"bots": 2}
