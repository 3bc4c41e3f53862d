"""Matches: the same deals at two tables, the teams' seats exchanged."""

from flask import Response

from service.api.games import order_from, replayed_header
from service.api.resource import Answers, Body, Call, Resource, json_answer
from service.api.schemas.matches import CreatedMatch, Match, MatchRequest
from service.games.matches import create_match, read_match

resource = Resource("matches", __name__, description="The same deals at two tables")
TWO_LEVELS = {
    "seats": [
        {"player": "bot", "level": "expert"},
        {"player": "bot", "level": "casual"},
        {"player": "bot", "level": "expert"},
        {"player": "bot", "level": "casual"},
    ],
    "deals": 2,
}
PEOPLE = {
    "seats": [
        {"player": "human", "name": "Ana"},
        {"player": "bot", "level": "expert"},
        {"player": "human", "name": "Bo"},
        {"player": "bot", "level": "expert"},
    ],
    "client_seed": "club evening",
}


@resource.operation(
    "POST",
    "/matches",
    "createMatch",
    callers=("appKey",),
    body=Body(MatchRequest, {"Two levels of bots": TWO_LEVELS, "People against bots": PEOPLE}),
    headers=("Idempotency-Key",),
    answers=[Answers(201, "The match was made", CreatedMatch, ("Location", "Idempotent-Replayed"))],
    problems=(403,),
)
def create(call: Call) -> Response:
    """Make a match of two tables.

    Two games with the same deals: at the second one each player sits one place to the left, so the
    teams have each other's cards. The compared score is the result. The seed, the records and the
    reviews are shown when both tables are over. Who plays at both tables knows the deals from the
    first: meant for rating bots, or for people who play both at once."""
    outcome = create_match(call.house, call.caller, order_from(call.body), call.key)
    headers = {"Location": f"/matches/{outcome.body['match']['id']}"}
    return json_answer(outcome.body, 201, headers | replayed_header(outcome.is_replayed))


@resource.operation(
    "GET",
    "/matches/<string(maxlength=80):match_id>",
    "getMatch",
    answers=[Answers(200, "The match", Match)],
    problems=(404,),
)
def read(call: Call, match_id: str) -> Response:
    """Read a match.

    Its app may, and whoever has a seat at one of its tables. Scores are shown when both tables are
    finished."""
    return json_answer(read_match(call.house, call.caller, match_id))
