"""The moves that the search considers, as small ints (codes), and the way from a code to an action.

A code names one micro-action. Two things keep the list short without losing any outcome: runs are
melded three cards at a time and lengthened by lay-offs of one card (the same points and the same
table, since runs never double); and of melds and lay-offs that could change places only one order
is listed (`is_reordered`). A card that is due (R11) may be laid off together with the cards between
it and the run, in one action.

| codes | move |
|---|---|
| 0, 1 | draw from the stock; pass |
| 2 + card | take from the discard pile |
| 58 + card | discard |
| 114 + card | lay off on the set of its rank |
| 170 + card | lay off on a run, with the cards of the hand between the two |
| 226 + 5 rank + v | meld the set without its suit v, or all four with v = 4 |
| 296 + 11 suit + low | meld the run of three from rank `low` |
"""

from service.rules import deal as rules
from service.rules._jit import lowest_card, popcount
from service.rules.cards import (
    CARD_COUNT,
    RANK_MASKS,
    SUIT_SIZE,
    higher,
    lower,
    rank_of,
)
from service.rules.deal import (
    DRAW,
    MELD,
    NO_CARD,
    Action,
    apply_discard,
    apply_draw_stock,
    apply_pass,
    apply_take_from,
    find_in_pile,
    table_cards,
)
from service.rules.melds import (
    RUN,
    SET,
    cards_in_sets,
    cards_to_lay_off,
    cards_to_table,
    is_meld_of_kind,
    run_places,
    set_places,
)
from service.rules.view import SeatView
from tests.frozen.ismcts_1._compile import search_kernel

DRAW_STOCK = 0
PASS = 1
TAKE = 2
DISCARD = TAKE + CARD_COUNT
LAY_ON_SET = DISCARD + CARD_COUNT
LAY_ON_RUN = LAY_ON_SET + CARD_COUNT
MELD_SET = LAY_ON_RUN + CARD_COUNT
SET_FORMS = 5
RUN_STARTS = SUIT_SIZE - 2
MELD_RUN = MELD_SET + SET_FORMS * 14
CODE_COUNT = MELD_RUN + 4 * RUN_STARTS
MAX_MOVES = 256
"""More than any list: 27 takes or 55 discards, 70 sets, 44 runs, 110 lay-offs cannot all be there
at once.
"""
THREE = 0b111


@search_kernel
def is_table_code(code):
    """Tell whether the move puts cards on the table."""
    return code >= LAY_ON_SET


@search_kernel
def is_reordered(code, previous):
    """Tell whether `code`, legal before the table move `previous` and after it, belongs in front of
    it.

    Such a pair leads to the same state both ways; only the order of ascending codes is searched.
    """
    return is_table_code(code) and is_table_code(previous) and code < previous


@search_kernel
def _add_set_codes(held, needed, out, count):
    ranks = cards_in_sets(held)
    while ranks:
        rank = rank_of(lowest_card(ranks))
        same = held & RANK_MASKS[rank]
        ranks &= ~same
        first = 52 if rank == 13 else rank
        step = 1 if rank == 13 else SUIT_SIZE
        for form in range(SET_FORMS):
            cards = RANK_MASKS[rank]
            if form < 4:
                cards &= ~(1 << (first + form * step))
            if cards & ~same == 0 and needed & ~cards == 0:
                out[count] = MELD_SET + SET_FORMS * rank + form
                count += 1
    return count


@search_kernel
def _add_run_codes(held, needed, out, count):
    middles = held & higher(held) & lower(held)
    starts = lower(middles)
    while starts:
        start = lowest_card(starts)
        starts &= starts - 1
        if needed & ~(THREE << start) == 0:
            out[count] = MELD_RUN + start // SUIT_SIZE * RUN_STARTS + start % SUIT_SIZE
            count += 1
    return count


@search_kernel
def _add_cards(base, cards, out, count):
    while cards:
        out[count] = base + lowest_card(cards)
        count += 1
        cards &= cards - 1
    return count


