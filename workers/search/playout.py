"""The quick player inside the search: plays a world on, or to the end of its deal, with tuned rules
of thumb and some chance.

It looks at its own hand, the table, the pile, the counts and the cards that others are known to
hold, as a person would, never at what else is in their hands or at the stock. It melds many cards
in one step (`table_cards` takes any number of melds of one kind), which is the same play as one
after another.

Some moves are random: purely greedy playouts all err in the same way, and the search then believes
them."""

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import ACE_RANK, ALL_CARDS, JOKER_RANK, RANK_MASKS, higher, lower, rank_of
from service.rules.deal import (
    DRAW,
    NO_CARD,
    OVER,
    apply_discard,
    apply_draw_stock,
    apply_pass,
    apply_take_from,
    pile_from,
    table_cards,
)
from service.rules.melds import (
    NO_MELD,
    RUN,
    SET,
    cards_in_runs,
    cards_in_sets,
    cards_to_lay_off,
    cards_to_table,
    run_places,
    set_places,
)
from service.rules.score import points
from workers.search._compile import search_kernel
from workers.search.moves import chain_to_run
from workers.search.rng import below

# Weights, by place in the array that a playout is given. Scores are in sixteenths of a point, as
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
    W_NOISE: (26, "chance of a random draw or discard, in 1/256"),
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
HOLD_MELDS, HOLD_LAY_OFFS = 1, 2
"""Bits of what is held back."""
LAST_STOCK = 3
"""With so few cards of stock the end is near: playing on to it costs little, and it hangs on who
can still go out before the stock is gone, which the learnt value knows least."""


@search_kernel
def _table_sets(world, cards):
    """Table every set in `cards`, a union of whole sets; those of four count double."""
    while cards:
        same = cards & RANK_MASKS[rank_of(lowest_card(cards))]
        cards &= ~same
        table_cards(world, same, SET, popcount(same) == 4)


@search_kernel
def _best_meld(sets, runs, needed):
    """Return the single meld of most points among whole ranks of `sets` and whole stretches of
    `runs` that contains `needed`, negative for a set.
    """
    best = 0
    best_points = -1
    is_best_set = False
    while sets:
        same = sets & RANK_MASKS[rank_of(lowest_card(sets))]
        sets &= ~same
        worth = points(same)
        if popcount(same) == 4:
            worth *= 2
        if needed & ~same == 0 and worth > best_points:
            best, best_points, is_best_set = same, worth, True
    while runs:
        stretch = runs & -runs
        while higher(stretch) & runs & ~stretch:
            stretch |= higher(stretch) & runs
        runs &= ~stretch
        worth = points(stretch)
        if needed & ~stretch == 0 and worth > best_points:
            best, best_points, is_best_set = stretch, worth, False
    return -best if is_best_set else best


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
def _due_tabling(world):
    """Return the way of most points to table the card of R11: a meld or a lay-off."""
    held = world.hands[world.turn]
    due = 1 << world.due
    meld = _best_meld(cards_in_sets(held), cards_in_runs(held), due)
    if meld < 0:
        return -meld, SET, True
    if meld > 0:
        return meld, RUN, True
    if set_places(world.table_sets) & due:
        return due, SET, False
    return chain_to_run(world.due, held, world.table_runs), RUN, False


@search_kernel
def next_tabling(world, hold):
    """Return what to table next: cards, SET or RUN (NO_MELD: nothing), and whether they are new
    melds or lay-offs.

    The cards are one or more melds, or lay-offs, of that kind.
    """
    if world.due != NO_CARD:
        return _due_tabling(world)
    held = world.hands[world.turn]
    sets = cards_in_sets(held)
    runs = cards_in_runs(held)
    if hold & HOLD_MELDS == 0 and sets | runs:
        if sets & runs:
            meld = _best_meld(sets, runs, 0)
            return (-meld, SET, True) if meld < 0 else (meld, RUN, True)
        return (sets, SET, True) if sets else (runs, RUN, True)
    if hold & HOLD_LAY_OFFS:
        return 0, NO_MELD, False
    loose = held & ~(sets | runs)
    on_sets = set_places(world.table_sets) & loose
    if on_sets:
        return on_sets, SET, False
    on_runs = cards_to_lay_off(loose, 0, world.table_runs)
    if on_runs:
        return on_runs, RUN, False
    return 0, NO_MELD, False


@search_kernel
def table_greedily(world, weights):
    """Meld and lay off all that can be, the card of R11 first; new melds may be held back."""
    while world.phase != OVER:
        cards, kind, is_new = next_tabling(world, held_back(world, weights))
        if kind == NO_MELD:
            return
        if kind == SET and is_new:
            _table_sets(world, cards)
        else:
            table_cards(world, cards, kind, False)


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


STEP_DRAW, STEP_PASS, STEP_TAKE, STEP_SETS, STEP_RUNS, STEP_ON_SETS, STEP_ON_RUNS, STEP_DISCARD = (
    range(8)
)
"""What `choose_step` returns beside the cards."""


@search_kernel
def choose_draw_place(world, weights, rng):
    """Return the place in the pile to take from, or -1 for the stock or a pass; by chance no take
    is looked for.
    """
    if world.stock_count == 0 or below(rng, 256) >= weights[W_NOISE]:
        return choose_take(world, weights)
    return -1


@search_kernel
def choose_throw(world, weights, rng):
    """Return the card to discard; by chance any."""
    if below(rng, 256) < weights[W_NOISE]:
        return _random_card(world.hands[world.turn], rng)
    return choose_discard(world, weights)


@search_kernel
def choose_step(world, weights, rng):
    """Return the next step of a turn for a player who goes one action at a time: a STEP and its
    cards.
    """
    if world.phase == DRAW:
        place = choose_draw_place(world, weights, rng)
        if place >= 0:
            return STEP_TAKE, 1 << world.pile[place]
        return (STEP_DRAW if world.stock_count > 0 else STEP_PASS), 0
    cards, kind, is_new = next_tabling(world, held_back(world, weights))
    if kind == NO_MELD:
        return STEP_DISCARD, 1 << choose_throw(world, weights, rng)
    if is_new:
        return (STEP_SETS if kind == SET else STEP_RUNS), cards
    return (STEP_ON_SETS if kind == SET else STEP_ON_RUNS), cards


@search_kernel
def play_turn(world, weights, rng):
    """Play the rest of the turn of the seat to move: the steps of `choose_step`, many melds at
    once.
    """
    if world.phase == DRAW:
        place = choose_draw_place(world, weights, rng)
        if place >= 0:
            apply_take_from(world, place)
        elif world.stock_count > 0:
            apply_draw_stock(world)
        else:
            apply_pass(world)
            return
    table_greedily(world, weights)
    if world.phase != OVER:
        apply_discard(world, choose_throw(world, weights, rng))


@search_kernel
def play_out(world, weights, rng):
    """Play to the end of the deal, all four seats by these rules of thumb."""
    while world.phase != OVER:
        play_turn(world, weights, rng)


@search_kernel
def goes_on(world, turns):
    """Tell whether a playout that is to have `turns` more turns has another one: the end of the
    deal ends it, and with LAST_STOCK cards of stock or fewer nothing else does.
    """
    return world.phase != OVER and (turns > 0 or world.stock_count <= LAST_STOCK)


@search_kernel
def play_turns(world, turns, weights, rng):
    """Play the turn in hand to its end, and then as many as `turns` (`goes_on`)."""
    if world.phase != DRAW and world.phase != OVER:
        play_turn(world, weights, rng)
    while goes_on(world, turns):
        play_turn(world, weights, rng)
        turns -= 1
