"""The end of a deal, solved: when the stock is empty and few cards are unseen.

With the stock empty nothing is left to chance but who holds what. If all unseen cards are in one
hand there is one world, and its value by minimax over the two teams' margin is exact. With a few
possible worlds, the values of a move are averaged over all of them: near exact, since it lets
players act as if they knew the world from the next move on (Frank and Basin, Artificial
Intelligence 100, 1998). With more worlds, or a tree that is too large, the search does it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from service.rules.cards import cards_in, mask_of
from service.rules.deal import OVER
from service.rules.view import SeatView, unseen_cards
from workers.search._compile import search_kernel
from workers.search.determinize import unknown_counts
from workers.search.moves import CODE_COUNT, MAX_MOVES, apply_move, is_reordered, list_moves
from workers.search.world import copy_world, margin_of, new_worlds, template_of_view

ENDGAME_ENGINE = "endgame-1"
"""Named in hints that were solved."""
MOST_WORLDS = 40
MOST_NODES = 400_000
"""Of the trees of all worlds and moves together: about a tenth of a second."""
MAX_DEPTH = 200
_UNKNOWN = 1 << 40
"""Returned when the nodes run out: no margin is so large."""


@search_kernel
def solve(worlds, depth, previous, alpha, beta, moves, listed, nodes_left):
    """Return the margin for team 0 of `worlds[depth]` under best play of both teams, or _UNKNOWN.

    Alpha-beta over the micro-actions of `moves.py`. `worlds`, `moves`, `listed` have a row a ply;
    `nodes_left` is an array of one, counted down. A deal that goes deeper than the rows is not
    solved either."""
    world = worlds[depth]
    if world.phase == OVER:
        return margin_of(world)
    nodes_left[0] -= 1
    if nodes_left[0] <= 0 or depth + 1 >= len(worlds):
        return _UNKNOWN
    count = list_moves(world, moves[depth])
    for i in range(count):
        listed[depth, moves[depth, i]] = 1
    is_ours = world.turn & 1 == 0
    best = -_UNKNOWN if is_ours else _UNKNOWN
    failed = False
    for i in range(count - 1, -1, -1):
        code = moves[depth, i]
        if previous >= 0 and listed[depth - 1, code] == 1 and is_reordered(code, previous):
            continue
        copy_world(world, worlds[depth + 1])
        apply_move(worlds[depth + 1], code)
        value = solve(worlds, depth + 1, code, alpha, beta, moves, listed, nodes_left)
        if value == _UNKNOWN:
            failed = True
            break
        if is_ours:
            best = max(best, value)
            alpha = max(alpha, value)
        else:
            best = min(best, value)
            beta = min(beta, value)
        if alpha >= beta:
            break
    for i in range(count):
        listed[depth, moves[depth, i]] = 0
    return _UNKNOWN if failed else best


@dataclass(frozen=True, slots=True)
class Solution:
    """The value of each move at the end of a deal."""

    values: dict[int, float]
    """By code: the margin for the mover's team, points."""
    worlds: int
    """How many worlds were possible; with 1 the values are exact."""

    @property
    def best(self) -> int:
        """The code of the move of most value; among equals the one that puts cards on the table,
        then the lowest code.
        """
        return max(self.values, key=lambda code: (self.values[code], code >= 114, -code))


def possible_hands(view: SeatView) -> Iterator[tuple[int, ...]]:
    """Yield every way to deal the unseen cards to the other hands, as four masks (known cards
    included).
    """
    counts = [int(count) for count in unknown_counts(view)]
    own = [view.hand if seat == view.seat else view.known[seat] for seat in range(4)]

    def deal(seat: int, left: tuple[int, ...], hands: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if seat == 4:
            yield hands
            return
        for held in combinations(left, counts[seat]):
            rest = tuple(card for card in left if card not in held)
            yield from deal(seat + 1, rest, (*hands, own[seat] | mask_of(held)))

    yield from deal(0, tuple(cards_in(unseen_cards(view))), ())


def count_worlds(view: SeatView) -> int:
    """Return how many ways there are to deal the unseen cards to the other hands; the stock must be
    empty.
    """
    left = int(sum(unknown_counts(view)))
    ways = 1
    for count in unknown_counts(view):
        for taken in range(int(count)):
            ways = ways * (left - taken) // (taken + 1)
        left -= int(count)
    return ways


def solve_endgame(view: SeatView) -> Solution | None:
    """Return the values of the viewer's moves, or None where the stock is not empty or there is too
    much to look at.
    """
    if view.stock_count > 0 or count_worlds(view) > MOST_WORLDS:
        return None
    worlds = new_worlds(MAX_DEPTH)
    moves = np.zeros((MAX_DEPTH, MAX_MOVES), np.int64)
    listed = np.zeros((MAX_DEPTH, CODE_COUNT), np.int8)
    nodes_left = np.array([MOST_NODES], np.int64)
    template = template_of_view(view)
    start = new_worlds(1)
    count = list_moves(template[0], moves[0])
    codes = [int(code) for code in moves[0, :count]]
    totals = dict.fromkeys(codes, 0.0)
    number = 0
    for hands in possible_hands(view):
        number += 1
        copy_world(template[0], start[0])
        start[0]["hands"] = hands
        for code in codes:
            copy_world(start[0], worlds[0])
            apply_move(worlds[0], code)
            value = solve(worlds, 0, -1, -_UNKNOWN + 1, _UNKNOWN - 1, moves, listed, nodes_left)
            if value == _UNKNOWN:
                return None
            totals[code] += value
    sign = 1 if view.turn % 2 == 0 else -1
    return Solution({code: sign * total / number for code, total in totals.items()}, number)
