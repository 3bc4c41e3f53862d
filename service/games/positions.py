"""Advice for positions of somebody else's games: what one seat sees is sent, and no game is kept.

A position is judged first (`service/rules/positions.py`): a search on what cannot be would answer
nonsense. The job is given views as a hint's job is, so the answer is the one that a hosted game's
hint would be."""

from typing import Any

from service.games.access import AppCaller, Caller
from service.games.advice import HINT_QUEUE, load_task, start_task
from service.games.changing import Outcome
from service.games.errors import Conflict, ImpossiblePosition, InvalidRequest, NotAllowed
from service.games.hosting import check_level
from service.games.house import House
from service.games.levels import DEFAULT_LEVEL, bot_levels
from service.games.limits import account_of
from service.games.ports import RequestKey
from service.rules.positions import find_view_faults
from service.rules.view import view_from_json, view_to_json
from service.sentences import Sentence

POSITION = "position"
"""Kind of task; the first letter begins their ids."""
POSITION_JOB = "workers.jobs.advise_on_positions"
MOST_POSITIONS = 100
MOST_SECONDS = 60.0
MOST_ITERATIONS = 4_000_000
"""What all positions of a request may cost together: less than a job may run."""


def ask_position_hints(
    house: House,
    caller: Caller,
    positions: list[dict[str, Any]],
    budget: dict[str, Any],
    *,
    is_batch: bool,
    key: RequestKey | None = None,
) -> Outcome:
    """Queue searches for positions; returns the task, queued. Each position has the shape of
    `view_to_json` and is searched with the whole of `budget` (see `ask_hint`).

    Raises NotAllowed for a seat's token, ImpossiblePosition with every fault, InvalidRequest,
    QueueFull."""
    scope = scope_of(caller)
    faults = [
        (f"{f'positions.{number}' if is_batch else 'position'}.{field}".removesuffix(".body"), why)
        for number, position in enumerate(positions)
        for field, why in find_view_faults(position)
    ]
    if faults:
        raise ImpossiblePosition(faults)
    if not {"seconds", "iterations", "level"} & budget.keys():
        budget = {**budget, "level": DEFAULT_LEVEL}
    check_cost(budget, len(positions))
    views = [view_to_json(view_from_json(position)) for position in positions]
    empty: dict[str, Any] = {"best": None, "candidates": [], "search": None}
    document = {
        "status": "queued",
        "game_id": None,
        "version": None,
        "seat": None if is_batch else views[0]["seat"],
        "progress": 0.0,
        **empty,
        "hints": [{"seat": view["seat"], **empty} for view in views] if is_batch else None,
        "created_at": house.now(),
        "finished_at": None,
        "error": None,
    }
    arguments = {"views": views, "budget": budget}
    return start_task(
        house,
        scope,
        POSITION,
        document,
        HINT_QUEUE,
        POSITION_JOB,
        arguments,
        key,
        account=account_of(caller),
    )


def scope_of(caller: Caller) -> str:
    """Return the scope of an app's tasks, which is no game's id; its test keys have their own.

    Raises NotAllowed."""
    if not isinstance(caller, AppCaller):
        raise NotAllowed(Sentence("Advice on positions takes an app key."))
    return f"{'test' if caller.is_test else 'app'}-{caller.app}"


def check_cost(budget: dict[str, Any], count: int) -> None:
    """Raise InvalidRequest for a budget that is too much for so many positions together."""
    if "level" in budget:
        check_level(budget["level"])
        costs = {level["level"]: level["iterations"] or 0 for level in bot_levels()}
        field, cost, most = "level", costs[budget["level"]] * count, float(MOST_ITERATIONS)
    elif "iterations" in budget:
        field, cost, most = "iterations", budget["iterations"] * count, float(MOST_ITERATIONS)
    else:
        field, cost, most = "seconds", budget["seconds"] * count, MOST_SECONDS
    if cost > most:
        raise InvalidRequest(
            field,
            Sentence("all positions together may take {most:,.0f} seconds", most=most)
            if field == "seconds"
            else Sentence("all positions together may take {most:,.0f} iterations", most=most),
        )


def read_position_hints(house: House, caller: Caller, task_id: str) -> dict[str, Any]:
    """Return the task as it is; raises TaskNotFound, TaskExpired."""
    return load_task(house, scope_of(caller), POSITION, task_id)


def cancel_position_hints(house: House, caller: Caller, task_id: str) -> dict[str, Any]:
    """Stop the searches; returns the task as it then is. Raises Conflict when it has ended
    otherwise.
    """
    scope = scope_of(caller)
    document = load_task(house, scope, POSITION, task_id)
    document = house.store.cancel_task(scope, POSITION, task_id) or document
    if document["status"] != "cancelled":
        raise Conflict(Sentence("The advice has ended: {status}.", status=document["status"]))
    return document
