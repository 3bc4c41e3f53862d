"""Bot moves: a bot plays one turn of a human seat."""

from flask import Response

from service.api.actions import take_seat
from service.api.resource import Answers, Body, Call, Resource
from service.api.schemas.advice import BotMove, BotMoveRequest
from service.api.schemas.queries import SeatQuery
from service.api.tasks import ASKED_HEADERS, READ_HEADERS, task_answer, told_answer
from service.games.advice import BOT_MOVE, ask_bot_move, read_task
from service.games.levels import DEFAULT_LEVEL
from service.games.limits import ADVICE

resource = Resource("bot-moves", __name__, description="One turn of a human seat, played by a bot")
PATH = "/games/<string(maxlength=64):game_id>/bot-moves"


@resource.operation(
    "POST",
    PATH,
    "askBotMove",
    query=SeatQuery,
    body=Body(BotMoveRequest, {"By the best usual bot": {"level": "expert"}}),
    headers=("Prefer", "Idempotency-Key", "Accept-Language"),
    answers=[
        Answers(
            202,
            "Queued or running; read it at `Location`",
            BotMove,
            ASKED_HEADERS,
        ),
        Answers(
            200,
            "Played within the seconds of `Prefer: wait`",
            BotMove,
            ASKED_HEADERS,
        ),
    ],
    problems=(403, 404, 409),
    bucket=ADVICE,
)
def ask(call: Call, game_id: str) -> Response:
    """Let a bot play the turn in hand.

    Of the human seat to move, once. Bots' seats need no asking: they play by themselves."""
    seat = take_seat(call)
    level = call.body.get("level", DEFAULT_LEVEL)
    outcome = ask_bot_move(call.house, call.caller, game_id, seat, level, call.key)
    path = f"/games/{game_id}/bot-moves"
    return task_answer(call, game_id, BOT_MOVE, path, outcome.body, is_replayed=outcome.is_replayed)


@resource.operation(
    "GET",
    f"{PATH}/<string(maxlength=32):move_id>",
    "getBotMove",
    headers=("Accept-Language",),
    answers=[Answers(200, "The turn, as far as it is played", BotMove, READ_HEADERS)],
    problems=(403, 404, 410),
)
def read(call: Call, game_id: str, move_id: str) -> Response:
    """Read a bot move.

    `actions` are the events that the bot has added to the log so far."""
    return told_answer(read_task(call.house, call.caller, game_id, BOT_MOVE, move_id))
