"""Records: a finished game in the open, as data and as text."""

from flask import Response

from service.api.resource import JSON_TYPE, Answers, Call, Resource, json_answer
from service.api.schemas.records import Record
from service.games.records import read_record

resource = Resource("records", __name__, description="Finished games in the open")
TEXT_TYPE = "text/plain"


@resource.operation(
    "GET",
    "/games/<string(maxlength=64):game_id>/record",
    "getRecord",
    answers=[
        Answers(200, "The record", Record),
        Answers(200, "The record", {"type": "string"}, content_type=TEXT_TYPE),
    ],
    problems=(404, 409),
)
def read(call: Call, game_id: str) -> Response:
    """Read the record of a finished game.

    All cards, all actions, the seed and the commitment to it, for everybody who had a seat; 409
    before the end. With `Accept: text/plain` the game in notation alone. `verify_record.py` among
    the examples checks a record: shuffle, every action, every score."""
    record = read_record(call.house, call.caller, game_id)
    vary = {"Vary": "Accept, Authorization"}
    wanted = call.request.accept_mimetypes.best_match((JSON_TYPE, TEXT_TYPE))
    if wanted == TEXT_TYPE:
        return Response(record["text"], content_type=f"{TEXT_TYPE}; charset=utf-8", headers=vary)
    return json_answer(record, 200, vary)
