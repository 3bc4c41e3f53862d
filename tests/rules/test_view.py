"""What one seat may know (R33), and that nothing else is in what it is given."""

from __future__ import annotations

import json
import random
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.cards import ALL_CARDS, CARD_NAMES, Mask, cards_in, hand, names_of
from service.rules.deal import DRAW, NO_CARD, Deal
from service.rules.match import play_in_match, start_match
from service.rules.view import (
    MeldView,
    SeatView,
    unseen_cards,
    view_deal,
    view_from_json,
    view_match,
    view_to_json,
)
from tests.rules.engines import INTERPRETED
from tests.rules.positions import cards, position
from tests.strategies import choose, deals_in_play

VIEWERS = st.sampled_from([0, 1, 2, 3, None])


def reshuffle_the_hidden(deal: Deal, seat: int | None, rng: random.Random) -> Deal:
    """Return a deal that `seat` cannot tell from this one: what it does not know is mixed anew."""
    twin = deal.copy()
    others = [other for other in range(4) if other != seat]
    secret = deal.stock_cards
    for other in others:
        secret += cards_in(deal.hands[other] & ~deal.known[other])
    rng.shuffle(secret)
    for other in others:
        count = (deal.hands[other] & ~deal.known[other]).bit_count()
        drawn, secret = secret[:count], secret[count:]
        twin.hands[other] = deal.known[other] | sum(1 << card for card in drawn)
    twin.stock[: twin.stock_count] = secret
    # What the stock held before is nobody's to know either.
    for place in range(twin.stock_count, len(twin.stock)):
        twin.stock[place] = rng.randrange(56)
    return twin


@given(deals_in_play(), VIEWERS, st.randoms(use_true_random=False))
def test_a_view_is_the_same_whatever_the_seat_does_not_know(
    deal: Deal, seat: int | None, rng: random.Random
) -> None:
    """R33: other hands and the stock mixed anew, the view stays equal, in JSON too."""
    twin = reshuffle_the_hidden(deal, seat, rng)

    assert view_deal(twin, seat) == view_deal(deal, seat)
    assert view_to_json(view_deal(twin, seat)) == view_to_json(view_deal(deal, seat))


def every_int(thing: Any) -> set[int]:
    """Return all ints that can be reached from a view."""
    if is_dataclass(thing):
        return every_int([getattr(thing, field.name) for field in fields(thing)])
    if isinstance(thing, (list, tuple)):
        return set().union(*map(every_int, thing))
    return {thing} if isinstance(thing, int) else set()


@given(deals_in_play(), st.integers(0, 3))
def test_no_other_hand_and_no_stock_is_reached_from_a_view(deal: Deal, seat: int) -> None:
    """R33: no mask of another hand with a secret in it; no name of a secret card in the JSON."""
    view = view_deal(deal, seat)
    text = json.dumps(view_to_json(view))

    for other in range(4):
        secret = deal.hands[other] & ~deal.known[other]
        # A mask below 56 is the number of a card as well, which may well be in the view.
        if other != seat and secret.bit_count() > 1 and secret >= len(CARD_NAMES):
            assert deal.hands[other] not in every_int(view)
        if other != seat:
            assert not [name for name in names_of(secret) if f'"{name}"' in text]
    assert not [card for card in deal.stock_cards if f'"{CARD_NAMES[card]}"' in text]


@given(deals_in_play(), VIEWERS)
def test_a_view_tells_all_that_the_seat_may_know(deal: Deal, seat: int | None) -> None:
    """R33: hand, pile in order, melds and who laid each card, counts, cards seen taken."""
    view = view_deal(deal, seat)

    assert view.hand == (0 if seat is None else deal.hands[seat])
    assert list(view.pile) == deal.pile_cards
    assert list(view.hand_counts) == [held.bit_count() for held in deal.hands]
    assert list(view.known) == deal.known
    assert view.stock_count == deal.stock_count
    assert [sum(1 << card for card in meld.cards) for meld in view.melds] == deal.meld_cards[
        : deal.meld_count
    ]
    for meld in view.melds:
        assert list(meld.laid_by) == [deal.laid_by[card] for card in meld.cards]
    assert (view.turn, view.phase, view.due) == (deal.turn, deal.phase, deal.due)
    assert list(view.laid) == deal.laid


@given(deals_in_play(), VIEWERS)
def test_a_view_reads_back_from_its_json(deal: Deal, seat: int | None) -> None:
    """R33: a search job is given the JSON, and knows as much as the seat."""
    view = view_deal(deal, seat, number=2, deals=2, scores=(-40, 114))

    assert view_from_json(json.loads(json.dumps(view_to_json(view)))) == view


