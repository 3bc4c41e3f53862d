"""The levels that the API names are the players that the workers have."""

from __future__ import annotations

import hashlib

import pytest

from service.games.levels import DEFAULT_LEVEL, bot_levels
from service.rules.legal import legal_actions
from service.rules.view import view_deal
from tests.workers.search.positions import positions
from workers.bots.registry import BOTS, bot_named

PINNED = {"novice": "042feef4e4d75b1a", "greedy": "39c5af5e2a635acc"}
"""Digests of what the levels by rules of thumb choose."""


def test_the_api_names_the_levels_that_there_are_weakest_first() -> None:
    """Two lists, since the service never imports the workers; this holds them together."""
    assert list(BOTS) == [level["level"] for level in bot_levels()]
    assert DEFAULT_LEVEL in BOTS


def test_the_api_tells_how_long_each_level_searches() -> None:
    told = {level["level"]: level["iterations"] for level in bot_levels()}

    assert {level: getattr(bot, "iterations", 0) for level, bot in BOTS.items()} == told


@pytest.mark.parametrize("level", PINNED)
def test_rules_of_thumb_play_as_when_they_were_rated(level: str) -> None:
    """Whoever changes them on purpose changes the digest, and rates them anew."""
    chosen = [
        BOTS[level].decide(view_deal(deal, deal.turn), seed).action
        for deal in positions(80)
        for seed in ("a", "b")
    ]

    assert hashlib.sha256(repr(chosen).encode()).hexdigest()[:16] == PINNED[level]


def test_the_learnt_policy_plays_by_itself() -> None:
    """Legal actions, and always the same: nothing is left to chance."""
    learnt = bot_named("learnt")
    for deal in positions(80):
        view = view_deal(deal, deal.turn)
        action = learnt.decide(view, "a").action

        assert action == learnt.decide(view, "b").action
        assert action in legal_actions(deal)
