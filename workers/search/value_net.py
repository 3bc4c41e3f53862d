"""A value learnt from playouts: what the rest of a deal brings, seen at the start of a turn.

The end of a playout depends on some thirty turns of chance: its spread is 110 points early in a
deal, and moves that a search has to tell apart are 4 points apart. So the search cuts its playouts
after some turns, and a small net says what the rest is worth on average. It looks at a whole world,
all four hands included, since every world of a search is a guess anyway; it does not look at the
order of the stock, which nobody influences.

One hidden layer (rectified linear), fitted to the ends of playouts and then to those of deals that
the search played with itself (`workers/value_learning.py`).
Sums run over the inputs in order for all hidden units side by side: the compiler may use vector
instructions and still round as the interpreter does, so that every machine has the same values.

What is shown of moves does not rest on the net: there playouts go to the end (`evaluate.py`)."""

from functools import cache
from pathlib import Path

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import ALL_CARDS, RANK_MASKS, SUIT_SIZE, higher, lower, rank_of
from service.rules.deal import pile_from
from service.rules.melds import cards_to_table
from service.rules.score import points
from workers.search._compile import search_kernel

WEIGHTS_FILE = Path(__file__).with_suffix(".npz")
SEAT_FEATURES = 19
FEATURE_COUNT = 4 * SEAT_FEATURES + 8
"""Inputs: those of each seat, from the seat to move on, then those of the table."""
POINTS_A_UNIT = 100.0
"""The net's output is in hundreds of points."""
_ONE_SUIT = (1 << SUIT_SIZE) - 1
_JOKERS = RANK_MASKS[13]

Net = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Weights of the hidden layer (FEATURE_COUNT, hidden), its biases (hidden,), weights of the output
(hidden,), its bias (1,), and room for the inputs and the hidden layer; all float64."""


@search_kernel
def completing_cards(held):
    """Return the cards that make three of a rank or three in a row with two cards of `held`."""
    first, second = held & _ONE_SUIT, (held >> SUIT_SIZE) & _ONE_SUIT
    third, fourth = (held >> 2 * SUIT_SIZE) & _ONE_SUIT, (held >> 3 * SUIT_SIZE) & _ONE_SUIT
    pairs = (first & second) | (third & fourth) | ((first | second) & (third | fourth))
    found = pairs | (pairs << SUIT_SIZE) | (pairs << 2 * SUIT_SIZE) | (pairs << 3 * SUIT_SIZE)
    if popcount(held & _JOKERS) >= 2:
        found |= _JOKERS
    above, below = higher(held), lower(held)
    found |= (above & higher(above)) | (below & lower(below)) | (above & below)
    return found & ~held


@search_kernel
def write_seat_features(world, offset, stock, pile, top, x):
    """Write the inputs of the seat `offset` places after the one to move."""
    seat = (world.turn + offset) & 3
    held = world.hands[seat]
    tabled = cards_to_table(held, world.table_sets, world.table_runs)
    loose = held & ~tabled
    pairs = neighbours = gaps = lone = lone_points = 0
    rest = loose
    while rest:
        bit = rest & -rest
        rest &= rest - 1
        same = popcount(loose & RANK_MASKS[rank_of(lowest_card(bit))] & ~bit)
        beside = popcount(loose & (higher(bit) | lower(bit)))
        apart = popcount(loose & (higher(higher(bit)) | lower(lower(bit))))
        pairs += same
        neighbours += beside
        gaps += apart
        if same + beside + apart == 0:
            lone += 1
            lone_points += points(bit)
    wanted = completing_cards(loose)
    with_pile = cards_to_table(held | pile, world.table_sets, world.table_runs)
    left = world.hands[(seat + 3) & 3]
    others = world.hands[(seat + 1) & 3] | world.hands[(seat + 2) & 3]
    count = popcount(loose)
    at = offset * SEAT_FEATURES
    x[at] = popcount(held) / 7
    x[at + 1] = points(held) / 50
    x[at + 2] = points(tabled) / 50
    x[at + 3] = popcount(tabled) / 7
    x[at + 4] = count / 7
    x[at + 5] = points(loose) / 50
    x[at + 6] = pairs / 4
    x[at + 7] = neighbours / 4
    x[at + 8] = gaps / 4
    x[at + 9] = lone_points / 30
    x[at + 10] = 1.0 if count == 0 else 0.0
    x[at + 11] = 1.0 if count == 1 else 0.0
    x[at + 12] = points(with_pile & ~held) / 50
    x[at + 13] = 1.0 if with_pile & top else 0.0
    x[at + 14] = 3 * popcount(wanted & stock) / (world.stock_count + 4)
    x[at + 15] = popcount(wanted & left) / 3
    x[at + 16] = popcount(wanted & others) / 5
    x[at + 17] = points(with_pile & held & ~tabled) / 30
    x[at + 18] = lone / 4


@search_kernel
def write_features(world, x):
    """Write the inputs of a world at the start of a turn into `x` (FEATURE_COUNT,)."""
    pile = pile_from(world, 0)
    top = 1 << world.pile[world.pile_count - 1] if world.pile_count > 0 else 0
    table = world.table_sets | world.table_runs
    stock = ALL_CARDS & ~(pile | table)
    for seat in range(4):
        stock &= ~world.hands[seat]
    for offset in range(4):
        write_seat_features(world, offset, stock, pile, top, x)
    at = 4 * SEAT_FEATURES
    x[at] = world.stock_count / 27
    x[at + 1] = world.pile_count / 10
    x[at + 2] = points(pile) / 100
    x[at + 3] = 1.0 if world.stock_count < 4 else 0.0
    x[at + 4] = 1.0 if world.stock_count < 8 else 0.0
    x[at + 5] = popcount(table) / 20
    x[at + 6] = points(top) / 10
    x[at + 7] = 1.0


@search_kernel
def net_value(world, net):
    """Return team 0's expected margin at the end of the deal, points, at the start of a turn."""
    weights, biases, outputs, bias, x, hidden = net
    write_features(world, x)
    for unit in range(len(hidden)):
        hidden[unit] = biases[unit]
    for place in range(len(x)):
        if x[place] != 0:
            for unit in range(len(hidden)):
                hidden[unit] += x[place] * weights[place, unit]
    value = bias[0]
    for unit in range(len(hidden)):
        if hidden[unit] > 0:
            value += hidden[unit] * outputs[unit]
    sign = 1.0 if world.turn & 1 == 0 else -1.0
    return sign * POINTS_A_UNIT * value + (world.laid[0] - world.laid[1])


@cache
def _weights() -> tuple[np.ndarray, ...]:
    with np.load(WEIGHTS_FILE) as file:
        return tuple(file[name].astype(np.float64) for name in ("w1", "b1", "w2", "b2"))


def load_net() -> Net:
    """Return the net of the package, with working room of its own."""
    w1, b1, w2, b2 = _weights()
    return w1, b1, w2, b2, np.zeros(FEATURE_COUNT), np.zeros(len(b1))