@search_kernel
def list_moves(world, out):
    """Write the codes of the seat to move into `out` (int64, MAX_MOVES long) and return how many; 0
    when the deal is over.
    """
    held = world.hands[world.turn]
    count = 0
    if world.phase == DRAW:
        return _list_draws(world, held, out)
    if world.phase != MELD:
        return 0
    needed = 0
    if world.due != NO_CARD:
        needed = 1 << world.due
        count = _add_cards(LAY_ON_SET, set_places(world.table_sets) & needed, out, count)
        reached = cards_to_lay_off(held, 0, world.table_runs)
        count = _add_cards(LAY_ON_RUN, reached & needed, out, count)
    else:
        count = _add_cards(DISCARD, held, out, count)
        count = _add_cards(LAY_ON_SET, set_places(world.table_sets) & held, out, count)
        count = _add_cards(LAY_ON_RUN, run_places(world.table_runs) & held, out, count)
    count = _add_set_codes(held, needed, out, count)
    return _add_run_codes(held, needed, out, count)


@search_kernel
def _list_draws(world, held, out):
    count = 0
    if world.stock_count > 0:
        out[0] = DRAW_STOCK
        count = 1
    else:
        out[0] = PASS
        count = 1
    cards = held
    for place in range(world.pile_count - 1, -1, -1):
        cards |= 1 << world.pile[place]
    hopeful = cards_to_table(cards, world.table_sets, world.table_runs)
    cards = held
    for place in range(world.pile_count - 1, -1, -1):
        card = 1 << world.pile[place]
        cards |= card
        if card & hopeful and card & cards_to_table(cards, world.table_sets, world.table_runs):
            out[count] = TAKE + world.pile[place]
            count += 1
    return count


@search_kernel
def chain_to_run(card, held, table_runs):
    """Return the cards of `held` from `card` to the nearest run that it can join, both ways tried,
    the shorter first (R17).
    """
    bit = 1 << card
    down = bit
    up = bit
    low = bit
    high = bit
    for _ in range(SUIT_SIZE):
        low = lower(low)
        high = higher(high)
        if low & table_runs:
            return down
        if high & table_runs:
            return up
        low &= held
        high &= held
        down |= low
        up |= high
    return bit


@search_kernel
def cards_of_move(code, held, table_runs):
    """Return the mask of cards that a table move or discard takes from the hand."""
    if code >= MELD_RUN:
        start = code - MELD_RUN
        return THREE << (start // RUN_STARTS * SUIT_SIZE + start % RUN_STARTS)
    if code >= MELD_SET:
        rank = (code - MELD_SET) // SET_FORMS
        form = (code - MELD_SET) % SET_FORMS
        cards = RANK_MASKS[rank]
        if form < 4:
            first = 52 + form if rank == 13 else rank + form * SUIT_SIZE
            cards &= ~(1 << first)
        return cards
    if code >= LAY_ON_RUN:
        return chain_to_run(code - LAY_ON_RUN, held, table_runs)
    if code >= LAY_ON_SET:
        return 1 << (code - LAY_ON_SET)
    return 1 << (code - DISCARD)


@search_kernel
def apply_move(world, code):
    """Carry out a listed move."""
    if code == DRAW_STOCK:
        apply_draw_stock(world)
    elif code == PASS:
        apply_pass(world)
    elif code < DISCARD:
        apply_take_from(world, find_in_pile(world, code - TAKE))
    elif code < LAY_ON_SET:
        apply_discard(world, code - DISCARD)
    else:
        cards = cards_of_move(code, world.hands[world.turn], world.table_runs)
        if code >= MELD_RUN or LAY_ON_RUN <= code < MELD_SET:
            table_cards(world, cards, RUN, False)
        else:
            table_cards(world, cards, SET, code >= MELD_SET and popcount(cards) == 4)


def action_of_move(code: int, view: SeatView) -> Action:
    """Return the rules' action for a listed move, naming the meld that a lay-off joins: the first
    in the order laid that it fits.
    """
    if code == DRAW_STOCK:
        return Action(rules.DRAW_STOCK)
    if code == PASS:
        return Action(rules.PASS)
    if code < DISCARD:
        return Action(rules.TAKE_DISCARDS, 1 << (code - TAKE))
    if code < LAY_ON_SET:
        return Action(rules.DISCARD, 1 << (code - DISCARD))
    runs = sum(1 << card for meld in view.melds if meld.kind == RUN for card in meld.cards)
    cards = int(cards_of_move(code, view.hand, runs))
    if code >= MELD_SET:
        return Action(rules.LAY_MELD, cards)
    kind = SET if code < LAY_ON_RUN else RUN
    for row, meld in enumerate(view.melds):
        union = cards | sum(1 << card for card in meld.cards)
        if meld.kind == kind and is_meld_of_kind(union, kind):
            return Action(rules.LAY_OFF, cards, row)
    raise ValueError(f"no meld takes move {code}")
