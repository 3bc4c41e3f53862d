"""The 56 cards as numbers, masks and names (R2, R3).

A card is an int: `suit * 13 + rank` for the 52 of the pack, 52 to 55 for the jokers. A set of cards
is an int with one bit a card. Fifty-six bits leave the sign bit of a signed 64-bit int alone, so
the same arithmetic holds in Python, where ints have no end, and in compiled code.
"""

import reprlib
from collections.abc import Iterable, Iterator

from service.rules._jit import kernel, lowest_card

CardId = int
"""A card, 0 to 55."""
Mask = int
"""Cards as bits, 0 to 2**56 - 1."""
Seat = int
"""A seat, 0 to 3 clockwise (R1)."""

RANKS = "23456789TJQKA"
SUITS = "CDHS"
CARD_COUNT = 56
SUIT_SIZE = 13
FIRST_JOKER = 52
ACE_RANK = 12
JOKER_RANK = 13

ALL_CARDS: Mask = (1 << CARD_COUNT) - 1
NAMED_TWICE: Mask = 1 << CARD_COUNT
"""No card: marks the mask of a list that names a card twice, so that it is refused (R2)."""
JOKERS: Mask = 0b1111 << FIRST_JOKER
ONE_OF_EACH_SUIT: Mask = 1 | 1 << 13 | 1 << 26 | 1 << 39
"""Multiplied by thirteen rank bits, gives those ranks in all four suits."""
SUIT_BITS: Mask = (1 << SUIT_SIZE) - 1
TWOS: Mask = ONE_OF_EACH_SUIT
ACES: Mask = ONE_OF_EACH_SUIT << 12
_HAS_HIGHER: Mask = ALL_CARDS & ~JOKERS & ~ACES
_HAS_LOWER: Mask = ALL_CARDS & ~JOKERS & ~TWOS
RANK_MASKS: tuple[Mask, ...] = (*(ONE_OF_EACH_SUIT << rank for rank in range(13)), JOKERS)
"""All cards of a rank, by rank 0 (twos) to 12 (aces) and 13 (jokers)."""

CARD_NAMES: tuple[str, ...] = (
    *(rank + suit for suit in SUITS for rank in RANKS),
    "X1",
    "X2",
    "X3",
    "X4",
)
"""The name of each card by its id: rank then suit, jokers `X1` to `X4`."""
_CARD_IDS = {name: card for card, name in enumerate(CARD_NAMES)}


class UnknownCard(ValueError):
    """A text that names no card."""

    def __init__(self, text: object) -> None:
        # reprlib: what a client sent may be as long or as deeply nested as it likes.
        named = reprlib.repr(text)
        super().__init__(f"{named} is no card: rank 23456789TJQKA then suit CDHS, or X1 to X4")
        self.text = text


@kernel
def rank_of(card: CardId) -> int:
    """Return the rank: 0 for a two up to 12 for an ace, 13 for a joker."""
    return JOKER_RANK if card >= FIRST_JOKER else card % SUIT_SIZE


@kernel
def higher(cards: Mask) -> Mask:
    """Return the cards one rank above `cards`, suit by suit; nothing is above an ace (R16)."""
    return (cards & _HAS_HIGHER) << 1


@kernel
def lower(cards: Mask) -> Mask:
    """Return the cards one rank below `cards`, suit by suit; nothing is below a two (R16)."""
    return (cards & _HAS_LOWER) >> 1


def parse_card(text: str) -> CardId:
    """Return the card named `text`.

    >>> parse_card("2C"), parse_card("X4")
    (0, 55)

    Raises UnknownCard for anything else, lower case included.
    """
    try:
        return _CARD_IDS[text]
    except (KeyError, TypeError):
        raise UnknownCard(text) from None


def mask_of(cards: Iterable[CardId]) -> Mask:
    """Return the mask of `cards`; a card named twice counts once."""
    mask = 0
    for card in cards:
        mask |= 1 << card
    return mask


def mask_of_distinct(cards: Iterable[CardId]) -> Mask:
    """Return the mask of `cards`, with NAMED_TWICE in it if a card is named twice (R2)."""
    mask = 0
    for card in cards:
        mask |= NAMED_TWICE if (mask >> card) & 1 else 1 << card
    return mask


def cards_in(mask: Mask) -> Iterator[CardId]:
    """Yield the cards of `mask` from the lowest id up."""
    while mask:
        yield lowest_card(mask)
        mask &= mask - 1


def names_of(mask: Mask) -> list[str]:
    """Return the names of the cards in `mask` in order of their ids: C, D, H, S, jokers."""
    return [CARD_NAMES[card] for card in cards_in(mask)]


def hand(text: str) -> Mask:
    """Return the mask of cards named in `text`, parted by spaces.

    >>> hand("AS 2S") == 1 << parse_card("AS") | 1 << parse_card("2S")
    True
    """
    return mask_of(parse_card(name) for name in text.split())
