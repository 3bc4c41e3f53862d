"""A clock that is put forward or back, and what is to be done then.

The deadline of a turn is a point in time that was found by adding its seconds to the clock. When
the clock jumps, that point is no longer as far away as the player was promised: after a jump
forward all turns would be over, after one back they would last for an hour more. The sweep notices,
since it counts time by the monotonic clock too, and turns that the jump has touched get their whole
time anew, with an entry `clock_moved` in the log. A sweep that did not run at the time of the jump
cannot know of it; then the deadlines stand as they are."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.games.changing import Step, change_game
from service.games.clocks import begin_turn, deadline_s, shortest_turn_s
from service.games.errors import GameNotFound, StaleVersion
from service.games.house import House
from service.games.model import Game
from service.games.ports import CLOCK
from service.games.representation import Viewer

JUMP_S = 2.0
"""Less is drift, or a look at the clock that took long."""


@dataclass(frozen=True, slots=True)
class Jump:
    """The clock showed `from_s` and then, with no time between, `to_s`; seconds since 1970."""

    from_s: float
    to_s: float

    @property
    def by_s(self) -> float:
        """How far it went; negative: back."""
        return self.to_s - self.from_s


class ClockWatch:
    """Holds a clock against the monotonic one."""

    def __init__(self, clock: Callable[[], float], monotonic: Callable[[], float]) -> None:
        """Look for the first time."""
        self._clock = clock
        self._monotonic = monotonic
        self._ahead_s = clock() - monotonic()
        self.last_jump: Jump | None = None

    def attend(self, house: House) -> Jump | None:
        """Return the jump since the last look, or None. After one back, all that is noted for later
        is recalled, to be looked at now; raises StoreUnavailable, and finds the same jump again.
        """
        clock_s = self._clock()
        ahead_s = clock_s - self._monotonic()
        by_s = ahead_s - self._ahead_s
        if abs(by_s) <= JUMP_S:
            self._ahead_s = ahead_s
            return None
        if by_s < 0:
            house.store.recall(clock_s)
        self._ahead_s = ahead_s
        self.last_jump = Jump(clock_s - by_s, clock_s)
        return self.last_jump


def is_touched(game: Game, jump: Jump | None, now_s: float) -> bool:
    """Tell whether a jump has moved the deadline of the turn in hand from where it was promised:
    over it, or further away than the turn is long.
    """
    due_s, seconds = deadline_s(game), shortest_turn_s(game)
    if due_s is None or seconds is None:
        return False
    is_passed = jump is not None and jump.from_s < due_s <= jump.to_s
    return is_passed or due_s - now_s > seconds + JUMP_S


def renew_turn(house: House, game: Game) -> None:
    """Give the turn in hand its whole time anew, unless the game has moved on since."""

    def decide(game: Game, _viewer: Viewer) -> Step:
        before_s = deadline_s(game) or 0.0
        begin_turn(game, house.clock())
        after_s = game.extra["deadline_s"]
        # Noted before the commit: a note too many costs the sweep one look.
        house.store.note_due(CLOCK, game.id, after_s)
        moved_s = round(before_s - after_s)
        entry = {"type": "clock_moved", "seat": None, "by": "clock", "seconds": moved_s}
        return Step(entry, _no_answer)

    with suppress(GameNotFound, StaleVersion):
        change_game(
            house, game.id, lambda _game: Viewer(None), decide, expected_version=game.version
        )


def _no_answer(_game: Game, _entry: dict[str, Any]) -> dict[str, Any]:
    return {}
