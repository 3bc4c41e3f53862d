"""What is always true (the list at the end of the rule book), over deals in play."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from service.rules._jit import popcount
from service.rules.cards import ALL_CARDS, mask_of
from service.rules.deal import (
    DRAW,
    MELD,
    NO_CARD,
    NOBODY,
    OVER,
    SEATS,
    Action,
    Deal,
    apply_action,
    check_action,
    deal_cards,
    find_faults,
    play,
)
from service.rules.legal import legal_actions
from service.rules.melds import RUN, SET, meld_kind
from service.rules.score import GOING_OUT_BONUS, points
from service.rules.violations import IllegalAction, Violation
from tests.rules.engines import COMPILED, INTERPRETED, Engine
from tests.strategies import (
    LIKINGS,
    MOST_STEPS,
    choose,
    deals_in_play,
    finished_deals,
    fresh_deals,
    hands,
    packs,
)

any_actions = st.builds(
    Action,
    st.integers(0, 5),
    st.one_of(hands(), st.integers(0, 55).map(lambda card: 1 << card)),
    st.integers(-1, 20),
)


def check_state(deal: Deal) -> None:
    """Check what holds in every state: places of cards, table, counts, known cards, points."""
    assert find_faults(deal) == []
    on_table = 0
    laid = [0, 0]
    for row in range(deal.meld_count):
        cards, kind = deal.meld_cards[row], deal.meld_kinds[row]
        assert meld_kind(cards) == kind
        assert cards & ~(deal.table_sets if kind == SET else deal.table_runs) == 0
        on_table |= cards
        if deal.meld_doubled[row]:
            assert (kind, popcount(cards)) == (SET, 4)
    assert on_table == deal.table_sets | deal.table_runs
    assert deal.table_sets & deal.table_runs == 0
    for card in range(56):
        seat = deal.laid_by[card]
        assert (seat != NOBODY) == bool(on_table >> card & 1)
        if seat != NOBODY:
            row = next(r for r in range(deal.meld_count) if deal.meld_cards[r] >> card & 1)
            laid[seat % 2] += points(1 << card) * (2 if deal.meld_doubled[row] else 1)
    assert deal.laid == laid
    assert deal.due == NO_CARD or (deal.phase == MELD and deal.hands[deal.turn] >> deal.due & 1)
    assert 0 <= deal.passes <= SEATS
    assert (deal.phase == OVER) == (deal.went_out != NOBODY or deal.passes == SEATS)
    assert deal.went_out == NOBODY or deal.hands[deal.went_out] == 0


@given(deals_in_play())
def test_each_card_is_in_exactly_one_place(deal: Deal) -> None:
    """Always true: hands, stock, pile and melds share out the 56 cards; masks and rows agree."""
    check_state(deal)


@given(deals_in_play(), st.integers(0, 3), any_actions)
def test_an_action_is_accepted_or_changes_nothing_at_all(
    deal: Deal, seat: int, action: Action
) -> None:
    """Always true: whatever a client may send, by the checked door."""
    before = deal.copy()

    try:
        play(deal, seat, action)
    except (IllegalAction, ValueError):
        assert deal == before
    else:
        assert action in legal_actions(before)
        check_state(deal)


@given(deals_in_play(), st.integers(0, 3), any_actions)
def test_both_engines_judge_any_action_alike(deal: Deal, seat: int, action: Action) -> None:
    """DESIGN: one body of the rules, and a judgement changes nothing."""
    before = deal.copy()
    if action.cards:
        parts = (seat, action.type, action.cards, action.meld)
        assert INTERPRETED(check_action, deal, *parts) == COMPILED(check_action, deal, *parts)
    assert deal == before


@given(deals_in_play())
def test_something_is_legal_until_the_deal_is_over(deal: Deal) -> None:
    """Always true: no turn locks, and after the end nothing is legal."""
    assert (legal_actions(deal) == []) == (deal.phase == OVER)


@given(deals_in_play())
def test_every_listed_action_is_accepted(deal: Deal) -> None:
    """Always true: each leads to a sound state, in which something is legal again."""
    for action in legal_actions(deal):
        twin = deal.copy()

        play(twin, deal.turn, action)

        check_state(twin)
        assert twin.phase == OVER or legal_actions(twin)


@given(deals_in_play())
def test_only_the_seat_to_move_may_play_what_is_listed(deal: Deal) -> None:
    """R6: the same action of another seat is refused for that reason."""
    for action in legal_actions(deal):
        for seat in {0, 1, 2, 3} - {deal.turn}:
            violation = check_action(deal, seat, action.type, action.cards, action.meld)
            assert violation == Violation.NOT_YOUR_TURN


@given(fresh_deals(), st.sampled_from(LIKINGS), st.integers(0, 2**32 - 1))
def test_every_deal_ends(deal: Deal, liking: dict[int, float], choices: int) -> None:
    """Always true: with the stock empty a turn is a pass or tables at least one card."""
    rng = random.Random(choices)
    for _ in range(MOST_STEPS):
        if deal.phase == OVER:
            break
        if deal.phase == DRAW:
            tabled_before = deal.table_sets | deal.table_runs
            stock_was_empty, passes, mover = deal.stock_count == 0, deal.passes, deal.turn
        action = choose(rng, deal, liking)
        apply_action(deal, action.type, action.cards, action.meld)
        if stock_was_empty and (deal.turn != mover or deal.phase == OVER):
            tabled = (deal.table_sets | deal.table_runs) & ~tabled_before
            assert tabled or deal.passes == passes + 1
    assert deal.phase == OVER


@given(finished_deals())
def test_a_score_is_the_sum_of_its_parts(deal: Deal) -> None:
    """Always true: laid cards with doubles, bonus, hands; every point of the pack is somewhere."""
    score = deal.score
    doubles = sum(
        points(deal.meld_cards[row]) for row in range(deal.meld_count) if deal.meld_doubled[row]
    )
    unplayed = points(mask_of(deal.pile_cards + deal.stock_cards))

    for team in (0, 1):
        bonus = GOING_OUT_BONUS if deal.went_out in (team, team + 2) else 0
        left = points(deal.hands[team]) + points(deal.hands[team + 2])
        assert (score.bonus[team], score.hands[team]) == (bonus, -left)
        assert score.total[team] == score.laid[team] + bonus - left
    assert sum(score.laid) - doubles - sum(score.hands) + unplayed == points(ALL_CARDS)
    assert score.went_out == (None if deal.went_out == NOBODY else deal.went_out)


@given(finished_deals())
def test_a_deal_ends_by_going_out_or_by_four_passes(deal: Deal) -> None:
    """R21, R25: with a bonus or without."""
    assert deal.phase == OVER
    assert (deal.went_out == NOBODY) == (deal.passes == SEATS)
    assert sum(deal.score.bonus) == (0 if deal.went_out == NOBODY else GOING_OUT_BONUS)


@given(packs(), st.integers(0, 3))
def test_every_pack_can_be_dealt(pack: list[int], dealer: int) -> None:
    """R5: seven cards each, one upcard, 27 in the stock, and the dealer's left is to draw."""
    deal = deal_cards(pack, dealer)

    check_state(deal)
    assert [popcount(held) for held in deal.hands] == [7, 7, 7, 7]
    assert (deal.pile_count, deal.stock_count, deal.turn) == (1, 27, (dealer + 1) % 4)


