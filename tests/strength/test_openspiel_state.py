"""This game as OpenSpiel's search sees it: nothing hidden is in a key, nothing known is dealt anew.

Skipped where OpenSpiel is not (`make openspiel`)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from service.rules.match import play_in_match, start_match
from service.rules.view import SeatView, view_match
from tests.strength import openspiel
from workers.bots.registry import BOTS

if TYPE_CHECKING:
    from tests.strength.openspiel.state import Known

pytestmark = pytest.mark.skipif(bool(openspiel.why_missing()), reason=openspiel.why_missing())


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let OpenSpiel be imported."""
    monkeypatch.syspath_prepend(openspiel.FOLDER)


def views(seed: str) -> Iterator[SeatView]:
    """Yield the mover's view at every fifth step of a deal between greedy players."""
    match = start_match(seed, 0, deals=1)
    for step in itertools.count():
        if match.is_over:
            return
        view = view_match(match, match.deal.turn)
        if step % 5 == 0:
            yield view
        play_in_match(match, match.deal.turn, BOTS["greedy"].decide(view, seed).action)


def known_in(view: SeatView) -> Known:
    from tests.frozen.ismcts_1.rng import new_rng
    from tests.strength.openspiel.state import Known

    return Known.from_view(view, new_rng("known", view.seat))


def test_deals_of_the_unseen_cards_are_one_and_the_same_to_the_mover() -> None:
    """OpenSpiel's search asks for this at the root, on each iteration."""
    for view in views("key"):
        known = known_in(view)
        states = [known.resample() for _ in range(8)]

        assert 1 == len({state.information_state_string() for state in states})
        for state in states:
            hands = state.worlds[0]["hands"].tolist()
            assert view.hand == hands[view.turn]
            assert view.hand_counts == tuple(hand.bit_count() for hand in hands)
            assert all(known & ~hand == 0 for known, hand in zip(view.known, hands, strict=True))
        if view.stock_count > 4:
            assert 8 == len({state.worlds.tobytes() for state in states})


def test_a_copy_is_played_to_the_end_and_the_state_stays() -> None:
    rng = random.Random(1)
    for view in views("copy"):
        state = known_in(view).resample()
        before = state.worlds.tobytes()
        playing = state.clone()
        while not playing.is_terminal():
            playing.apply_action(rng.choice(playing.legal_actions()))

        assert before == state.worlds.tobytes()
        assert [0.0, 0.0] == [sum(playing.returns()[seat : seat + 2]) for seat in (0, 2)]


def test_the_search_plays_what_is_legal() -> None:
    """In a deal against itself, with few simulations; the rules judge each action."""
    from tests.strength.openspiel.bot import OpenSpielBot

    match = start_match("legal", 0, deals=1)
    searches = 0
    while not match.is_over:
        view = view_match(match, match.deal.turn)
        decision = OpenSpielBot(simulations=8).decide(view, "legal")
        searches += decision.iterations == 8
        play_in_match(match, match.deal.turn, decision.action)

    assert searches > 10
