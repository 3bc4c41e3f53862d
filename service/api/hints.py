"""Hints: advice for the seat to move, worked out on the queue."""

from flask import Response

from service.api.actions import take_seat
from service.api.resource import Answers, Body, Call, Resource
from service.api.schemas.advice import Hint, HintRequest
from service.api.schemas.queries import SeatQuery
from service.api.tasks import ASKED_HEADERS, READ_HEADERS, task_answer, told_answer
from service.games.access import HINTS
from service.games.advice import HINT, ask_hint, cancel_hint, read_task
from service.games.limits import ADVICE

resource = Resource("hints", __name__, description="Advice for the seat to move")
PATH = "/games/<string(maxlength=64):game_id>/hints"
ONE = f"{PATH}/<string(maxlength=32):hint_id>"


@resource.operation(
    "POST",
    PATH,
    "askHint",
    query=SeatQuery,
    body=Body(
        HintRequest,
        {
            "Think for a second": {"seconds": 1.0},
            "The same answer on any machine": {"iterations": 20000, "seed": "a"},
            "As a bot would": {"level": "expert"},
        },
    ),
    headers=("Prefer", "Idempotency-Key", "Accept-Language"),
    answers=[
        Answers(
            202,
            "Queued or running; read it at `Location`",
            Hint,
            ASKED_HEADERS,
        ),
        Answers(
            200,
            "Ended within the seconds of `Prefer: wait`",
            Hint,
            ASKED_HEADERS,
        ),
    ],
    problems=(403, 404, 409),
    scope=HINTS,
    bucket=ADVICE,
)
def ask(call: Call, game_id: str) -> Response:
    """Ask for advice.

    For the seat to move, which must be the caller's. The search is given what that seat may see
    and nothing else. With the same seed, iterations and view the answer is the same."""
    seat = take_seat(call)
    outcome = ask_hint(call.house, call.caller, game_id, seat, call.body, call.key)
    path = f"/games/{game_id}/hints"
    return task_answer(call, game_id, HINT, path, outcome.body, is_replayed=outcome.is_replayed)


@resource.operation(
    "GET",
    ONE,
    "getHint",
    headers=("Accept-Language",),
    answers=[Answers(200, "The hint, with the best so far", Hint, READ_HEADERS)],
    problems=(403, 404, 410),
    scope=HINTS,
)
def read(call: Call, game_id: str, hint_id: str) -> Response:
    """Read a hint.

    While it is worked on it shows its progress and the best action so far."""
    return told_answer(read_task(call.house, call.caller, game_id, HINT, hint_id))


@resource.operation(
    "DELETE",
    ONE,
    "cancelHint",
    headers=("Accept-Language",),
    answers=[Answers(200, "The hint, cancelled", Hint, READ_HEADERS)],
    problems=(403, 404, 409, 410),
    scope=HINTS,
)
def cancel(call: Call, game_id: str, hint_id: str) -> Response:
    """Cancel a hint.

    Cancelling again changes nothing; a hint that has ended otherwise stays as it is (409)."""
    return told_answer(cancel_hint(call.house, call.caller, game_id, hint_id))
