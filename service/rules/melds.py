"""What makes a meld, and which cards of a hand can go to the table (R3, R11, R12, R15 to R18).

All of it is arithmetic on masks. Two masks describe the table for the play: the cards that lie in
sets and the cards that lie in runs. They are enough to know what can be laid off, since a rank has
at most one set, and a run grows at its ends only, wherever a touching run may lie (R18); which meld
of the table a card joins is kept beside them, for people, in `deal.py`.
"""

from service.rules._jit import kernel, lowest_card, popcount
from service.rules.cards import (
    JOKERS,
    ONE_OF_EACH_SUIT,
    RANK_MASKS,
    SUIT_BITS,
    SUIT_SIZE,
    CardId,
    Mask,
    higher,
    lower,
    rank_of,
)
from service.rules.violations import Violation

NO_MELD, SET, RUN = 0, 1, 2
"""Kinds of meld."""
KIND_NAMES = ("none", "set", "run")


@kernel
def is_set(cards: Mask) -> bool:
    """Tell whether `cards` are three or four of one rank, or jokers (R15, R3)."""
    count = popcount(cards)
    if count != 3 and count != 4:
        return False
    return cards & ~RANK_MASKS[rank_of(lowest_card(cards))] == 0


@kernel
def is_run(cards: Mask) -> bool:
    """Tell whether `cards` are three or more of one suit in consecutive ranks, ace high (R16)."""
    if cards & JOKERS or popcount(cards) < 3:
        return False
    first = lowest_card(cards)
    last = first + popcount(cards) - 1
    is_consecutive = cards >> first == (1 << popcount(cards)) - 1
    return is_consecutive and first // SUIT_SIZE == last // SUIT_SIZE


@kernel
def meld_kind(cards: Mask) -> int:
    """Return SET, RUN or NO_MELD."""
    if is_set(cards):
        return SET
    if is_run(cards):
        return RUN
    return NO_MELD


@kernel
def is_meld_of_kind(cards: Mask, kind: int) -> bool:
    """Tell whether `cards` form a meld of that kind: the test of a lay-off's outcome (R17)."""
    return is_set(cards) if kind == SET else is_run(cards)


@kernel
def check_meld(cards: Mask) -> Violation:
    """Return why `cards` are no meld, by the nearest rule: R3, R16 (one suit) or R15; or NONE."""
    if meld_kind(cards) != NO_MELD:
        return Violation.NONE
    if cards & JOKERS and cards & ~JOKERS:
        return Violation.JOKER_NOT_WILD
    if cards & JOKERS or cards == 0:
        return Violation.NOT_A_SET
    suit = lowest_card(cards) // SUIT_SIZE
    if cards & ~(SUIT_BITS << (suit * SUIT_SIZE)) == 0:
        return Violation.NOT_A_RUN
    return Violation.NOT_A_SET


@kernel
def ranks_held_thrice(cards: Mask) -> int:
    """Return thirteen bits, one a rank with three or four of its cards in `cards`."""
    clubs = cards & SUIT_BITS
    diamonds = (cards >> 13) & SUIT_BITS
    hearts = (cards >> 26) & SUIT_BITS
    spades = (cards >> 39) & SUIT_BITS
    return (clubs & diamonds & (hearts | spades)) | (hearts & spades & (clubs | diamonds))


@kernel
def cards_in_sets(cards: Mask) -> Mask:
    """Return those of `cards` that form a set with others of `cards` (R15, R3)."""
    found = (ranks_held_thrice(cards) * ONE_OF_EACH_SUIT) & cards
    if popcount(cards & JOKERS) >= 3:
        found |= cards & JOKERS
    return found


@kernel
def cards_in_runs(cards: Mask) -> Mask:
    """Return those of `cards` that form a run with others of `cards` (R16)."""
    middles = cards & higher(cards) & lower(cards)
    return middles | higher(middles) | lower(middles)


@kernel
def set_places(table_sets: Mask) -> Mask:
    """Return the cards that have a set of their rank on the table: the fourth may join it (R17)."""
    places = ranks_held_thrice(table_sets) * ONE_OF_EACH_SUIT
    if table_sets & JOKERS:
        places |= JOKERS
    return places


@kernel
def run_places(table_runs: Mask) -> Mask:
    """Return the cards next to those in runs: what is not on the table may be laid off (R17)."""
    return higher(table_runs) | lower(table_runs)


@kernel
def cards_to_lay_off(cards: Mask, table_sets: Mask, table_runs: Mask) -> Mask:
    """Return those of `cards` that one lay-off made of `cards` can contain (R17)."""
    reached = run_places(table_runs) & cards
    frontier = reached
    while frontier:
        frontier = (higher(frontier) | lower(frontier)) & cards & ~reached
        reached |= frontier
    return reached | (set_places(table_sets) & cards)


@kernel
def cards_to_table(cards: Mask, table_sets: Mask, table_runs: Mask) -> Mask:
    """Return those of `cards` that one table action made of `cards` can contain (R11, R12)."""
    melded = cards_in_sets(cards) | cards_in_runs(cards)
    return melded | cards_to_lay_off(cards, table_sets, table_runs)


@kernel
def can_table(card: CardId, cards: Mask, table_sets: Mask, table_runs: Mask) -> bool:
    """Tell whether one table action made of `cards` can contain `card`, one of them (R12)."""
    return (cards_to_table(cards, table_sets, table_runs) >> card) & 1 != 0
