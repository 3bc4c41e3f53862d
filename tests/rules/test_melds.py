"""Sets, runs and what can go to the table (R3, R12, R15 to R18)."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given

from service.rules.cards import ALL_CARDS, CARD_NAMES, hand, names_of
from service.rules.deal import Deal
from service.rules.melds import (
    NO_MELD,
    RUN,
    SET,
    can_table,
    cards_in_runs,
    cards_in_sets,
    cards_to_lay_off,
    cards_to_table,
    check_meld,
    is_run,
    is_set,
    meld_kind,
)
from service.rules.violations import Violation
from tests import oracle
from tests.rules.engines import COMPILED, INTERPRETED, Engine
from tests.rules.positions import position
from tests.strategies import deals_in_play, hands


@pytest.mark.parametrize(
    "cards",
    ["4S 4D 4H", "4S 4D 4H 4C", "AS AD AC", "2C 2D 2S", "X1 X2 X3", "X1 X2 X4", "X1 X2 X3 X4"],
)
def test_three_or_four_of_a_rank_are_a_set(engine: Engine, cards: str) -> None:
    """R15, R3: jokers are a rank of their own."""
    assert engine(meld_kind, hand(cards)) == SET
    assert engine(check_meld, hand(cards)) == Violation.NONE


@pytest.mark.parametrize(
    "cards", ["2S 3S 4S", "JS QS KS AS", "QH KH AH", "2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD AD"]
)
def test_three_or_more_in_a_row_of_one_suit_are_a_run(engine: Engine, cards: str) -> None:
    """R16: up to a whole suit, the ace high."""
    assert engine(meld_kind, hand(cards)) == RUN
    assert engine(check_meld, hand(cards)) == Violation.NONE


@pytest.mark.parametrize(
    ("cards", "violation"),
    [
        ("", Violation.NOT_A_SET),
        ("7S", Violation.NOT_A_RUN),
        ("7S 7D", Violation.NOT_A_SET),
        ("7S 8S", Violation.NOT_A_RUN),
        ("7S 7D 7H 8S", Violation.NOT_A_SET),
        ("7S 8S 9D", Violation.NOT_A_SET),
        ("7S 8S TS", Violation.NOT_A_RUN),
        ("AS 2S 3S", Violation.NOT_A_RUN),
        ("KS AS 2S", Violation.NOT_A_RUN),
        ("QS KS AS 2S", Violation.NOT_A_RUN),
        ("KC AC 2D", Violation.NOT_A_SET),
        ("QC KC AC 2D 3D 4D", Violation.NOT_A_SET),
        ("X1", Violation.NOT_A_SET),
        ("X1 X2", Violation.NOT_A_SET),
        ("7S 7D X1", Violation.JOKER_NOT_WILD),
        ("7S X1 9S", Violation.JOKER_NOT_WILD),
        ("KS AS X1", Violation.JOKER_NOT_WILD),
        ("X1 X2 X3 AS", Violation.JOKER_NOT_WILD),
    ],
)
def test_what_is_no_meld_names_the_nearest_rule(
    engine: Engine, cards: str, violation: Violation
) -> None:
    """R3, R15, R16: jokers among others, cards of one suit, all the rest."""
    assert engine(meld_kind, hand(cards)) == NO_MELD
    assert engine(check_meld, hand(cards)) == violation


def test_the_ace_is_never_low(engine: Engine) -> None:
    """R16: the ace is high only."""
    assert engine(is_run, hand("QS KS AS"))
    assert not engine(is_run, hand("AS 2S 3S"))
    assert not engine(is_run, hand("KS AS 2S"))


def test_a_run_does_not_go_on_into_the_next_suit_or_the_jokers(engine: Engine) -> None:
    """R16: numbers of neighbouring suits touch, their cards do not; nor do `AS` and `X1`."""
    for cards in ("KC AC 2D", "KD AD 2H", "KH AH 2S", "QS KS AS X1", "X1 X2 X3"):
        assert not engine(is_run, hand(cards))


def test_all_334_melds_of_the_pack_are_known_for_what_they_are(engine: Engine) -> None:
    """R15, R16: the referee wrote them all down, 70 sets and 264 runs."""
    for whole in oracle.every_meld():
        kind = {"set": SET, "run": RUN}[str(oracle.meld_kind(whole))]

        assert engine(meld_kind, hand(" ".join(whole))) == kind


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_no_other_cards_are_a_meld(size: int) -> None:
    """R15, R16: every choice of up to three cards of the pack, in both engines."""
    melds = {hand(" ".join(whole)) for whole in oracle.every_meld() if len(whole) == size}
    masks = [sum(1 << card for card in chosen) for chosen in combinations(range(56), size)]

    interpreted = {mask for mask in masks if INTERPRETED(meld_kind, mask) != NO_MELD}
    compiled = {mask for mask in masks if COMPILED(meld_kind, mask) != NO_MELD}

    assert interpreted == compiled == melds


@given(hands())
def test_any_cards_are_judged_as_the_referee_judges_them(mask: int) -> None:
    """R3, R15, R16: kind and violation, in both engines."""
    names = names_of(mask)
    kind = {"set": SET, "run": RUN, None: NO_MELD}[oracle.meld_kind(names)]

    for engine in (INTERPRETED, COMPILED):
        assert engine(meld_kind, mask) == kind
        assert engine(is_set, mask) == (kind == SET)
        assert engine(is_run, mask) == (kind == RUN)
        assert (engine(check_meld, mask) == Violation.NONE) == (kind != NO_MELD)


@given(hands(most=20))
def test_cards_that_form_melds_are_those_of_some_listed_meld(mask: int) -> None:
    """R15, R16: against the list of all melds, in both engines."""
    held = frozenset(names_of(mask))
    of_kind: dict[str, set[str]] = {"set": set(), "run": set()}
    for whole in oracle.every_meld():
        if whole <= held:
            of_kind[str(oracle.meld_kind(whole))] |= whole

    for engine in (INTERPRETED, COMPILED):
        assert set(names_of(engine(cards_in_sets, mask))) == of_kind["set"]
        assert set(names_of(engine(cards_in_runs, mask))) == of_kind["run"]


def referee_melds(deal: Deal) -> list[oracle.RefereeMeld]:
    """Return the table in the referee's terms."""
    melds = []
    for row in range(deal.meld_count):
        names = names_of(deal.meld_cards[row])
        kind = oracle.meld_kind(names)
        assert kind is not None
        melds.append(oracle.RefereeMeld(f"m{row + 1}", kind, names, {}, False))
    return melds


