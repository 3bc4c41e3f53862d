"""Faults that other rummy programs have, each by its name: ours has none of them.

Those of a server (a search inside a request, four seats joined forty times, streams, expired hints,
job ids, lost workers) are tested where the server is.
"""

from __future__ import annotations

import json
import random
from itertools import permutations

import pytest

from service.rules.cards import CARD_NAMES, hand, names_of
from service.rules.deal import (
    DRAW,
    MELD,
    NO_CARD,
    NOBODY,
    OVER,
    apply_action,
    deal_cards,
    find_faults,
    play,
)
from service.rules.legal import legal_actions
from service.rules.match import (
    DrawRound,
    Match,
    draw_lowest,
    play_in_match,
    start_match,
)
from service.rules.melds import check_meld
from service.rules.notation import BadNotation, action_from_json, action_to_json, read_action
from service.rules.shuffle import commitment, shuffled_deck
from service.rules.view import view_deal, view_match, view_to_json
from service.rules.violations import IllegalAction, Violation
from tests.rules.engines import Engine
from tests.rules.positions import cards, position, tables, takes, words
from tests.strategies import LIKINGS, MOST_STEPS, choose

# Going out.


def test_melding_the_last_cards_freezes_the_game(engine: Engine) -> None:
    """R21: the deal is over and scored; no discard is waited for."""
    deal = position("7S 7D 7H", ("KD", "", ""))

    engine.play(deal, "0 M7S7D7H")

    assert (deal.phase, deal.went_out) == (OVER, 0)
    assert deal.score.total == (21 + 25, -10)


def test_must_keep_one_card_blocks_a_forced_meld_that_goes_out(engine: Engine) -> None:
    """R11, R21: the taken card and the last two of the hand may go to the table together."""
    deal = position("7S 7D", pile="7H", stock="", phase=DRAW)
    assert takes(engine.legal_actions(deal)) == ["7H"]

    engine.play(deal, "0 T7H")

    assert words(engine.legal_actions(deal)) == ["M7D7H7S"]
    engine.play(deal, "0 M7S7D7H")
    assert deal.phase == OVER


@pytest.mark.parametrize("stock", ["3C 4D 8H 9S JD", ""])
def test_an_empty_hand_crashes_freezes_the_partner_or_reads_as_missing(
    engine: Engine, stock: str
) -> None:
    """R22: who floats is asked for a turn like anybody, and is shown an empty list, not none."""
    deal = position("KD", ("2S 3S", "", "5S 6S"), stock=stock, phase=MELD)
    engine.play(deal, "0 DKD")

    for line in ("1 S D2S", "2 S D4D", "3 S D5S") if stock else ("1 P", "2 P", "3 P"):
        engine.play(deal, line)

    assert (deal.turn, deal.phase, deal.went_out) == (0, DRAW, NOBODY)
    assert words(engine.legal_actions(deal)) == (["S"] if stock else ["P"])
    data = view_to_json(view_deal(deal, 0))
    assert (data["hand"], data["hand_counts"][0]) == ([], 0)


# The taken card.


def test_the_obligation_is_pinned_to_the_top_card_and_not_the_one_named(engine: Engine) -> None:
    """R11: `4S` is due, though `QD` lay on top and would meld too."""
    deal = position("4D 4C QS QH", pile="6H 4S QD", phase=DRAW)

    engine.play(deal, "0 T4S")

    assert CARD_NAMES[deal.due] == "4S"
    assert engine.judge(deal, "0 MQSQHQD") == Violation.DUE_CARD_MISSING
    assert engine.judge(deal, "0 M4S4D4C") == Violation.NONE


def test_the_obligation_is_checked_only_after_the_discard_so_that_the_turn_sticks(
    engine: Engine,
) -> None:
    """R11: the discard itself is refused, and the meld is still possible."""
    deal = position("7S 7D KD", pile="7H", phase=DRAW)
    engine.play(deal, "0 T7H")

    assert engine.judge(deal, "0 DKD") == Violation.DUE_CARD_MISSING
    engine.play(deal, "0 M7S7D7H DKD")
    assert (deal.turn, deal.phase) == (1, DRAW)


