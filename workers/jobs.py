"""The jobs that the queues run. Arguments and results are plain JSON.

Each job may run twice (a worker that was killed, or only held up): a bot's step is judged by the
same use case as a person's and carries the version that it was chosen for, so the second one is
refused as stale; a hint or bot move that has ended is left as it is, and one that was begun is gone
on with.

`JOBS` is the list of names that a worker accepts, whatever is found on the queue. Nor do arguments
make a job do what no use case has asked for: whoever can write to the queues and not to the games
plays no turn of a person. What a task's document says holds, and a forced turn is a seat's that is
played from outside.
"""

import time
from contextlib import suppress
from typing import Any

from service.games.advice import BOT_MOVE, BOT_MOVE_JOB, HINT, HINT_JOB, PART_JOB, UNDER_WAY
from service.games.changing import BOT_TURN_JOB, OVERDUE_JOB, load_game
from service.games.clocks import MOST_MISSED, is_overdue, missed_turns, timeout_level
from service.games.counting import searched, thought
from service.games.errors import (
    ActionRefused,
    Conflict,
    GameNotFound,
    StaleVersion,
    Unavailable,
)
from service.games.hooks import call_hint_announcer, is_told_of
from service.games.house import House
from service.games.playing import play_for_bot, seat_view
from service.games.positions import POSITION, POSITION_JOB
from service.games.records import read_whole_log
from service.games.reviews import REVIEW, REVIEW_JOB
from service.games.seats import hand_over
from service.logs import get_logger
from service.rules.view import SeatView, view_from_json
from service.sentences import Sentence
from service.tracing import span
from workers.bots.base import Budget
from workers.bots.registry import BOTS
from workers.hints import search_part, write_hint, write_hints
from workers.house import house
from workers.review import write_review
from workers.splitting import Desk, ranking_to_json

log = get_logger(__name__)

JOBS = frozenset(
    {BOT_TURN_JOB, OVERDUE_JOB, BOT_MOVE_JOB, HINT_JOB, PART_JOB, POSITION_JOB, REVIEW_JOB}
)
"""Dotted names of the jobs."""
MOST_STEPS = 200
"""More than any turn has."""


def play_bot_turn(game_id: str, seat: int, version: int) -> dict[str, Any]:
    """Play the turn in hand of a bot's seat, step by step; return how many steps were played.

    Ends when the turn, the deal or the game has ended, or somebody else holds the seat now.
    `version` is where the turn was when the job was made, for the log."""
    here = house()
    steps = 0
    for _ in range(MOST_STEPS):
        try:
            at, view, game = seat_view(here, game_id, seat)
        except GameNotFound:
            break
        if game.bot_to_move != seat:
            break
        level = game.seats[seat].level or ""
        played = play_step(here, game_id, at, view, level, "bot")
        steps += played is not None
        if played is not None and ends_turn(played):
            break
    log.info("bot_turn_played", game=game_id, seat=seat, version=version, steps=steps)
    return {"steps": steps}


def finish_overdue_turn(
    game_id: str, seat: int, turn_version: int, is_forced: bool = False
) -> dict[str, Any]:
    """Finish a turn that is over its deadline, marked as by the clock; or, if forced, one of an
    external seat that did not answer well, as by a bot. Return how many steps were played.

    Ends when the turn is over or another one is in hand. After the third such turn in a row a
    person's seat is handed to a bot."""
    here = house()
    steps = 0
    for _ in range(MOST_STEPS):
        try:
            at, view, game = seat_view(here, game_id, seat)
        except GameNotFound:
            break
        if missed_turns(game, seat) >= MOST_MISSED and game.seats[seat].player == "human":
            with suppress(StaleVersion, Conflict):
                hand_over(here, game_id, seat, at)
            continue
        is_forfeit = is_forced and game.external_to_move == seat
        is_due = is_overdue(game, here.clock())
        is_in_hand = game.match.deal.turn == seat and game.turn_version == turn_version
        if not is_in_hand or not (is_due or is_forfeit):
            break
        level = timeout_level(game, seat)
        by = "bot" if is_forfeit else "clock"
        played = play_step(here, game_id, at, view, level, by)
        steps += played is not None
    log.info("overdue_turn_finished", game=game_id, seat=seat, version=turn_version, steps=steps)
    return {"steps": steps}


def ends_turn(event: dict[str, Any]) -> bool:
    """Tell whether the event ended a turn or the deal."""
    return event["action"]["type"] in ("discard", "pass") or "deal_score" in event


def play_step(
    here: House, game_id: str, version: int, view: SeatView, level: str, by: str
) -> dict[str, Any] | None:
    """Choose and play one action for the view's seat; None when the game had moved on, and the
    choice was dropped.
    """
    start = time.monotonic()
    with span("decide", attributes={"level": level}) as traced:
        decision = BOTS[level].decide(view, f"{game_id}:{version}")
        if traced is not None:
            traced.tell({"iterations": decision.iterations})
    thought_s = time.monotonic() - start
    try:
        outcome = play_for_bot(here, game_id, view.turn, decision.action, version, by)
    except (StaleVersion, Conflict) as error:
        if isinstance(error, ActionRefused):
            raise
        log.info(
            "bot_choice_dropped", game=game_id, seat=view.turn, version=version, why=str(error)
        )
        return None
    log.info(
        "bot_played",
        game=game_id,
        seat=view.turn,
        version=version + 1,
        iterations=decision.iterations,
        thought_ms=round(1000 * thought_s, 1),
    )
    here.store.count(thought(level, thought_s, decision.iterations))
    event: dict[str, Any] = outcome.body["action"]
    return event


