"""What a bot is: a function from a seat's view, a seed and a budget to a decision.

A bot is given a `SeatView` and never the game, so it cannot see what its seat does not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from service.rules.deal import MELD, Action
from service.rules.view import SeatView


@dataclass(frozen=True, slots=True)
class Decision:
    """What a bot wants to play, and what it cost."""

    actions: tuple[Action, ...]
    """The action to play now and, where the same search settles them too, those that follow it in
    the turn: one search serves as long as nothing new is seen."""
    iterations: int = 0
    """Iterations of search spent."""

    @property
    def action(self) -> Action:
        """The action to play now."""
        return self.actions[0]


class Bot(Protocol):
    """A player."""

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Choose for the viewer, who is to move. The same view and seed give the same decision."""


@dataclass(slots=True)
class TurnPlayer:
    """Plays a bot action by action, asking it again only when what it decided is played."""

    bot: Bot
    level: str = ""
    """The bot's name, for those who count."""
    _planned: tuple[Action, ...] = ()
    _turn: tuple[int, int] | None = None

    def next_decision(self, view: SeatView, seed: str) -> Decision:
        """Return the next action of the viewer's turn, as a decision of one action.

        Call it for each action of a turn in order. After a call whose action was not played, make a
        new TurnPlayer."""
        if self._planned and self._turn == (view.number, view.turn) and view.phase == MELD:
            decision = Decision(self._planned)
        else:
            decision = self.bot.decide(view, seed)
        self._planned = decision.actions[1:]
        self._turn = (view.number, view.turn)
        return Decision(decision.actions[:1], decision.iterations)


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to search: so many iterations, or chunks until so many seconds have passed; at least
    one chunk.
    """

    iterations: int | None = None
    seconds: float | None = None

    def chunks(self, size: int, clock: Callable[[], float]) -> Iterator[tuple[int, float]]:
        """Yield (iterations to run next, progress from 0 to 1 after them) until the budget is used.

        `clock` gives seconds. By time, a chunk is started only if, at the pace so far, it ends
        within the budget."""
        if self.iterations is not None:
            done = 0
            while done < self.iterations:
                step = min(size, self.iterations - done)
                done += step
                yield step, done / self.iterations
            return
        seconds = self.seconds or 0.0
        start = clock()
        longest = spent = 0.0
        while True:
            before = clock()
            yield size, min(1.0, (spent + longest) / seconds) if seconds else 1.0
            after = clock()
            spent, longest = after - start, max(longest, after - before)
            if spent + longest > seconds:
                return