def test_the_obligation_leaks_to_the_next_player(engine: Engine) -> None:
    """R11: it ends with the table action that meets it."""
    deal = position("7S 7D KD KC", ("2S 3S", "", ""), pile="7H", phase=DRAW)

    engine.play(deal, "0 T7H M7S7D7H DKD")
    assert deal.due == NO_CARD
    engine.play(deal, "1 S")

    assert words(engine.legal_actions(deal)) == ["D2D", "D2S", "D3S"]


def test_the_obligation_can_be_evaded_by_discarding(engine: Engine) -> None:
    """R11: neither the taken card nor another can be discarded before it lies on the table."""
    deal = position("7S 7D KD", pile="7H 2S", phase=DRAW)

    engine.play(deal, "0 T7H")

    for word in ("D7H", "DKD", "D2S", "D7S", "P", "S"):
        assert engine.judge(deal, f"0 {word}") != Violation.NONE
    assert words(engine.legal_actions(deal)) == ["M7D7H7S"]


def test_an_unplayable_take_is_accepted_and_locks_the_turn(engine: Engine) -> None:
    """R12: refused at once; a card that only a run with cards below it would need is unplayable."""
    deal = position("7S 9S KD", pile="8S 6D TD 8D", phase=DRAW)

    for name in ("8D", "TD", "6D"):
        assert engine.judge(deal, f"0 T{name}") == Violation.TAKE_UNPLAYABLE
    engine.play(deal, "0 T8S")
    assert words(engine.legal_actions(deal)) == ["M7S8S9S"]


def test_partners_needed_for_the_taken_card_are_spent_elsewhere_first(engine: Engine) -> None:
    """R11: `7S 8S 9S` would use up what `7H` needs, and is refused until `7H` lies."""
    deal = position("7S 8S 9S 7D KD", pile="7H", table=["1 TS JS QS"], phase=DRAW)

    engine.play(deal, "0 T7H")

    for line in ("0 M7S8S9S", "0 L9S@m1", "0 L7S8S9S@m1"):
        assert engine.judge(deal, line) == Violation.DUE_CARD_MISSING
    assert words(engine.legal_actions(deal)) == ["M7D7H7S"]


# The order of a turn.


def test_a_hand_of_more_than_seven_reads_as_has_drawn(engine: Engine) -> None:
    """R8: the phase tells, whatever the number of cards: twelve before the draw, one after it."""
    many = position("2S 4S 6S 8S TS QS 3H 5H 7H 9H JH KH", stock="2D", phase=DRAW)
    assert engine.judge(many, "0 DKH") == Violation.NOT_DRAWN
    assert words(engine.legal_actions(many)) == ["S"]

    one = position("", stock="2D 2H", phase=DRAW)
    engine.play(one, "0 S")
    assert engine.judge(one, "0 S") == Violation.ALREADY_DRAWN
    assert words(engine.legal_actions(one)) == ["D2D"]


def test_two_draws_a_turn(engine: Engine) -> None:
    """R8: no second draw, from the other place neither, even after a meld."""
    deal = position("7S 7D KD KC", pile="KS 7H", phase=DRAW)

    engine.play(deal, "0 T7H M7S7D7H")

    for line in ("0 S", "0 TKS"):
        assert engine.judge(deal, line) == Violation.ALREADY_DRAWN


def test_melding_before_drawing(engine: Engine) -> None:
    """R8: nor laying off, nor discarding."""
    deal = position("7S 7D 7H 6S KD", table=["1 3S 4S 5S"], phase=DRAW)

    for line in ("0 M7S7D7H", "0 L6S@m1", "0 DKD"):
        assert engine.judge(deal, line) == Violation.NOT_DRAWN


# Cards.


@pytest.mark.parametrize("named", [["7S"] * 3, ["7S", "7D", "7S"], ["X1"] * 3, ["X1", "X2", "X1"]])
def test_the_same_card_twice_in_a_meld(engine: Engine, named: list[str]) -> None:
    """R2: refused, also with a hand that would make a meld of one of each."""
    deal = position("7S 7D 7H X1 X2 X3")

    action = action_from_json({"type": "meld", "cards": named})

    assert engine.judge_action(deal, 0, action) == Violation.CARD_TWICE


def test_melding_cards_not_held(engine: Engine) -> None:
    """R8: one card too many is enough."""
    deal = position("7S 7D 8S", pile="2C", stock="2D")

    for line in ("0 M7S7D7H", "0 M7S8S9S", "0 MX1X2X3"):
        assert engine.judge(deal, line) == Violation.CARD_NOT_HELD


