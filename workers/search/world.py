"""A world: one full state of a deal, as the search holds it.

The record has the rules' core fields (`CORE_FIELDS`) under the same names, so that the rules' own
functions run on it. All fields are 64-bit: bytes for the stock and the pile would copy faster, but
were not faster in the search, and an interpreted run would compute in bytes.
"""

import numpy as np
from numpy.typing import NDArray

from service.rules.deal import CORE_FIELDS, Deal
from service.rules.score import GOING_OUT_BONUS, points
from service.rules.view import SeatView
from workers.search._compile import search_kernel
from workers.search.rng import below

WORLD = np.dtype(
    [(name, np.int64, (length,)) if length else (name, np.int64) for name, length in CORE_FIELDS]
)
"""Record of the core fields."""

Worlds = NDArray[np.void]


def new_worlds(count: int) -> Worlds:
    """Return `count` empty worlds; element i has its fields as attributes."""
    return np.zeros(count, WORLD).view(np.recarray)


def world_of_deal(deal: Deal) -> Worlds:
    """Return one world, equal to `deal`."""
    worlds = new_worlds(1)
    for name, _length in CORE_FIELDS:
        worlds[0][name] = getattr(deal, name)
    return worlds


def template_of_view(view: SeatView) -> Worlds:
    """Return one world with everything that the viewer sees and nothing else: other hands hold
    their known cards only, the stock is empty but counted.

    `determinize` fills in the rest. Raises ValueError for a spectator, who has no hand to play.
    """
    if view.seat is None:
        raise ValueError("a spectator plays no cards")
    worlds = new_worlds(1)
    world = worlds[0]
    world["hands"] = view.known
    world["hands"][view.seat] = view.hand
    world["known"] = view.known
    world["laid"] = view.laid
    for name in ("turn", "dealer", "phase", "due", "passes", "stock_count"):
        world[name] = getattr(view, name)
    world["went_out"] = -1
    world["pile_count"] = len(view.pile)
    world["pile"][: len(view.pile)] = view.pile
    for meld in view.melds:
        field = "table_sets" if meld.kind == 1 else "table_runs"
        for card in meld.cards:
            world[field] |= 1 << card
    return worlds


@search_kernel
def deal_world(world, deck, dealer, rng):
    """Shuffle `deck` in place and deal it into `world` (R5)."""
    for place in range(55, 0, -1):
        other = below(rng, place + 1)
        deck[place], deck[other] = deck[other], deck[place]
    for seat in range(4):
        world.hands[seat] = 0
        world.known[seat] = 0
    world.laid[0] = 0
    world.laid[1] = 0
    world.table_sets = 0
    world.table_runs = 0
    world.dealer = dealer
    world.turn = (dealer + 1) & 3
    world.phase = 0
    world.due = -1
    world.passes = 0
    world.went_out = -1
    for place in range(28):
        world.hands[(dealer + 1 + place) & 3] |= 1 << deck[place]
    world.pile[0] = deck[28]
    world.pile_count = 1
    world.stock_count = 27
    for place in range(27):
        world.stock[26 - place] = deck[29 + place]


@search_kernel
def copy_world(source, target):
    """Make `target` equal to `source`; both are records. Only the part of the stock and the pile in
    use is copied.
    """
    for seat in range(4):
        target.hands[seat] = source.hands[seat]
        target.known[seat] = source.known[seat]
    target.laid[0] = source.laid[0]
    target.laid[1] = source.laid[1]
    target.table_sets = source.table_sets
    target.table_runs = source.table_runs
    target.turn = source.turn
    target.dealer = source.dealer
    target.phase = source.phase
    target.due = source.due
    target.passes = source.passes
    target.went_out = source.went_out
    target.stock_count = source.stock_count
    target.pile_count = source.pile_count
    for place in range(source.stock_count):
        target.stock[place] = source.stock[place]
    for place in range(source.pile_count):
        target.pile[place] = source.pile[place]


@search_kernel
def margin_of(world):
    """Return team 0's points less team 1's, as if the deal ended now (R26 to R31)."""
    margin = world.laid[0] - world.laid[1]
    margin -= points(world.hands[0]) + points(world.hands[2])
    margin += points(world.hands[1]) + points(world.hands[3])
    if world.went_out >= 0:
        margin += GOING_OUT_BONUS if world.went_out & 1 == 0 else -GOING_OUT_BONUS
    return margin


@search_kernel
def add_laid(world, team, laid_before_0, laid_before_1, line):
    """Add to `line` the points laid since teams 0 and 1 had laid so much, of `team` and the
    other.
    """
    own, theirs = world.laid[0] - laid_before_0, world.laid[1] - laid_before_1
    line[0] += own if team == 0 else theirs
    line[1] += theirs if team == 0 else own


@search_kernel
def add_parts(world, team, laid_before_0, laid_before_1, line):
    """Add to `line` what a deal that is over brought since teams 0 and 1 had laid so much: points
    laid, points left in hand and times gone out, each for `team` and the other.
    """
    add_laid(world, team, laid_before_0, laid_before_1, line)
    line[2] += points(world.hands[team]) + points(world.hands[team + 2])
    line[3] += points(world.hands[1 - team]) + points(world.hands[3 - team])
    if world.went_out >= 0:
        line[4 if world.went_out & 1 == team else 5] += 1
