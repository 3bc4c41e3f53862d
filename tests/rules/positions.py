"""Positions for tests, written in the notation of the rules: cards parted by spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from service.rules.cards import CardId, hand, parse_card
from service.rules.deal import MELD, NOBODY, STOCK_SIZE, Action, Deal, apply_lay_meld
from service.rules.notation import write_action


def cards(text: str) -> list[CardId]:
    """Return the cards named in `text`, in its order."""
    return [parse_card(name) for name in text.split()]


def position(
    held: str = "",
    others: tuple[str, str, str] = ("", "", ""),
    *,
    pile: str = "2C",
    stock: str = "2D 2H",
    table: Sequence[str] = (),
    phase: int = MELD,
) -> Deal:
    """Return a deal in which seat 0 is to move and only the named cards are in play.

    `others` are the hands of seats 1 to 3. `pile` goes from bottom to top, `stock` from the card
    that is drawn next. Each entry of `table` is a meld with the seat that laid it: `1 TS TD TH`.
    """
    named = " ".join((held, *others, pile, stock, *(meld[1:] for meld in table))).split()
    assert len(set(named)) == len(named), "a card is in two places"
    deal = Deal()
    for meld in table:
        seat, melded = int(meld[0]), hand(meld[1:])
        deal.turn, deal.hands[seat] = seat, melded
        apply_lay_meld(deal, melded)
    deal.turn, deal.phase, deal.went_out = 0, phase, NOBODY
    deal.hands = [hand(text) for text in (held, *others)]
    deal.pile_count, deal.stock_count = len(pile.split()), len(stock.split())
    deal.pile[: deal.pile_count] = cards(pile)
    assert deal.stock_count <= STOCK_SIZE
    deal.stock[: deal.stock_count] = cards(stock)[::-1]
    return deal


def words(actions: Iterable[Action]) -> list[str]:
    """Return actions in notation."""
    return [write_action(action) for action in actions]


def tables(actions: Iterable[Action]) -> list[str]:
    """Return the melds and lay-offs among `actions`, in notation."""
    return [word for word in words(actions) if word[0] in "ML"]


def takes(actions: Iterable[Action]) -> list[str]:
    """Return the names of the pile cards that `actions` take."""
    return [word[1:] for word in words(actions) if word[0] == "T"]
