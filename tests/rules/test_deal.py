"""One deal: set-up, turns, the pile, the table, the end (R5 to R25)."""

from __future__ import annotations

import pytest
from hypothesis import given

from service.rules.cards import ALL_CARDS, JOKERS, hand, mask_of, names_of
from service.rules.deal import (
    DISCARD,
    DRAW,
    LAY_MELD,
    MELD,
    NO_CARD,
    NOBODY,
    OVER,
    PASS,
    TAKE_DISCARDS,
    Action,
    deal_cards,
    find_faults,
    play,
)
from service.rules.melds import RUN, SET
from service.rules.violations import Violation
from tests import oracle
from tests.rules.engines import Engine
from tests.rules.positions import cards, position, tables, takes, words
from tests.strategies import packs


def test_seven_cards_each_are_dealt_one_at_a_time_from_the_dealers_left() -> None:
    """R5: then the upcard; the next card of the pack is the first of the stock."""
    deal = deal_cards(range(56), dealer=1)

    assert [names_of(held)[:3] for held in deal.hands] == [
        ["4C", "8C", "QC"],
        ["5C", "9C", "KC"],
        ["2C", "6C", "TC"],
        ["3C", "7C", "JC"],
    ]
    assert deal.pile_cards == [28]
    assert deal.stock_cards == list(range(29, 56))
    assert find_faults(deal) == []


@given(packs())
def test_a_pack_is_dealt_as_the_referee_deals_it(pack: list[int]) -> None:
    """R5: every card lies where an independent dealer puts it."""
    names = [oracle.CARDS[card] for card in pack]
    hands, stock, upcard = oracle.deal_out(names, dealer=2)

    deal = deal_cards(pack, dealer=2)

    assert deal.hands == [hand(" ".join(held)) for held in hands]
    assert deal.pile_cards == cards(upcard)
    assert deal.stock_cards == cards(" ".join(stock))


@pytest.mark.parametrize("dealer", range(4))
def test_the_dealers_left_starts_and_play_goes_clockwise(engine: Engine, dealer: int) -> None:
    """R6: four turns bring it back."""
    deal = deal_cards(range(56), dealer)
    turns = []

    for _ in range(5):
        turns.append(deal.turn)
        lowest = names_of(deal.hands[deal.turn])[0]
        engine.play(deal, f"{deal.turn} S D{lowest}")

    assert turns == [(dealer + step) % 4 for step in range(1, 6)]


def test_a_turn_is_a_draw_any_number_of_melds_and_a_discard(engine: Engine) -> None:
    """R8, R19: two melds and two lay-offs in one turn, in any order."""
    deal = position(
        "4S 4D 4H 9S TS JS QS 7D KD 3C", table=["1 7S 7C 7H"], pile="2C", stock="8S", phase=DRAW
    )

    engine.play(deal, "0 S M9STSJS L8S@m2 L7D@m1 M4S4D4H LQS@m2 DKD")

    assert names_of(deal.hands[0]) == ["3C"]
    assert (deal.turn, deal.phase) == (1, DRAW)
    assert [names_of(deal.meld_cards[row]) for row in range(3)] == [
        ["7C", "7D", "7H", "7S"],
        ["8S", "9S", "TS", "JS", "QS"],
        ["4D", "4H", "4S"],
    ]


def test_a_turn_without_a_meld_is_fine(engine: Engine) -> None:
    """R8, R19: melding is never forced; a card drawn from the stock may go at once (R13)."""
    deal = position("7S 7D 7H KD", stock="2D", phase=DRAW)

    engine.play(deal, "0 S D2D")

    assert names_of(deal.hands[0]) == ["7D", "KD", "7H", "7S"]
    assert deal.pile_cards == cards("2C 2D")
    assert deal.turn == 1


def test_the_top_card_of_the_stock_is_drawn(engine: Engine) -> None:
    """R9: the stock is drawn in its order."""
    deal = position("KD", stock="5H 6H", phase=DRAW)

    engine.play(deal, "0 S")

    assert names_of(deal.hands[0]) == ["KD", "5H"]
    assert deal.stock_cards == cards("6H")
    assert deal.known[0] == 0


def test_a_taken_card_brings_every_card_above_it_and_leaves_those_below(engine: Engine) -> None:
    """R10: `4S` brings `QD`, `6H` stays."""
    deal = position("4D 4C KS", pile="6H 4S QD", phase=DRAW)

    engine.play(deal, "0 T4S")

    assert deal.pile_cards == cards("6H")
    assert deal.hands[0] == hand("4D 4C KS 4S QD")
    assert deal.due == cards("4S")[0]
    assert deal.known[0] == hand("4S QD")


