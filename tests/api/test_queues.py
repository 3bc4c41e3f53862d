"""The queues as operators see them: what waits, runs and failed, and nothing of what is in jobs."""

from __future__ import annotations

import re

import pytest
import redis as redis_py
from rq import Queue
from rq.exceptions import AbandonedJobError

from service.app import create_app
from service.config import Settings
from service.store.app_keys import MemoryAppKeys
from service.store.jobs import digest_of, fault_of
from tests.api.client import ApiClient, Table
from tests.workers.conftest import here as here
from tests.workers.conftest import warm_kernels as warm_kernels
from tests.workers.test_main import quiet_logs as quiet_logs
from tests.workers.test_main import work_off

pytestmark = pytest.mark.usefixtures("here")
CANARY = "canary-of-a-hand"


@pytest.fixture
def api(redis: redis_py.Redis, redis_url: str) -> ApiClient:
    """Return a client of the service on the session's Redis, emptied."""
    app = create_app(Settings(redis_url=redis_url, queue_redis_url=redis_url))
    return ApiClient(app)


def fail_one(redis: redis_py.Redis, job_id: str = "hint-somebodys-h1") -> None:
    """Let a job fail whose error quotes its arguments."""
    queue = Queue("hints", connection=redis, serializer="json")
    arguments = {CANARY: ["7H"]}
    queue.enqueue_call("workers.jobs.give_hint", kwargs=arguments, job_id=job_id, failure_ttl=60)
    work_off(redis, "hints")


def test_the_queues_are_listed_with_their_counts(api: ApiClient, redis: redis_py.Redis) -> None:
    """GET /queues: all of them, also those in which nothing is."""
    fail_one(redis)
    table = Table(api)
    api.post(f"{table.path}/hints", {}, token=table.tokens[table.turn])

    told = {queue["queue"]: queue for queue in api.get("/queues").json["queues"]}

    assert ["bots", "hints", "reviews", "webhooks"] == sorted(told)
    counts = {name: told["hints"][name] for name in ("queued", "running", "failed", "workers")}
    assert {"queued": 1, "running": 0, "failed": 1, "workers": 0} == counts
    assert 0 < told["hints"]["oldest_seconds"] < 600


def test_a_queues_jobs_are_told_by_kind_time_and_fault_only(
    api: ApiClient, redis: redis_py.Redis
) -> None:
    """GET /queues/hints: no id of a game, no argument, no error's text, though Redis has all."""
    fail_one(redis)
    table = Table(api)
    asked = api.post(f"{table.path}/hints", {}, token=table.tokens[table.turn]).json

    answer = api.get("/queues/hints")

    (waits,) = answer.json["waiting"]
    (failed,) = answer.json["failed"]
    assert digest_of(f"hint-{table.id}-{asked['id']}") == waits["job"]
    assert ("give_hint", None, None) == (waits["kind"], waits["started_at"], waits["error"])
    assert "TypeError" == failed["error"]
    assert failed["queued_at"] <= failed["started_at"] <= failed["ended_at"]
    # It did not come to a line of ours.
    assert None is failed["where"]
    assert [] == answer.json["running"]
    text = answer.raw.decode()
    assert not re.search(rf"{table.id}|{CANARY}|somebodys|\b[2-9TJQKA][CDHS]\b", text)
    stored = b"".join(redis.xrange(key)[0][1][b"exc_string"] for key in redis.scan_iter("rq:res*"))
    assert stored


def test_what_is_no_job_of_ours_is_told_as_other(api: ApiClient, redis: redis_py.Redis) -> None:
    """Whoever writes to Redis chooses the name of the function."""
    queue = Queue("bots", connection=redis, serializer="json")
    for number, name in enumerate(("os.system", "workers.jobs.prs_secret-7H", "workers.jobs.x.y")):
        queue.enqueue_call(name, job_id=f"job-{number}")
    broken = queue.enqueue_call("workers.jobs.play_bot_turn", job_id="broken")
    redis.hset(broken.key, "data", b"no JSON")

    told = api.get("/queues/bots").json["waiting"]

    assert ["other"] * 4 == [job["kind"] for job in told]


def test_a_failed_job_is_tried_again(api: ApiClient, redis: redis_py.Redis) -> None:
    """POST .../requeue: it waits again and is no longer among those that failed; once."""
    fail_one(redis)
    (failed,) = api.get("/queues/hints").json["failed"]
    path = f"/queues/hints/failed/{failed['job']}/requeue"

    assert 202 == api.post(path).status

    told = api.get("/queues/hints").json
    assert ([failed["job"]], []) == ([job["job"] for job in told["waiting"]], told["failed"])
    assert 404 == api.post(path).status
    work_off(redis, "hints")
    assert 1 == len(api.get("/queues/hints").json["failed"])


def test_what_is_not_there_is_404(api: ApiClient) -> None:
    """An unknown queue, an unknown job."""
    for method, path in (
        ("GET", "/queues/others"),
        ("POST", "/queues/others/failed/0123456789abcdef/requeue"),
        ("POST", "/queues/bots/failed/0123456789abcdef/requeue"),
    ):
        assert 404 == api.send(method, path).status


def test_only_an_apps_live_key_with_the_scope_sees_them(redis_url: str) -> None:
    """A seat's token, a spectator's and a test key are no operator's, whatever their reach."""
    keys = MemoryAppKeys()
    keys.create("club", "prk_live", ["admin"])
    keys.create("club", "prk_player", ["play", "hints"])
    keys.create("club", "prk_test", is_test=True)
    settings = Settings(redis_url=redis_url, queue_redis_url=redis_url, auth="required")
    api = ApiClient(create_app(settings, keys=keys))
    for method, path in (
        ("GET", "/queues"),
        ("GET", "/queues/bots"),
        ("POST", "/queues/bots/failed/0123456789abcdef/requeue"),
    ):
        for token in ("prk_player", "prk_test", "prs_game_secret"):
            assert 403 == api.send(method, path, token=token).status
        assert 401 == api.send(method, path).status
        assert api.send(method, path, token="prk_live").status in (200, 404)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", (None, None)),
        ("this function is no job", (None, None)),
        (f"Moved to FailedJobRegistry, due to {AbandonedJobError.__name__}", (None, None)),
        (
            '  File "/x/workers/jobs.py", line 7, in f\n    f()\nKeyError',
            ("KeyError", "workers/jobs.py:7"),
        ),
        (
            '  File "/x/service/games/a.py", line 7, in f\n  File "/y/rq/job.py", line 9, in g\n'
            "redis.exceptions.ConnectionError: 7H\nprs_x: y",
            ("redis.exceptions.ConnectionError", "service/games/a.py:7"),
        ),
    ],
)
def test_of_a_traceback_the_class_and_our_line_are_told(
    text: str, fault: tuple[str | None, str | None]
) -> None:
    assert fault == fault_of(text)


def test_while_the_queues_are_away_it_says_so(redis_url: str) -> None:
    """503, as everywhere; the games' Redis is there."""
    away = Settings(redis_url=redis_url, queue_redis_url="redis://127.0.0.1:1/0")
    api = ApiClient(create_app(away))

    for path in ("/queues", "/queues/bots"):
        answer = api.get(path)
        assert 503 == answer.status
        assert answer.headers["Retry-After"]
