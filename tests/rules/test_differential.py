"""The rules against an independent referee, step by step, in 300 random deals.

The referee (`tests/oracle.py`) shares no code with the rules. Both engines follow its deals side by
side, so that its lists, which are slow, are made once.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from service.rules.cards import CARD_NAMES
from service.rules.deal import OVER, Deal, apply_action, check_action, deal_cards, find_faults, play
from service.rules.legal import legal_actions
from service.rules.notation import action_from_json, action_to_json
from service.rules.view import view_deal, view_to_json
from service.rules.violations import RULE_OF, IllegalAction, Violation
from tests.oracle import CARDS, SEATS, RefereeDeal, action_key, deal_out
from tests.rules.engines import COMPILED, INTERPRETED, State

DEALS = 300
DEALS_A_TEST = 20
PROBES = 5
"""Actions that may well be illegal, tried at each step."""
RefereeAction = dict[str, Any]

LIKINGS: list[dict[str, float]] = [
    {},
    {"meld": 30, "lay_off": 30},
    {"take_discards": 40},
    {"draw_stock": 20, "discard": 20},
    {"take_discards": 0.05, "meld": 0.05, "pass": 5},
]
"""How much more often than once a type of action is chosen: five ways to play a deal."""


def choose(rng: random.Random, liking: dict[str, float], legal: list[RefereeAction]) -> Any:
    """Choose a legal action at random, by the likings of this deal."""
    weights = [liking.get(action["type"], 1) for action in legal]
    return rng.choices(legal, weights)[0]


def probe(rng: random.Random, referee: RefereeDeal) -> tuple[int, RefereeAction]:
    """Make up a seat and an action, of the kind a confused client sends."""
    held = referee.hands[referee.turn]
    seat = referee.turn if rng.random() < 0.85 else rng.randrange(4)
    meld = f"m{rng.randint(1, len(referee.melds) + 1)}"
    some = rng.sample(held, min(len(held), rng.randint(1, 4)))
    rank = rng.choice(held or CARDS)[0]
    of_a_rank = [card for card in CARDS if card[0] == rank][: rng.randint(2, 4)]
    any_card = rng.choice(CARDS)
    return seat, rng.choice(
        [
            {"type": "draw_stock"},
            {"type": "pass"},
            {"type": "take_discards", "card": rng.choice(referee.pile or CARDS)},
            {"type": "take_discards", "card": any_card},
            {"type": "discard", "card": any_card},
            {"type": "discard", "card": rng.choice(held or CARDS)},
            {"type": "meld", "cards": some},
            {"type": "meld", "cards": of_a_rank},
            {"type": "meld", "cards": rng.choice([[], [any_card, *some], [*some, *some]])},
            {"type": "lay_off", "cards": some[:2], "meld": meld},
            {"type": "lay_off", "cards": [any_card], "meld": rng.choice([meld, "m0", "m100"])},
        ]
    )


class Follower:
    """A deal of ours that follows the referee's, kept by both engines."""

    def __init__(self, pack: list[str], dealer: int) -> None:
        deal = deal_cards([CARD_NAMES.index(name) for name in pack], dealer)
        self.deal: Deal = deal
        self.record: State = COMPILED.keep(deal)

    def compare(self, referee: RefereeDeal) -> list[RefereeAction]:
        """Compare all that can be seen and counted; return the referee's list of legal actions."""
        listed = referee.legal_actions()
        self.compare_lists(listed)
        assert COMPILED.read(self.record) == self.deal
        assert find_faults(self.deal) == []
        assert (self.deal.phase == OVER) == referee.over
        self.compare_views(referee)
        score = self.deal.score
        ours = {name: list(getattr(score, name)) for name in ("laid", "bonus", "hands", "total")}
        assert ours == referee.score()
        assert score.went_out == referee.went_out
        return listed

    def compare_lists(self, listed: list[RefereeAction]) -> None:
        """Compare the legal actions; the two engines' lists in their order too."""
        legal = legal_actions(self.deal)
        keys = [action_key(action_to_json(action)) for action in legal]
        expected = [action_key(action) for action in listed]
        assert len(keys) == len(expected)
        assert set(keys) == set(expected)
        assert COMPILED.legal_actions(self.record) == legal

    def compare_views(self, referee: RefereeDeal) -> None:
        """Compare what each seat sees (R33)."""
        for seat in SEATS:
            expected = referee.view(seat)
            if referee.over:
                # Then they mean nothing to the referee.
                del expected["turn"], expected["phase"]
            ours = view_to_json(view_deal(self.deal, seat))
            assert {name: ours[name] for name in expected} == expected

    def judge(self, seat: int, given: RefereeAction, rule: str | None) -> None:
        """Compare a judgement, and see that judging, and refusing, change nothing."""
        before, bytes_before = self.deal.copy(), self.record.tobytes()
        action = action_from_json(given)
        parts = (seat, action.type, action.cards, action.meld)
        violation = INTERPRETED(check_action, self.deal, *parts)
        assert violation == COMPILED(check_action, self.record, *parts)
        assert (None if violation == Violation.NONE else RULE_OF[violation]) == rule
        if rule is not None:
            with pytest.raises(IllegalAction):
                play(self.deal, seat, action)
        assert self.deal == before
        assert self.record.tobytes() == bytes_before

    def play(self, seat: int, given: RefereeAction) -> None:
        """Play a legal action in both."""
        action = action_from_json(given)
        play(self.deal, seat, action)
        COMPILED(apply_action, self.record, action.type, action.cards, action.meld)


@pytest.mark.parametrize("first", range(0, DEALS, DEALS_A_TEST))
def test_every_step_of_a_random_deal_agrees_with_the_referee(first: int) -> None:
    """R8 to R33: lists, views, scores and refusals, interpreted and compiled."""
    for number in range(first, first + DEALS_A_TEST):
        rng = random.Random(number)
        liking = LIKINGS[number % len(LIKINGS)]
        pack, dealer = rng.sample(CARDS, len(CARDS)), rng.randrange(4)
        referee = RefereeDeal(*deal_out(pack, dealer), dealer)
        follower = Follower(pack, dealer)

        listed = follower.compare(referee)
        while not referee.over:
            for _ in range(PROBES):
                seat, given = probe(rng, referee)
                follower.judge(seat, given, referee.refusal(seat, given))
            chosen = choose(rng, liking, listed)
            follower.play(referee.turn, chosen)
            referee.play(referee.turn, chosen)
            listed = follower.compare(referee)

        seat, given = probe(rng, referee)
        follower.judge(seat, given, "R21")
