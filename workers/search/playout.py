"""The quick player inside the search: plays a world to the end of its deal with tuned rules of
thumb and some chance.

It looks at its own hand, the table, the pile and the counts only, as a person would, never at other
hands or the stock. It melds many cards in one step (`table_cards` takes any number of melds of one
kind), which is the same play as one after another.

Some moves are random: purely greedy playouts all err in the same way, and the search then believes
them."""

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import RANK_MASKS, higher, lower, rank_of
from service.rules.deal import (
    DRAW,
    NO_CARD,
    OVER,
    apply_discard,
    apply_draw_stock,
    apply_pass,
    apply_take_from,
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
from workers.search.moves import apply_move, chain_to_run, is_table_code, list_moves
from workers.search.rng import below

# Weights, by place in the array that a playout is given.
W_NOISE = 0
"""Chance of a random draw or discard, in 1/256."""
W_TAKE_BASE = 1
"""What an unknown card from the stock is worth, in 1/16 points: a take must promise more."""
W_TAKE_REST = 2
"""Cost of each point taken that cannot be tabled now, in 1/16."""
W_TAKE_COUNT = 3
"""Worth of each card taken, in 1/16 points."""
W_HOLD_STOCK = 4
"""New melds are held back while more cards than this are in the stock ..."""
W_HOLD_HAND = 5
"""... and each opponent holds more cards than this."""
W_KEEP_PAIR = 6
"""Keep a card for each other of its rank in the hand (discard score, any unit)."""
W_KEEP_NEXT = 7
"""Keep a card for each neighbour of its suit in the hand."""
W_KEEP_GAP = 8
"""Keep a card for each card two ranks away in the hand."""
W_KEEP_VALUE = 9
"""Keep a card for each of its points, in 1/16: high cards are worth more once melded."""
W_FEED_TABLE = 10
"""Keep a card that could be laid off at once by the next player."""
W_FEED_PILE = 11
"""Keep a card for each of its rank or neighbours that lies in the pile."""
WEIGHT_COUNT = 12

DEFAULT_WEIGHTS = np.array([26, 30, 2, 40, 10, 3, 30, 18, 2, 20, 60, 22], dtype=np.int64)


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
def is_held_back(world, weights):
    """Tell whether new melds wait in the hand: early, when nobody is about to go out."""
    seat = world.turn
    limit = weights[W_HOLD_HAND]
    if world.stock_count <= weights[W_HOLD_STOCK]:
        return False
    if (
        popcount(world.hands[(seat + 1) & 3]) <= limit
        or popcount(world.hands[(seat + 3) & 3]) <= limit
    ):
        return False
    held = world.hands[seat]
    return cards_to_table(held, world.table_sets, world.table_runs) != held


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
def next_tabling(world, may_meld):
    """Return what to table next: cards, SET or RUN (NO_MELD: nothing), and whether they are new
    melds or lay-offs.

    The cards are one or more melds, or lay-offs, of that kind.
    """
    if world.due != NO_CARD:
        return _due_tabling(world)
    held = world.hands[world.turn]
    sets = cards_in_sets(held)
    runs = cards_in_runs(held)
    if may_meld and sets | runs:
        if sets & runs:
            meld = _best_meld(sets, runs, 0)
            return (-meld, SET, True) if meld < 0 else (meld, RUN, True)
        return (sets, SET, True) if sets else (runs, RUN, True)
    loose = held if may_meld else held & ~(sets | runs)
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
        cards, kind, is_new = next_tabling(world, not is_held_back(world, weights))
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
    cards = held
    for place in range(world.pile_count):
        cards |= 1 << world.pile[place]
    hopeful = cards_to_table(cards, world.table_sets, world.table_runs)
    if hopeful & ~held == 0:
        return -1
    worth_now = points(cards_to_table(held, world.table_sets, world.table_runs))
    best = -1
    best_gain = weights[W_TAKE_BASE] if world.stock_count > 0 else -1_000_000
    cards = held
    taken = 0
    for place in range(world.pile_count - 1, -1, -1):
        card = 1 << world.pile[place]
        cards |= card
        taken += 1
        if card & hopeful == 0:
            continue
        tabled = cards_to_table(cards, world.table_sets, world.table_runs)
        if card & tabled == 0:
            continue
        gain = 16 * (points(tabled) - worth_now) + weights[W_TAKE_COUNT] * taken
        gain -= weights[W_TAKE_REST] * points(cards & ~held & ~tabled)
        if gain > best_gain:
            best, best_gain = place, gain
    return best


@search_kernel
def choose_discard(world, weights):
    """Return the card that is least worth keeping and least useful to the next player."""
    held = world.hands[world.turn]
    pile = 0
    for place in range(world.pile_count):
        pile |= 1 << world.pile[place]
    places = set_places(world.table_sets) | run_places(world.table_runs)
    best = -1
    best_score = 1_000_000
    rest = held
    while rest:
        card = lowest_card(rest)
        bit = rest & -rest
        rest &= rest - 1
        same = RANK_MASKS[rank_of(card)]
        beside = higher(bit) | lower(bit)
        apart = higher(higher(bit)) | lower(lower(bit))
        score = weights[W_KEEP_PAIR] * popcount(held & same)
        score += weights[W_KEEP_NEXT] * popcount(held & beside)
        score += weights[W_KEEP_GAP] * popcount(held & apart)
        score += (weights[W_KEEP_VALUE] * points(bit)) >> 4
        score += weights[W_FEED_PILE] * popcount(pile & (same | beside))
        if bit & places:
            score += weights[W_FEED_TABLE]
        if score < best_score:
            best, best_score = card, score
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
    cards, kind, is_new = next_tabling(world, not is_held_back(world, weights))
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
def play_out_randomly(world, moves, rng):
    """Play to the end of the deal by random listed moves; table moves come first half of the time,
    or deals would never end in a meld.
    """
    while world.phase != OVER:
        count = list_moves(world, moves)
        first_table = count
        for i in range(count - 1, -1, -1):
            if is_table_code(moves[i]):
                first_table = i
        if first_table < count and below(rng, 2) == 0:
            apply_move(world, moves[first_table + below(rng, count - first_table)])
        else:
            apply_move(world, moves[below(rng, count)])
