"""One search in several parts, which workers that are idle may take (root parallelization).

Chaslot, Winands and van den Herik, "Parallel Monte-Carlo Tree Search", CG 2008, section 3.2: each
part grows a tree of its own from the same root, and at the end visits and values are added up by
move. Parts exchange nothing meanwhile, which suits jobs that share only a queue.

Whoever asked never depends on others: the worker of the hint searches the first part, then takes
back each part that still waits on the queue and searches it too. A search by iterations thus has
the same answer whether forty workers are idle or none, and workers that all wait for each other
cannot be. A part whose worker died is searched here as well. In a search by time there is nothing
to catch up with: what the others have when the time is over counts, and the rest is left out.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.games.advice import HINT_QUEUE, PART_JOB
from service.games.errors import Unavailable
from service.games.ports import JobQueue
from service.rules.view import SeatView, view_to_json
from workers.bots.base import Budget
from workers.search.search import MoveStatistics

POLL_S = 0.01
"""Between two looks whether another worker has done its part."""
PART_OF_TIME = 0.85
"""A part by time searches so much of the time that the first part does, since it starts later."""

Ranking = list[MoveStatistics]
SearchHere = Callable[[str, Budget], Ranking | None]
"""From a part's seed and budget to its root's moves; None when the hint was cancelled meanwhile."""


def share_out(budget: Budget, workers: int) -> list[Budget]:
    """Return the budget of each part: iterations are shared out, time is everybody's.

    >>> [part.iterations for part in share_out(Budget(iterations=10), 3)]
    [4, 3, 3]
    """
    if budget.iterations is None:
        others = Budget(seconds=PART_OF_TIME * (budget.seconds or 0.0))
        return [budget] + [others] * (workers - 1)
    workers = min(workers, budget.iterations)
    share, rest = divmod(budget.iterations, workers)
    return [Budget(iterations=share + (number < rest)) for number in range(workers)]


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the parts of a task's searches are handed out."""

    queue: JobQueue
    scope: str
    kind: str
    task_id: str
    """The task; its parts end when it is cancelled."""

    def job_id(self, search: int, part: int) -> str:
        """Return the id of a part's job; `search` numbers the searches of the task."""
        return f"part-{self.kind}-{self.scope}-{self.task_id}-{search}-{part}"


@dataclass(frozen=True, slots=True)
class Part:
    """A part beyond the first."""

    job_id: str
    seed: str
    budget: Budget


@dataclass(slots=True)
class Split:
    """The parts of one search beyond the first. Without a desk nobody else may take them."""

    view: SeatView
    parts: list[Part]
    desk: Desk | None = None

    def offer(self) -> None:
        """Let others begin; what the queue does not take is searched here later."""
        if self.desk is None:
            return
        for part in self.parts:
            arguments: dict[str, Any] = {
                "scope": self.desk.scope,
                "kind": self.desk.kind,
                "task_id": self.desk.task_id,
                "view": view_to_json(self.view),
                "seed": part.seed,
                "budget": part.budget.to_json(),
            }
            try:
                self.desk.queue.enqueue(HINT_QUEUE, PART_JOB, part.job_id, arguments)
            except Unavailable:
                return

    def gather(self, search_here: SearchHere) -> Iterator[Ranking | None]:
        """Yield what each part found, in their order; None when the hint was cancelled."""
        for part in self.parts:
            found = self._found_elsewhere(part)
            if found is not None:
                yield ranking_from_json(found["moves"])
            elif part.budget.iterations is not None:
                yield search_here(part.seed, part.budget)

    def _found_elsewhere(self, part: Part) -> dict[str, Any] | None:
        """Return another worker's result, waited for if it is of iterations and its worker alive;
        None where nobody has taken the part, and nobody will.
        """
        if self.desk is None:
            return None
        queue = self.desk.queue
        try:
            if queue.take_back(HINT_QUEUE, part.job_id):
                return None
            while part.budget.iterations is not None and queue.is_active(part.job_id):
                time.sleep(POLL_S)
            return queue.result_of(part.job_id)
        except Unavailable:
            return None

    def withdraw(self) -> None:
        """Take back what nobody has begun."""
        if self.desk is None:
            return
        with suppress(Unavailable):
            for part in self.parts:
                self.desk.queue.take_back(HINT_QUEUE, part.job_id)


def split(
    view: SeatView, seed: str, budget: Budget, workers: int, desk: Desk | None, search: int = 0
) -> tuple[Budget, Split]:
    """Return the first part's budget, whose seed is `seed`, and the other parts; `search` numbers
    the searches of the desk's task.
    """
    first, *others = share_out(budget, workers)
    parts = [
        Part(desk.job_id(search, number) if desk else "", f"{seed}/part-{number}", each)
        for number, each in enumerate(others, 1)
    ]
    return first, Split(view, parts, desk)


def ranking_to_json(ranking: Ranking) -> list[list[Any]]:
    """Return `[code, visits, mean]` for each move."""
    return [[move.code, move.visits, move.mean] for move in ranking]


def ranking_from_json(moves: list[list[Any]]) -> Ranking:
    """Return the inverse of `ranking_to_json`."""
    return [MoveStatistics(*move) for move in moves]
