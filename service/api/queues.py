"""The queues, for operators: how many wait and for how long, what runs, what failed and where.

A resource of our own and not RQ's dashboard: that one shows arguments, which hold what seats see,
and is a page with a door of its own. `service/store/jobs.py` says what is told of a job and what is
not. Keys have the scope `admin` unless they were made without it, those of other people's apps too:
so what is told here names no game.
"""

from dataclasses import asdict
from typing import Any

from flask import Response
from werkzeug.exceptions import NotFound

from service.api.resource import Answers, Call, Resource, json_answer
from service.api.schemas.queues import QueueJobs, Queues
from service.games.access import ADMIN, AppCaller
from service.games.errors import NotAllowed
from service.games.house import rfc3339
from service.games.ports import QUEUES
from service.logs import get_logger
from service.sentences import Sentence
from service.store.jobs import ToldJob

resource = Resource("queues", __name__, description="The queues, for operators")
log = get_logger(__name__)


@resource.operation(
    "GET",
    "/queues",
    "listQueues",
    callers=("appKey",),
    answers=[Answers(200, "All queues", Queues)],
    scope=ADMIN,
)
def read_all(call: Call) -> Response:
    """List the queues.

    For operators: how many jobs wait, run and have failed, how long the next one has waited."""
    _check_operator(call)
    told = [
        {
            "queue": name,
            "queued": queue.queued,
            "running": queue.running,
            "failed": queue.failed,
            "workers": queue.workers,
            "oldest_seconds": round(queue.oldest_s, 3),
        }
        for name, queue in call.parts.figures.queues(call.house.clock()).items()
    ]
    return json_answer({"queues": told})


@resource.operation(
    "GET",
    "/queues/<string(maxlength=20):queue>",
    "getQueue",
    callers=("appKey",),
    answers=[Answers(200, "Its jobs", QueueJobs)],
    problems=(404,),
    scope=ADMIN,
)
def read(call: Call, queue: str) -> Response:
    """Read a queue's jobs.

    For operators. What is in a job, and which game it is of, is not told; a failed one has the
    class of its error and where that came from, and the workers' log has the rest."""
    _check_operator(call)
    _check_name(queue)
    jobs = call.parts.jobs
    lists = {
        "waiting": jobs.waiting(queue),
        "running": jobs.running(queue),
        "failed": jobs.failed(queue),
    }
    return json_answer(
        {"queue": queue, **{state: list(map(_job_to_json, told)) for state, told in lists.items()}}
    )


@resource.operation(
    "POST",
    "/queues/<string(maxlength=20):queue>/failed/<string(maxlength=16):job>/requeue",
    "requeueJob",
    callers=("appKey",),
    answers=[Answers(202, "It waits again")],
    problems=(404,),
    scope=ADMIN,
)
def requeue(call: Call, queue: str, job: str) -> Response:
    """Try a failed job again.

    For operators. Nothing comes of a job whose game has moved on meanwhile. Failed jobs are gone by
    themselves after an hour."""
    _check_operator(call)
    _check_name(queue)
    job_id = call.parts.jobs.requeue(queue, job)
    if job_id is None:
        raise NotFound
    log.info("job_requeued", job=job_id, queue=queue)
    return Response(status=202)


def _check_operator(call: Call) -> None:
    """Raise NotAllowed for all but live keys of apps: seats and the sandbox are no operators."""
    if not isinstance(call.caller, AppCaller) or call.caller.is_test:
        raise NotAllowed(Sentence("That key has not the scope `{scope}`.", scope=ADMIN))


def _check_name(queue: str) -> None:
    if queue not in QUEUES:
        raise NotFound


def _job_to_json(job: ToldJob) -> dict[str, Any]:
    told = asdict(job)
    for name in ("queued_at", "started_at", "ended_at"):
        if told[name] is not None:
            told[name] = rfc3339(told[name].timestamp())
    return told
