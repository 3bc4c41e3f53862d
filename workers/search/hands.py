"""What cards of a hand are to each other, short of a meld."""

from service.rules._jit import popcount
from service.rules.cards import JOKERS, ONE_OF_EACH_SUIT, SUIT_BITS, SUIT_SIZE, higher, lower
from workers.search._compile import search_kernel


@search_kernel
def ranks_held_twice(cards):
    """Return thirteen bits, one a rank with two or more of its cards in `cards`."""
    first, second = cards & SUIT_BITS, (cards >> SUIT_SIZE) & SUIT_BITS
    third, fourth = (cards >> 2 * SUIT_SIZE) & SUIT_BITS, (cards >> 3 * SUIT_SIZE) & SUIT_BITS
    return (first & second) | (third & fourth) | ((first | second) & (third | fourth))


@search_kernel
def paired_cards(cards):
    """Return those of `cards` with another of their rank in `cards`."""
    found = (ranks_held_twice(cards) * ONE_OF_EACH_SUIT) & cards
    if popcount(cards & JOKERS) >= 2:
        found |= cards & JOKERS
    return found


@search_kernel
def completing_cards(held):
    """Return the cards that make three of a rank or three in a row with two cards of `held`."""
    found = ranks_held_twice(held) * ONE_OF_EACH_SUIT
    if popcount(held & JOKERS) >= 2:
        found |= JOKERS
    above, below = higher(held), lower(held)
    found |= (above & higher(above)) | (below & lower(below)) | (above & below)
    return found & ~held


@search_kernel
def cards_beside(cards):
    """Return the cards one rank above or below any of `cards`, suit by suit."""
    return higher(cards) | lower(cards)


@search_kernel
def same_rank(cards):
    """Return all cards of the ranks of `cards`, jokers too."""
    plain = cards & ~JOKERS
    ranks = plain | (plain >> SUIT_SIZE) | (plain >> 2 * SUIT_SIZE) | (plain >> 3 * SUIT_SIZE)
    found = (ranks & SUIT_BITS) * ONE_OF_EACH_SUIT
    if cards & JOKERS:
        found |= JOKERS
    return found
