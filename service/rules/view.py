"""What one seat may know of a deal (R33): the only door from a `Deal` to a player, a hint or a bot.

A `SeatView` is a copy: nothing in it leads back to the deal. Its JSON form is the shape of `deal`
in the API's GAME, and is what a search job is given.
"""

from dataclasses import dataclass
from typing import Any

from service.rules._jit import popcount
from service.rules.cards import (
    CARD_NAMES,
    CardId,
    Mask,
    Seat,
    cards_in,
    mask_of,
    names_of,
    parse_card,
)
from service.rules.deal import NO_CARD, PHASE_NAMES, SEATS, Deal
from service.rules.match import Match
from service.rules.melds import KIND_NAMES


@dataclass(frozen=True, slots=True)
class MeldView:
    """One meld on the table."""

    kind: int
    """SET or RUN."""
    cards: tuple[CardId, ...]
    """Ascending ids: a run from its low end, a set by suit."""
    laid_by: tuple[Seat, ...]
    """Who laid each of `cards`."""
    doubled: bool
    """A set of four laid in one action (R28)."""


@dataclass(frozen=True, slots=True)
class SeatView:
    """All that one seat knows while a deal is played."""

    seat: Seat | None
    """The viewer, or None for a spectator, who holds nothing."""
    number: int
    """Which deal of the game, from 1."""
    deals: int
    """How many deals the game has."""
    scores: tuple[int, int]
    """Points by team over the deals that are over."""
    dealer: Seat
    turn: Seat
    phase: int
    """DRAW, MELD or OVER."""
    due: CardId
    """The card that R11 asks for, or NO_CARD."""
    passes: int
    """Passes in a row (R25)."""
    stock_count: int
    pile: tuple[CardId, ...]
    """Bottom to top."""
    hand: Mask
    """The viewer's own cards."""
    hand_counts: tuple[int, ...]
    """Cards held, by seat."""
    known: tuple[Mask, ...]
    """By seat, cards taken from the pile in all players' sight and still held."""
    melds: tuple[MeldView, ...]
    """In the order laid; the i-th is called `m<i+1>`."""
    laid: tuple[int, int]
    """Points on the table by team."""


def view_deal(
    deal: Deal, seat: Seat | None, number: int = 1, deals: int = 2, scores: tuple[int, int] = (0, 0)
) -> SeatView:
    """Return what `seat` (None: a spectator) may know of `deal`."""
    return SeatView(
        seat=seat,
        number=number,
        deals=deals,
        scores=scores,
        dealer=deal.dealer,
        turn=deal.turn,
        phase=deal.phase,
        due=deal.due,
        passes=deal.passes,
        stock_count=deal.stock_count,
        pile=tuple(deal.pile_cards),
        hand=0 if seat is None else deal.hands[seat],
        hand_counts=tuple(popcount(hand) for hand in deal.hands),
        known=tuple(deal.known),
        melds=tuple(_view_meld(deal, row) for row in range(deal.meld_count)),
        laid=(deal.laid[0], deal.laid[1]),
    )


def view_match(match: Match, seat: Seat | None) -> SeatView:
    """Return what `seat` may know of the deal in hand of `match`."""
    return view_deal(match.deal, seat, match.number, match.deals, match.totals)


def _view_meld(deal: Deal, row: int) -> MeldView:
    cards = tuple(cards_in(deal.meld_cards[row]))
    laid_by = tuple(deal.laid_by[card] for card in cards)
    return MeldView(deal.meld_kinds[row], cards, laid_by, bool(deal.meld_doubled[row]))


def meld_name(row: int) -> str:
    """Return the name of the meld in `row`: `m1` for row 0."""
    return f"m{row + 1}"


def view_to_json(view: SeatView) -> dict[str, Any]:
    """Return `view` as plain JSON: GAME's `deal` with `seat`, `deals` and `scores` beside it."""
    return {
        "seat": view.seat,
        "number": view.number,
        "deals": view.deals,
        "scores": list(view.scores),
        "dealer": view.dealer,
        "turn": view.turn,
        "phase": PHASE_NAMES[view.phase],
        "due": None if view.due == NO_CARD else CARD_NAMES[view.due],
        "passes": view.passes,
        "stock_count": view.stock_count,
        "discard_pile": [CARD_NAMES[card] for card in view.pile],
        "hand": names_of(view.hand),
        "hand_counts": list(view.hand_counts),
        "known_cards": [names_of(mask) for mask in view.known],
        "melds": [
            {
                "id": meld_name(row),
                "kind": KIND_NAMES[meld.kind],
                "cards": [CARD_NAMES[card] for card in meld.cards],
                "laid_by": list(meld.laid_by),
                "doubled": meld.doubled,
            }
            for row, meld in enumerate(view.melds)
        ],
        "points": list(view.laid),
    }


def view_from_json(data: dict[str, Any]) -> SeatView:
    """Return the view that `view_to_json` wrote.

    Trusts its shape; raises UnknownCard, KeyError or ValueError otherwise.
    """
    due = data["due"]
    return SeatView(
        seat=data["seat"],
        number=data["number"],
        deals=data["deals"],
        scores=(data["scores"][0], data["scores"][1]),
        dealer=data["dealer"],
        turn=data["turn"],
        phase=PHASE_NAMES.index(data["phase"]),
        due=NO_CARD if due is None else parse_card(due),
        passes=data["passes"],
        stock_count=data["stock_count"],
        pile=tuple(map(parse_card, data["discard_pile"])),
        hand=mask_of(map(parse_card, data["hand"])),
        hand_counts=tuple(data["hand_counts"]),
        known=tuple(mask_of(map(parse_card, names)) for names in data["known_cards"]),
        melds=tuple(_meld_from_json(meld) for meld in data["melds"]),
        laid=(data["points"][0], data["points"][1]),
    )


def _meld_from_json(data: dict[str, Any]) -> MeldView:
    pairs = sorted(zip(map(parse_card, data["cards"]), data["laid_by"], strict=True))
    cards, laid_by = zip(*pairs, strict=True)
    return MeldView(KIND_NAMES.index(data["kind"]), tuple(cards), tuple(laid_by), data["doubled"])


def seats_but(seat: Seat | None) -> list[Seat]:
    """Return the seats whose hands a viewer at `seat` does not see."""
    return [other for other in range(SEATS) if other != seat]


def unseen_cards(view: SeatView) -> Mask:
    """Return the cards whose place the viewer does not know: the stock or another hand."""
    seen = view.hand | mask_of(view.pile)
    for meld in view.melds:
        seen |= mask_of(meld.cards)
    for seat in seats_but(view.seat):
        seen |= view.known[seat]
    return ((1 << len(CARD_NAMES)) - 1) & ~seen
