"""The list of legal actions: complete, and nothing else (R8 to R24).

The lists come from the same masks that the checks use; a property test holds the two against each
other. The order is fixed: draws, then melds by rank and suit, lay-offs by meld, discards by card.
"""

from dataclasses import dataclass, field

from service.rules._jit import kernel, lowest_card, popcount
from service.rules.cards import JOKER_RANK, RANK_MASKS, SUIT_BITS, SUIT_SIZE, Mask
from service.rules.deal import (
    DISCARD,
    DRAW,
    DRAW_STOCK,
    LAY_MELD,
    LAY_OFF,
    NO_CARD,
    NO_ROW,
    OVER,
    PASS,
    TAKE_DISCARDS,
    Action,
    Deal,
)
from service.rules.melds import SET, can_table

CAPACITY = 1024
"""Longer than any list: 264 runs, 70 sets, 56 discards; lay-offs leave fewer of these."""


@dataclass(slots=True)
class ActionList:
    """Legal actions as three columns of `count` entries: type, mask of cards, row of the meld."""

    count: int = 0
    types: list[int] = field(default_factory=lambda: [0] * CAPACITY)
    cards: list[int] = field(default_factory=lambda: [0] * CAPACITY)
    melds: list[int] = field(default_factory=lambda: [0] * CAPACITY)


@kernel
def _add(out: ActionList, kind: int, cards: Mask, row: int) -> None:
    out.types[out.count] = kind
    out.cards[out.count] = cards
    out.melds[out.count] = row
    out.count += 1


@kernel
def _add_draws(deal: Deal, out: ActionList) -> None:
    """Add the ways to start a turn (R9, R12, R24)."""
    if deal.stock_count > 0:
        _add(out, DRAW_STOCK, 0, NO_ROW)
    cards = deal.hands[deal.turn]
    for place in range(deal.pile_count - 1, -1, -1):
        card = deal.pile[place]
        cards |= 1 << card
        if can_table(card, cards, deal.table_sets, deal.table_runs):
            _add(out, TAKE_DISCARDS, 1 << card, NO_ROW)
    if deal.stock_count == 0:
        _add(out, PASS, 0, NO_ROW)


@kernel
def _add_sets(held: Mask, needed: Mask, out: ActionList) -> None:
    """Add every set of three or four among `held` that contains `needed` (R15, R3)."""
    for rank in range(JOKER_RANK + 1):
        same = held & RANK_MASKS[rank]
        if popcount(same) < 3:
            continue
        if needed & ~same == 0:
            _add(out, LAY_MELD, same, NO_ROW)
        left_out = same if popcount(same) == 4 else 0
        while left_out:
            three = same & ~(left_out & -left_out)
            if needed & ~three == 0:
                _add(out, LAY_MELD, three, NO_ROW)
            left_out &= left_out - 1


@kernel
def _add_runs(held: Mask, needed: Mask, out: ActionList) -> None:
    """Add every run among `held` that contains `needed` (R16)."""
    for suit in range(4):
        ranks = (held >> (suit * SUIT_SIZE)) & SUIT_BITS
        for first in range(SUIT_SIZE - 2):
            last = first
            while last < SUIT_SIZE and (ranks >> last) & 1:
                last += 1
                if last - first >= 3:
                    run = ((1 << (last - first)) - 1) << (suit * SUIT_SIZE + first)
                    if needed & ~run == 0:
                        _add(out, LAY_MELD, run, NO_ROW)


@kernel
def _add_run_lay_offs(held: Mask, needed: Mask, run: Mask, row: int, out: ActionList) -> None:
    """Add every way to make `run` longer at either end or both (R17)."""
    first = lowest_card(run)
    last = first + popcount(run) - 1
    suit_start = first // SUIT_SIZE * SUIT_SIZE
    lowest = first
    while lowest > suit_start and (held >> (lowest - 1)) & 1:
        lowest -= 1
    highest = last
    while highest < suit_start + SUIT_SIZE - 1 and (held >> (highest + 1)) & 1:
        highest += 1
    for low in range(first, lowest - 1, -1):
        for high in range(last, highest + 1):
            cards = (((1 << (high - low + 1)) - 1) << low) & ~run
            if cards and needed & ~cards == 0:
                _add(out, LAY_OFF, cards, row)


@kernel
def _add_lay_offs(deal: Deal, needed: Mask, out: ActionList) -> None:
    """Add every lay-off on every meld (R17, R18)."""
    held = deal.hands[deal.turn]
    for row in range(deal.meld_count):
        meld = deal.meld_cards[row]
        if deal.meld_kinds[row] != SET:
            _add_run_lay_offs(held, needed, meld, row, out)
            continue
        rank = 0
        while RANK_MASKS[rank] & meld == 0:
            rank += 1
        fourth = RANK_MASKS[rank] & held
        if fourth and needed & ~fourth == 0:
            _add(out, LAY_OFF, fourth, row)


@kernel
def list_actions(deal: Deal, out: ActionList) -> None:
    """Write the legal actions of the seat to move into `out`, an ActionList or such a record."""
    out.count = 0
    if deal.phase == OVER:
        return
    if deal.phase == DRAW:
        _add_draws(deal, out)
        return
    held = deal.hands[deal.turn]
    needed = 0 if deal.due == NO_CARD else 1 << deal.due
    _add_sets(held, needed, out)
    _add_runs(held, needed, out)
    _add_lay_offs(deal, needed, out)
    while held and needed == 0:
        _add(out, DISCARD, held & -held, NO_ROW)
        held &= held - 1


def legal_actions(deal: Deal) -> list[Action]:
    """Return the legal actions of the seat to move, in the fixed order; none after the end."""
    out = ActionList()
    list_actions(deal, out)
    return [Action(out.types[i], out.cards[i], out.melds[i]) for i in range(out.count)]