def play_bot_move(
    scope: str, task_id: str, game_id: str, seat: int, version: int, level: str
) -> dict[str, Any]:
    """Let a bot play the rest of the turn in hand of a person's seat, once; keep the events in the
    task's document.
    """
    here = house()
    document = here.store.load_task(scope, BOT_MOVE, task_id)
    if document is None or document["status"] not in UNDER_WAY:
        return {"steps": 0}
    asked = tuple(document[name] for name in ("game_id", "seat", "version", "level"))
    if asked != (game_id, seat, version, level):
        log.error("job_not_as_asked", task=task_id, scope=scope)
        return {"steps": 0}
    events: list[dict[str, Any]] = document["actions"]
    if events:
        version = events[-1]["version"]
    document["status"] = "running"
    try:
        for _ in range(MOST_STEPS):
            at, view, game = seat_view(here, game_id, seat)
            if at != version or game.status != "playing" or view.turn != seat:
                raise Conflict(Sentence("The game has moved on."))
            event = play_step(here, game_id, at, view, level, "bot_move")
            if event is None:
                raise Conflict(Sentence("The game has moved on."))
            events.append(event)
            version = event["version"]
            here.store.save_task(scope, BOT_MOVE, task_id, document, here.hint_ttl_s)
            if ends_turn(event):
                break
        document["status"] = "done"
    except (Conflict, GameNotFound) as error:
        document |= {"status": "failed", "error": str(error)}
    document["finished_at"] = here.now()
    here.store.save_task(scope, BOT_MOVE, task_id, document, here.hint_ttl_s)
    return {"steps": len(events)}


def tell_of_hint(here: House, hint: dict[str, Any]) -> None:
    """Let those know who are told of the hint's game, if it belongs to one."""
    try:
        if is_told_of(here, load_game(here, hint["game_id"])):
            call_hint_announcer(here, hint)
    except (GameNotFound, Unavailable):
        log.info("hint_not_told", game=hint["game_id"])


def give_hint(
    scope: str, task_id: str, view: dict[str, Any], budget: dict[str, Any]
) -> dict[str, Any]:
    """Search for advice on `view`, a seat's view as JSON, and keep the result and its progress in
    the task's document.
    """
    here = house()
    document = here.store.load_task(scope, HINT, task_id)
    if document is None or document["status"] not in UNDER_WAY:
        return {"status": "gone"}
    document["status"] = "running"
    finished = write_hint(
        view_from_json(view),
        budget,
        document,
        save=lambda current: here.store.save_task(scope, HINT, task_id, current, here.hint_ttl_s),
        now=here.now,
        clock=time.monotonic,
        desk=Desk(here.queue, scope, HINT, task_id),
    )
    if finished["status"] in ("done", "failed"):
        tell_of_hint(here, finished)
    search = finished["search"] or {}
    here.store.count(searched("hint", search.get("iterations", 0)))
    log.info("hint_given", task=task_id, scope=scope, status=finished["status"], **search)
    return {"status": finished["status"]}


def search_for_part(
    scope: str, kind: str, task_id: str, view: dict[str, Any], seed: str, budget: dict[str, Any]
) -> dict[str, Any] | None:
    """Search a part of another job's search (`workers/splitting.py`); return `{"moves": ...}`, or
    None when the task is no longer under way.
    """
    here = house()

    def is_wanted(_progress: float) -> bool:
        document = here.store.load_task(scope, kind, task_id)
        return document is not None and document["status"] in UNDER_WAY

    found = search_part(view_from_json(view), seed, Budget(**budget), time.monotonic, is_wanted)
    return None if found is None else {"moves": ranking_to_json(found)}


def advise_on_positions(
    scope: str, task_id: str, views: list[dict[str, Any]], budget: dict[str, Any]
) -> dict[str, Any]:
    """Search for advice on each of `views` in turn, as `give_hint` does on one; keep the results
    and the progress of all in the task's document.
    """
    here = house()
    document = here.store.load_task(scope, POSITION, task_id)
    if document is None or document["status"] not in UNDER_WAY:
        return {"status": "gone"}
    document["status"] = "running"
    finished = write_hints(
        list(map(view_from_json, views)),
        budget,
        document,
        save=lambda current: here.store.save_task(
            scope, POSITION, task_id, current, here.hint_ttl_s
        ),
        now=here.now,
        clock=time.monotonic,
        desk=Desk(here.queue, scope, POSITION, task_id),
    )
    searches = [hint.get("search") or {} for hint in finished["hints"] or [finished]]
    here.store.count(searched("position", sum(each.get("iterations", 0) for each in searches)))
    log.info("positions_advised", task=task_id, scope=scope, status=finished["status"])
    return {"status": finished["status"]}


def review_game(scope: str, task_id: str, options: dict[str, Any]) -> dict[str, Any]:
    """Judge every decision of the finished game `scope`; keep the result and its progress in the
    task's document.
    """
    here = house()
    document = here.store.load_task(scope, REVIEW, task_id)
    if document is None or document["status"] not in UNDER_WAY:
        return {"status": "gone"}
    if document["options"] != options:
        log.error("job_not_as_asked", task=task_id, scope=scope)
        return {"status": "gone"}
    game = load_game(here, scope)
    played = [entry for entry in read_whole_log(here, scope) if entry["type"] == "played"]
    document["status"] = "running"
    finished = write_review(
        game.match,
        played,
        options,
        document,
        save=lambda current: here.store.save_task(
            scope, REVIEW, task_id, current, here.review_ttl_s
        ),
        now=here.now,
        clock=time.monotonic,
    )
    search = finished["search"] or {}
    here.store.count(searched("review", search.get("iterations", 0)))
    log.info("game_reviewed", task=task_id, scope=scope, status=finished["status"], **search)
    return {"status": finished["status"]}
