"""Learning the rules of thumb from the search: what long searches say of moves, as data to fit.

Positions come from self-play of a short search; a long one gives each move a value. A fit of these
values by features of the move, within each decision, says what a point more or less of each feature
costs. The weights in `workers/search/thumb.py` were made in this way and then adjusted one by one
over duplicate deals (`tune`)."""

from dataclasses import dataclass

import numpy as np

from service.rules.deal import OVER
from workers.search._compile import search_kernel
from workers.search.playout import QuickPlayer, play_turn, thumb_player
from workers.search.rng import new_rng
from workers.search.thumb import DEFAULT_WEIGHTS, W_NOISE
from workers.search.world import copy_world, deal_world, margin_of, new_worlds

STEP_SHARE = 3
"""A weight is tried a third of itself lower and higher, and at least this much."""
SURE = 2.2
"""Standard errors by which a change must win to be kept."""


@search_kernel
def play_duplicates(first, second, pairs, deck, worlds, rng, margins):  # type: ignore[no-untyped-def]
    """Play `pairs` duplicate deals between two quick players; write the first's mean margin of
    each into `margins`.
    """
    for pair in range(pairs):
        deal_world(worlds[0], deck, pair & 3, rng)
        copy_world(worlds[0], worlds[1])
        total = 0
        for swapped in range(2):
            world = worlds[swapped]
            while world.phase != OVER:
                if (world.turn & 1) == swapped:
                    play_turn(world, first, rng)
                else:
                    play_turn(world, second, rng)
            total += margin_of(world) if swapped == 0 else -margin_of(world)
        margins[pair] = total / 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two quick players over duplicate deals."""

    margin: float
    """The first's points a deal."""
    error: float
    """Standard error of that."""


def compare(first: QuickPlayer, second: QuickPlayer, pairs: int, seed: str) -> Comparison:
    """Play two quick players against each other."""
    margins = np.zeros(pairs)
    play_duplicates(first, second, pairs, np.arange(56), new_worlds(2), new_rng(seed), margins)
    return Comparison(float(margins.mean()), float(margins.std() / np.sqrt(pairs)))


def _compare_weights(first: np.ndarray, second: np.ndarray, pairs: int, seed: str) -> Comparison:
    return compare(thumb_player(first), thumb_player(second), pairs, seed)


def tune(pairs: int, rounds: int, seed: str) -> tuple[np.ndarray, Comparison]:
    """Change one weight at a time as long as that surely wins; return the weights and how they do
    on deals not used before.

    The noise stays 0: it is not for playing well.
    """
    start = DEFAULT_WEIGHTS
    current = start.copy()
    for number in range(rounds):
        for place in range(len(current)):
            step = max(STEP_SHARE, abs(int(current[place])) // STEP_SHARE)
            for change in (-step, step) if place != W_NOISE else ():
                tried = current.copy()
                tried[place] += change
                found = _compare_weights(tried, current, pairs, f"{seed}-{number}-{place}")
                if found.margin > SURE * found.error:
                    current = tried
                    break
    return current, _compare_weights(current, start, pairs, f"{seed}-test")