def test_the_taken_card_is_due_in_a_meld_or_a_lay_off(engine: Engine) -> None:
    """R11: the list offers nothing without it, and everything once it lies."""
    deal = position("7S 7D KD KC", pile="7H KH", table=["1 4H 5H 6H"], phase=DRAW)

    engine.play(deal, "0 T7H")

    assert words(engine.legal_actions(deal)) == ["M7D7H7S", "L7H@m1"]
    engine.play(deal, "0 L7H@m1")
    assert deal.due == NO_CARD
    assert words(engine.legal_actions(deal)) == ["MKCKDKH", "DKC", "D7D", "DKD", "DKH", "D7S"]


def test_the_top_card_is_due_as_well(engine: Engine) -> None:
    """R11: the top card included."""
    deal = position("7S 7D KD", pile="2C 7H", phase=DRAW)

    engine.play(deal, "0 T7H")

    assert engine.judge(deal, "0 DKD") == Violation.DUE_CARD_MISSING


def test_a_take_needs_a_way_to_table_its_card(engine: Engine) -> None:
    """R12: with the hand and all the cards taken, in a meld or a lay-off of several cards."""
    deal = position(
        "7S 5C 3H", pile="9D 8S 6S JD 7D 7C", table=["1 TS JS QS", "2 9C 9H 9S"], phase=DRAW
    )

    # 7D needs 7C above it; 8S needs 6S above it, which without 8S is nothing; 9D lays off.
    assert takes(engine.legal_actions(deal)) == ["7D", "8S", "9D"]
    assert engine.judge(deal, "0 T6S") == Violation.TAKE_UNPLAYABLE
    assert engine.judge(deal, "0 TJD") == Violation.TAKE_UNPLAYABLE
    assert engine.judge(deal, "0 T7C") == Violation.TAKE_UNPLAYABLE


def test_the_other_cards_of_a_take_may_help_and_may_be_discarded(engine: Engine) -> None:
    """R13: `7D` helps `7H`, `KD` goes back to the pile in the same turn."""
    deal = position("7S 2S", pile="7H 7D KD", phase=DRAW)

    engine.play(deal, "0 T7H M7S7D7H DKD")

    assert names_of(deal.hands[0]) == ["2S"]
    assert deal.pile_cards == cards("KD")
    assert deal.known[0] == 0


def test_ones_own_discard_may_be_taken_back(engine: Engine) -> None:
    """R14: a round later, with the cards that others put on it."""
    deal = position("7S 7D KD 7H", ("2S 3S", "4C", "5C 9C"), stock="9D TD JD QD", phase=DRAW)

    engine.play(deal, "0 S D7H")
    engine.play(deal, "1 S D2S")
    engine.play(deal, "2 S D4C")
    engine.play(deal, "3 S D5C")
    engine.play(deal, "0 T7H M7S7D7H")

    assert deal.hands[0] == hand("KD 9D 2S 4C 5C")


def test_the_first_upcard_may_be_taken(engine: Engine) -> None:
    """R14: in the first turn of the deal."""
    deal = position("2D 2H KD", pile="2C", stock="3C", phase=DRAW)

    engine.play(deal, "0 T2C M2C2D2H")

    assert deal.pile_cards == []
    assert deal.laid == [6, 0]


def test_an_empty_pile_leaves_the_stock(engine: Engine) -> None:
    """R9: after a take of the whole pile a discard always follows, unless the deal ends."""
    deal = position("KD", pile="", stock="2D", phase=DRAW)

    assert words(engine.legal_actions(deal)) == ["S"]


def test_a_lay_off_goes_on_anybodys_meld_and_needs_no_meld_of_ones_own(engine: Engine) -> None:
    """R17, R19: an opponent's and the partner's, on cards that others laid."""
    deal = position("6S 7S TC KD", table=["1 3S 4S 5S", "2 TS TD TH"])

    engine.play(deal, "0 L6S@m1 L7S@m1 LTC@m2")

    assert deal.meld_cards[0] == hand("3S 4S 5S 6S 7S")
    assert deal.laid == [6 + 7 + 10 + 30, 12]


def test_a_run_grows_at_both_ends_and_by_several_cards_at_once(engine: Engine) -> None:
    """R17: seven cards in one action."""
    deal = position("2S 3S 7S 8S 9S TS JS KD", table=["1 4S 5S 6S"])

    engine.play(deal, "0 L2S3S7S8S9STSJS@m1")

    assert deal.meld_cards[0] == hand("2S 3S 4S 5S 6S 7S 8S 9S TS JS")
    assert names_of(deal.hands[0]) == ["KD"]


