"""The clock of a game: a deadline a turn, and what is noted of turns that ran over it.

People are timed where the game has a clock, seats played from outside always. A turn that is not
over at its deadline is finished by a bot of the game's choice (`by` is `clock` in the log); after
three such turns in a row a person's seat is handed to that bot until its owner acts. The sweep
(`sweeping.py`) finds what is overdue.

Kept in `Game.extra`: `turn_seconds` and `timeout_level` as ordered, `deadline_s` of the turn in
hand (seconds since 1970), `missed` (turns in a row that the clock ended, by seat)."""

from service.games.model import Game

TIMEOUT_LEVEL = "greedy"
"""Who finishes overdue turns if the creator does not say."""
EXTERNAL_TURN_S = 10
"""What a turn of a seat played from outside may take in a game without a clock."""
MOST_MISSED = 3
"""So many turns in a row finished by the clock, and the seat is handed to a bot."""


def start_clock(game: Game, turn_seconds: int, level: str) -> None:
    """Give a new game a clock."""
    game.extra |= {
        "turn_seconds": turn_seconds,
        "timeout_level": level,
        "missed": [0] * len(game.seats),
    }


def turn_seconds(game: Game) -> int | None:
    """Return the seconds a turn, None for a game without a clock."""
    seconds: int | None = game.extra.get("turn_seconds")
    return seconds


def timeout_level(game: Game, seat: int | None = None) -> str:
    """Return the level of the bot that finishes overdue turns, of a seat played from outside the
    one ordered for it.
    """
    place = game.extra.get("external", {}).get(str(seat), {})
    if place.get("level"):
        return str(place["level"])
    level: str = game.extra.get("timeout_level", TIMEOUT_LEVEL)
    return level


def deadline_s(game: Game) -> float | None:
    """Return when the turn in hand must be over, in seconds since 1970; None where nothing is
    timed.
    """
    at_s: float | None = game.extra.get("deadline_s")
    return at_s


def begin_turn(game: Game, now_s: float) -> None:
    """Set the deadline of a turn that begins now, or none if who is to move is not timed."""
    seconds: float | None = None
    if game.person_to_move is not None:
        seconds = turn_seconds(game)
    elif game.external_to_move is not None:
        seconds = turn_seconds(game) or EXTERNAL_TURN_S
    game.extra.pop("deadline_s", None)
    if seconds is not None:
        game.extra["deadline_s"] = round(now_s + seconds, 3)


def shortest_turn_s(game: Game) -> int | None:
    """Return how long a turn that is timed lasts at least; None where none is."""
    seconds = turn_seconds(game)
    is_external = any(holder.player == "external" for holder in game.seats)
    return EXTERNAL_TURN_S if seconds is None and is_external else seconds


def is_overdue(game: Game, now_s: float) -> bool:
    """Tell whether the turn in hand has run over its deadline."""
    at_s = deadline_s(game)
    return at_s is not None and at_s <= now_s


def missed_turns(game: Game, seat: int) -> int:
    """Return how many turns in a row the clock has ended for `seat`."""
    missed: int = game.extra["missed"][seat] if "missed" in game.extra else 0
    return missed


def note_missed(game: Game, seat: int) -> None:
    """Note that the clock ended a turn of `seat`."""
    game.extra["missed"][seat] += 1


def note_presence(game: Game, seat: int) -> None:
    """Note that the owner of `seat` has acted."""
    if missed_turns(game, seat):
        game.extra["missed"][seat] = 0
