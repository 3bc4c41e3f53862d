"""Hints and single bot moves: work for the queue, kept as task documents that can be read while it
goes on.

The job is given what the seat may see and nothing else; a result is a proposal for one version of
the game."""

from datetime import datetime
from typing import Any

from service.games.access import Caller, admit, player_for
from service.games.changing import BOT_QUEUE, Outcome, load_game, replayed
from service.games.errors import (
    ActionRefused,
    Conflict,
    NotYourSeat,
    RateLimited,
    SeatsOpen,
    TaskExpired,
    TaskNotFound,
    Unavailable,
)
from service.games.hosting import check_level, check_unfinished
from service.games.house import House
from service.games.levels import DEFAULT_LEVEL
from service.games.limits import Account, account_of, check_quota, note_job
from service.games.model import Game, game_from_state
from service.games.ports import HINT_QUEUE as HINT_QUEUE
from service.games.ports import RequestKey
from service.rules.view import view_match, view_to_json
from service.rules.violations import Violation
from service.sentences import Sentence

HINT_JOB = "workers.jobs.give_hint"
PART_JOB = "workers.jobs.search_for_part"
"""Part of a hint's search, put on the queue by the worker of the hint."""
BOT_MOVE_JOB = "workers.jobs.play_bot_move"
HINT, BOT_MOVE = "hint", "move"
"""Kinds of task; the first letter begins their ids."""
UNDER_WAY = ("queued", "running")
MOST_OF_A_GAME = 10_000
"""Hints, or bot moves, or reviews: more than a game has decisions. Each is kept for a day."""
NOBODY = Account("")
QUEUEING_S = 10
"""A task is kept before its job is queued; one without a job after so long has lost it."""


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


def _first_answer(
    house: House, caller: Caller, game_id: str, key: RequestKey | None
) -> Outcome | None:
    """Return the answer to a request that comes again, though the turn may be over by now."""
    loaded = house.store.load(game_id, key) if key else None
    if loaded is None or loaded.answer is None:
        return None
    admit(game_from_state(game_id, loaded.version, loaded.state), caller)
    return replayed(loaded.answer, key)


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
    first = _first_answer(house, caller, game_id, key)
    if first is not None:
        return first
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
    account = account_of(caller, game)
    return start_task(
        house, game.id, HINT, document, HINT_QUEUE, HINT_JOB, arguments, key, account=account
    )


def ask_bot_move(
    house: House,
    caller: Caller,
    game_id: str,
    seat: int | None,
    level: str,
    key: RequestKey | None = None,
) -> Outcome:
    """Queue one bot's playing of the turn in hand for a human seat; returns the task, queued."""
    first = _first_answer(house, caller, game_id, key)
    if first is not None:
        return first
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
    account = account_of(caller, game)
    return start_task(
        house, game.id, BOT_MOVE, document, BOT_QUEUE, BOT_MOVE_JOB, arguments, key, account=account
    )


def start_task(
    house: House,
    scope: str,
    kind: str,
    document: dict[str, Any],
    queue: str,
    job: str,
    arguments: dict[str, Any],
    key: RequestKey | None,
    ttl_s: int | None = None,
    account: Account = NOBODY,
) -> Outcome:
    """Keep the task's document, as long as a hint's unless told otherwise, and put its job on the
    queue.

    `account` is whom the job counts to (`limits.py`). When that has too many, or the queue does not
    take it, nothing is kept and the error raised: the same request may be made again, with the same
    idempotency key. By its tokens a game has only so many tasks of a kind: raises Conflict."""
    task_id, answer = house.store.new_task(scope, kind, document, ttl_s or house.hint_ttl_s, key)
    if answer is not None:
        return replayed(answer, key)
    if account.game_id and int(task_id[1:]) > MOST_OF_A_GAME:
        house.store.drop_task(scope, kind, task_id, key)
        raise Conflict(
            Sentence("{count} were asked for in this game, which is enough.", count=MOST_OF_A_GAME)
        )
    document = {"id": task_id, **document}
    job_arguments = {"scope": scope, "task_id": task_id, **arguments}
    job_id = _job_id(scope, kind, task_id)
    try:
        check_quota(house, account)
        house.queue.enqueue(queue, job, job_id, job_arguments)
    except (Unavailable, RateLimited):
        house.store.drop_task(scope, kind, task_id, key)
        raise
    note_job(house, account, job_id)
    return Outcome(document)


def _job_id(scope: str, kind: str, task_id: str) -> str:
    """Return the id of the job that works on a task."""
    return f"{kind}-{scope}-{task_id}"


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
    """Return a task's document, failed if its job is lost; raises TaskNotFound or TaskExpired."""
    document = house.store.load_task(scope, kind, task_id)
    if document is None:
        is_expired = house.store.was_task(scope, kind, task_id)
        raise TaskExpired(task_id) if is_expired else TaskNotFound(task_id)
    if _is_lost(house, scope, kind, document):
        # The job may have ended after the first look.
        document = house.store.load_task(scope, kind, task_id) or document
        if document["status"] in UNDER_WAY:
            document = {**document, **failure(house, Sentence("The search was lost; ask again."))}
            house.store.save_task(scope, kind, task_id, document, house.hint_ttl_s)
    return document


def failure(house: House, why: str) -> dict[str, Any]:
    """Return what changes in the document of a task that fails; `why` is for a person."""
    return {"status": "failed", "error": why, "finished_at": house.now()}


def _is_lost(house: House, scope: str, kind: str, document: dict[str, Any]) -> bool:
    """Tell whether nobody works on a task that is under way: its job was lost, or its worker."""
    if document["status"] not in UNDER_WAY:
        return False
    age_s = house.clock() - datetime.fromisoformat(document["created_at"]).timestamp()
    # Made in the future: the clock was put back, and its age tells nothing.
    if 0 <= age_s < QUEUEING_S:
        return False
    try:
        return not house.queue.is_active(_job_id(scope, kind, document["id"]))
    except Unavailable:
        return False


def cancel_hint(house: House, caller: Caller, game_id: str, task_id: str) -> dict[str, Any]:
    """Stop a hint's search; returns the hint as it then is. Raises Conflict when it has ended
    otherwise.
    """
    document = read_task(house, caller, game_id, HINT, task_id)
    document = house.store.cancel_task(game_id, HINT, task_id) or document
    if document["status"] != "cancelled":
        raise Conflict(Sentence("The hint has ended: {status}.", status=document["status"]))
    return document
