"""What a bot is: a function from a seat's view, a seed and a budget to a decision.

A bot is given a `SeatView` and never the game, so it cannot see what its seat does not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from service.rules.deal import Action
from service.rules.view import SeatView


@dataclass(frozen=True, slots=True)
class Decision:
    """What a bot wants to play, and what it cost."""

    action: Action
    iterations: int = 0
    """Iterations of search spent."""


class Bot(Protocol):
    """A player."""

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Choose for the viewer, who is to move. The same view and seed give the same decision."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to search: so many iterations, or chunks until so many seconds have passed; at least
    one chunk.
    """

    iterations: int | None = None
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return `{"iterations": ...}` or `{"seconds": ...}`: the arguments that make it again."""
        if self.iterations is not None:
            return {"iterations": self.iterations}
        return {"seconds": self.seconds}

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
