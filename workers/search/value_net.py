"""A value learnt from playouts and self-play: what the rest of a deal brings, seen at the start of
a turn.

The end of a playout depends on some thirty turns of chance: its spread is 110 points early in a
deal, and moves that a search has to tell apart are 4 points apart. So the search cuts its playouts
after some turns, and a small net says what the rest is worth on average. It looks at a whole world,
all four hands included, since every world of a search is a guess anyway; it does not look at the
order of the stock, which nobody influences.

One hidden layer (rectified linear), fitted to the ends of playouts and then to those of deals that
the search played with itself (`workers/value_learning.py`). It tells the parts of the rest apart,
what each team will lay, be left with and whether it goes out, so that what is shown of a move can
be split without remainder (`evaluate.py`); the value is their sum.
Sums run over the inputs in order for all hidden units side by side: the compiler may use vector
instructions and still round as the interpreter does, so that every machine has the same values."""

from functools import cache
from pathlib import Path

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import (
    ACE_RANK,
    ALL_CARDS,
    JOKERS,
    RANK_MASKS,
    higher,
    lower,
    rank_of,
)
from service.rules.deal import pile_from
from service.rules.melds import cards_in_sets, cards_to_table, run_places, set_places
from service.rules.score import GOING_OUT_BONUS, points
from workers.search._compile import search_kernel
from workers.search.hands import completing_cards

WEIGHTS_FILE = Path(__file__).with_suffix(".npz")
SEAT_FEATURES = 38
TABLE_FEATURES = 21
FEATURE_COUNT = 4 * SEAT_FEATURES + TABLE_FEATURES
"""Inputs: those of each seat, from the seat to move on, then those of the table."""
REST_LAID, REST_LAID_THEIRS, REST_HAND, REST_HAND_THEIRS, REST_OUT, REST_OUT_THEIRS = range(6)
"""Outputs, for the team to move and the other: points laid from now on, points left in hand, chance
to go out."""
PART_COUNT = 6
PART_UNITS = np.array([100.0, 100.0, 100.0, 100.0, 4.0, 4.0])
"""What an output of 1 means: points, and chances in units that weigh as much as points do."""
MARGIN_OF_PARTS = np.array([1.0, -1.0, -1.0, 1.0, GOING_OUT_BONUS, -GOING_OUT_BONUS])
"""The margin of the rest is the sum of the parts, each times this."""
_ACES = RANK_MASKS[ACE_RANK]
_TENS = RANK_MASKS[8] | RANK_MASKS[9] | RANK_MASKS[10] | RANK_MASKS[11]

Net = tuple[
    np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray
]
"""Weights of the hidden layer (FEATURE_COUNT, hidden) and its biases (hidden,); weights and bias
of the margin in points (hidden,), (1,), and of the parts (hidden, PART_COUNT), (PART_COUNT,); room
for the inputs and the hidden layer; all float64."""


@search_kernel
def write_company(loose, stock, x, at):
    """Write what the loose cards of a hand are to each other: pairs, neighbours, gaps, and cards
    without any.
    """
    pairs = neighbours = gaps = lone = lone_points = lone_live = pair_points = run_points = 0
    rest = loose
    while rest:
        bit = rest & -rest
        rest &= rest - 1
        rank_mates = RANK_MASKS[rank_of(lowest_card(bit))] & ~bit
        next_cards = higher(bit) | lower(bit)
        same = popcount(loose & rank_mates)
        beside = popcount(loose & next_cards)
        apart = popcount(loose & (higher(higher(bit)) | lower(lower(bit))))
        pairs += same
        neighbours += beside
        gaps += apart
        if same:
            pair_points += points(bit)
        if beside:
            run_points += points(bit)
        if same + beside + apart == 0:
            lone += 1
            lone_points += points(bit)
            lone_live += popcount((rank_mates | next_cards) & stock)
    x[at] = pairs / 4
    x[at + 1] = neighbours / 4
    x[at + 2] = gaps / 4
    x[at + 3] = pair_points / 40
    x[at + 4] = run_points / 40
    x[at + 5] = lone / 4
    x[at + 6] = lone_points / 30
    x[at + 7] = lone_live / 10


