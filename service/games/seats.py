"""Who holds a seat while a game goes on: handing a person's seat to a bot and taking it back, new
tokens.

A seat belongs to a person as long as it has a token. A bot may play it meanwhile (it stands in):
because the app or the owner said so, until one of them takes the seat back, or because the clock
did, until the owner acts. Each change is an event with a version of its own.

An owner may do so only so often: each change is kept in the log and told to whoever is told of the
game, and a token is not to fill the store nor to flood a webhook.

Kept in `Game.extra`: `stand_ins`, by seat, who seated the bot: app, human or clock; `seat_changes`,
by seat, how often its owner has changed who plays it or its token."""

from typing import Any

from service.games.access import AppCaller, Caller, admit, issue_token
from service.games.changing import Outcome, Step, change_game, replayed
from service.games.clocks import MOST_MISSED, missed_turns, note_presence, timeout_level
from service.games.errors import Conflict, NotYourSeat, SeatAway
from service.games.hosting import begin_if_full, check_level, check_unfinished, event_answer
from service.games.house import House
from service.games.levels import DEFAULT_LEVEL
from service.games.model import Game
from service.games.ports import RequestKey
from service.games.representation import Viewer, game_to_json
from service.sentences import Sentence

MOST_CHANGES = 500
"""Of a seat by the holder of its token; the app may do so as often as it likes."""


def _admit_owner(caller: Caller, seat: int) -> Any:
    """Return an `admit` for the app and for the token of `seat`."""

    def admit_owner(game: Game) -> Viewer:
        own = admit(game, caller)
        if own is not None and own != seat:
            raise NotYourSeat(seat)
        return Viewer(own)

    return admit_owner


def _name_of(caller: Caller) -> str:
    """Return what the log calls who made a change of a seat."""
    return "app" if isinstance(caller, AppCaller) else "human"


def _count_change(game: Game, caller: Caller, seat: int) -> None:
    """Count a change of a seat by its owner; raises Conflict for one too many."""
    if isinstance(caller, AppCaller):
        return
    changes = game.extra.get("seat_changes", {})
    count = changes.get(str(seat), 0) + 1
    if count > MOST_CHANGES:
        raise Conflict(
            Sentence(
                "Seat {seat} was handed over or had a new token {count} times, which is enough.",
                seat=seat,
                count=MOST_CHANGES,
            )
        )
    game.extra["seat_changes"] = {**changes, str(seat): count}


def replace_token(
    house: House, caller: Caller, game_id: str, seat: int, key: RequestKey | None = None
) -> Outcome:
    """Give a person's seat a new token; the old one is worth nothing from then on.

    Returns `{"seat", "token", "game"}`. A repeated request gets the first answer, though its own
    token is worth nothing by then: nobody else can have made the key that names it. Raises
    Conflict for a seat that is no person's."""
    if key is not None:
        loaded = house.store.load(game_id, key)
        if loaded is not None and loaded.answer is not None:
            return replayed(loaded.answer, key)

    def decide(game: Game, _viewer: Viewer) -> Step:
        check_unfinished(game)
        _check_persons(game, seat)
        _count_change(game, caller, seat)
        token = issue_token(house.new_secret, game.id, game.seats[seat])
        return Step(
            {"type": "token_replaced", "seat": seat, "by": _name_of(caller)},
            lambda changed, _entry: {
                "seat": seat,
                "token": token,
                "game": game_to_json(changed, Viewer(seat)),
            },
        )

    return change_game(house, game_id, _admit_owner(caller, seat), decide, key=key)


def _check_persons(game: Game, seat: int) -> None:
    if not game.is_persons(seat):
        raise Conflict(
            Sentence(
                "Seat {seat} belongs to nobody: it is {player}.",
                seat=seat,
                player=game.seats[seat].player,
            )
        )


def seat_bot(
    house: House,
    caller: Caller,
    game_id: str,
    seat: int,
    level: str = DEFAULT_LEVEL,
    expected_version: int | None = None,
) -> Outcome:
    """Let a bot play a seat from now on: a person's until it is taken back; an open seat, or a
    bot's that is to play at another level, for good, at the app's wish only.

    Returns `{"action", "game"}`."""
    check_level(level)

    def decide(game: Game, viewer: Viewer) -> Step:
        check_unfinished(game)
        _count_change(game, caller, seat)
        holder = game.seats[seat]
        if game.is_persons(seat):
            _stand_in(game, seat, level, _name_of(caller))
        else:
            holder.name = holder.name or f"{level.capitalize()} bot {seat}"
            holder.player, holder.level = "bot", level
            begin_if_full(game)
        return Step(_seated(game, seat, _name_of(caller)), event_answer(viewer))

    admit_owner = _admit_owner(caller, seat)
    return change_game(house, game_id, admit_owner, decide, expected_version=expected_version)


def _stand_in(game: Game, seat: int, level: str, by: str) -> None:
    holder = game.seats[seat]
    holder.player, holder.level = "bot", level
    game.extra["stand_ins"] = {**game.extra.get("stand_ins", {}), str(seat): by}


def _seated(game: Game, seat: int, by: str) -> dict[str, Any]:
    """Return the log entry of a bot's taking a seat."""
    holder = game.seats[seat]
    return {
        "type": "bot_seated",
        "seat": seat,
        "by": by,
        "name": holder.name,
        "level": holder.level,
    }


def take_back(
    house: House,
    caller: Caller,
    game_id: str,
    seat: int,
    expected_version: int | None = None,
) -> Outcome:
    """Give a seat that a bot plays for a person back to that person; returns `{"action", "game"}`.

    Raises Conflict when no bot stands in there."""

    def decide(game: Game, viewer: Viewer) -> Step:
        check_unfinished(game)
        if game.stand_in(seat) is None:
            raise Conflict(Sentence("No bot stands in for the owner of seat {seat}.", seat=seat))
        _count_change(game, caller, seat)
        game.seats[seat].player, game.seats[seat].level = "human", None
        game.extra["stand_ins"] = {
            other: by for other, by in game.extra["stand_ins"].items() if other != str(seat)
        }
        note_presence(game, seat)
        entry = {"type": "seat_returned", "seat": seat, "by": _name_of(caller)}
        return Step(entry, event_answer(viewer))

    admit_owner = _admit_owner(caller, seat)
    return change_game(house, game_id, admit_owner, decide, expected_version=expected_version)


def check_present(game: Game, seat: int) -> None:
    """Raise SeatAway for a person's seat that a bot plays."""
    by = game.stand_in(seat)
    if by is not None:
        raise SeatAway(seat, by)


def hand_over(house: House, game_id: str, seat: int, expected_version: int) -> Outcome:
    """Let the clock hand a seat whose owner is away to a bot; raises StaleVersion, Conflict."""

    def decide(game: Game, viewer: Viewer) -> Step:
        check_unfinished(game)
        if game.seats[seat].player != "human" or missed_turns(game, seat) < MOST_MISSED:
            raise Conflict(Sentence("The owner is there."))
        _stand_in(game, seat, timeout_level(game), "clock")
        return Step(_seated(game, seat, "clock"), event_answer(viewer))

    return change_game(
        house, game_id, lambda _game: Viewer(None), decide, expected_version=expected_version
    )
