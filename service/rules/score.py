"""What cards are worth and what a deal scores (R26 to R31)."""

from dataclasses import dataclass

from service.rules._jit import kernel, popcount
from service.rules.cards import JOKERS, ONE_OF_EACH_SUIT, CardId, Mask

GOING_OUT_BONUS = 25
"""R29."""
POINTS_BY_RANK = (2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 15, 20)
"""R26, by rank 0 (twos) to 12 (aces) and 13 (jokers)."""
PACK_POINTS = 476
"""All 56 cards (R26)."""


def _value_plane(bit: int) -> Mask:
    """Return the cards whose value has that binary digit set."""
    mask = JOKERS if POINTS_BY_RANK[13] >> bit & 1 else 0
    for rank in range(13):
        if POINTS_BY_RANK[rank] >> bit & 1:
            mask |= ONE_OF_EACH_SUIT << rank
    return mask


_ONES, _TWOS, _FOURS, _EIGHTS, _SIXTEENS = (_value_plane(bit) for bit in range(5))


@kernel
def points(cards: Mask) -> int:
    """Return what `cards` are worth (R26): five bit counts, one a binary digit of the values."""
    return (
        popcount(cards & _ONES)
        + 2 * popcount(cards & _TWOS)
        + 4 * popcount(cards & _FOURS)
        + 8 * popcount(cards & _EIGHTS)
        + 16 * popcount(cards & _SIXTEENS)
    )


def card_points(card: CardId) -> int:
    """Return what one card is worth (R26)."""
    return points(1 << card)


@dataclass(frozen=True, slots=True)
class DealScore:
    """What one deal brought each team, in points; `[team 0, team 1]` in every pair."""

    laid: tuple[int, int]
    """Cards on the table by who laid them, doubles included (R27, R28); nought or more."""
    bonus: tuple[int, int]
    """25 or nought (R29)."""
    hands: tuple[int, int]
    """Cards left in hand, nought or less (R30)."""
    went_out: int | None
    """The seat that went out, or None after four passes (R21, R25)."""

    @property
    def total(self) -> tuple[int, int]:
        """The sum of the three parts; may be negative (R31)."""
        return (
            self.laid[0] + self.bonus[0] + self.hands[0],
            self.laid[1] + self.bonus[1] + self.hands[1],
        )


def score_deal(
    laid: tuple[int, int], hands: tuple[Mask, Mask, Mask, Mask], went_out: int | None
) -> DealScore:
    """Score a deal from the points laid, the hands left and who went out (R27 to R31)."""
    bonus = [0, 0]
    if went_out is not None:
        bonus[went_out % 2] = GOING_OUT_BONUS
    left = (-points(hands[0]) - points(hands[2]), -points(hands[1]) - points(hands[3]))
    return DealScore(laid=laid, bonus=(bonus[0], bonus[1]), hands=left, went_out=went_out)