@search_kernel
def points_in_fours(held):
    """Return the points of the ranks held in all four suits: they count double as a set."""
    ranks = cards_in_sets(held)
    found = 0
    while ranks:
        same = held & RANK_MASKS[rank_of(lowest_card(ranks))]
        ranks &= ~same
        if popcount(same) == 4:
            found += points(same)
    return found


@search_kernel
def loose_cards(world, seat):
    """Return the cards of a hand that could not be tabled if it were the seat's turn."""
    held = world.hands[seat]
    return held & ~cards_to_table(held, world.table_sets, world.table_runs)


@search_kernel
def write_seat_features(world, offset, loose, left, right, partner, stock, pile, top, x):
    """Write the inputs of the seat `offset` places after the one to move, whose loose cards are
    `loose`; `left` are those of the seat before it, `right` of the one after it.
    """
    seat = (world.turn + offset) & 3
    held = world.hands[seat]
    tabled = held & ~loose
    wanted = completing_cards(loose)
    with_pile = cards_to_table(held | pile, world.table_sets, world.table_runs)
    with_top = cards_to_table(held | top, world.table_sets, world.table_runs)
    before = world.hands[(seat + 3) & 3] & ~left
    after = world.hands[(seat + 1) & 3] & ~right
    opposite = world.hands[(seat + 2) & 3] & ~partner
    places = set_places(world.table_sets) | run_places(world.table_runs)
    count = popcount(loose)
    at = offset * SEAT_FEATURES
    x[at] = popcount(held) / 7
    x[at + 1] = points(held) / 50
    x[at + 2] = popcount(tabled) / 7
    x[at + 3] = points(tabled) / 50
    x[at + 4] = popcount(tabled & places) / 3
    x[at + 5] = popcount(cards_in_sets(held)) / 6
    x[at + 6] = points_in_fours(held) / 40
    x[at + 7] = popcount(held & world.known[seat]) / 4
    x[at + 8] = count / 7
    x[at + 9] = 1.0 if count == 0 else 0.0
    x[at + 10] = 1.0 if count == 1 else 0.0
    x[at + 11] = 1.0 if count == 2 else 0.0
    x[at + 12] = points(loose) / 50
    x[at + 13] = popcount(loose & JOKERS) / 2
    x[at + 14] = popcount(loose & _ACES) / 2
    x[at + 15] = popcount(loose & _TENS) / 4
    x[at + 16] = 3 * popcount(wanted & stock) / (world.stock_count + 4)
    x[at + 17] = points(wanted & stock) / (3 * world.stock_count + 12)
    x[at + 18] = popcount(wanted & pile) / 3
    x[at + 19] = popcount(wanted & left) / 3
    x[at + 20] = popcount(wanted & right) / 3
    x[at + 21] = popcount(wanted & partner) / 3
    x[at + 22] = popcount(wanted & before) / 3
    x[at + 23] = popcount(wanted & after) / 3
    x[at + 24] = popcount(wanted & opposite) / 3
    x[at + 25] = popcount(with_pile & ~held) / 6
    x[at + 26] = points(with_pile & ~held) / 50
    x[at + 27] = points(with_pile & loose) / 30
    x[at + 28] = 1.0 if with_pile & top else 0.0
    x[at + 29] = points(with_top & ~tabled) / 30
    write_company(loose, stock, x, at + 30)


