"""Seats: taking an open one."""

from flask import Response

from service.api.auth import LOCAL
from service.api.games import replayed_header
from service.api.resource import Answers, Body, Call, Resource, etag_of, json_answer
from service.api.schemas.games import JoinedSeat, JoinRequest
from service.games.hosting import join_game

resource = Resource("seats", __name__, description="Who sits where")


@resource.operation(
    "POST",
    "/games/<string(maxlength=64):game_id>/seats/<int(max=3):seat>/join",
    "joinSeat",
    body=Body(JoinRequest, {"With a name": {"name": "Di"}, "Without": {}}, is_optional=True),
    headers=("Idempotency-Key",),
    answers=[
        Answers(201, "The seat is yours", JoinedSeat, ("Location", "ETag", "Idempotent-Replayed"))
    ],
    problems=(404, 409),
)
def join(call: Call, game_id: str, seat: int) -> Response:
    """Take an open seat.

    Without credentials whoever knows the game's id may; with them, those whom the game admits: its
    app, or the token of another seat. The token is shown here and never again. The game begins when
    the last open seat is taken."""
    caller = None if call.caller is LOCAL else call.caller
    outcome = join_game(call.house, game_id, seat, call.body.get("name"), call.key, caller)
    headers = {"Location": f"/games/{game_id}", "ETag": etag_of(outcome.body["game"])}
    return json_answer(outcome.body, 201, headers | replayed_header(outcome.is_replayed))