@given(deals_in_play(), VIEWERS)
def test_the_unseen_cards_are_the_stock_and_the_secret_parts_of_hands(
    deal: Deal, seat: int | None
) -> None:
    """R33: by counting what is seen the seat knows which cards are hidden, not where."""
    hidden: Mask = sum(1 << card for card in deal.stock_cards)
    for other in range(4):
        if other != seat:
            hidden |= deal.hands[other] & ~deal.known[other]

    assert unseen_cards(view_deal(deal, seat)) == hidden


@given(deals_in_play(), VIEWERS)
def test_looking_changes_nothing(deal: Deal, seat: int | None) -> None:
    """R33: a view is a copy, and frozen."""
    before = deal.copy()

    view = view_deal(deal, seat)
    view_to_json(view)

    assert deal == before
    with pytest.raises(AttributeError):
        view.hand = ALL_CARDS  # type: ignore[misc]


def test_cards_taken_from_the_pile_are_known_until_they_leave_the_hand() -> None:
    """R33: `QD` and `KD` were seen; `QD` is discarded, `KD` stays known; a drawn card is not."""
    deal = position("4D 4C 9H", ("2S", "", ""), pile="6H 4S QD KD", phase=DRAW)

    INTERPRETED.play(deal, "0 T4S M4S4D4C DQD")

    view = view_deal(deal, 1)
    assert names_of(view.known[0]) == ["KD"]
    assert (view.hand_counts[0], view.hand) == (2, hand("2S"))
    INTERPRETED.play(deal, "1 S")
    assert view_deal(deal, 0).known[1] == 0


def test_the_due_card_is_known_to_all() -> None:
    """R11, R33: it was taken in everybody's sight."""
    deal = position("7S 7D KD", pile="7H", phase=DRAW)
    assert view_deal(deal, 3).due == NO_CARD
    assert view_to_json(view_deal(deal, 3))["due"] is None

    INTERPRETED.play(deal, "0 T7H")

    assert view_to_json(view_deal(deal, 3))["due"] == "7H"


def test_a_spectator_holds_nothing() -> None:
    """R33: somebody without a seat sees what all see."""
    deal = position("7S 7D", ("2S", "3S", "4S"))

    view = view_deal(deal, None)

    assert (view.seat, view.hand, view.hand_counts) == (None, 0, (2, 1, 1, 1))


def test_the_json_form_is_that_of_the_api() -> None:
    """R33: names of cards, melds by name, a run from its low end."""
    deal = position(
        "7S TC 2H", ("2S", "", ""), pile="3C 9D", stock="2D", table=["1 TS TD TH", "2 4S 5S 6S"]
    )
    INTERPRETED.play(deal, "0 L7S@m2")

    assert view_to_json(view_deal(deal, 0, number=2, scores=(5, -3))) == {
        "seat": 0,
        "number": 2,
        "deals": 2,
        "scores": [5, -3],
        "dealer": 3,
        "turn": 0,
        "phase": "meld",
        "due": None,
        "passes": 0,
        "stock_count": 1,
        "discard_pile": ["3C", "9D"],
        "hand": ["TC", "2H"],
        "hand_counts": [2, 1, 0, 0],
        "known_cards": [[], [], [], []],
        "melds": [
            {
                "id": "m1",
                "kind": "set",
                "cards": ["TD", "TH", "TS"],
                "laid_by": [1, 1, 1],
                "doubled": False,
            },
            {
                "id": "m2",
                "kind": "run",
                "cards": ["4S", "5S", "6S", "7S"],
                "laid_by": [2, 2, 2, 0],
                "doubled": False,
            },
        ],
        "points": [4 + 5 + 6 + 7, 30],
    }


def test_a_meld_reads_back_in_any_order_of_its_cards() -> None:
    """R33: a position that a client sends may list them as it likes."""
    data = view_to_json(view_deal(position("KD", table=["1 4S 5S 6S"]), 0))
    data["melds"][0]["cards"].reverse()
    data["melds"][0]["laid_by"] = [2, 1, 0]

    assert view_from_json(data).melds == (MeldView(2, tuple(cards("4S 5S 6S")), (0, 1, 2), False),)


def test_the_view_of_a_match_tells_deal_and_scores() -> None:
    """R7, R33: the second deal shows the first one's points, and none of its cards."""
    match = start_match("a seed", first_dealer=0)
    rng = random.Random(7)
    while match.number == 1:
        play_in_match(match, match.deal.turn, choose(rng, match.deal, {}))

    view = view_match(match, 2)

    assert isinstance(view, SeatView)
    assert (view.number, view.deals, view.dealer) == (2, 2, 1)
    assert view.scores == match.scores[0].total
    assert view.melds == ()
    assert view.hand_counts == (7, 7, 7, 7)
