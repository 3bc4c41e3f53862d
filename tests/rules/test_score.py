"""Points: cards, doubles, bonus, hands (R26 to R31)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.cards import ALL_CARDS, CARD_NAMES, cards_in, hand
from service.rules.score import PACK_POINTS, DealScore, card_points, points, score_deal
from tests import oracle
from tests.rules.engines import COMPILED, INTERPRETED, Engine
from tests.rules.positions import position
from tests.strategies import masks


def test_each_card_is_worth_what_the_rule_says() -> None:
    """R26: joker 20, ace 15, K Q J and 10 ten each, 9 to 2 their pips."""
    assert card_points(CARD_NAMES.index("X3")) == 20
    assert card_points(CARD_NAMES.index("AS")) == 15
    for name in ("KD", "QC", "JH", "TS"):
        assert card_points(CARD_NAMES.index(name)) == 10
    for pips in range(2, 10):
        assert card_points(CARD_NAMES.index(f"{pips}H")) == pips


def test_the_pack_is_worth_476(engine: Engine) -> None:
    """R26: and no cards are worth nothing."""
    assert engine(points, ALL_CARDS) == PACK_POINTS == 476
    assert engine(points, 0) == 0


@given(masks())
def test_cards_are_worth_the_sum_of_each(mask: int) -> None:
    """R26: the five bit counts against the referee, in both engines."""
    expected = sum(oracle.points(CARD_NAMES[card]) for card in cards_in(mask))

    assert INTERPRETED(points, mask) == COMPILED(points, mask) == expected


@pytest.mark.parametrize(
    ("held", "line", "laid", "doubled"),
    [
        ("JS JD JH JC", "0 MJSJDJHJC", 80, 1),
        ("X1 X2 X3 X4", "0 MX1X2X3X4", 160, 1),
        ("2S 2D 2H 2C", "0 M2S2D2H2C", 16, 1),
        ("JS JD JH JC", "0 MJSJDJH LJC@m1", 40, 0),
        ("X1 X2 X3 X4", "0 MX1X2X3 LX4@m1", 80, 0),
        ("9S TS JS QS", "0 M9STSJSQS", 39, 0),
    ],
)
def test_only_a_set_of_four_laid_at_once_counts_double(
    engine: Engine, held: str, line: str, laid: int, doubled: int
) -> None:
    """R28: not one made of three and one in the same turn, nor a run of four."""
    deal = position(f"{held} KD", pile="3C", stock="3D 3H")

    engine.play(deal, line)

    assert deal.laid == [laid, 0]
    assert (deal.meld_count, deal.meld_doubled[0]) == (1, doubled)


def test_a_fourth_card_laid_off_by_another_counts_once_for_that_one(engine: Engine) -> None:
    """R27, R28: three jacks are the opponents' 30, the fourth is ours, ten."""
    deal = position("JC KD", table=["1 JS JD JH"])

    engine.play(deal, "0 LJC@m1")

    assert deal.laid == [10, 30]
    assert deal.meld_doubled[0] == 0


def test_the_bonus_is_for_the_team_that_went_out() -> None:
    """R29: 25, and to nobody after four passes (R25)."""
    for seat in range(4):
        expected = (25, 0) if seat in (0, 2) else (0, 25)
        assert score_deal((0, 0), (0, 0, 0, 0), seat).bonus == expected
    assert score_deal((0, 0), (0, 0, 0, 0), None).bonus == (0, 0)


def test_cards_in_hand_are_subtracted_the_partners_of_the_winner_too() -> None:
    """R30: seat 0 went out, the partner holds an ace."""
    score = score_deal((50, 0), (0, hand("2S"), hand("AS"), hand("X1 KD")), 0)

    assert score.hands == (-15, -32)
    assert score.total == (50 + 25 - 15, -32)


def test_four_of_a_kind_in_hand_do_not_count_double() -> None:
    """R28: cards in hand never double; a score may be negative (R31)."""
    score = score_deal((0, 0), (hand("JS JD JH JC"), 0, 0, 0), None)

    assert score.total == (-40, 0)


@given(
    st.tuples(st.integers(0, 600), st.integers(0, 600)), st.lists(masks(), min_size=4, max_size=4)
)
def test_a_score_is_the_sum_of_its_parts(laid: tuple[int, int], held: list[int]) -> None:
    """R31: total is laid and bonus and hands, never clipped."""
    score = score_deal(laid, (held[0], held[1], held[2], held[3]), 2)

    assert score == DealScore(laid, (25, 0), score.hands, 2)
    for team in (0, 1):
        assert score.hands[team] == -points(held[team]) - points(held[team + 2])
        assert score.total[team] == laid[team] + score.bonus[team] + score.hands[team]