def test_touching_runs_stay_two_melds(engine: Engine) -> None:
    """R18: they never merge, and one is not extended by the other's cards."""
    deal = position("7S JS KD", table=["1 4S 5S 6S", "2 8S 9S TS"])

    engine.play(deal, "0 L7S@m2")

    assert deal.meld_count == 2
    assert [deal.meld_cards[0], deal.meld_cards[1]] == [hand("4S 5S 6S"), hand("7S 8S 9S TS")]
    assert tables(engine.legal_actions(deal)) == ["LJS@m2"]


def test_the_discard_ends_the_turn(engine: Engine) -> None:
    """R20: it lies on top, and the left neighbour draws."""
    deal = position("7S KD", ("2S", "", ""))

    engine.play(deal, "0 DKD")

    assert deal.pile_cards == cards("2C KD")
    assert (deal.turn, deal.phase) == (1, DRAW)


@pytest.mark.parametrize(
    ("held", "line"),
    [("7S 7D 7H", "0 M7S7D7H"), ("7S", "0 L7S@m1"), ("7S 8S 2S 3S", "0 L7S8S2S3S@m1")],
)
def test_tabling_the_last_card_ends_the_deal_without_a_discard(
    engine: Engine, held: str, line: str
) -> None:
    """R21: by a meld and by a lay-off."""
    deal = position(held, ("KD", "AD", ""), table=["1 4S 5S 6S"])

    engine.play(deal, line)

    assert (deal.phase, deal.went_out, deal.turn) == (OVER, 0, 0)
    assert engine.legal_actions(deal) == []
    assert deal.pile_cards == cards("2C")


def test_going_out_by_the_taken_card_counts(engine: Engine) -> None:
    """R21: the card of R11 may be among the last."""
    deal = position("7S 7D", pile="7H", phase=DRAW)

    engine.play(deal, "0 T7H M7S7D7H")

    assert (deal.phase, deal.went_out, deal.due) == (OVER, 0, NO_CARD)


def test_discarding_the_last_card_floats(engine: Engine) -> None:
    """R22: the deal goes on; on the next turn a card is drawn and, if not melded, discarded."""
    deal = position("KD", ("2S 3S", "4H 5H", "6C 8C"), stock="9D 9H 9S JC QC", phase=MELD)

    engine.play(deal, "0 DKD")
    assert (deal.hands[0], deal.phase, deal.went_out, deal.turn) == (0, DRAW, NOBODY, 1)

    engine.play(deal, "1 S D2S")
    engine.play(deal, "2 S D4H")
    engine.play(deal, "3 S D6C")
    engine.play(deal, "0 S")
    assert words(engine.legal_actions(deal)) == ["DJC"]
    engine.play(deal, "0 DJC")
    assert (deal.hands[0], deal.phase, deal.turn) == (0, DRAW, 1)


def test_a_floating_player_goes_out_by_the_card_drawn(engine: Engine) -> None:
    """R22, R21: the drawn card is laid off, the hand is empty by a lay-off."""
    deal = position("", ("KD", "", ""), stock="7S 2D", table=["1 4S 5S 6S"], phase=DRAW)

    engine.play(deal, "0 S L7S@m1")

    assert (deal.phase, deal.went_out) == (OVER, 0)


def test_a_floating_player_may_take_from_the_pile(engine: Engine) -> None:
    """R22, R12: with nothing but the cards taken."""
    deal = position("", pile="3C 7S 7D 7H KC", stock="2D", table=["1 KD KH KS"], phase=DRAW)

    assert takes(engine.legal_actions(deal)) == ["KC", "7S"]
    engine.play(deal, "0 T7S M7S7D7H LKC@m1")
    assert deal.went_out == 0


def test_all_four_may_float_at_once(engine: Engine) -> None:
    """R22: four empty hands, and each still draws."""
    deal = position("", stock="9D KH 9S JC QC", phase=DRAW)

    for line in ("0 S D9D", "1 S DKH", "2 S D9S", "3 S DJC", "0 S DQC"):
        engine.play(deal, line)

    assert deal.hands == [0, 0, 0, 0]
    assert words(engine.legal_actions(deal)) == ["P"]


def test_the_turn_of_the_last_stock_card_is_played_to_its_end(engine: Engine) -> None:
    """R23: melds, lay-offs and the discard follow as in any turn."""
    deal = position("7S 7D KD 8S", ("2S", "", ""), stock="7H", phase=DRAW)

    engine.play(deal, "0 S M7S7D7H DKD")

    assert (deal.stock_count, deal.turn, deal.phase) == (0, 1, DRAW)
    assert deal.pile_cards == cards("2C KD")


