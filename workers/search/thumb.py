"""Rules of thumb: what `novice` and `greedy` draw, hold back and throw, as the search's quick
player does in half of its turns; and what every quick player takes once the stock is gone.

They look at the own hand, the table, the pile, the counts and the cards that others are known to
hold, as a person would, never at what else is in their hands or at the stock. Before there was a
learnt policy (`policy.py`) all turns of the search's quick player went by them."""

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import ACE_RANK, ALL_CARDS, JOKER_RANK, RANK_MASKS, higher, lower, rank_of
from service.rules.deal import pile_from
from service.rules.melds import (
    cards_in_runs,
    cards_in_sets,
    cards_to_table,
    run_places,
    set_places,
)
from service.rules.score import points
from workers.search._compile import search_kernel
from workers.search.policy import HOLD_LAY_OFFS, HOLD_MELDS
from workers.search.rng import below

# Weights, by place in the array that a player is given. Scores are in sixteenths of a point, as
# the values of the same moves in long searches of self-play have them (`workers/learning.py`).
(
    W_NOISE,
    W_TAKE_BASE,
    W_TAKE_STOCK,
    W_TAKE_COUNT,
    W_TAKE_COUNT_STOCK,
    W_TAKE_LOOSE,
    W_TAKE_REST,
    W_TAKE_POINTS,
    W_TAKE_LAY_OFF,
    W_TAKE_OUT,
    W_HOLD_MELDS,
    W_HOLD_LAY_OFFS,
    W_HOLD_HAND,
    W_POINTS,
    W_PAIR,
    W_PAIR_POINTS,
    W_PAIR_LIVE,
    W_NEXT_STOCK,
    W_IN_MELD,
    W_UNSEEN_SAME,
    W_PILE_SAME,
    W_PILE_NEXT,
    W_PILE_GAP,
    W_JOKER,
    W_ACE,
    W_LAY_OFF_POINTS,
    W_FEED_NEXT,
    W_FEED_NEXT_RUN,
    W_FEED_LAST,
    W_FEED_PARTNER,
    W_FEED_PARTNER_RUN,
) = range(31)
WEIGHT_COUNT = 31
WEIGHTS: dict[int, tuple[int, str]] = {
    W_NOISE: (0, "chance of a random draw or discard, in 1/256"),
    W_TAKE_BASE: (167, "a take must promise more than a card from the stock, ..."),
    W_TAKE_STOCK: (6, "... and more for each card that the stock still has"),
    W_TAKE_COUNT: (75, "worth of each card taken, ..."),
    W_TAKE_COUNT_STOCK: (-10, "... and a sixteenth of this more for each card in the stock"),
    W_TAKE_LOOSE: (-20, "worth of each card taken that cannot be tabled now"),
    W_TAKE_REST: (-2, "cost of each point taken that cannot be tabled now"),
    W_TAKE_POINTS: (13, "worth of each point of the card that must be tabled"),
    W_TAKE_LAY_OFF: (100, "worth of that card's being laid off, with no meld shown for it"),
    W_TAKE_OUT: (319, "worth of being able to table the whole hand"),
    W_HOLD_MELDS: (2, "melds are held back while more cards than this are in the stock, ..."),
    W_HOLD_LAY_OFFS: (2, "... lay-offs likewise, ..."),
    W_HOLD_HAND: (1, "... as long as both opponents hold more cards than this"),
    W_POINTS: (9, "a card to throw: cost of each of its points"),
    W_PAIR: (8, "cost for each other card of its rank in the hand, ..."),
    W_PAIR_POINTS: (3, "... more for each of its points, ..."),
    W_PAIR_LIVE: (14, "... and where there is one, more for each of the rank still unseen"),
    W_NEXT_STOCK: (-25, "a sixteenth of the cost for each neighbour in the hand and card in stock"),
    W_IN_MELD: (-56, "what a card of a meld in the hand costs less than its company says"),
    W_UNSEEN_SAME: (10, "cost for each card of its rank still unseen"),
    W_PILE_SAME: (85, "cost for each card of its rank that lies in the pile"),
    W_PILE_NEXT: (74, "cost for each neighbour that lies in the pile"),
    W_PILE_GAP: (45, "cost for each card two ranks away that lies in the pile"),
    W_JOKER: (-80, "what a joker costs less than its points say"),
    W_ACE: (-43, "what an ace costs less than its points say"),
    W_LAY_OFF_POINTS: (4, "cost of each point of a card that anybody could lay off"),
    W_FEED_NEXT: (55, "cost for each card of its rank that the next player is known to hold"),
    W_FEED_NEXT_RUN: (40, "cost for each neighbour that the next player is known to hold"),
    W_FEED_LAST: (60, "cost for each of both that the player after the partner is known to hold"),
    W_FEED_PARTNER: (-130, "gain for each card of its rank that the partner is known to hold"),
    W_FEED_PARTNER_RUN: (-67, "gain for each neighbour that the partner is known to hold"),
}
"""Value and meaning of each weight."""
DEFAULT_WEIGHTS = np.array([WEIGHTS[place][0] for place in range(WEIGHT_COUNT)], dtype=np.int64)


