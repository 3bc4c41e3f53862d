"""Positions: advice for what a seat sees in somebody else's game."""

from flask import Response

from service.api.resource import Answers, Body, Call, Resource
from service.api.schemas.positions import PositionHint, PositionRequest
from service.api.tasks import ASKED_HEADERS, READ_HEADERS, task_answer, told_answer
from service.games.access import HINTS
from service.games.limits import ADVICE
from service.games.positions import (
    POSITION,
    ask_position_hints,
    cancel_position_hints,
    read_position_hints,
    scope_of,
)

resource = Resource("positions", __name__, description="Advice for positions of other games")
PATH = "/positions/hints"
ONE = f"{PATH}/<string(maxlength=32):hint_id>"
BODY_SIZE = 8
"""A hundred positions are some 250 KB."""
AT_THE_START = {
    "seat": 0,
    "number": 1,
    "deals": 2,
    "scores": [0, 0],
    "dealer": 3,
    "turn": 0,
    "phase": "draw",
    "due": None,
    "passes": 0,
    "stock_count": 27,
    "discard_pile": ["7H"],
    "hand": ["7S", "7D", "9C", "JH", "QH", "KH", "X1"],
    "hand_counts": [7, 7, 7, 7],
    "known_cards": [[], [], [], []],
    "melds": [],
    "points": [0, 0],
}
IN_THE_MIDDLE = AT_THE_START | {
    "seat": 1,
    "turn": 1,
    "phase": "meld",
    "stock_count": 26,
    "discard_pile": ["KH"],
    "hand": ["2C", "3C", "4C", "8D", "TS", "AD", "AC", "X2"],
    "hand_counts": [4, 8, 7, 7],
    "melds": [
        {
            "id": "m1",
            "kind": "set",
            "cards": ["7D", "7H", "7S"],
            "laid_by": [0, 0, 0],
            "doubled": False,
        }
    ],
    "points": [21, 0],
}


@resource.operation(
    "POST",
    PATH,
    "askPositionHint",
    callers=("appKey",),
    body=Body(
        PositionRequest,
        {
            "One position": {"position": AT_THE_START, "iterations": 2000, "seed": "a"},
            "Several": {"positions": [AT_THE_START, IN_THE_MIDDLE], "level": "casual"},
        },
        size=BODY_SIZE,
    ),
    headers=("Prefer", "Idempotency-Key", "Accept-Language"),
    answers=[
        Answers(202, "Queued or running; read it at `Location`", PositionHint, ASKED_HEADERS),
        Answers(200, "Ended within the seconds of `Prefer: wait`", PositionHint, ASKED_HEADERS),
    ],
    problems=(403,),
    scope=HINTS,
    bucket=ADVICE,
)
def ask(call: Call) -> Response:
    """Ask for advice on positions.

    A position is what the seat to move sees: the `deal` of a GAME with `seat`, `deals` and `scores`
    beside it. One that cannot be is refused with every fault named (422). With the same seed,
    iterations and view the answer is that of `askHint`. Several positions share one progress, and
    each is thought about as hard as the budget says."""
    body = call.body
    is_batch = "positions" in body
    positions = body.pop("positions", None) or [body.pop("position")]
    for position in positions:
        position.pop("deadline", None)
    outcome = ask_position_hints(
        call.house, call.caller, positions, body, is_batch=is_batch, key=call.key
    )
    scope = scope_of(call.caller)
    return task_answer(call, scope, POSITION, PATH, outcome.body, is_replayed=outcome.is_replayed)


@resource.operation(
    "GET",
    ONE,
    "getPositionHint",
    callers=("appKey",),
    headers=("Accept-Language",),
    answers=[Answers(200, "The advice, with the best so far", PositionHint, READ_HEADERS)],
    problems=(403, 404, 410),
    scope=HINTS,
)
def read(call: Call, hint_id: str) -> Response:
    """Read the advice on positions.

    While it is worked on it shows its progress and the best actions so far."""
    return told_answer(read_position_hints(call.house, call.caller, hint_id))


@resource.operation(
    "DELETE",
    ONE,
    "cancelPositionHint",
    callers=("appKey",),
    headers=("Accept-Language",),
    answers=[Answers(200, "The advice, cancelled", PositionHint, READ_HEADERS)],
    problems=(403, 404, 409, 410),
    scope=HINTS,
)
def cancel(call: Call, hint_id: str) -> Response:
    """Cancel the advice on positions.

    What is found so far stays. Cancelling again changes nothing; what has ended otherwise stays as
    it is (409)."""
    return told_answer(cancel_position_hints(call.house, call.caller, hint_id))
