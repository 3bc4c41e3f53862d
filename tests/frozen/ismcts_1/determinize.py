"""From what a seat knows to a full world, by chance (determinization).

Every card whose place the viewer does not know is equally likely to be in any unknown place: the
other hands, less the cards known to be in them (R33), and the stock. Each call deals the unknown
places anew."""

import numpy as np

from service.rules._jit import popcount
from service.rules.cards import cards_in
from service.rules.view import SeatView, unseen_cards
from tests.frozen.ismcts_1._compile import search_kernel
from tests.frozen.ismcts_1.rng import below
from tests.frozen.ismcts_1.world import copy_world


def unseen_array(view: SeatView) -> np.ndarray:
    """Return the cards whose place the viewer does not know, ascending; int64."""
    return np.array(list(cards_in(unseen_cards(view))), dtype=np.int64)


def unknown_counts(view: SeatView) -> np.ndarray:
    """Return, by seat, how many cards of the hand the viewer does not know; shape (4,), int64."""
    counts = [
        0 if seat == view.seat else view.hand_counts[seat] - popcount(view.known[seat])
        for seat in range(4)
    ]
    return np.array(counts, dtype=np.int64)


@search_kernel
def determinize(template, unseen, counts, world, rng):
    """Fill `world` from `template`: shuffle `unseen` in place and deal it to hands (`counts` each)
    and stock.
    """
    copy_world(template, world)
    left = len(unseen)
    for seat in range(4):
        for _ in range(counts[seat]):
            place = below(rng, left)
            left -= 1
            card = unseen[place]
            unseen[place] = unseen[left]
            unseen[left] = card
            world.hands[seat] |= 1 << card
    for stock_place in range(world.stock_count):
        place = below(rng, left)
        left -= 1
        card = unseen[place]
        unseen[place] = unseen[left]
        unseen[left] = card
        world.stock[stock_place] = card
