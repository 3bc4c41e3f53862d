"""One test for each way to be refused; the last test finds a violation without one (R6 to R24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from service.rules.deal import DRAW, Deal, play
from service.rules.notation import action_from_json
from service.rules.violations import RULE_OF, SENTENCE_OF, IllegalAction, RulesError, Violation
from tests.rules.engines import Engine
from tests.rules.positions import position

Test = TypeVar("Test", bound=Callable[..., None])
TESTED: set[Violation] = set()


def refuses(violation: Violation) -> Callable[[Test], Test]:
    """Mark a test as the one of `violation`."""

    def mark(test: Test) -> Test:
        assert violation not in TESTED
        TESTED.add(violation)
        return test

    return mark


def assert_refused(engine: Engine, deal: Deal, line: str, violation: Violation) -> None:
    """Assert that the action is refused for that reason, by its rule, and changes nothing."""
    before = deal.copy()

    assert engine.judge(deal, line) == violation
    with pytest.raises(IllegalAction) as refused:
        engine.play(deal, line)

    assert refused.value.violation == violation
    assert refused.value.rule == RULE_OF[violation]
    assert refused.value.seat == int(line[0])
    assert str(refused.value) == SENTENCE_OF[violation]
    assert deal == before


@refuses(Violation.DEAL_OVER)
def test_nothing_is_played_after_the_end(engine: Engine) -> None:
    """R21: not even by the seat that would be next."""
    deal = position("7S 7D 7H", ("8S 8D 8H", "", ""))
    engine.play(deal, "0 M7S7D7H")

    for line in ("0 D8S", "1 S", "1 M8S8D8H", "2 P"):
        assert_refused(engine, deal, line, Violation.DEAL_OVER)


@refuses(Violation.NOT_YOUR_TURN)
def test_no_seat_plays_out_of_turn(engine: Engine) -> None:
    """R6: play goes clockwise, also between partners."""
    deal = position("7S KD", ("8S", "7D 7H 7C", "9S"))

    for line in ("1 D8S", "2 M7D7H7C", "3 S", "1 P"):
        assert_refused(engine, deal, line, Violation.NOT_YOUR_TURN)


@refuses(Violation.ALREADY_DRAWN)
def test_nobody_draws_twice(engine: Engine) -> None:
    """R8: neither from the stock nor from the pile, after either."""
    deal = position("7S 7D KD KC", pile="KH 7H", phase=DRAW)
    engine.play(deal, "0 T7H")

    for line in ("0 S", "0 TKH", "0 T7H"):
        assert_refused(engine, deal, line, Violation.ALREADY_DRAWN)


@refuses(Violation.NOT_DRAWN)
def test_nobody_plays_before_drawing(engine: Engine) -> None:
    """R8: a turn begins with a draw."""
    deal = position("7S 7D 7H 6S", table=["1 3S 4S 5S"], phase=DRAW)

    for line in ("0 M7S7D7H", "0 L6S@m1", "0 D7S", "0 M", "0 DAC"):
        assert_refused(engine, deal, line, Violation.NOT_DRAWN)


@refuses(Violation.STOCK_EMPTY)
def test_an_empty_stock_gives_no_card(engine: Engine) -> None:
    """R23: it is never made anew from the pile."""
    deal = position("7S KD", pile="2C 3C 4C", stock="", phase=DRAW)

    assert_refused(engine, deal, "0 S", Violation.STOCK_EMPTY)


@refuses(Violation.NOT_IN_PILE)
def test_only_a_card_of_the_pile_is_taken(engine: Engine) -> None:
    """R9: not one of the own hand, of another, of the stock nor of the table."""
    deal = position("7S 7D", ("7C", "", ""), pile="2C", table=["1 TS TD TH"], phase=DRAW)

    for line in ("0 T7S", "0 T7C", "0 T2D", "0 TTS", "0 TX1"):
        assert_refused(engine, deal, line, Violation.NOT_IN_PILE)


@refuses(Violation.TAKE_UNPLAYABLE)
def test_a_card_that_cannot_be_tabled_is_not_taken(engine: Engine) -> None:
    """R12: `3S` fits neither the hand nor the card above it nor the table."""
    deal = position("7S 7D KD", pile="3S 7H", table=["1 TS TD TH"], phase=DRAW)

    assert_refused(engine, deal, "0 T3S", Violation.TAKE_UNPLAYABLE)
    assert engine.judge(deal, "0 T7H") == Violation.NONE


@refuses(Violation.DUE_CARD_MISSING)
def test_the_taken_card_is_tabled_before_anything_else(engine: Engine) -> None:
    """R11: the first table action contains it, and no discard comes before."""
    deal = position("7S 7D 9S 9D 9H TC", pile="7H", table=["1 TS TD TH"], phase=DRAW)
    engine.play(deal, "0 T7H")

    for line in ("0 M9S9D9H", "0 LTC@m1", "0 D7H", "0 D9S"):
        assert_refused(engine, deal, line, Violation.DUE_CARD_MISSING)


@refuses(Violation.CARD_TWICE)
def test_a_card_is_not_named_twice(engine: Engine) -> None:
    """R2: there is one of each; notation has no word for it, but JSON has."""
    deal = position("7S 7D X1 X2 4D", table=["1 TS TD TH"])
    before = deal.copy()

    for given in (
        {"type": "meld", "cards": ["7S", "7S", "7S"]},
        {"type": "meld", "cards": ["7S", "7D", "7S"]},
        {"type": "meld", "cards": ["X1", "X1", "X1"]},
        {"type": "meld", "cards": ["AC", "AC"]},
        {"type": "lay_off", "cards": ["4D", "4D"], "meld": "m9"},
    ):
        action = action_from_json(given)
        with pytest.raises(IllegalAction) as refused:
            play(deal, 0, action)
        assert refused.value.violation == Violation.CARD_TWICE
        assert refused.value.rule == "R2"
        assert engine.judge_action(deal, 0, action) == Violation.CARD_TWICE
    assert deal == before


@refuses(Violation.CARD_NOT_HELD)
def test_only_cards_of_the_own_hand_are_played(engine: Engine) -> None:
    """R8: not the partner's, the pile's or the table's, nor one that is in the stock."""
    deal = position("7S 7D KD", ("", "7H", ""), table=["1 TS TD TH"])

    for line in ("0 M7S7D7H", "0 MTSTDTH", "0 LTC@m1", "0 D7H", "0 D2C", "0 D2D"):
        assert_refused(engine, deal, line, Violation.CARD_NOT_HELD)


