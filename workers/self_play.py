"""Deals that the search plays with itself, whole deals in one kernel.

The same moves could be asked for one by one through a bot (`workers/quality.py` does), but a search
of some hundred iterations takes no longer than making its view and its arrays."""

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import ALL_CARDS
from service.rules.deal import DRAW, OVER, pile_from
from workers.search._compile import search_kernel
from workers.search.ismcts import new_scratch, new_tree, run_iterations
from workers.search.moves import MAX_MOVES, apply_move, list_moves
from workers.search.playout import mixed_player
from workers.search.rng import below, new_rng
from workers.search.search import DEFAULT_SETTINGS
from workers.search.value_net import load_net
from workers.search.values import plain_values
from workers.search.world import Worlds, copy_world, deal_world, new_worlds

MAX_TURNS = 160
"""More than deals have: 27 cards of stock, and the pile taken some times; none later is told."""


@search_kernel
def hide(deal, template, unseen, counts):  # type: ignore[no-untyped-def]
    """Write what the seat to move knows of `deal` into `template`, `unseen` and `counts`, as
    `template_of_view`, `unseen_array` and `unknown_counts` do; return the length of `unseen`.
    """
    copy_world(deal, template)
    seen = deal.hands[deal.turn] | pile_from(deal, 0) | deal.table_sets | deal.table_runs
    for seat in range(4):
        counts[seat] = 0
        if seat != deal.turn:
            template.hands[seat] = deal.known[seat]
            seen |= deal.known[seat]
            counts[seat] = popcount(deal.hands[seat] & ~deal.known[seat])
    rest = ALL_CARDS & ~seen
    length = 0
    while rest:
        unseen[length] = lowest_card(rest)
        rest &= rest - 1
        length += 1
    return length


@search_kernel
def most_visited_move(nodes):  # type: ignore[no-untyped-def]
    """Return the code of the root's child with most visits."""
    best = nodes[0].first_child
    child = nodes[best].next_sibling
    while child:
        if nodes[child].visits > nodes[best].visits:
            best = child
        child = nodes[child].next_sibling
    return int(nodes[best].code)


@search_kernel
def play_deal(  # type: ignore[no-untyped-def]
    deal,
    iterations,
    strays,
    templates,
    unseen,
    counts,
    nodes,
    worlds,
    scratch,
    moves,
    player,
    horizon,
    net,
    values,
    exploration,
    rng,
    turns,
):
    """Play `deal` to its end, each decision by a search of `iterations`, `strays` in 1,000 by
    chance; copy it at each start of a turn into `turns` and return how many there were.
    """
    template = templates[0]
    count = 0
    while deal.phase != OVER:
        if deal.phase == DRAW and count < len(turns):
            copy_world(deal, turns[count])
            count += 1
        listed = list_moves(deal, moves)
        if listed == 1:
            apply_move(deal, moves[0])
        elif below(rng, 1000) < strays:
            apply_move(deal, moves[below(rng, listed)])
        else:
            length = hide(deal, template, unseen, counts)
            nodes[0].first_child = 0
            run_iterations(
                templates,
                unseen[:length],
                counts,
                nodes,
                1,
                iterations,
                worlds,
                scratch,
                player,
                horizon,
                net,
                values,
                values,
                exploration,
                rng,
            )
            apply_move(deal, most_visited_move(nodes))
    return count


class SelfPlay:
    """Deals played by a search of so many iterations a decision, in fixed order from a seed."""

    def __init__(self, iterations: int, strays: int, seed: str) -> None:
        self._deck = np.arange(56)
        self._rng = new_rng("self-play", seed)
        self._deals = new_worlds(1)
        self._turns = new_worlds(MAX_TURNS)
        self._room = (
            iterations,
            strays,
            new_worlds(1),
            np.zeros(56, np.int64),
            np.zeros(4, np.int64),
            new_tree(iterations + 2),
            new_worlds(2),
            new_scratch(),
            np.zeros(MAX_MOVES, np.int64),
            mixed_player(),
            DEFAULT_SETTINGS.horizon,
            load_net(),
            plain_values(),
            DEFAULT_SETTINGS.exploration,
            self._rng,
            self._turns,
        )

    def play(self, dealer: int) -> tuple[Worlds, np.void]:
        """Play a deal; return its starts of turns and its end, both until the next deal."""
        deal = self._deals[0]
        deal_world(deal, self._deck, dealer, self._rng)
        count = play_deal(deal, *self._room)
        return self._turns[:count], deal
