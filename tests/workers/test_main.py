"""The worker process: what it takes from a queue, and how it shows that it lives."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from rq import Callback, Queue
from rq.executions import Execution
from rq.job import Job, JobStatus
from rq.webhook import Webhook as RqWebhook

from service.app import create_app
from service.config import Settings
from service.games.advice import HINT, ask_hint, read_task
from service.games.house import House
from service.jobqueue import RqQueue
from service.logs import configure_logs
from tests.api.client import ApiClient, Table
from tests.receivers import receiving
from tests.workers.tables import APP, four_people, make_game, play_until_turn_of, stored, turn_of
from workers.main import make_worker


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    """Take away the handlers that RQ puts on its logger."""
    yield
    logging.getLogger("rq.worker").handlers.clear()


def work_off(connection: redis_py.Redis, queue: str) -> None:
    """Work on what is on the queue until nothing is, as the worker process does."""
    make_worker(queue, connection).work(burst=True)


def fetch(connection: redis_py.Redis, job_id: str) -> Job:
    return Job.fetch(job_id, connection=connection, serializer="json")


def test_a_worker_plays_the_bots_that_are_called(here: House, redis: redis_py.Redis) -> None:
    """Bot after bot, until a person is to move."""
    game_id = make_game(here, "human", "greedy", "novice", "random")
    work_off(redis, "bots")
    play_until_turn_of(here, game_id, 0)
    play_until_turn_of(here, game_id, 1)
    version = stored(here, game_id).version

    work_off(redis, "bots")

    assert 0 == turn_of(here, game_id)
    assert stored(here, game_id).version >= version + 6
    assert fetch(redis, f"bot-{game_id}-{version}-1").is_finished


def test_an_idle_worker_does_not_fill_the_log(
    redis: redis_py.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """RQ tells that it cleans its lists whenever it does, and here that is every two seconds."""
    caplog.set_level("INFO")
    worker = make_worker("bots", redis)
    worker.run_maintenance_tasks()

    assert not [line for line in caplog.messages if "cleaning" in line]
    worker.log.info("Worker: started")
    assert "Worker: started" in caplog.messages


def test_a_job_that_is_not_on_the_list_is_refused(
    here: House, redis: redis_py.Redis, tmp_path: Path
) -> None:
    """Whether of the standard library or ours; the next job is worked on."""
    jobs = Queue("hints", connection=redis, serializer="json")
    jobs.enqueue_call("os.mkdir", args=(str(tmp_path / "made"),), job_id="mkdir")
    jobs.enqueue_call("workers.main.sweep", args=(), job_id="ours")
    spoilt = jobs.enqueue_call("workers.jobs.give_hint", job_id="spoilt")
    redis.hset(spoilt.key, "data", b"\x80\x04}\x94.")
    game_id = four_people(here)
    asked = ask_hint(here, APP, game_id, None, {"iterations": 100}).body

    work_off(redis, "hints")

    for job_id in ("mkdir", "ours", "spoilt"):
        result = fetch(redis, job_id).latest_result()
        assert result is not None
        assert "this function is no job" == result.exc_string
    assert not (tmp_path / "made").exists()
    assert "done" == read_task(here, APP, game_id, HINT, asked["id"])["status"]


REACHED: list[str] = []
"""What called-back functions have noted."""


def note_callback(job: Job, *_: object) -> None:
    """Stand for a function that RQ calls at the end of a job, if it is let."""
    REACHED.append(job.id)


def test_a_jobs_callbacks_and_addresses_reach_nothing(here: House, redis: redis_py.Redis) -> None:
    """RQ would call any function that a job names for its end, and ask any address.

    After success, after failure, after a refusal, and for a job that a dead worker left behind."""
    jobs = Queue("hints", connection=redis, serializer="json")
    called = Callback(f"{__name__}.note_callback")
    game_id = four_people(here)
    with receiving() as receiver:
        forged: dict[str, Any] = {
            "on_success": called,
            "on_failure": called,
            "on_stopped": called,
            "webhooks": [
                RqWebhook(receiver.url(f"/{status}"), status, method="POST")
                for status in ("finished", "failed")
            ],
        }
        good: dict[str, Any] = {"scope": game_id, "task_id": "none", "view": {}, "budget": {}}
        jobs.enqueue_call("workers.jobs.give_hint", kwargs=good, job_id="ours", **forged)
        jobs.enqueue_call("workers.jobs.give_hint", kwargs={"x": 1}, job_id="failing", **forged)
        jobs.enqueue_call("os.getcwd", job_id="refused", **forged)
        left = jobs.enqueue_call("workers.jobs.give_hint", job_id="left", **forged)
        left.set_status(JobStatus.STARTED)
        redis.lrem(jobs.key, 0, left.id)
        execution = Execution("dead", left.id, connection=redis)
        with redis.pipeline() as pipeline:
            execution.save(60, pipeline)
            pipeline.execute()
        redis.zadd("rq:wip:hints", {execution.composite_key: 1})

        work_off(redis, "hints")
        make_worker("hints", redis).clean_registries()

        assert (receiver.got, REACHED) == ([], [])
    states = {
        name: fetch(redis, name).get_status().value for name in ("failing", "refused", "left")
    }
    assert states == dict.fromkeys(states, "failed")


def test_a_job_that_fails_does_not_stop_the_worker(here: House, redis: redis_py.Redis) -> None:
    """Arguments that no use case would send."""
    jobs = Queue("hints", connection=redis, serializer="json")
    jobs.enqueue_call("workers.jobs.give_hint", kwargs={"scope": "x"}, job_id="wrong")
    game_id = four_people(here)
    asked = ask_hint(here, APP, game_id, None, {"iterations": 100}).body

    work_off(redis, "hints")

    assert fetch(redis, "wrong").is_failed
    assert "done" == read_task(here, APP, game_id, HINT, asked["id"])["status"]


def test_a_long_job_gives_signs_of_life_while_compiled_code_runs(
    here: House, redis: redis_py.Redis
) -> None:
    """So that the sweep, or a reader, never takes it for dead."""
    queue = RqQueue(redis, max_queued_jobs=9, job_timeout_s=60, dead_after_s=2.0)
    game_id = four_people(here)
    asked = ask_hint(here, APP, game_id, None, {"seconds": 3.5}).body
    job_id = f"hint-{game_id}-{asked['id']}"
    seen: list[tuple[str, bool]] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.1):
            is_active = queue.is_active(job_id)
            seen.append((read_task(here, APP, game_id, HINT, asked["id"])["status"], is_active))

    other = threading.Thread(target=look)
    other.start()
    began = time.monotonic()

    work_off(redis, "hints")

    is_over.set()
    other.join()
    assert time.monotonic() - began > 2.5
    running = [is_active for status, is_active in seen if status == "running"]
    assert len(running) > 10
    assert all(running)


def test_a_jobs_lines_carry_the_request_that_asked_for_it(
    here: House, redis: redis_py.Redis, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the client's request, by the API's line, to the worker's: one id."""
    table = Table(ApiClient(create_app(Settings(redis_url=redis_url, queue_redis_url=redis_url))))
    token = table.tokens[table.turn]
    root = logging.getLogger()
    handlers = list(root.handlers)
    configure_logs("info", "json")
    try:
        answer = table.api.post(
            f"{table.path}/hints",
            {"iterations": 100},
            token=token,
            headers={"X-Request-Id": "asked-by-this"},
        )
        work_off(redis, "hints")
    finally:
        root.handlers[:] = handlers

    lines: list[dict[str, Any]] = [
        json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")
    ]
    assert 202 == answer.status
    (asked,) = [line for line in lines if line["message"] == "request"]
    (given,) = [line for line in lines if line["message"] == "hint_given"]
    assert "asked-by-this" == asked["request_id"]
    assert "asked-by-this" == given["request_id"]
    assert given["job_id"].startswith(f"hint-{table.id}-")
