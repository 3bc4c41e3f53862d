"""Choices learnt from self-play: what a quick player draws, holds back and throws.

A choice rates each of its candidates, adds chance and takes the best. A rating is a sum: entries of
small tables, one for each group of facts that belong together (how many of a card's rank are in the
hand, and how many unseen), and counts, each times a weight. All of them hang on the state: the
tables on how much stock is left, the weights of the counts on the hands too. So a candidate costs
some lookups and multiplications. A small net with a hidden layer, tried first, is somewhat stronger
by itself, not shown to be so in the tree, and takes four times as long (figures in README.md).

All is in whole numbers, so interpreted and compiled runs agree on every machine; LOGIT is one unit
of log-odds. The chance added is Gumbel's: each candidate is then as likely as the exponential of
its rating says. It was learnt like that, from deals of players who all chose so
(`workers/policy_learning.py`).

The player sees his hand, the table, the pile, the counts and the cards that others are known to
hold, never the rest of their hands or the stock."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import (
    ALL_CARDS,
    CARD_COUNT,
    RANK_MASKS,
    higher,
    lower,
    rank_of,
)
from service.rules.deal import pile_from
from service.rules.melds import (
    cards_in_runs,
    cards_in_sets,
    cards_to_lay_off,
    cards_to_table,
    run_places,
    set_places,
)
from service.rules.score import points
from workers.search._compile import search_kernel
from workers.search.hands import cards_beside, completing_cards, paired_cards, same_rank
from workers.search.rng import below

POLICY_FILE = Path(__file__).with_suffix(".npz")
LOGIT = 1024
"""One unit of log-odds."""
HOLD_MELDS, HOLD_LAY_OFFS = 1, 2
"""Bits of what is held back."""
DRAW_CHOICE, HOLD_CHOICE, THROW_CHOICE = range(3)
CHOICE_NAMES = ("draw", "hold", "throw")
WEIGHT_NAMES = tuple(f"{name}_{part}" for name in CHOICE_NAMES for part in ("tables", "counts"))
"""The arrays of weights, in the order of `Policy`."""
STOCK_STEPS = 9
STATE_STEPS = STOCK_STEPS + 8 + 4 + 4
"""Rows of weights: by the stock, the own hand (empty counts as one card), the smaller of the two
opponents' hands, and the partner's."""
THROW_SIZES = (5 * 4 * 4, 3 * 3 * 3 * 3, 2 * 4 * 3 * 3, 64, 9, 9, 9)
"""Entries of the tables of a throw, one after the other: kind, rank in hand and unseen; neighbours
and cards two ranks away in hand and unseen; whether it can be laid off, and what of it lies in the
pile; meld, top of the pile, whether it could be taken back, whether it is known; what the next, the
last and the partner are known to hold of it."""
THROW_STARTS = tuple(sum(THROW_SIZES[:table]) for table in range(len(THROW_SIZES)))
_T1, _T2, _T3, _T4, _T5, _T6 = THROW_STARTS[1:]
ENTRY_COUNTS = (61, 4, sum(THROW_SIZES))
"""Entries of the tables of each choice."""
COUNT_COUNTS = (22, 16, 16)
"""Counts of each choice."""
_DRAW_COUNTS, _HOLD_COUNTS, _THROW_COUNTS = COUNT_COUNTS
_DRAW_TABLES, _HOLD_TABLES, _THROW_TABLES = 1, 1, len(THROW_SIZES)
TABLE_COUNTS = (_DRAW_TABLES, _HOLD_TABLES, _THROW_TABLES)
_FROM_STOCK = 60
MOST_CANDIDATES = 16
"""Candidates that are kept to learn from; more are rated, in the last one's place."""
_BITS = [1 << card for card in range(CARD_COUNT)]
_SAME = np.array([RANK_MASKS[rank_of(bit.bit_length() - 1)] & ~bit for bit in _BITS])
_BESIDE = np.array([higher(bit) | lower(bit) for bit in _BITS])
_APART = np.array([higher(higher(bit)) | lower(lower(bit)) for bit in _BITS])
_WORTH = np.array([points(bit) for bit in _BITS])
_KIND = np.searchsorted([6, 10, 15, 20], _WORTH, side="right")
"""By card: the others of its rank, those one and two ranks away, its points, and its kind: low,
middling, ten points, ace, joker."""
CHANCES = np.round(-LOGIT * np.log(-np.log((np.arange(4096) + 0.5) / 4096))).astype(np.int64)
"""Gumbel's distribution, LOGIT wide, in steps equally likely."""