def test_cards_from_another_hand_are_accepted(engine: Engine) -> None:
    """R8: the partner's neither."""
    deal = position("7S 7D KD", ("7C", "7H", "KC"))

    for line in ("0 M7S7D7H", "0 M7S7D7C", "0 D7H", "0 DKC"):
        assert engine.judge(deal, line) == Violation.CARD_NOT_HELD


def test_a_refused_request_already_removed_cards(engine: Engine) -> None:
    """Always true: the cards before the wrong one stay where they are."""
    deal = position("7S 7D 8H 9S KD", table=["1 TS JS QS"])
    before = deal.copy()

    for line in ("0 M7S7D8H", "0 M7S7D7H", "0 L9S8H@m1", "0 L9S@m2"):
        with pytest.raises(IllegalAction):
            engine.play(deal, line)

    assert deal == before
    assert find_faults(deal) == find_faults(before)


def test_value_equality_removes_both_copies_or_all_four_jokers_at_once(engine: Engine) -> None:
    """R3: a discarded joker is one of four distinct cards, and so is any card."""
    deal = position("X1 X2 X3 X4 7S 7D")

    engine.play(deal, "0 DX2")

    assert names_of(deal.hands[0]) == ["7D", "7S", "X1", "X3", "X4"]
    assert deal.pile_cards == cards("2C X2")


# Sets and runs.


def test_queen_king_ace_is_refused(engine: Engine) -> None:
    """R16: Q-K-A is a run."""
    assert engine(check_meld, hand("QS KS AS")) == Violation.NONE
    assert engine(check_meld, hand("TS JS QS KS AS")) == Violation.NONE


def test_ace_two_three_or_king_ace_two_is_accepted(engine: Engine) -> None:
    """R16: the ace is high only, at a lay-off too."""
    assert engine(check_meld, hand("AS 2S 3S")) == Violation.NOT_A_RUN
    assert engine(check_meld, hand("KS AS 2S")) == Violation.NOT_A_RUN
    deal = position("AS 2S KD", table=["1 3S 4S 5S", "1 JS QS KS"])
    assert engine.judge(deal, "0 LAS2S@m1") == Violation.LAY_OFF_UNFIT
    assert engine.judge(deal, "0 LAS2S@m2") == Violation.LAY_OFF_UNFIT


def test_a_set_is_extended_like_a_run(engine: Engine) -> None:
    """R17: neighbours of a set's cards do not join it; nor does a rank join a run."""
    deal = position("8S 8D 6H 5D KD", table=["1 7S 7D 7H", "1 4S 5S 6S"])

    for line in ("0 L8S@m1", "0 L6H@m1", "0 L8S8D@m1", "0 L5D@m2"):
        assert engine.judge(deal, line) == Violation.LAY_OFF_UNFIT
    assert tables(engine.legal_actions(deal)) == []


def test_runs_are_missed_in_an_unsorted_hand(engine: Engine) -> None:
    """R16: whatever the order in which cards came or are named."""
    for order in permutations(["4S", "5S", "6S", "7S"]):
        deal = position(" ".join([*order, "KD"]))
        assert set(tables(engine.legal_actions(deal))) == {"M4S5S6S", "M5S6S7S", "M4S5S6S7S"}

        given = {"type": "meld", "cards": list(order)}
        assert engine.judge_action(deal, 0, action_from_json(given)) == Violation.NONE


# Lay-offs.


def test_the_target_meld_is_guessed_when_a_card_fits_two(engine: Engine) -> None:
    """R18: the list names each, the player chooses, and a name is never left out."""
    deal = position("7S KD", table=["1 4S 5S 6S", "1 8S 9S TS", "3 7D 7H 7C"])

    assert tables(engine.legal_actions(deal)) == ["L7S@m1", "L7S@m2", "L7S@m3"]
    with pytest.raises(BadNotation):
        action_from_json({"type": "lay_off", "cards": ["7S"]})
    engine.play(deal, "0 L7S@m3")
    assert deal.meld_cards[:2] == [hand("4S 5S 6S"), hand("8S 9S TS")]


def test_several_cards_in_one_lay_off_are_refused_or_each_tested_alone(engine: Engine) -> None:
    """R17: `8S` alone does not fit, with `7S` it does, named in any order."""
    deal = position("7S 8S KD", table=["1 4S 5S 6S"])
    assert engine.judge(deal, "0 L8S@m1") == Violation.LAY_OFF_UNFIT

    engine.play(deal, "0 L8S7S@m1")

    assert deal.meld_cards[0] == hand("4S 5S 6S 7S 8S")


