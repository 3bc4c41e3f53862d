"""Seats played from outside: a service of somebody's own is asked for each action of its seat.

It is sent what its seat may see and the legal actions, signed, and answers with one of them. Past
the deadline, or on an answer that is none, a house bot finishes the turn. An external seat always
has a deadline (`clocks.py`).

Kept in `Game.extra`: `external`, by seat, with url, secret and the level of the house bot."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.games.changing import BOT_QUEUE, OVERDUE_JOB
from service.games.clocks import deadline_s
from service.games.errors import Unavailable
from service.games.house import House, rfc3339
from service.games.model import Game
from service.games.representation import Viewer, legal_actions_json
from service.rules.view import view_match, view_to_json


@dataclass(frozen=True, slots=True)
class Question:
    """What an external seat is asked, and where."""

    url: str
    secret: str
    id: str
    """Names the question: the same again is the same question."""
    body: dict[str, Any]


def question_for(game: Game, seat: int, now: str) -> Question:
    """Return the question to the seat to move: its view and its legal actions, nobody else's."""
    place = game.extra["external"][str(seat)]
    due_s = deadline_s(game)
    data = {
        "game_id": game.id,
        "version": game.version,
        "seat": seat,
        "deadline": None if due_s is None else rfc3339(due_s),
        "view": view_to_json(view_match(game.match, seat)),
        "legal_actions": legal_actions_json(game, Viewer(seat)),
    }
    question_id = f"{game.id}.{game.version}.{seat}"
    body = {"type": "action.wanted", "timestamp": now, "data": data}
    return Question(place["url"], place["secret"], question_id, body)


def call_house_bot(house: House, game: Game, seat: int) -> None:
    """Let a house bot finish the turn in hand, after an answer that was none. A queue that is full
    or away: the turn ends at its deadline.
    """
    arguments = {
        "game_id": game.id,
        "seat": seat,
        "turn_version": game.turn_version,
        "is_forced": True,
    }
    with suppress(Unavailable):
        job_id = f"house-{game.id}-{game.turn_version}-{seat}"
        house.queue.enqueue(BOT_QUEUE, OVERDUE_JOB, job_id, arguments)