@refuses(Violation.JOKER_NOT_WILD)
def test_a_joker_stands_for_no_other_card(engine: Engine) -> None:
    """R3: in no run and in no set but its own."""
    deal = position("7S 7D 9S X1 X2")

    for line in ("0 M7S7DX1", "0 M7SX19S", "0 M7S7DX1X2"):
        assert_refused(engine, deal, line, Violation.JOKER_NOT_WILD)


@refuses(Violation.NOT_A_SET)
def test_a_set_is_three_or_four_of_a_rank(engine: Engine) -> None:
    """R15: nothing less, nothing else, and jokers in threes too."""
    deal = position("7S 7D 8H 9C X1 X2")

    for line in ("0 M7S7D", "0 M7S7D8H", "0 M7S8H9C", "0 MX1X2", "0 MX1", "0 M"):
        assert_refused(engine, deal, line, Violation.NOT_A_SET)


@refuses(Violation.NOT_A_RUN)
def test_a_run_is_three_in_a_row_with_the_ace_high(engine: Engine) -> None:
    """R16: no gap, no turn round the corner."""
    deal = position("AS 2S 3S KS 5S")

    for line in ("0 MAS2S3S", "0 MKSAS2S", "0 M2S3S5S", "0 M2S3S", "0 M5S"):
        assert_refused(engine, deal, line, Violation.NOT_A_RUN)


@refuses(Violation.NO_SUCH_MELD)
def test_a_lay_off_names_a_meld_of_the_table(engine: Engine) -> None:
    """R18: `m2` is not there yet, and `m0` never is."""
    deal = position("TC 7S", table=["1 TS TD TH"])

    for line in ("0 LTC@m2", "0 LTC@m18", "0 LTC@m99"):
        assert_refused(engine, deal, line, Violation.NO_SUCH_MELD)
    for name in ("m0", "m100", "m-1", "M1", "1", "", "m", "m1 ", "m١", "m01", "m" + "9" * 5000):
        action = action_from_json({"type": "lay_off", "cards": ["TC"], "meld": name})
        assert engine.judge_action(deal, 0, action) == Violation.NO_SUCH_MELD