def test_both_ends_at_once_are_refused(engine: Engine) -> None:
    """R17: one action makes a run longer below and above."""
    deal = position("3S 7S KD", table=["1 4S 5S 6S"])

    engine.play(deal, "0 L3S7S@m1")

    assert deal.meld_cards[0] == hand("3S 4S 5S 6S 7S")


def test_a_laid_off_card_is_credited_to_the_melds_owner(engine: Engine) -> None:
    """R27: ten for us, thirty for them; and the views name who laid each card."""
    deal = position("TC KD", table=["1 TS TD TH"])

    engine.play(deal, "0 LTC@m1")

    assert deal.laid == [10, 30]
    (meld,) = view_to_json(view_deal(deal, 2))["melds"]
    assert dict(zip(meld["cards"], meld["laid_by"], strict=True))["TC"] == 0


# The end of the stock and of the deal.


def test_an_empty_stock_locks_the_turn_or_is_a_silent_no_op(engine: Engine) -> None:
    """R23, R24: drawing is refused by its rule, and there is always the pass."""
    deal = position("7S KD", pile="2C 3C", stock="", phase=DRAW)

    assert engine.judge(deal, "0 S") == Violation.STOCK_EMPTY
    assert words(engine.legal_actions(deal)) == ["P"]
    engine.play(deal, "0 P")
    assert deal.turn == 1


@pytest.mark.parametrize("liking", LIKINGS)
def test_a_deal_never_ends(engine: Engine, liking: dict[int, float]) -> None:
    """R21 to R25: five ways to play, four of them with no wish to go out."""
    for seed in range(4):
        rng = random.Random(seed)
        deal = deal_cards(rng.sample(range(56), 56), seed)
        state = engine.keep(deal)

        for _ in range(MOST_STEPS):
            now = engine.read(state)
            if now.phase == OVER:
                break
            action = choose(rng, now, liking)
            engine(apply_action, state, action.type, action.cards, action.meld)

        assert engine.read(state).phase == OVER


def test_the_wrong_pass_count(engine: Engine) -> None:
    """R25: four in a row, not three, not one round after a take."""
    deal = position("2S", ("3S", "7S 7D KD", "5S"), pile="7H", stock="", phase=DRAW)

    for line in ("0 P", "1 P", "2 T7H M7S7D7H DKD", "3 P", "0 P", "1 P"):
        engine.play(deal, line)
        assert deal.phase == DRAW
    assert deal.passes == 3
    engine.play(deal, "2 P")
    assert (deal.phase, deal.passes) == (OVER, 4)


def test_negative_totals_are_clipped(engine: Engine) -> None:
    """R31: a deal and a game may end below nought, and the less negative side wins (R32)."""
    deal = position("X1 X2", ("AS", "", ""), stock="", phase=DRAW)
    for line in ("0 P", "1 P", "2 P", "3 P"):
        engine.play(deal, line)
    assert deal.score.total == (-40, -15)

    match = start_match("a seed", 0)
    match.scores = [deal.score, deal.score]
    assert match.totals == (-80, -30)
    assert match.winner == 1


# The game around the deals.


def finished_first_deal(seed: str, dealer: int) -> Match:
    """Return a match just after its first deal."""
    match = start_match(seed, dealer)
    rng = random.Random(seed)
    while match.number == 1:
        play_in_match(match, match.deal.turn, choose(rng, match.deal, LIKINGS[1]))
    return match


def test_a_deal_is_scored_twice_by_a_doubled_request() -> None:
    """R26 to R30: the same action once more is judged in the next deal, and at the end refused."""
    match = start_match("doubled", 0, deals=1)
    rng = random.Random(2)
    while not match.is_over:
        seat, action = match.deal.turn, choose(rng, match.deal, {})
        play_in_match(match, seat, action)
    totals = match.totals

    for _ in range(2):
        with pytest.raises(IllegalAction) as refused:
            play_in_match(match, seat, action)
        assert refused.value.violation == Violation.DEAL_OVER
    assert (len(match.scores), match.totals) == (1, totals)


