"""Actions: what may be played, playing it, and the log of what was."""

from flask import Response

from service.api.games import replayed_header
from service.api.request_errors import Malformed
from service.api.resource import Answers, Body, Call, Resource, etag_of, json_answer
from service.api.schemas.actions import Action, ActionLog, LegalActions
from service.api.schemas.games import ChangedGame, JudgedAction
from service.api.schemas.queries import ActionQuery, LogQuery, SeatQuery
from service.games.limits import ACTIONS
from service.games.playing import judge_action, list_legal_actions, play_action, read_log
from service.sentences import Sentence

resource = Resource("actions", __name__, description="Playing, and the log of what was played")

EXAMPLES = {
    "Draw from the stock": {"type": "draw_stock"},
    "Take from the discard pile": {"type": "take_discards", "card": "7H"},
    "Meld": {"type": "meld", "cards": ["4S", "4D", "4H"]},
    "Lay off": {"type": "lay_off", "cards": ["7S"], "meld": "m3"},
    "Discard": {"type": "discard", "card": "KD"},
    "Pass": {"type": "pass"},
    "For a seat, with an app key": {"type": "draw_stock", "seat": 2},
}


def take_seat(call: Call) -> int | None:
    """Return the seat that body or query names and take it out of the body; raises Malformed when
    they name two.
    """
    in_body: int | None = call.body.pop("seat", None)
    in_query: int | None = call.query.get("seat")
    if in_body is not None and in_query is not None and in_body != in_query:
        raise Malformed([("seat", Sentence("Body and query name different seats."))])
    return in_query if in_body is None else in_body


@resource.operation(
    "GET",
    "/games/<string(maxlength=64):game_id>/legal-actions",
    "listLegalActions",
    query=SeatQuery,
    answers=[Answers(200, "The legal actions; none out of turn", LegalActions)],
    problems=(403, 404),
)
def list_legal(call: Call, game_id: str) -> Response:
    """List what a seat may play now.

    Each action is accepted as it is by `playAction`. An app that names no seat is answered for the
    seat to move."""
    return json_answer(list_legal_actions(call.house, call.caller, game_id, call.query.get("seat")))


@resource.operation(
    "POST",
    "/games/<string(maxlength=64):game_id>/actions",
    "playAction",
    query=ActionQuery,
    body=Body(Action, EXAMPLES),
    headers=("If-Match", "Idempotency-Key"),
    answers=[
        Answers(201, "The action was played", ChangedGame, ("ETag", "Idempotent-Replayed")),
        Answers(200, "A dry run: it would be accepted", JudgedAction, ("ETag",)),
    ],
    problems=(403, 404, 409, 412),
    bucket=ACTIONS,
)
def play(call: Call, game_id: str) -> Response:
    """Play an action.

    Send the version you have seen as `If-Match`, so that you never act on an old view, and an
    `Idempotency-Key`, so that a repeated request plays once. What the rules refuse changes
    nothing; the refusal names the rule and lists the legal actions."""
    seat = take_seat(call)
    version = call.expected_version
    if call.query["dry_run"]:
        judged = judge_action(call.house, call.caller, game_id, seat, call.body, version)
        body = {"dry_run": True, "action": judged.action, "game": judged.game}
        return json_answer(body, 200, {"ETag": etag_of(judged.game)})
    outcome = play_action(
        call.house,
        call.caller,
        game_id,
        seat,
        call.body,
        expected_version=version,
        key=call.key,
    )
    headers = {"ETag": etag_of(outcome.body["game"])}
    return json_answer(outcome.body, 201, headers | replayed_header(outcome.is_replayed))


@resource.operation(
    "GET",
    "/games/<string(maxlength=64):game_id>/actions",
    "listActions",
    query=LogQuery,
    answers=[Answers(200, "The events past `since`", ActionLog)],
    problems=(403, 404),
)
def list_log(call: Call, game_id: str) -> Response:
    """Read the log.

    Every accepted change has the next version: no gaps. The card drawn from the stock is shown to
    the seat that drew it and to nobody else (R33)."""
    query = call.query
    events = read_log(
        call.house,
        call.caller,
        game_id,
        query.get("seat"),
        query.get("since", 0),
        query["limit"],
    )
    return json_answer({"actions": events})