@search_kernel
def held_back(world, weights):
    """Return what waits in the hand, as bits: HOLD_MELDS, HOLD_LAY_OFFS.

    Cards on the table give others places to lay off, and away what is held; so they wait until the
    stock runs low, somebody is about to go out, or the whole hand can go.
    """
    seat = world.turn
    hold = HOLD_MELDS if world.stock_count > weights[W_HOLD_MELDS] else 0
    if world.stock_count > weights[W_HOLD_LAY_OFFS]:
        hold |= HOLD_LAY_OFFS
    if hold == 0:
        return 0
    left, right = world.hands[(seat + 1) & 3], world.hands[(seat + 3) & 3]
    if popcount(left) <= weights[W_HOLD_HAND] or popcount(right) <= weights[W_HOLD_HAND]:
        return 0
    held = world.hands[seat]
    if cards_to_table(held, world.table_sets, world.table_runs) == held:
        return 0
    return hold


@search_kernel
def choose_take(world, weights):
    """Return the place in the pile to take from, or -1 to draw from the stock (or pass)."""
    held = world.hands[world.turn]
    cards = held | pile_from(world, 0)
    hopeful = cards_to_table(cards, world.table_sets, world.table_runs)
    if hopeful & ~held == 0:
        return -1
    best = -1
    best_gain = weights[W_TAKE_BASE] + weights[W_TAKE_STOCK] * world.stock_count
    if world.stock_count == 0:
        best_gain = -1_000_000
    count_worth = weights[W_TAKE_COUNT] + ((weights[W_TAKE_COUNT_STOCK] * world.stock_count) >> 4)
    places = set_places(world.table_sets) | run_places(world.table_runs)
    cards = held
    for place in range(world.pile_count - 1, -1, -1):
        card = 1 << world.pile[place]
        cards |= card
        if card & hopeful == 0:
            continue
        tabled = cards_to_table(cards, world.table_sets, world.table_runs)
        if card & tabled == 0:
            continue
        loose = cards & ~held & ~tabled
        gain = count_worth * (world.pile_count - place) + weights[W_TAKE_POINTS] * points(card)
        gain += weights[W_TAKE_LOOSE] * popcount(loose) - weights[W_TAKE_REST] * points(loose)
        if card & places:
            gain += weights[W_TAKE_LAY_OFF]
        if tabled == cards:
            gain += weights[W_TAKE_OUT]
        if gain > best_gain:
            best, best_gain = place, gain
    return best


@search_kernel
def choose_discard(world, weights):
    """Return the card that is least worth keeping and least useful to the next player."""
    seat = world.turn
    held = world.hands[seat]
    pile = pile_from(world, 0)
    places = set_places(world.table_sets) | run_places(world.table_runs)
    unseen = ALL_CARDS & ~(held | pile | world.table_sets | world.table_runs)
    in_melds = cards_in_sets(held) | cards_in_runs(held)
    next_worth = (weights[W_NEXT_STOCK] * world.stock_count) >> 4
    next_known = world.known[(seat + 1) & 3]
    partner_known = world.known[(seat + 2) & 3]
    last_known = world.known[(seat + 3) & 3]
    best = -1
    best_cost = 1_000_000
    rest = held
    while rest:
        card = lowest_card(rest)
        bit = rest & -rest
        rest &= rest - 1
        rank = rank_of(card)
        same = RANK_MASKS[rank] & ~bit
        beside = higher(bit) | lower(bit)
        apart = higher(higher(bit)) | lower(lower(bit))
        worth = points(bit)
        pairs = popcount(held & same)
        unseen_same = popcount(unseen & same)
        cost = worth * (weights[W_POINTS] + weights[W_PAIR_POINTS] * pairs)
        cost += weights[W_PAIR] * pairs + weights[W_UNSEEN_SAME] * unseen_same
        cost += next_worth * popcount(held & beside)
        if bit & in_melds:
            cost += weights[W_IN_MELD]
        elif pairs == 1:
            cost += weights[W_PAIR_LIVE] * unseen_same
        cost += weights[W_PILE_SAME] * popcount(pile & same)
        cost += weights[W_PILE_NEXT] * popcount(pile & beside)
        cost += weights[W_PILE_GAP] * popcount(pile & apart)
        if rank >= ACE_RANK:
            cost += weights[W_JOKER] if rank == JOKER_RANK else weights[W_ACE]
        if bit & places:
            cost += weights[W_LAY_OFF_POINTS] * worth
        cost += weights[W_FEED_NEXT] * popcount(next_known & same)
        cost += weights[W_FEED_NEXT_RUN] * popcount(next_known & beside)
        cost += weights[W_FEED_LAST] * popcount(last_known & (same | beside))
        cost += weights[W_FEED_PARTNER] * popcount(partner_known & same)
        cost += weights[W_FEED_PARTNER_RUN] * popcount(partner_known & beside)
        if cost < best_cost:
            best, best_cost = card, cost
    return best


@search_kernel
def _random_card(held, rng):
    """Return a card of `held` by chance."""
    for _ in range(below(rng, popcount(held))):
        held &= held - 1
    return lowest_card(held)


@search_kernel
def thumb_take(world, weights, rng):
    """Return the place in the pile to take from, or -1 for the stock or a pass; by chance no take
    is looked for.
    """
    if world.stock_count == 0 or below(rng, 256) >= weights[W_NOISE]:
        return choose_take(world, weights)
    return -1


@search_kernel
def thumb_throw(world, weights, rng):
    """Return the card to discard; by chance any."""
    if below(rng, 256) < weights[W_NOISE]:
        return _random_card(world.hands[world.turn], rng)
    return choose_discard(world, weights)
