"""Bots: their levels."""

from flask import Response

from service.api.resource import Answers, Call, Resource, json_answer
from service.api.schemas.advice import Bots
from service.games.levels import bot_levels

resource = Resource("bots", __name__, description="The bots' levels")


@resource.operation(
    "GET",
    "/bots",
    "listBots",
    answers=[Answers(200, "All levels, weakest first", Bots)],
    callers=(),
)
def list_levels(_call: Call) -> Response:
    """List the bots' levels, weakest first.

    Ratings are measured by games of the bots against each other; null where not measured yet."""
    return json_answer({"bots": list(bot_levels())})
