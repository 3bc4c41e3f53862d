"""The list of legal actions: complete, without repeats, in a fixed order (R8 to R24)."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings

from service.rules._jit import popcount
from service.rules.cards import ALL_CARDS, CARD_COUNT, cards_in
from service.rules.deal import (
    DISCARD,
    DRAW,
    DRAW_STOCK,
    LAY_MELD,
    LAY_OFF,
    NO_ROW,
    PASS,
    TAKE_DISCARDS,
    Action,
    Deal,
)
from service.rules.legal import CAPACITY, legal_actions
from service.rules.violations import Violation
from tests.rules.engines import COMPILED, INTERPRETED, Engine
from tests.rules.positions import position, words
from tests.strategies import deals_in_play

MOST_CARDS = 9
"""Hands beyond that have too many subsets to try."""


def every_conceivable_action(deal: Deal) -> list[Action]:
    """Name every draw, take and discard, and every subset of the hand for every meld."""
    actions = [Action(DRAW_STOCK), Action(PASS)]
    actions += [Action(TAKE_DISCARDS, 1 << card) for card in range(CARD_COUNT)]
    actions += [Action(DISCARD, 1 << card) for card in range(CARD_COUNT)]
    held = [1 << card for card in cards_in(deal.hands[deal.turn])]
    for size in range(len(held) + 1):
        for chosen in combinations(held, size):
            actions.append(Action(LAY_MELD, sum(chosen)))
            rows = range(-1, deal.meld_count + 1)
            actions += [Action(LAY_OFF, sum(chosen), row) for row in rows]
    return actions


@settings(max_examples=300)
@given(deals_in_play())
def test_what_is_listed_is_accepted_and_nothing_else(deal: Deal) -> None:
    """Always true: every subset of the hand is tried, as a meld and on each meld."""
    listed = legal_actions(deal)
    if popcount(deal.hands[deal.turn]) <= MOST_CARDS:
        conceivable = every_conceivable_action(deal)
    else:
        conceivable = listed

    accepted = [
        action
        for action in conceivable
        if INTERPRETED.judge_action(deal, deal.turn, action) == Violation.NONE
    ]

    assert set(accepted) == set(listed)
    assert len(accepted) == len(listed)


@given(deals_in_play())
def test_both_engines_list_the_same_in_the_same_order(deal: Deal) -> None:
    """DESIGN: one body of the rules; a search may name an action by its place in the list."""
    before = deal.copy()

    assert COMPILED.legal_actions(deal) == legal_actions(deal)
    assert deal == before


def test_the_order_is_draws_then_melds_then_lay_offs_then_discards(engine: Engine) -> None:
    """The order is fixed: by rank, suit, meld and card; the top of the pile comes first."""
    drawing = position("7S 7D KD", pile="7C KC 7H", phase=DRAW)
    assert words(engine.legal_actions(drawing)) == ["S", "T7H", "T7C"]

    melding = position("7S 7D 7H 7C 8S 9S X1 X2 X3", table=["1 TS JS QS", "2 9D 9H 9C"])
    assert words(engine.legal_actions(melding)) == [
        *("M7C7D7H7S", "M7D7H7S", "M7C7H7S", "M7C7D7S", "M7C7D7H", "MX1X2X3", "M7S8S9S"),
        *("L9S@m1", "L8S9S@m1", "L7S8S9S@m1", "L9S@m2"),
        *("D7C", "D7D", "D7H", "D7S", "D8S", "D9S", "DX1", "DX2", "DX3"),
    ]


def test_the_longest_list_fits(engine: Engine) -> None:
    """R15, R16: the whole pack in one hand has 70 sets, 264 runs and 56 discards."""
    deal = position("")
    deal.hands[0] = ALL_CARDS

    listed = engine.legal_actions(deal)

    assert len(listed) == 70 + 264 + 56 < CAPACITY
    assert len(set(listed)) == len(listed)
    assert {action.meld for action in listed} == {NO_ROW}


def test_lists_of_a_turn_name_only_what_fits_the_phase(engine: Engine) -> None:
    """R8: draws before the draw, the table and the discard after it."""
    deal = position("7S 7D 7H", stock="2D", phase=DRAW)

    assert {action.type for action in engine.legal_actions(deal)} == {DRAW_STOCK}
    engine.play(deal, "0 S")
    assert {action.type for action in engine.legal_actions(deal)} == {LAY_MELD, DISCARD}