def test_a_finished_game_answers_200() -> None:
    """R21: whatever is sent after the end is refused, a pass and an empty meld too."""
    match = finished_first_deal("finished", 1)
    rng = random.Random(3)
    while not match.is_over:
        play_in_match(match, match.deal.turn, choose(rng, match.deal, {}))

    for word in ("S", "P", "M", "DKD", "L7S@m1", "T7H"):
        for seat in range(4):
            with pytest.raises(IllegalAction) as refused:
                play_in_match(match, seat, read_action(word))
            assert refused.value.rule == "R21"
    assert legal_actions(match.deal) == []


@pytest.mark.parametrize("seed", range(8))
def test_the_obligation_or_melds_are_carried_into_the_next_deal(seed: int) -> None:
    """R5, R7: nothing of the first deal is left but its score."""
    match = finished_first_deal(f"carried-{seed}", 0)

    fresh = deal_cards(shuffled_deck(match.seed, "deal-2"), 1)
    assert match.deal == fresh
    assert (fresh.due, fresh.passes, fresh.meld_count) == (NO_CARD, 0, 0)
    assert (fresh.laid, fresh.known, fresh.went_out) == ([0, 0], [0, 0, 0, 0], NOBODY)
    assert len(match.scores) == 1


@pytest.mark.parametrize("dealer", range(4))
def test_the_second_dealer_is_wrong(dealer: int) -> None:
    """R7: the left neighbour of the first, whoever went out; and its left neighbour starts (R6)."""
    for number in range(4):
        match = finished_first_deal(f"dealer-{number}", dealer)

        assert match.deal.dealer == (dealer + 1) % 4
        assert match.deal.turn == (dealer + 2) % 4


def test_a_tie_is_decided_by_seat() -> None:
    """R4: those tied draw again, and the later seat may win."""
    rounds: list[DrawRound] = []
    drawn = iter(cards("2C 2D 2H 2S KC KD AC AD 9C 8C")).__next__

    found = draw_lowest(range(4), 2, drawn, rounds)

    assert found == [3, 2]
    assert [sorted(cards_drawn) for cards_drawn in rounds] == [[0, 1, 2, 3], [0, 1, 2, 3], [2, 3]]


# What a client is shown and may send.


def test_full_state_seed_or_deck_order_in_a_response() -> None:
    """R33: a view holds no hidden card, no seed, and nothing that leads to them."""
    match = start_match("the secret seed", 0, "client words")

    for seat in (0, 1, 2, 3, None):
        data = view_to_json(view_match(match, seat))
        text = json.dumps(data)
        shown = {name for name in CARD_NAMES if f'"{name}"' in text}
        own = names_of(match.deal.hands[seat]) if seat is not None else []
        assert shown == {*own, CARD_NAMES[match.deal.pile[0]]}
        for secret in ("the secret seed", "client words", commitment("the secret seed")):
            assert secret not in text
        assert not {"seed", "stock", "deck", "hands"} & set(data)


@pytest.mark.parametrize("body", [{}, None, [], "", {"type": ""}, {"card": "KD"}, {"cards": []}])
def test_an_empty_body_plays_somebodys_move(body: object) -> None:
    """No type, no action: nothing stands for a draw, a pass or seat 0's card."""
    with pytest.raises(BadNotation):
        action_from_json(body)  # type: ignore[arg-type]


def test_looking_changes_state(engine: Engine) -> None:
    """GET changes nothing: views, lists, judgements and scores are asked for twice."""
    deal = position("7S 7D KD", ("2S", "", ""), pile="7H", table=["1 TS TD TH"], phase=DRAW)
    before = deal.copy()

    for _ in range(2):
        engine.legal_actions(deal)
        engine.judge(deal, "0 T7H")
        engine.judge(deal, "1 S")
        assert deal.score.total == (-24, 28)
        view_to_json(view_deal(deal, 0))

    assert deal == before


@pytest.mark.parametrize("seed", range(6))
def test_a_listed_legal_action_is_refused(engine: Engine, seed: int) -> None:
    """Always true: each entry of each list of a deal, sent back as JSON, is accepted."""
    rng = random.Random(seed)
    deal = deal_cards(rng.sample(range(56), 56), seed % 4)
    while deal.phase != OVER:
        listed = engine.legal_actions(deal)
        for action in listed:
            sent = action_from_json(json.loads(json.dumps(action_to_json(action))))
            assert engine.judge_action(deal, deal.turn, sent) == Violation.NONE
        play(deal, deal.turn, rng.choice(listed))