def test_with_the_stock_empty_a_player_takes_or_passes(engine: Engine) -> None:
    """R24: nobody is forced to take; a pass is the whole turn."""
    deal = position("7S 7D KD", ("2S", "", ""), pile="7H", stock="", phase=DRAW)

    assert words(engine.legal_actions(deal)) == ["T7H", "P"]
    engine.play(deal, "0 P")
    assert (deal.turn, deal.phase, deal.passes) == (1, DRAW, 1)


def test_four_passes_in_a_row_end_the_deal_without_a_bonus(engine: Engine) -> None:
    """R25: three do not."""
    deal = position("7S", ("2S", "3S", "4S"), stock="", table=["1 TS TD TH"], phase=DRAW)

    for seat in (0, 1, 2):
        engine.play(deal, f"{seat} P")
        assert deal.phase == DRAW
    engine.play(deal, "3 P")

    assert (deal.phase, deal.went_out) == (OVER, NOBODY)
    assert deal.score.bonus == (0, 0)
    assert deal.score.total == (-7 - 3, 30 - 2 - 4)


def test_a_take_sets_the_count_of_passes_back(engine: Engine) -> None:
    """R25: three passes, a take, and four more are needed."""
    deal = position("2S", ("3S", "4C", "7S 7D KD 5C"), pile="7H", stock="", phase=DRAW)

    for line in ("0 P", "1 P", "2 P", "3 T7H M7S7D7H DKD"):
        engine.play(deal, line)
    assert deal.passes == 0

    for line in ("0 P", "1 P", "2 P"):
        engine.play(deal, line)
    assert deal.phase == DRAW
    engine.play(deal, "3 P")
    assert deal.phase == OVER


def test_the_table_is_known_by_meld_by_kind_and_by_who_laid_each_card(engine: Engine) -> None:
    """R18, R27: rows and masks tell the same."""
    deal = position("TC 6S 7S KD", ("2S", "", ""), table=["1 TS TD TH", "2 3S 4S 5S"])

    engine.play(deal, "0 LTC@m1 L6S7S@m2 DKD")

    assert deal.meld_kinds[:2] == [SET, RUN]
    assert deal.table_sets == hand("TS TD TH TC")
    assert deal.table_runs == hand("3S 4S 5S 6S 7S")
    assert [deal.laid_by[card] for card in cards("TS TC 3S 6S 7S KD")] == [1, 0, 2, 0, 0, NOBODY]


def test_a_copy_shares_nothing() -> None:
    """DESIGN: a search or a dry run plays on in a copy."""
    deal = position("7S 7D 7H KD", table=["1 TS TD TH"])
    twin, before = deal.copy(), deal.copy()

    for name in ("hands", "known", "laid", "stock", "pile", "meld_cards", "meld_kinds", "laid_by"):
        getattr(twin, name)[0] += 1

    assert deal == before
    assert twin != deal


@pytest.mark.parametrize(
    "action",
    [
        Action(TAKE_DISCARDS),
        Action(TAKE_DISCARDS, hand("7H 7D")),
        Action(DISCARD),
        Action(DISCARD, hand("7S KD")),
        Action(PASS, hand("7S")),
        Action(0, hand("7S")),
        Action(0, 0, 0),
        Action(LAY_MELD, hand("7S 7D"), 0),
        Action(LAY_MELD, -1),
        Action(LAY_MELD, 1 << 57),
        Action(6),
        Action(-1, hand("7S 7D")),
    ],
)
def test_what_is_no_action_is_an_error_of_the_caller(action: Action) -> None:
    """No rule is broken by it: ValueError, whatever the phase, and nothing changes."""
    for phase in (DRAW, MELD):
        deal = position("7S 7D KD", pile="7H", stock="", phase=phase)
        before = deal.copy()

        with pytest.raises(ValueError, match="no action"):
            play(deal, 0, action)

        assert deal == before


def test_a_faulty_state_is_told_in_sentences() -> None:
    """Always true: the check that other tests rely on finds what is wrong."""
    deal = deal_cards(range(56), 0)
    assert find_faults(deal) == []

    deal.hands[0] |= mask_of(deal.pile_cards)
    assert "a card is in two places" in find_faults(deal)
    deal.hands = [0, 0, 0, 0]
    assert "a card is missing" in find_faults(deal)
    deal.known[1] = JOKERS & ALL_CARDS
    assert "a known card is not in its hand" in find_faults(deal)