class DealMachine(RuleBasedStateMachine):
    """A deal played by Hypothesis, step by step, in both engines at once."""

    def __init__(self) -> None:
        super().__init__()
        self.deal = Deal()
        self.record: Any = None

    @initialize(pack=st.randoms(use_true_random=False), dealer=st.integers(0, 3))
    def shuffle_and_deal(self, pack: random.Random, dealer: int) -> None:
        self.deal = deal_cards(pack.sample(range(56), 56), dealer)
        self.record = COMPILED.keep(self.deal)

    @precondition(lambda self: self.deal.phase != OVER)
    @rule(choice=st.integers(0, 2**16), tabling=st.booleans())
    def play_a_legal_action(self, choice: int, tabling: bool) -> None:
        listed = legal_actions(self.deal)
        assert COMPILED.legal_actions(self.record) == listed
        preferred = [action for action in listed if action.type in (1, 2, 3)] if tabling else listed
        actions = preferred or listed
        action = actions[choice % len(actions)]
        play(self.deal, self.deal.turn, action)
        COMPILED(apply_action, self.record, action.type, action.cards, action.meld)

    @rule(seat=st.integers(0, 3), action=any_actions)
    def try_any_action(self, seat: int, action: Action) -> None:
        parts = (action.type, action.cards, action.meld)
        before = self.deal.copy()
        try:
            play(self.deal, seat, action)
        except (IllegalAction, ValueError):
            assert self.deal == before
        else:
            COMPILED(apply_action, self.record, *parts)

    @invariant()
    def state_is_sound_and_the_engines_agree(self) -> None:
        if self.record is None:
            return
        check_state(self.deal)
        assert COMPILED.read(self.record) == self.deal


DealMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=60, deadline=None)
TestDealMachine = DealMachine.TestCase


@pytest.mark.parametrize("kind", [SET, RUN])
def test_melds_stay_what_they_are(engine: Engine, kind: int) -> None:
    """R18: over a whole deal no row changes its kind, and cards only join."""
    rng = random.Random(11)
    deal = deal_cards(rng.sample(range(56), 56), 0)
    rows: list[int] = []
    while deal.phase != OVER:
        action = choose(rng, deal, LIKINGS[1])
        engine(apply_action, deal, action.type, action.cards, action.meld)
        now = [deal.meld_cards[row] for row in range(deal.meld_count)]
        assert all(old & ~new == 0 for old, new in zip(rows, now, strict=False))
        assert len(now) >= len(rows)
        rows = now
    assert kind in deal.meld_kinds[: deal.meld_count]