class Policy(NamedTuple):
    """The weights of the three choices, and room; all arrays int64.

    Tables have the shape (STOCK_STEPS, ENTRY_COUNTS[choice]), weights of counts (STATE_STEPS,
    COUNT_COUNTS[choice]). What was rated last stands in the room, by choice and candidate, with
    how many there were and which was taken: what is learnt from."""

    heat: int
    """Factor of the chance added: 1 as learnt, 0 none."""
    draw_tables: np.ndarray
    draw_counts: np.ndarray
    hold_tables: np.ndarray
    hold_counts: np.ndarray
    throw_tables: np.ndarray
    throw_counts: np.ndarray
    steps: np.ndarray
    """Shape (4,): the rows of weights for the state."""
    mixed: np.ndarray
    """The weights of the counts in this state: shape (max(COUNT_COUNTS),)."""
    entries: np.ndarray
    """Places in the tables, a row a candidate, by choice: shape (3 MOST_CANDIDATES,
    max(TABLE_COUNTS))."""
    counts: np.ndarray
    """Likewise, shape (3 MOST_CANDIDATES, max(COUNT_COUNTS))."""
    listed: np.ndarray
    """Shape (3,): how many candidates."""
    taken: np.ndarray
    """Shape (3,): which one was taken."""


@search_kernel
def _small(count):
    """Return the step of a hand of others: to one card, two, to four, more."""
    if count <= 2:
        return 0 if count <= 1 else 1
    return 2 if count <= 4 else 3


