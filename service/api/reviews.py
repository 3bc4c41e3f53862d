"""Reviews: every decision of a finished game against the best one, luck told from skill."""

from flask import Response

from service.api.resource import Answers, Body, Call, Resource
from service.api.schemas.reviews import Review, ReviewRequest
from service.api.tasks import ASKED_HEADERS, READ_HEADERS, task_answer, told_answer
from service.games.access import HINTS
from service.games.limits import ADVICE
from service.games.reviews import REVIEW, ask_review, cancel_review, read_review

resource = Resource("reviews", __name__, description="Finished games looked at again")
PATH = "/games/<string(maxlength=64):game_id>/review"


@resource.operation(
    "POST",
    PATH,
    "askReview",
    body=Body(
        ReviewRequest,
        {"As usual": {}, "A closer look": {"iterations": 10000, "seed": "a"}},
        is_optional=True,
    ),
    headers=("Prefer", "Idempotency-Key", "Accept-Language"),
    answers=[
        Answers(202, "Queued or running; read it at `Location`", Review, ASKED_HEADERS),
        Answers(
            200, "Done already, or within the seconds of `Prefer: wait`", Review, ASKED_HEADERS
        ),
    ],
    problems=(403, 404, 409),
    scope=HINTS,
    bucket=ADVICE,
)
def ask(call: Call, game_id: str) -> Response:
    """Ask for the review of a finished game.

    Each decision of every player is compared with the best found, by what that player knew then:
    the loss in points with its interval, and a word. What the draws from the stock gave is told
    apart. A review of the same options that is under way or done is answered as it is; 409 before
    the end of the game."""
    outcome = ask_review(call.house, call.caller, game_id, call.body, call.key)
    path = f"/games/{game_id}/review"
    return task_answer(
        call, game_id, REVIEW, path, outcome.body, is_replayed=outcome.is_replayed, location=path
    )


@resource.operation(
    "GET",
    PATH,
    "getReview",
    headers=("Accept-Language",),
    answers=[Answers(200, "The review, as far as it is done", Review, READ_HEADERS)],
    problems=(403, 404, 409, 410),
    scope=HINTS,
)
def read(call: Call, game_id: str) -> Response:
    """Read the review of a finished game.

    The newest that was asked for; 404 before anybody has asked."""
    return told_answer(read_review(call.house, call.caller, game_id))


@resource.operation(
    "DELETE",
    PATH,
    "cancelReview",
    headers=("Accept-Language",),
    answers=[Answers(200, "The review, cancelled", Review, READ_HEADERS)],
    problems=(403, 404, 409, 410),
    scope=HINTS,
)
def cancel(call: Call, game_id: str) -> Response:
    """Cancel the review of a finished game.

    What is done so far stays to be read."""
    return told_answer(cancel_review(call.house, call.caller, game_id))
