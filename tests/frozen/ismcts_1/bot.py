"""The frozen search as a bot, and the frozen rules of thumb alone."""

from dataclasses import dataclass

import numpy as np

from service.rules.view import SeatView
from tests.frozen.ismcts_1.determinize import determinize, unknown_counts, unseen_array
from tests.frozen.ismcts_1.ismcts import new_scratch, new_tree, run_iterations
from tests.frozen.ismcts_1.moves import MAX_MOVES, action_of_move, list_moves
from tests.frozen.ismcts_1.playout import DEFAULT_WEIGHTS, W_NOISE, choose_step
from tests.frozen.ismcts_1.rng import new_rng
from tests.frozen.ismcts_1.world import new_worlds, template_of_view
from workers.bots.base import Decision
from workers.bots.players import first_action

EXPLORATION = 100.0
LARGEST_MARGIN = 1200


@dataclass(frozen=True, slots=True)
class FrozenBot:
    """Plays the most visited move, a search for each action."""

    iterations: int

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Search, unless there is but one move."""
        template = template_of_view(view)
        out = np.zeros(MAX_MOVES, np.int64)
        count = list_moves(template[0], out)
        if count == 1:
            return Decision(action_of_move(int(out[0]), view))
        nodes = new_tree(self.iterations + 2)
        run_iterations(
            template,
            unseen_array(view),
            unknown_counts(view),
            nodes,
            1,
            self.iterations,
            new_worlds(1),
            new_scratch(),
            np.array(DEFAULT_WEIGHTS, dtype=np.int64),
            np.arange(-LARGEST_MARGIN, LARGEST_MARGIN + 1, dtype=np.float64),
            EXPLORATION,
            new_rng(seed, view.seat),
        )
        return Decision(action_of_move(_most_visited(nodes), view), self.iterations)


@dataclass(frozen=True, slots=True)
class FrozenThumb:
    """Plays by the rules of thumb of the frozen search, tuned by hand, without their noise."""

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Choose without a search."""
        weights = np.array(DEFAULT_WEIGHTS, dtype=np.int64)
        weights[W_NOISE] = 0
        rng = new_rng(seed, view.seat)
        worlds = new_worlds(1)
        template = template_of_view(view)[0]
        determinize(template, unseen_array(view), unknown_counts(view), worlds[0], rng)
        step, cards = choose_step(worlds[0], weights, rng)
        return Decision(first_action(int(step), int(cards), view))


def _most_visited(nodes: np.ndarray) -> int:
    best, most = 0, -1
    child = int(nodes[0].first_child)
    while child:
        if int(nodes[child].visits) > most:
            best, most = int(nodes[child].code), int(nodes[child].visits)
        child = int(nodes[child].next_sibling)
    return best