@refuses(Violation.LAY_OFF_UNFIT)
def test_a_lay_off_leaves_a_meld_of_the_same_kind(engine: Engine) -> None:
    """R17: no gap in a run, no fifth or other card in a set, no run out of a set, not nothing."""
    deal = position("6S 8S TC JC 2H 9S X1", table=["1 TS TD TH", "2 3S 4S 5S"], stock="2D")

    for line in (
        *("0 L8S@m2", "0 L6S8S@m2", "0 L2H@m2", "0 LX1@m2", "0 L6SX1@m2"),
        *("0 LJC@m1", "0 LTCJC@m1", "0 L9S@m1", "0 LX1@m1", "0 L@m1", "0 L@m2"),
    ):
        assert_refused(engine, deal, line, Violation.LAY_OFF_UNFIT)


@refuses(Violation.PASS_WITH_STOCK)
def test_nobody_passes_while_there_is_a_stock(engine: Engine) -> None:
    """R24: with one card left there is one."""
    deal = position("7S KD", stock="2D", phase=DRAW)

    assert_refused(engine, deal, "0 P", Violation.PASS_WITH_STOCK)


@refuses(Violation.PASS_AFTER_DRAW)
def test_a_pass_is_a_whole_turn(engine: Engine) -> None:
    """R8, R24: whoever has drawn goes on to discard, the stock empty or not."""
    for stock in ("", "2D"):
        deal = position("7S 7D KD", pile="7H", stock=stock, phase=DRAW)
        engine.play(deal, "0 T7H")

        assert_refused(engine, deal, "0 P", Violation.PASS_AFTER_DRAW)


def test_every_violation_has_a_test_a_rule_and_a_sentence() -> None:
    """R1 to R33: a refusal names its rule, and a person is told in a sentence."""
    refusals = set(Violation) - {Violation.NONE}

    assert TESTED == refusals
    assert set(RULE_OF) == set(SENTENCE_OF) == refusals
    assert all(rule in {f"R{number}" for number in range(1, 34)} for rule in RULE_OF.values())
    assert all(sentence.endswith(".") for sentence in SENTENCE_OF.values())


def test_the_codes_never_change() -> None:
    """Clients and logs keep names and numbers: a new one comes at the end."""
    assert [(violation.value, violation.name) for violation in Violation] == [
        (0, "NONE"),
        (1, "DEAL_OVER"),
        (2, "NOT_YOUR_TURN"),
        (3, "ALREADY_DRAWN"),
        (4, "NOT_DRAWN"),
        (5, "STOCK_EMPTY"),
        (6, "NOT_IN_PILE"),
        (7, "TAKE_UNPLAYABLE"),
        (8, "DUE_CARD_MISSING"),
        (9, "CARD_TWICE"),
        (10, "CARD_NOT_HELD"),
        (11, "JOKER_NOT_WILD"),
        (12, "NOT_A_SET"),
        (13, "NOT_A_RUN"),
        (14, "NO_SUCH_MELD"),
        (15, "LAY_OFF_UNFIT"),
        (16, "PASS_WITH_STOCK"),
        (17, "PASS_AFTER_DRAW"),
    ]


def test_a_refusal_is_a_rules_error() -> None:
    """One family: a caller that catches RulesError catches all that the rules raise."""
    assert issubclass(IllegalAction, RulesError)


@pytest.mark.parametrize(
    ("line", "violation"),
    [
        ("1 DAC", Violation.NOT_YOUR_TURN),
        ("0 L7S@m9", Violation.NO_SUCH_MELD),
        ("0 LAC@m9", Violation.CARD_NOT_HELD),
        ("0 MAC2C", Violation.CARD_NOT_HELD),
        ("0 MX1X2", Violation.NOT_A_SET),
        ("0 L7S@m1", Violation.LAY_OFF_UNFIT),
        ("0 DAC", Violation.CARD_NOT_HELD),
    ],
)
def test_the_first_reason_counts(engine: Engine, line: str, violation: Violation) -> None:
    """R6, R8, R2, R18, R17, R15, R11: turn, draw, cards held, the meld, and the due card last."""
    deal = position("7S 7D X1 X2", pile="7H", table=["1 TS TD TH"], phase=DRAW)
    engine.play(deal, "0 T7H")

    assert engine.judge(deal, line) == violation