@given(deals_in_play(), hands())
def test_a_card_can_be_tabled_if_some_listed_action_contains_it(deal: Deal, wanted: int) -> None:
    """R11, R12, R17: a lay-off of several cards reaches past the first, and no further."""
    table = deal.table_sets | deal.table_runs
    for held in (deal.hands[deal.turn], (deal.hands[deal.turn] | wanted) & ~table):
        actions = oracle.table_actions(names_of(held), referee_melds(deal))
        expected = {name for action in actions for name in action["cards"]}

        for engine in (INTERPRETED, COMPILED):
            tabled = engine(cards_to_table, held, deal.table_sets, deal.table_runs)
            assert set(names_of(tabled)) == expected


def test_a_lay_off_may_reach_further_than_its_first_card(engine: Engine) -> None:
    """R17: `9S` alone does not fit the run to `6S`, with `7S 8S` it does."""
    deal = position("", table=["1 4S 5S 6S", "2 TD TH TS"])

    reached = engine(
        cards_to_lay_off, hand("7S 8S 9S JS 2S TC 3D"), deal.table_sets, deal.table_runs
    )

    assert names_of(reached) == ["TC", "7S", "8S", "9S"]


def test_a_card_of_a_set_on_the_table_is_no_end_of_a_run(engine: Engine) -> None:
    """R17: sets are never extended like runs, nor runs like sets."""
    deal = position("", table=["1 7S 7D 7H", "1 2C 3C 4C"], pile="9C")

    for name in ("6S", "8S", "8D", "4D", "4H"):
        card = CARD_NAMES.index(name)
        assert not engine(can_table, card, 1 << card, deal.table_sets, deal.table_runs)


def test_jokers_join_only_the_set_of_jokers(engine: Engine) -> None:
    """R3, R17: the fourth joker, and nothing else, joins three of them."""
    deal = position("", table=["1 X1 X2 X4"])

    reached = engine(cards_to_lay_off, hand("X3 AS AD 2C"), deal.table_sets, deal.table_runs)

    assert names_of(reached) == ["X3"]


def test_every_card_is_in_a_set_and_in_a_run_of_the_whole_pack(engine: Engine) -> None:
    """R15, R16: but the jokers, which are in no run (R3)."""
    assert engine(cards_in_sets, ALL_CARDS) == ALL_CARDS
    assert engine(cards_in_runs, ALL_CARDS) == ALL_CARDS & ~hand("X1 X2 X3 X4")
