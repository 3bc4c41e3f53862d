"""The one way in which a game changes: load, decide, compare and set.

Every change is judged against the state it is written over. A client that sends the version it has
seen gets `StaleVersion` when it is not the stored one; for a client that sends none, a lost race is
no blind retry: the request is judged anew, as if it had come later."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.games.clocks import begin_turn, deadline_s
from service.games.errors import GameNotFound, KeyReused, StaleVersion, TooManyRaces, Unavailable
from service.games.hooks import WEBHOOK_QUEUE, call_announcer, is_told_of, note_news
from service.games.house import House, rfc3339
from service.games.model import Game, game_from_state, game_to_state
from service.games.ports import BOT_QUEUE as BOT_QUEUE
from service.games.ports import CLOCK, Answer, Commit, RequestKey
from service.games.representation import Viewer, game_to_json

MAX_RACES = 8
"""How often a request without a version is judged anew."""
BOT_TURN_JOB = "workers.jobs.play_bot_turn"
OVERDUE_JOB = "workers.jobs.finish_overdue_turn"
ASK_JOB = "workers.webhooks.ask_external"


@dataclass(frozen=True, slots=True)
class Step:
    """What a change does: its log entry (version and time are added) and the answer's body."""

    entry: dict[str, Any]
    answer: Callable[[Game, dict[str, Any]], dict[str, Any]]
    """Make the body from the changed game and the finished entry."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The body to answer with, and whether it is an earlier answer replayed."""

    body: dict[str, Any]
    is_replayed: bool = False


def load_game(house: House, game_id: str) -> Game:
    """Return the stored game; raises GameNotFound, UnknownFormat."""
    loaded = house.store.load(game_id)
    if loaded is None:
        raise GameNotFound(game_id)
    return game_from_state(game_id, loaded.version, loaded.state)


def replayed(answer: Answer, key: RequestKey | None) -> Outcome:
    """Return the first answer again; raises KeyReused when the request is another one."""
    if key is None or answer.fingerprint != key.fingerprint:
        raise KeyReused
    return Outcome(answer.body, is_replayed=True)


def change_game(
    house: House,
    game_id: str,
    admit: Callable[[Game], Viewer],
    decide: Callable[[Game, Viewer], Step],
    *,
    key: RequestKey | None = None,
    expected_version: int | None = None,
) -> Outcome:
    """Change a game once.

    `admit` lets the caller in or raises; `decide` judges, changes the game in place and returns the
    step, or raises and leaves everything as it was."""
    for _ in range(MAX_RACES):
        loaded = house.store.load(game_id, key)
        if loaded is None:
            raise GameNotFound(game_id)
        game = game_from_state(game_id, loaded.version, loaded.state)
        viewer = admit(game)
        if loaded.answer is not None:
            return replayed(loaded.answer, key)
        if expected_version is not None and expected_version != game.version:
            raise StaleVersion(expected_version, game_to_json(game, viewer))
        before = turn_of(game)
        step = decide(game, viewer)
        outcome = commit_step(house, game, step, key, before)
        if outcome is not None:
            return outcome
    raise TooManyRaces


@dataclass(frozen=True, slots=True)
class Turn:
    """Which turn is in hand and who plays it. Another one begins when any of this changes."""

    status: str
    deal: int
    seat: int
    holder: tuple[str, str | None]
    """Kind of player and level."""
    bot: int | None
    """The seat if a bot is to move."""


def turn_of(game: Game) -> Turn:
    """Return the turn in hand."""
    seat = game.match.deal.turn
    holder = game.seats[seat]
    return Turn(
        game.status, game.match.number, seat, (holder.player, holder.level), game.bot_to_move
    )


def commit_step(
    house: House, game: Game, step: Step, key: RequestKey | None, before: Turn
) -> Outcome | None:
    """Write a decided step; None when another change came first."""
    game.version += 1
    before_s = house.clock()
    after = turn_of(game)
    if after != before:
        game.turn_version = game.version
        begin_turn(game, before_s)
    entry = {"version": game.version, "at": rfc3339(before_s), **step.entry}
    body = step.answer(game, entry)
    commit = Commit(
        game_id=game.id,
        version=game.version,
        status=game.status,
        state=game_to_state(game),
        entry=entry,
        key=key,
        answer=body if key else None,
        left=before.status if game.status != before.status else None,
    )
    is_told = mark_game(house, game, before_s, is_new_turn=after != before)
    result = house.store.commit(commit)
    if result.answer is not None:
        return replayed(result.answer, key)
    if not result.is_done:
        return None
    if is_told:
        call_announcer(house, game.id, game.version)
    if after.bot is not None:
        call_bot(house, game)
    elif game.external_to_move is not None:
        call_external(house, game)
    elif before.bot is not None:
        note_no_bot_waits(house, game, before_s)
    return Outcome(body)


def mark_game(house: House, game: Game, at_s: float, *, is_new_turn: bool) -> bool:
    """Note, before the commit, what will be waited for after it: what is noted too much costs a
    sweep one look, what is missing would cost the game. Tell whether somebody is told of it.
    """
    is_told = is_told_of(house, game)
    if is_told:
        note_news(house, game, at_s)
    if game.bot_to_move is not None:
        house.store.mark_waiting(game.id, at_s)
    due_s = deadline_s(game)
    if is_new_turn and due_s is not None:
        house.store.note_due(CLOCK, game.id, due_s)
    return is_told


def call_bot(house: House, game: Game) -> None:
    """Put the turn of a bot that is to move on the queue.

    A bot in the middle of its turn is being played already. A queue that is full or away loses
    nothing: the game is marked as waiting, and the sweep calls the bot later."""
    seat = game.bot_to_move
    if seat is None or game.turn_version != game.version:
        return
    with suppress(Unavailable):
        enqueue_bot_turn(house, game, seat)


def note_no_bot_waits(house: House, game: Game, before_s: float) -> None:
    """Take away the mark made before `before_s`, when the change had not been written.

    The game may have moved on since, and wait again: that mark is younger and stays. The change is
    written, so a store that is away now is no error: the sweep takes the mark away later."""
    with suppress(Unavailable):
        house.store.unmark_waiting(game.id, before_s)


def enqueue_bot_turn(house: House, game: Game, seat: int) -> bool:
    """Put the turn in hand on the bots' queue; False when it is there already."""
    job_id = f"bot-{game.id}-{game.turn_version}-{seat}"
    arguments = {"game_id": game.id, "seat": seat, "version": game.version}
    return house.queue.enqueue(BOT_QUEUE, BOT_TURN_JOB, job_id, arguments)


def call_external(house: House, game: Game) -> None:
    """Let a worker ask an external seat whose turn begins. Where the queue is full or away, a house
    bot plays the turn at its deadline.
    """
    seat = game.external_to_move
    if seat is None or game.turn_version != game.version:
        return
    job_id = f"ask-{game.id}-{game.turn_version}-{seat}"
    arguments = {"game_id": game.id, "seat": seat, "turn_version": game.turn_version}
    with suppress(Unavailable):
        house.queue.enqueue(WEBHOOK_QUEUE, ASK_JOB, job_id, arguments)


def enqueue_overdue_turn(house: House, game: Game, seat: int) -> bool:
    """Let a bot finish an overdue turn; False when its job is on the queue already."""
    job_id = f"clock-{game.id}-{game.turn_version}-{seat}"
    arguments = {"game_id": game.id, "seat": seat, "turn_version": game.turn_version}
    return house.queue.enqueue(BOT_QUEUE, OVERDUE_JOB, job_id, arguments)
