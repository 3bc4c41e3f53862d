"""A worker process: one queue, kernels warm before the first job.

The entry point is ours and not RQ's command: that one ends when Redis goes away during a job. One
queue a process: with several, RQ takes jobs in a way that loses one when the worker dies at the
wrong moment.

Beside the worker of the bots' queue runs a small process that sweeps for games whose bot nobody
plays (`service/games/sweeping.py`)."""

import logging
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError, TimeoutError
from redis.retry import Retry
from rq import Queue, SimpleWorker
from rq.exceptions import DeserializationError
from rq.executions import Execution
from rq.job import Job
from rq.worker import WorkerStatus
from structlog.contextvars import bound_contextvars

from service.config import Settings
from service.embedded import dying_with_parent
from service.games.counting import waited
from service.games.errors import Unavailable
from service.games.jumps import ClockWatch
from service.games.ports import QUEUES as QUEUES
from service.games.sweeping import sweep_bots, sweep_clocks, sweep_webhooks
from service.jobqueue import job_attributes
from service.logs import configure_logs, get_logger
from service.store.connecting import client_for
from service.tracing import span, start_tracing, stop_tracing
from workers.house import house
from workers.warmup import choose_cache, warm_up

log = get_logger(__name__)

RECONNECTS = 60
SWEEP_AFTER_S = 2.0
"""A bot that has done nothing for so long is called again, unless its job is queued or alive."""


class PlainJob(Job):
    """A job that is its function's name and its arguments, whatever else is stored with it.

    RQ's jobs can also name functions to be called at their end and addresses to be asked. Nothing
    of ours uses them; whoever writes to Redis could, past the list of jobs and past the check of
    addresses."""

    def restore(self, raw_data: Any) -> Any:
        """Read what is stored, but for what RQ would do besides the job."""
        restored = super().restore(raw_data)
        self._success_callback_name = None
        self._failure_callback_name = None
        self._stopped_callback_name = None
        self.webhooks = []
        return restored

    def prepare_for_execution(self, worker_name: str, pipeline: Any) -> None:
        """Note that the job begins, its first sign of life by the clock of the service."""
        super().prepare_for_execution(worker_name, pipeline)
        self.heartbeat(datetime.now(UTC), 0, pipeline)

    def heartbeat(
        self, timestamp: datetime, ttl: int, pipeline: Any = None, xx: bool = False
    ) -> None:
        """Write a sign of life by the clock of the service in place of this machine's, which those
        who judge it do not have.
        """
        timestamp = datetime.fromtimestamp(house().clock(), UTC)
        super().heartbeat(timestamp, ttl, pipeline, xx)


class WarmWorker(SimpleWorker):
    """RQ's worker that runs each job in its own process, and only those that are on the list of
    its queue.

    No fork a job: a bot's answer is in the log 5 ms after the action before it instead of 38
    (median, `greedy`, measured side by side), since the kernels and connections are there already.
    What the fork would give is had otherwise: a killed worker's game is found by the sweep, a job's
    timeout acts between two chunks of search, and the supervisor or Kubernetes starts a worker
    again. A thread gives the sign of life that a forking worker's parent would give."""

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run the job with a sign of life a second beside it."""
        execution = self.prepare_execution(job)
        is_done = threading.Event()
        pulse = threading.Thread(target=self._give_signs_of_life, args=(job, execution, is_done))
        pulse.start()
        try:
            self.perform_job(job, queue, execution)
        finally:
            is_done.set()
            pulse.join()
        self.set_state(WorkerStatus.IDLE)

    def _give_signs_of_life(self, job: Job, execution: Execution, is_done: threading.Event) -> None:
        while not is_done.wait(self.job_monitoring_interval):
            try:
                self.maintain_heartbeats(job, execution)
            except redis.RedisError as error:
                log.warning("no_sign_of_life", job=job.id, why=str(error))

    def perform_job(self, job: Job, queue: Queue, execution: Execution) -> bool:
        """Run the job if it is on the list; else fail it: whoever writes to Redis could name any
        function.
        """
        try:
            function = job.func_name
        except DeserializationError:
            function = None
        if function not in jobs_of(queue.name):
            log.error("job_refused", job=job.id, function=function)
            why = "this function is no job"
            self.handle_job_failure(job, queue, exc_string=why, execution=execution)
            return False
        attributes = job_attributes(queue.name, function, job.id)
        ids = {"job_id": job.id, "request_id": job.meta.get("request_id")}
        with (
            span(f"process {queue.name}", "consumer", attributes, carried=job.meta) as traced,
            bound_contextvars(**ids, **({} if traced is None else {"trace_id": traced.trace_id})),
        ):
            is_done = bool(super().perform_job(job, queue, execution))
            if traced is not None and not is_done:
                traced.fail("job_failed")
            house().store.count(waited(queue.name, waited_s(job)))
            return is_done


def waited_s(job: Job) -> float:
    """Return the seconds from a job's queuing to its beginning."""
    if job.enqueued_at is None or job.started_at is None:
        return 0.0
    return max((job.started_at - job.enqueued_at).total_seconds(), 0.0)


