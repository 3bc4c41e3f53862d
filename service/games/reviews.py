"""Reviews: a finished game looked at again, decision by decision, on a queue of its own.

A game has one review, the newest one asked for. It tells of every hand as it was in mid-game, so
there is none before the end (R33). How it is computed stands in `workers/review.py`."""

from typing import Any

from service.games.access import Caller, admit, viewer_for
from service.games.advice import UNDER_WAY, load_task, start_task
from service.games.changing import Outcome, load_game
from service.games.errors import Conflict, TaskExpired, TaskNotFound
from service.games.house import House
from service.games.limits import account_of
from service.games.model import Game
from service.games.ports import REVIEW_QUEUE as REVIEW_QUEUE
from service.games.ports import RequestKey
from service.games.records import check_open_to_all
from service.rules.deal import SEATS
from service.sentences import Sentence

REVIEW = "review"
"""Kind of task; the first letter begins their ids."""
REVIEW_JOB = "workers.jobs.review_game"
DEFAULT_ITERATIONS = 2_000
WORDS = ("best", "fine", "slip", "blunder")


def ask_review(
    house: House,
    caller: Caller,
    game_id: str,
    options: dict[str, Any],
    key: RequestKey | None = None,
) -> Outcome:
    """Queue the review of a finished game; returns it, queued. One of the same options that is
    under way or done is returned as it is.

    `options` may have iterations (of search, for each decision) and seed. Raises GameNotFinished,
    Conflict while one of other options is under way, QueueFull."""
    game = _finished_game(house, caller, game_id)
    wanted = {
        "iterations": options.get("iterations", DEFAULT_ITERATIONS),
        "seed": options.get("seed", ""),
    }
    newest = _newest(house, game_id)
    if newest is not None:
        is_same = newest["options"] == wanted
        if is_same and newest["status"] in (*UNDER_WAY, "done"):
            return Outcome(newest)
        if newest["status"] in UNDER_WAY:
            raise Conflict(Sentence("A review with other options is under way; cancel it first."))
    document = {
        "status": "queued",
        "game_id": game_id,
        "options": wanted,
        "progress": 0.0,
        "decisions": [],
        "draws": [],
        "players": [_nothing_of(seat) for seat in range(SEATS)],
        "search": None,
        "created_at": house.now(),
        "finished_at": None,
        "error": None,
    }
    return start_task(
        house,
        game_id,
        REVIEW,
        document,
        REVIEW_QUEUE,
        REVIEW_JOB,
        {"options": wanted},
        key,
        house.review_ttl_s,
        account_of(caller, game),
    )


def _nothing_of(seat: int) -> dict[str, Any]:
    """Return a player's totals before the first decision."""
    return {
        "seat": seat,
        "decisions": 0,
        "words": dict.fromkeys(WORDS, 0),
        "loss": 0.0,
        "loss_interval": [0.0, 0.0],
        "draws": 0,
        "luck": 0.0,
        "luck_interval": [0.0, 0.0],
    }


def _finished_game(house: House, caller: Caller, game_id: str) -> Game:
    """Return the game if the caller may see it and it is finished."""
    game = load_game(house, game_id)
    viewer_for(game, caller, None)
    check_open_to_all(house, game)
    return game


def _newest(house: House, game_id: str) -> dict[str, Any] | None:
    """Return the newest review that is kept, failed if its job is lost, or None."""
    task_id = house.store.newest_task(game_id, REVIEW)
    return None if task_id is None else load_task(house, game_id, REVIEW, task_id)


def read_review(house: House, caller: Caller, game_id: str) -> dict[str, Any]:
    """Return the game's review as far as it is done.

    Raises GameNotFinished, TaskNotFound before anybody has asked, TaskExpired."""
    _finished_game(house, caller, game_id)
    newest = _newest(house, game_id)
    if newest is not None:
        return newest
    is_expired = house.store.was_task(game_id, REVIEW, "r1")
    raise TaskExpired("r1") if is_expired else TaskNotFound("review")


def cancel_review(house: House, caller: Caller, game_id: str) -> dict[str, Any]:
    """Stop the game's review; returns it as it then is. Raises Conflict when it has ended
    otherwise, NotAllowed for a spectator.
    """
    # Who only looks on may ask for it and read it, as all may, but not end what others wait for.
    admit(load_game(house, game_id), caller)
    document = read_review(house, caller, game_id)
    document = house.store.cancel_task(game_id, REVIEW, document["id"]) or document
    if document["status"] != "cancelled":
        raise Conflict(Sentence("The review has ended: {status}.", status=document["status"]))
    return document
