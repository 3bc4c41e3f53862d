"""Seats: taking an open one, handing one to a bot and taking it back, a new token."""

from flask import Response

from service.api.auth import LOCAL
from service.api.games import replayed_header
from service.api.resource import Answers, Body, Call, Resource, etag_of, json_answer
from service.api.schemas.games import ChangedGame, JoinedSeat, JoinRequest, SeatBotRequest
from service.games.hosting import join_game
from service.games.levels import DEFAULT_LEVEL
from service.games.seats import replace_token, seat_bot, take_back

resource = Resource("seats", __name__, description="Who sits where")
SEAT = "/games/<string(maxlength=64):game_id>/seats/<seat:seat>"


@resource.operation(
    "POST",
    f"{SEAT}/join",
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


@resource.operation(
    "POST",
    f"{SEAT}/token",
    "replaceSeatToken",
    headers=("Idempotency-Key",),
    answers=[Answers(201, "The new token", JoinedSeat, ("ETag", "Idempotent-Replayed"))],
    problems=(403, 404, 409),
)
def replace(call: Call, game_id: str, seat: int) -> Response:
    """Replace a seat's token.

    The app may, and who holds the token that is replaced. The old one is worth nothing at once,
    and streams that it opened end. The new one is shown here and never again."""
    outcome = replace_token(call.house, call.caller, game_id, seat, call.key)
    headers = {"ETag": etag_of(outcome.body["game"])}
    return json_answer(outcome.body, 201, headers | replayed_header(outcome.is_replayed))


@resource.operation(
    "PUT",
    f"{SEAT}/bot",
    "seatBot",
    body=Body(
        SeatBotRequest, {"A strong one": {"level": "expert"}, "The usual one": {}}, is_optional=True
    ),
    headers=("If-Match",),
    answers=[Answers(200, "A bot plays the seat", ChangedGame, ("ETag",))],
    problems=(403, 404, 409, 412),
)
def seat_a_bot(call: Call, game_id: str, seat: int) -> Response:
    """Hand a seat to a bot.

    A person's seat, by its owner or the app: it stays the owner's, who sees it as before and can
    take it back. The app can also put a bot on an open seat, or change a bot's level. A turn that
    has been begun is played on."""
    level = call.body.get("level", DEFAULT_LEVEL)
    outcome = seat_bot(call.house, call.caller, game_id, seat, level, call.expected_version)
    return json_answer(outcome.body, 200, {"ETag": etag_of(outcome.body["game"])})


@resource.operation(
    "DELETE",
    f"{SEAT}/bot",
    "takeSeatBack",
    headers=("If-Match",),
    answers=[Answers(200, "A person plays the seat again", ChangedGame, ("ETag",))],
    problems=(403, 404, 409, 412),
)
def take_seat_back(call: Call, game_id: str, seat: int) -> Response:
    """Take a seat back from a bot.

    A person's seat, by its owner or the app, in the middle of a turn too. A seat that the clock
    handed over needs no taking back: whatever action its owner sends does it."""
    outcome = take_back(call.house, call.caller, game_id, seat, call.expected_version)
    return json_answer(outcome.body, 200, {"ETag": etag_of(outcome.body["game"])})