@search_kernel
def write_features(world, x):
    """Write the inputs of a world at the start of a turn into `x` (FEATURE_COUNT,)."""
    pile = pile_from(world, 0)
    top = 1 << world.pile[world.pile_count - 1] if world.pile_count > 0 else 0
    table = world.table_sets | world.table_runs
    places = set_places(world.table_sets) | run_places(world.table_runs)
    stock = ALL_CARDS & ~(pile | table)
    for seat in range(4):
        stock &= ~world.hands[seat]
    first, second = loose_cards(world, world.turn), loose_cards(world, (world.turn + 1) & 3)
    third, fourth = (
        loose_cards(world, (world.turn + 2) & 3),
        loose_cards(world, (world.turn + 3) & 3),
    )
    write_seat_features(world, 0, first, fourth, second, third, stock, pile, top, x)
    write_seat_features(world, 1, second, first, third, fourth, stock, pile, top, x)
    write_seat_features(world, 2, third, second, fourth, first, stock, pile, top, x)
    write_seat_features(world, 3, fourth, third, first, second, stock, pile, top, x)
    at = 4 * SEAT_FEATURES
    x[at] = world.stock_count / 27
    x[at + 1] = 1.0 if world.stock_count == 0 else 0.0
    x[at + 2] = 1.0 if world.stock_count < 4 else 0.0
    x[at + 3] = 1.0 if world.stock_count < 8 else 0.0
    x[at + 4] = 1.0 if world.stock_count & 3 == 0 else 0.0
    x[at + 5] = 1.0 if world.stock_count & 3 == 1 else 0.0
    x[at + 6] = 1.0 if world.stock_count & 3 == 2 else 0.0
    x[at + 7] = points(stock) / 200
    x[at + 8] = popcount(stock & JOKERS) / 2
    x[at + 9] = popcount(stock & _ACES) / 2
    x[at + 10] = popcount(stock & places) / 5
    x[at + 11] = points(stock & places) / 50
    x[at + 12] = world.pile_count / 10
    x[at + 13] = points(pile) / 100
    x[at + 14] = popcount(pile & JOKERS) / 2
    x[at + 15] = popcount(pile & _ACES) / 2
    x[at + 16] = points(top) / 10
    x[at + 17] = 1.0 if top & places else 0.0
    x[at + 18] = popcount(table) / 20
    x[at + 19] = popcount(places) / 10
    x[at + 20] = world.passes / 4


@search_kernel
def fill_hidden(world, net):
    """Compute the hidden layer of a world at the start of a turn, before its rectification."""
    weights, biases, x, hidden = net[0], net[1], net[6], net[7]
    write_features(world, x)
    for unit in range(len(hidden)):
        hidden[unit] = biases[unit]
    for place in range(len(x)):
        if x[place] != 0:
            for unit in range(len(hidden)):
                hidden[unit] += x[place] * weights[place, unit]


@search_kernel
def net_value(world, net):
    """Return team 0's expected margin at the end of the deal, points, at the start of a turn."""
    fill_hidden(world, net)
    outputs, hidden = net[2], net[7]
    value = net[3][0]
    for unit in range(len(hidden)):
        if hidden[unit] > 0:
            value += hidden[unit] * outputs[unit]
    sign = 1.0 if world.turn & 1 == 0 else -1.0
    return sign * value + (world.laid[0] - world.laid[1])


@search_kernel
def net_parts(world, net, parts):
    """Write what the rest of the deal brings into `parts` (PART_COUNT,), at the start of a turn:
    points and chances, for the team to move and the other.
    """
    fill_hidden(world, net)
    outputs, biases, hidden = net[4], net[5], net[7]
    for part in range(len(parts)):
        parts[part] = biases[part]
    for unit in range(len(hidden)):
        if hidden[unit] > 0:
            for part in range(len(parts)):
                parts[part] += hidden[unit] * outputs[unit, part]


@cache
def _weights() -> tuple[np.ndarray, ...]:
    with np.load(WEIGHTS_FILE) as file:
        w1, b1, w2, b2 = (file[name].astype(np.float64) for name in ("w1", "b1", "w2", "b2"))
    parts, bias = w2 * PART_UNITS, b2 * PART_UNITS
    margin, margin_bias = np.zeros(len(b1)), np.zeros(1)
    for part in range(PART_COUNT):  # in order, as a matrix product need not be
        margin += MARGIN_OF_PARTS[part] * parts[:, part]
        margin_bias += MARGIN_OF_PARTS[part] * bias[part]
    return w1, b1, margin, margin_bias, parts, bias


def load_net() -> Net:
    """Return the net of the package, with working room of its own."""
    w1, b1, margin, margin_bias, parts, bias = _weights()
    room = np.zeros(FEATURE_COUNT), np.zeros(len(b1))
    return w1, b1, margin, margin_bias, parts, bias, *room
