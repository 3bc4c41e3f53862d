"""Records: a finished game in the open, as data, as text, and its end as a picture."""

from flask import Response

from service.api.picture import draw_table
from service.api.resource import JSON_TYPE, Answers, Call, Resource, json_answer
from service.api.schemas.queries import LanguageQuery
from service.api.schemas.records import Record
from service.games.final_table import read_final_table
from service.games.records import read_record
from service.translations import language_in_use

resource = Resource("records", __name__, description="Finished games in the open")
TEXT_TYPE = "text/plain"
PICTURE_TYPE = "image/svg+xml"


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


@resource.operation(
    "GET",
    "/games/<string(maxlength=64):game_id>/record.svg",
    "getRecordPicture",
    query=LanguageQuery,
    headers=("Accept-Language",),
    answers=[
        Answers(
            200,
            "The final table",
            {"type": "string"},
            ("Content-Language",),
            content_type=PICTURE_TYPE,
        )
    ],
    problems=(404, 409),
)
def read_picture(call: Call, game_id: str) -> Response:
    """Read the final table of a finished game as a picture.

    SVG with all melds and who laid each card, what each hand was left with, and the scores by deal.
    For whom and from when on the record is; 409 before the end. It holds no script and refers to
    nothing outside."""
    table = read_final_table(call.house, call.caller, game_id)
    language = call.query.get("lang") or language_in_use()
    headers = {"Content-Language": language, "Vary": "Accept-Language, Authorization"}
    return Response(draw_table(table, language), content_type=PICTURE_TYPE, headers=headers)