@search_kernel
def write_steps(world, steps):
    """Write the rows of weights for the state into `steps` (4,)."""
    seat = world.turn
    stock = world.stock_count
    held = popcount(world.hands[seat])
    left, right = popcount(world.hands[(seat + 1) & 3]), popcount(world.hands[(seat + 3) & 3])
    if stock < 5:
        steps[0] = (stock + 1) // 2
    else:
        steps[0] = min(3 + (stock - 5) // 4, STOCK_STEPS - 1)
    steps[1] = STOCK_STEPS + max(1, min(held, 8)) - 1
    steps[2] = STOCK_STEPS + 8 + _small(min(left, right))
    steps[3] = STOCK_STEPS + 12 + _small(popcount(world.hands[(seat + 2) & 3]))


@search_kernel
def mix(weights, steps, mixed):
    """Write the weights of counts for the state into `mixed`."""
    for place in range(weights.shape[1]):
        mixed[place] = (
            weights[steps[0], place]
            + weights[steps[1], place]
            + weights[steps[2], place]
            + weights[steps[3], place]
        )


@search_kernel
def rating_of(entries, counts, at, table, mixed, tables, used):
    """Return the rating of the candidate in row `at`: its entries of `table`, the tables for this
    stock, and its counts, each with its weight in `mixed`.
    """
    rating = 0
    for place in range(used):
        rating += counts[at, place] * mixed[place]
    for place in range(tables):
        rating += table[entries[at, place]]
    return rating


@search_kernel
def _rating(entries, counts, at, table, mixed, tables, used, heat, rng):
    """Return the rating of a candidate, its chance added."""
    rating = rating_of(entries, counts, at, table, mixed, tables, used)
    if heat:
        rating += heat * CHANCES[below(rng, len(CHANCES))]
    return rating


@search_kernel
def _write_stock(loose, unseen, entries, counts, at):
    """Write what speaks for a card from the stock."""
    for place in range(_DRAW_COUNTS):
        counts[at, place] = 0
    entries[at, 0] = _FROM_STOCK
    counts[at, 19] = popcount(loose)
    counts[at, 20] = points(loose)
    counts[at, 21] = popcount(completing_cards(loose) & unseen)


@search_kernel
def _write_take(card, cards, tabled, held, pile, unseen, before, places, entries, counts, at):
    """Write what speaks for taking from `card` of the pile on: the hand is `cards` then, and
    `tabled` those of them that could be tabled; `before` are those that could be without, `places`
    what can be laid off.
    """
    taken = cards & ~held
    gained = tabled & ~before
    loose = cards & ~tabled
    left_lying = pile & ~taken
    count = popcount(taken)
    is_laid_off = 1 if card & places else 0
    entries[at, 0] = ((min(count, 6) - 1) * 2 + is_laid_off) * 5 + min(popcount(loose), 4)
    wanted = completing_cards(loose)
    counts[at, 0] = count
    counts[at, 1] = popcount(taken & loose)
    counts[at, 2] = points(taken & loose)
    counts[at, 3] = points(gained)
    counts[at, 4] = points(card)
    counts[at, 5] = is_laid_off
    counts[at, 6] = popcount(loose)
    counts[at, 7] = points(loose)
    counts[at, 8] = popcount(left_lying)
    counts[at, 9] = points(left_lying)
    counts[at, 10] = popcount(wanted & unseen)
    counts[at, 11] = popcount(held & loose)
    counts[at, 12] = popcount(gained & held)
    counts[at, 13] = points(gained & held)
    counts[at, 14] = 1 if count == 1 else 0
    counts[at, 15] = 1 if is_laid_off == 0 and popcount(tabled) <= popcount(before) + 3 else 0
    counts[at, 16] = popcount(completing_cards(taken & loose) & held)
    counts[at, 17] = popcount(wanted & left_lying)
    counts[at, 18] = popcount(gained)
    counts[at, 19] = 0
    counts[at, 20] = 0
    counts[at, 21] = 0


@search_kernel
def _write_hold(hold, tabled, held, pile, unseen, melds, places, entries, counts, at):
    """Write what speaks for tabling `tabled` and holding back the rest."""
    rest = held & ~tabled
    loose = rest & ~melds & ~places
    opened = (cards_beside(tabled) | same_rank(tabled)) & ~tabled & ~places
    count = popcount(rest)
    entries[at, 0] = hold
    counts[at, 0] = popcount(tabled)
    counts[at, 1] = points(tabled)
    counts[at, 2] = count
    counts[at, 3] = points(rest)
    counts[at, 4] = 1 if count == 1 else 0
    counts[at, 5] = 1 if count == 2 else 0
    counts[at, 6] = 1 if count == 3 else 0
    counts[at, 7] = popcount(opened & unseen)
    counts[at, 8] = popcount(opened & rest)
    counts[at, 9] = popcount(opened & pile)
    counts[at, 10] = popcount(rest & melds)
    counts[at, 11] = points(rest & melds)
    counts[at, 12] = popcount(rest & places)
    counts[at, 13] = popcount(loose)
    counts[at, 14] = points(loose)
    counts[at, 15] = 1 if tabled == 0 else 0


@search_kernel
def _company(known, same, beside):
    """Return the place in a table for what a player is known to hold of a rank and beside a
    card.
    """
    return min(popcount(known & same), 2) * 3 + popcount(known & beside)


@search_kernel
def _write_throw(
    world,
    card,
    held,
    pile,
    unseen,
    melds,
    places,
    tabled,
    again,
    top,
    loose_points,
    entries,
    counts,
    at,
):
    """Write what speaks for throwing `card`; `tabled` are the cards of the hand that could be
    tabled, `again` those that could be with the pile as well, `top` is the pile's top card and
    `loose_points` what the cards of the hand are worth that cannot be tabled.
    """
    seat = world.turn
    bit = 1 << card
    same, beside, apart, worth = _SAME[card], _BESIDE[card], _APART[card], _WORTH[card]
    entries[at, 0] = _KIND[card] * 16 + popcount(held & same) * 4 + popcount(unseen & same)
    place = popcount(held & beside) * 3 + popcount(held & apart)
    entries[at, 1] = _T1 + (place * 3 + popcount(unseen & beside)) * 3 + popcount(unseen & apart)
    place = (places >> card & 1) * 4 + popcount(pile & same)
    entries[at, 2] = _T2 + (place * 3 + popcount(pile & beside)) * 3 + popcount(pile & apart)
    place = (melds >> card & 1) + 2 * popcount(top & same) + 4 * popcount(top & beside)
    place += 8 * popcount(top & apart) + 16 * (again >> card & 1)
    entries[at, 3] = _T3 + place + 32 * (world.known[seat] >> card & 1)
    entries[at, 4] = _T4 + _company(world.known[(seat + 1) & 3], same, beside)
    entries[at, 5] = _T5 + _company(world.known[(seat + 3) & 3], same, beside)
    entries[at, 6] = _T6 + _company(world.known[(seat + 2) & 3], same, beside)
    rest = held & ~bit
    loose = rest & ~tabled
    loose_points -= worth
    if bit & tabled:
        loose = rest & ~cards_to_table(rest, world.table_sets, world.table_runs)
        loose_points = points(loose)
    wanted = completing_cards(loose)
    paired = paired_cards(loose)
    up, down = higher(loose), lower(loose)
    next_to = loose & (up | down)
    gapped = loose & (higher(up) | lower(down))
    lone = loose & ~(paired | next_to | gapped)
    count = popcount(loose)
    counts[at, 0] = worth
    counts[at, 1] = popcount(wanted & unseen)
    counts[at, 2] = popcount(wanted & pile)
    counts[at, 3] = count
    counts[at, 4] = loose_points
    counts[at, 5] = 1 if count == 0 else 0
    counts[at, 6] = 1 if count == 1 else 0
    counts[at, 7] = popcount(paired)
    counts[at, 8] = popcount(next_to)
    counts[at, 9] = popcount(gapped)
    counts[at, 10] = popcount(lone)
    counts[at, 11] = points(lone)
    counts[at, 12] = worth * (again >> card & 1)
    counts[at, 13] = popcount(cards_beside(lone) & unseen)
    counts[at, 14] = points(wanted & unseen)
    counts[at, 15] = wanted >> card & 1


@search_kernel
def _open_cards(world, held, pile):
    """Return the cards neither in the own hand nor in the pile nor on the table, and those that can
    be laid off.
    """
    places = set_places(world.table_sets) | run_places(world.table_runs)
    return ALL_CARDS & ~(held | pile | world.table_sets | world.table_runs), places


@search_kernel
def learnt_take(world, policy, rng):
    """Return the place in the pile to take from, or -1 for a card from the stock."""
    held = world.hands[world.turn]
    pile = pile_from(world, 0)
    mixed, heat = policy.mixed, policy.heat
    hopeful = cards_to_table(held | pile, world.table_sets, world.table_runs)
    if hopeful & ~held == 0:
        return -1
    unseen, places = _open_cards(world, held, pile)
    before = cards_to_table(held, world.table_sets, world.table_runs)
    write_steps(world, policy.steps)
    mix(policy.draw_counts, policy.steps, mixed)
    table = policy.draw_tables[policy.steps[0]]
    best = -1
    best_rating = 0
    listed = 0
    cards = held
    for place in range(world.pile_count - 1, -1, -1):
        card = 1 << world.pile[place]
        cards |= card
        if card & hopeful == 0:
            continue
        tabled = cards_to_table(cards, world.table_sets, world.table_runs)
        if card & tabled == 0:
            continue
        if listed == 0:
            at = DRAW_CHOICE * MOST_CANDIDATES
            _write_stock(held & ~before, unseen, policy.entries, policy.counts, at)
            best_rating = _rating(
                policy.entries,
                policy.counts,
                at,
                table,
                mixed,
                _DRAW_TABLES,
                _DRAW_COUNTS,
                heat,
                rng,
            )
            listed = 1
            policy.taken[DRAW_CHOICE] = 0
        row = min(listed, MOST_CANDIDATES - 1)
        at = DRAW_CHOICE * MOST_CANDIDATES + row
        _write_take(
            card,
            cards,
            tabled,
            held,
            pile,
            unseen,
            before,
            places,
            policy.entries,
            policy.counts,
            at,
        )
        rating = _rating(
            policy.entries, policy.counts, at, table, mixed, _DRAW_TABLES, _DRAW_COUNTS, heat, rng
        )
        if rating > best_rating:
            best, best_rating = place, rating
            policy.taken[DRAW_CHOICE] = listed
        listed += 1
    policy.listed[DRAW_CHOICE] = listed
    return best


@search_kernel
def _tabled_with(world, held, melds, hold):
    """Return the cards of the hand that go to the table when `hold` waits."""
    if hold == 0:
        return cards_to_table(held, world.table_sets, world.table_runs)
    if hold == HOLD_MELDS:
        return cards_to_lay_off(held & ~melds, world.table_sets, world.table_runs)
    return melds if hold == HOLD_LAY_OFFS else 0


@search_kernel
def learnt_hold(world, policy, rng):
    """Return what waits in the hand, as bits: HOLD_MELDS, HOLD_LAY_OFFS."""
    held = world.hands[world.turn]
    everything = cards_to_table(held, world.table_sets, world.table_runs)
    if everything == 0 or everything == held:
        return 0
    pile = pile_from(world, 0)
    mixed, heat = policy.mixed, policy.heat
    unseen, places = _open_cards(world, held, pile)
    melds = cards_in_sets(held) | cards_in_runs(held)
    write_steps(world, policy.steps)
    mix(policy.hold_counts, policy.steps, mixed)
    table = policy.hold_tables[policy.steps[0]]
    best = 0
    best_rating = 0
    listed = 0
    for hold in range(4):
        tabled = _tabled_with(world, held, melds, hold)
        if hold in (HOLD_MELDS, HOLD_LAY_OFFS) and (tabled in (0, everything)):
            continue
        at = HOLD_CHOICE * MOST_CANDIDATES + listed
        _write_hold(
            hold, tabled, held, pile, unseen, melds, places, policy.entries, policy.counts, at
        )
        rating = _rating(
            policy.entries, policy.counts, at, table, mixed, _HOLD_TABLES, _HOLD_COUNTS, heat, rng
        )
        if listed == 0 or rating > best_rating:
            best, best_rating = hold, rating
            policy.taken[HOLD_CHOICE] = listed
        listed += 1
    policy.listed[HOLD_CHOICE] = listed
    return best


@search_kernel
def learnt_throw(world, policy, rng):
    """Return the card to discard."""
    held = world.hands[world.turn]
    if held & (held - 1) == 0:
        return lowest_card(held)
    pile = pile_from(world, 0)
    mixed, heat = policy.mixed, policy.heat
    unseen, places = _open_cards(world, held, pile)
    melds = cards_in_sets(held) | cards_in_runs(held)
    tabled = cards_to_table(held, world.table_sets, world.table_runs)
    again = cards_to_table(held | pile, world.table_sets, world.table_runs)
    top = 1 << world.pile[world.pile_count - 1] if world.pile_count > 0 else 0
    loose_points = points(held & ~tabled)
    write_steps(world, policy.steps)
    mix(policy.throw_counts, policy.steps, mixed)
    table = policy.throw_tables[policy.steps[0]]
    best = 0
    best_rating = 0
    listed = 0
    rest = held
    while rest:
        card = lowest_card(rest)
        rest &= rest - 1
        row = min(listed, MOST_CANDIDATES - 1)
        at = THROW_CHOICE * MOST_CANDIDATES + row
        _write_throw(
            world,
            card,
            held,
            pile,
            unseen,
            melds,
            places,
            tabled,
            again,
            top,
            loose_points,
            policy.entries,
            policy.counts,
            at,
        )
        rating = _rating(
            policy.entries, policy.counts, at, table, mixed, _THROW_TABLES, _THROW_COUNTS, heat, rng
        )
        if listed == 0 or rating > best_rating:
            best, best_rating = card, rating
            policy.taken[THROW_CHOICE] = listed
        listed += 1
    policy.listed[THROW_CHOICE] = listed
    return best


@cache
def _weights(path: Path) -> tuple[np.ndarray, ...]:
    with np.load(path) as file:
        return tuple(file[name].astype(np.int64) for name in WEIGHT_NAMES)


def with_room(heat: int, weights: tuple[np.ndarray, ...]) -> Policy:
    """Return a policy of such weights, in the order of `Policy`, with room of its own."""
    most = max(COUNT_COUNTS)
    room = (
        np.zeros(4, np.int64),
        np.zeros(most, np.int64),
        np.zeros((3 * MOST_CANDIDATES, max(TABLE_COUNTS)), np.int64),
        np.zeros((3 * MOST_CANDIDATES, most), np.int64),
        np.zeros(3, np.int64),
        np.zeros(3, np.int64),
    )
    return Policy._make((heat, *weights, *room))


def load_policy(heat: int = 1, path: Path = POLICY_FILE) -> Policy:
    """Return the policy of a file, that of the package by default."""
    return with_room(heat, _weights(path))
