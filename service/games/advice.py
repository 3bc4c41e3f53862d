"""Hints and single bot moves: work for the queue, kept as task documents that can be read while it
goes on.

The job is given what the seat may see and nothing else; a result is a proposal for one version of
the game."""

from typing import Any

from service.games.access import Caller, admit, player_for
from service.games.changing import BOT_QUEUE, Outcome, load_game, replayed
from service.games.errors import (
    ActionRefused,
    Conflict,
    NotYourSeat,
    QueueFull,
    SeatsOpen,
    TaskExpired,
    TaskNotFound,
    Unavailable,
)
from service.games.hosting import check_level, check_unfinished
from service.games.house import House
from service.games.levels import DEFAULT_LEVEL
from service.games.model import Game
from service.games.ports import RequestKey
from service.rules.view import view_match, view_to_json
from service.rules.violations import Violation

HINT_QUEUE = "hints"
HINT_JOB = "workers.jobs.give_hint"
BOT_MOVE_JOB = "workers.jobs.play_bot_move"
HINT, BOT_MOVE = "hint", "move"
"""Kinds of task; the first letter begins their ids."""


def _seat_to_move(game: Game, caller: Caller, seat: int | None) -> int:
    """Return the caller's seat if it is to move; raises as for an action that is not legal now."""
    turn = game.match.deal.turn
    if seat is None and admit(game, caller) is None and game.seats[turn].player == "human":
        seat = turn
    viewer = player_for(game, caller, seat)
    check_unfinished(game)
    if game.status == "open":
        raise SeatsOpen(game.open_seats)
    if viewer.seat != turn:
        raise ActionRefused(Violation.NOT_YOUR_TURN, viewer.seat or 0, [])
    return turn


def ask_hint(
    house: House,
    caller: Caller,
    game_id: str,
    seat: int | None,
    budget: dict[str, Any],
    key: RequestKey | None = None,
) -> Outcome:
    """Queue a search for the seat to move; returns HINT, queued. An app that names no seat asks for
    the one to move.

    `budget` has at most one of seconds, iterations, level, and may have seed and workers. Raises
    ActionRefused out of turn, QueueFull, InvalidRequest."""
    game = load_game(house, game_id)
    seat = _seat_to_move(game, caller, seat)
    if not {"seconds", "iterations", "level"} & budget.keys():
        budget = {**budget, "level": DEFAULT_LEVEL}
    if "level" in budget:
        check_level(budget["level"])
    document = {
        "status": "queued",
        "game_id": game.id,
        "version": game.version,
        "seat": seat,
        "progress": 0.0,
        "best": None,
        "candidates": [],
        "search": None,
        "created_at": house.now(),
        "finished_at": None,
        "error": None,
    }
    arguments = {"view": view_to_json(view_match(game.match, seat)), "budget": budget}
    return start_task(house, game.id, HINT, document, HINT_QUEUE, HINT_JOB, arguments, key)


def ask_bot_move(
    house: House,
    caller: Caller,
    game_id: str,
    seat: int | None,
    level: str,
    key: RequestKey | None = None,
) -> Outcome:
    """Queue one bot's playing of the turn in hand for a human seat; returns the task, queued."""
    game = load_game(house, game_id)
    seat = _seat_to_move(game, caller, seat)
    document = {
        "status": "queued",
        "game_id": game.id,
        "seat": seat,
        "version": game.version,
        "level": check_level(level),
        "actions": [],
        "created_at": house.now(),
        "finished_at": None,
        "error": None,
    }
    arguments = {"game_id": game.id, "seat": seat, "version": game.version, "level": level}
    return start_task(house, game.id, BOT_MOVE, document, BOT_QUEUE, BOT_MOVE_JOB, arguments, key)


def start_task(
    house: House,
    scope: str,
    kind: str,
    document: dict[str, Any],
    queue: str,
    job: str,
    arguments: dict[str, Any],
    key: RequestKey | None,
) -> Outcome:
    """Keep the task's document and put its job on the queue; when that cannot be done, the task is
    failed and the error raised.
    """
    task_id, answer = house.store.new_task(scope, kind, document, house.hint_ttl_s, key)
    if answer is not None:
        return replayed(answer, key)
    document = {"id": task_id, **document}
    job_arguments = {"scope": scope, "task_id": task_id, **arguments}
    try:
        house.queue.enqueue(queue, job, f"{kind}-{scope}-{task_id}", job_arguments)
    except (QueueFull, Unavailable):
        failed = {
            **document,
            "status": "failed",
            "error": "The queue took no more jobs.",
            "finished_at": house.now(),
        }
        house.store.save_task(scope, kind, task_id, failed, house.hint_ttl_s)
        raise
    return Outcome(document)


def read_task(
    house: House, caller: Caller, game_id: str, kind: str, task_id: str
) -> dict[str, Any]:
    """Return a hint or bot move of a seat that the caller plays; raises TaskNotFound, TaskExpired,
    NotYourSeat.
    """
    game = load_game(house, game_id)
    own = admit(game, caller)
    document = load_task(house, game_id, kind, task_id)
    if own is not None and own != document["seat"]:
        raise NotYourSeat(document["seat"])
    return document


def load_task(house: House, scope: str, kind: str, task_id: str) -> dict[str, Any]:
    """Return a task's document; raises TaskNotFound or TaskExpired."""
    document = house.store.load_task(scope, kind, task_id)
    if document is not None:
        return document
    raise (
        TaskExpired(task_id)
        if house.store.was_task(scope, kind, task_id)
        else TaskNotFound(task_id)
    )


def cancel_hint(house: House, caller: Caller, game_id: str, task_id: str) -> dict[str, Any]:
    """Stop a hint's search; returns the hint as it then is. Raises Conflict when it has ended
    otherwise.
    """
    document = read_task(house, caller, game_id, HINT, task_id)
    document = house.store.cancel_task(game_id, HINT, task_id) or document
    if document["status"] != "cancelled":
        raise Conflict(f"The hint is {document['status']}.")
    return document
