"""The sandbox: a game's clock, moved by those with a test key. Forced problems: `forcing.py`."""

from flask import Response

from service.api.resource import Answers, Body, Call, Resource, etag_of, json_answer
from service.api.schemas.games import ChangedGame
from service.api.schemas.sandbox import ClockRequest
from service.games.sandbox import move_clock

resource = Resource("sandbox", __name__, description="For trying out clients, with a test key")


@resource.operation(
    "POST",
    "/sandbox/clock",
    "moveClock",
    callers=("appKey",),
    body=Body(
        ClockRequest, {"A minute on": {"game_id": "mzxw6ytboi4dq3dpnzsxg5dp", "seconds": 60}}
    ),
    answers=[Answers(200, "The deadline is nearer, or past", ChangedGame, ("ETag",))],
    problems=(403, 404, 409),
)
def move(call: Call) -> Response:
    """Move the clock of a sandbox game.

    The turn in hand is due so much sooner; one that is overdue then is finished by a bot, as ever.
    Other games are not touched."""
    outcome = move_clock(call.house, call.caller, call.body["game_id"], call.body["seconds"])
    return json_answer(outcome.body, 200, {"ETag": etag_of(outcome.body["game"])})
