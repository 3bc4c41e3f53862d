"""The worked examples of the rule book (`service/rules/README.md`), each with its number."""

from __future__ import annotations

import pytest

from service.rules.cards import hand
from service.rules.deal import DRAW, OVER
from service.rules.score import points, score_deal
from tests.rules.engines import Engine
from tests.rules.positions import cards, position, takes, words


def laid_by(engine: Engine, line: str) -> int:
    """Return what seat 0 has laid after playing `line` with just its cards and one more."""
    played = "".join(word[1:].partition("@")[0] for word in line.split()[1:])
    names = [played[start : start + 2] for start in range(0, len(played), 2)]
    deal = position(" ".join([*names, "3H"]), pile="3C", stock="3D")
    engine.play(deal, line)
    return deal.laid[0]


def test_example_1_three_jacks_and_one_are_40_four_at_once_80(engine: Engine) -> None:
    """R28: `JS JD JH`, later `JC`: 40. All four at once: 80."""
    assert laid_by(engine, "0 MJSJDJH LJC@m1") == 40
    assert laid_by(engine, "0 MJSJDJHJC") == 80


def test_example_2_jokers(engine: Engine) -> None:
    """R26, R28: `X1 X2 X3` 60, then `X4` 80; four at once 160."""
    assert laid_by(engine, "0 MX1X2X3") == 60
    assert laid_by(engine, "0 MX1X2X3 LX4@m1") == 80
    assert laid_by(engine, "0 MX1X2X3X4") == 160


@pytest.mark.parametrize(
    ("line", "laid"),
    [
        ("0 M4S4D4H", 12),
        ("0 MJSQSKSAS", 45),
        ("0 MQHKHAH", 35),
        ("0 M9HTHJH", 29),
        ("0 M2S3S4S5S6S7S8S9STSJSQSKSAS", 99),
        ("0 MASADAHAC", 120),
        ("0 MTSTDTHTC", 80),
        ("0 M2S2D2H2C", 16),
    ],
)
def test_example_3_what_melds_are_worth(engine: Engine, line: str, laid: int) -> None:
    """R26, R28: runs never double, sets of four at once do."""
    assert laid_by(engine, line) == laid


def test_example_4_hands_are_subtracted_down_to_below_nought(engine: Engine) -> None:
    """R30, R31: table 87, hand 90: -3. Table nothing, hand 40: -40. Four jacks in hand: -40."""
    ninety = hand("X1 X2 X3 AS AD")
    forty = hand("X1 X2")
    jacks = hand("JS JD JH JC")
    assert (engine(points, ninety), engine(points, forty)) == (90, 40)

    assert score_deal((87, 0), (ninety, 0, 0, 0), None).total[0] == -3
    assert score_deal((0, 0), (forty, 0, 0, 0), None).total[0] == -40
    assert score_deal((0, 0), (jacks, 0, 0, 0), None).total[0] == -40


def test_example_5_a_card_counts_for_who_laid_it(engine: Engine) -> None:
    """R27, R30: aces 45 less the king is +35; the opponent's ace 15 less the two is +13."""
    deal = position("AC 2S", ("", "", "KC"), table=["1 AS AD AH"])

    engine.play(deal, "0 LAC@m1")

    assert deal.score.total == (13, 35)


def test_example_6_the_card_named_is_due_and_not_the_top_one(engine: Engine) -> None:
    """R10, R11: taking `4S` takes `QD` too, the meld `4S 4D 4C` is due, `QD` stays in the hand."""
    deal = position("4D 4C 9H", pile="6H 4S QD", phase=DRAW)

    engine.play(deal, "0 T4S")

    assert words(engine.legal_actions(deal)) == ["M4C4D4S"]
    engine.play(deal, "0 M4C4D4S")
    assert deal.hands[0] == hand("9H QD")
    assert deal.pile_cards == cards("6H")


def test_example_7_only_a_card_that_can_be_melded_is_taken(engine: Engine) -> None:
    """R12: only `8H` can be taken, all four cards with it."""
    deal = position("8S 8D", pile="8H KC 3S QD", phase=DRAW)

    assert takes(engine.legal_actions(deal)) == ["8H"]
    engine.play(deal, "0 T8H")
    assert deal.hands[0] == hand("8S 8D 8H KC 3S QD")
    assert deal.pile_cards == []


def test_example_8_take_meld_out(engine: Engine) -> None:
    """R21, R29: hand `7S 7D`, pile top `7H`: 21 + 25."""
    deal = position("7S 7D", pile="7H", phase=DRAW)

    engine.play(deal, "0 T7H M7S7D7H")

    assert (deal.phase, deal.went_out) == (OVER, 0)
    assert deal.score.total == (21 + 25, 0)


@pytest.mark.parametrize(("named", "other"), [(0, 1), (1, 0)])
def test_example_9_a_card_goes_on_the_meld_that_is_named(
    engine: Engine, named: int, other: int
) -> None:
    """R18: `7S` fits `4S 5S 6S` and `8S 9S TS`; the runs stay two melds."""
    deal = position("7S KD", table=["1 4S 5S 6S", "1 8S 9S TS"])
    before = list(deal.meld_cards)

    engine.play(deal, f"0 L7S@m{named + 1}")

    assert deal.meld_count == 2
    assert deal.meld_cards[named] == before[named] | hand("7S")
    assert deal.meld_cards[other] == before[other]


@pytest.mark.parametrize(("four", "total"), [("JC JD JH JS", 114), ("X1 X2 X3 X4", 194)])
def test_example_10_a_whole_deal(engine: Engine, four: str, total: int) -> None:
    """R26 to R30: four jacks at once (80; jokers 160) + 35 + 7 - 33 + 25.

    The run that the partner's `7D` joins is the opponents'.
    """
    meld = four.replace(" ", "")
    deal = position(
        f"{four} QS KS AS", ("KC", "AD TC 8C 7D", "3C"), table=["1 4D 5D 6D"], stock="9H 2D"
    )
    deal.turn = 2
    engine.play(deal, "2 L7D@m1")
    deal.turn = 0

    engine.play(deal, f"0 M{meld} MQSKSAS")

    assert deal.went_out == 0
    assert deal.score.laid == (total - 25 + 33, 15)
    assert deal.score.hands == (-33, -13)
    assert deal.score.bonus == (25, 0)
    assert deal.score.total == (total, 2)