def jobs_of(queue_name: str) -> frozenset[str]:
    """Return the dotted names of the jobs that the worker of a queue runs."""
    if queue_name == "webhooks":
        from workers.webhooks import JOBS as WEBHOOK_JOBS

        return WEBHOOK_JOBS
    from workers.jobs import JOBS

    return JOBS


def work(queue_name: str, settings: Settings) -> None:
    """Work on one queue until SIGTERM or SIGINT; a running job is finished first."""
    configure_logs(settings.log_level, settings.log_format)
    # The worker of webhooks waits for others and never computes: it loads no kernel.
    is_posting = queue_name == "webhooks"
    seconds = 0.0 if is_posting else warm_up(choose_cache(settings.numba_cache_dir))
    start_tracing(settings.otlp_endpoint, queue_name)
    log.info("worker_warm", queue=queue_name, seconds=round(seconds, 2), settings=settings.public())
    sweeper = _start_sweeper() if queue_name == "bots" else None
    connection = worker_connection(settings)
    worker = make_worker(queue_name, connection)
    try:
        worker.work(logging_level=settings.log_level.upper())
    finally:
        if is_posting:
            from workers.webhooks import wait_for_threads

            wait_for_threads()
        if sweeper is not None:
            sweeper.terminate()
            sweeper.wait()
        stop_tracing()


def _is_news(record: logging.LogRecord) -> bool:
    """Tell whether RQ's line says more than that it has cleaned up, which it does all the time."""
    return "cleaning" not in record.getMessage()


def make_worker(queue_name: str, connection: redis.Redis) -> WarmWorker:
    """Return a worker of one queue."""
    logging.getLogger("rq.worker").addFilter(_is_news)
    queue = Queue(queue_name, connection=connection, serializer="json", job_class=PlainJob)
    return WarmWorker(
        [queue],
        connection=connection,
        serializer="json",
        job_class=PlainJob,
        worker_ttl=20,
        job_monitoring_interval=1,
        maintenance_interval=2,
    )


def worker_connection(settings: Settings) -> redis.Redis:
    """Return a worker's client of the queues: it comes again for two minutes when Redis is away."""
    return client_for(
        settings.queue_redis_url,
        retry=Retry(ExponentialBackoff(cap=2, base=0.1), RECONNECTS),
        retry_on_error=[ConnectionError, TimeoutError],
        health_check_interval=15,
    )


def _start_sweeper() -> subprocess.Popen[bytes]:
    """Start the sweep in a process of its own; it ends with this one."""
    return subprocess.Popen(dying_with_parent([sys.executable, "-m", "workers", "sweep"]))


def sweep(settings: Settings) -> None:
    """Sweep for waiting bots, overdue turns and webhooks again and again, until SIGTERM."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    start_tracing(settings.otlp_endpoint, "sweep")
    signal.signal(signal.SIGTERM, stop)
    configure_logs(settings.log_level, settings.log_format)
    watch = ClockWatch(house().clock, time.monotonic)
    log.info("sweep_begun", every_s=settings.sweep_interval_s)
    while True:
        try:
            jump = watch.attend(house())
            if jump is not None:
                log.warning("clock_jumped", seconds=round(jump.by_s))
            called = sweep_bots(house(), SWEEP_AFTER_S)
            if called:
                log.info("bots_called_again", games=called)
            overdue = sweep_clocks(house(), watch.last_jump)
            if overdue:
                log.info("turns_overdue", games=overdue)
            sweep_webhooks(house())
        except Unavailable as error:
            log.warning("sweep_failed", why=str(error))
        time.sleep(settings.sweep_interval_s)
