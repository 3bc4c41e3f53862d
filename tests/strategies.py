"""Hypothesis strategies: cards, hands, seeds, packs and deals in mid-play.

A deal in mid-play is one that the rules themselves reached, from a shuffled pack by legal actions,
so that every strategy yields only what can happen at a table.
"""

from __future__ import annotations

import random

from hypothesis import strategies as st

from service.rules.cards import ALL_CARDS, CARD_COUNT, CardId, Mask
from service.rules.deal import (
    DISCARD,
    DRAW_STOCK,
    LAY_MELD,
    LAY_OFF,
    OVER,
    PASS,
    TAKE_DISCARDS,
    Action,
    Deal,
    apply_action,
    deal_cards,
)
from service.rules.legal import legal_actions

MOST_STEPS = 1000
"""More actions than any deal has: 27 draws, and takes that each table a card."""

LIKINGS: tuple[dict[int, float], ...] = (
    {},
    {LAY_MELD: 30, LAY_OFF: 30},
    {TAKE_DISCARDS: 40},
    {DRAW_STOCK: 20, DISCARD: 20},
    {TAKE_DISCARDS: 0.05, LAY_MELD: 0.05, PASS: 5},
)
"""How much more often than once each type of action is chosen: five ways to play."""


def choose(rng: random.Random, deal: Deal, liking: dict[int, float]) -> Action:
    """Choose one of the legal actions at random, by a player's likings."""
    legal = legal_actions(deal)
    return rng.choices(legal, [liking.get(action.type, 1) for action in legal])[0]


def play_on(deal: Deal, rng: random.Random, liking: dict[int, float], steps: int) -> None:
    """Play that many legal actions, or until the deal ends."""
    for _ in range(steps):
        if deal.phase == OVER:
            return
        action = choose(rng, deal, liking)
        apply_action(deal, action.type, action.cards, action.meld)


def seeds() -> st.SearchStrategy[str]:
    """Any seed: a text that UTF-8 can write."""
    return st.text(st.characters(codec="utf-8"), max_size=40)


def cards() -> st.SearchStrategy[CardId]:
    """One card."""
    return st.integers(0, CARD_COUNT - 1)


def masks() -> st.SearchStrategy[Mask]:
    """Any cards at all."""
    return st.integers(0, ALL_CARDS)


def hands(most: int = 14) -> st.SearchStrategy[Mask]:
    """A few cards, with neighbours and cards of one rank more often than by chance."""
    few = st.frozensets(cards(), max_size=most).map(lambda held: sum(1 << card for card in held))
    runs = st.builds(lambda first, size: ((1 << size) - 1) << first, cards(), st.integers(2, 6))
    ranks = st.integers(0, 12).map(lambda rank: (1 | 1 << 13 | 1 << 26 | 1 << 39) << rank)
    parts = st.lists(st.one_of(few, runs, ranks), max_size=3)
    return parts.map(lambda masks: sum_of(masks) & ALL_CARDS)


def sum_of(masks: list[Mask]) -> Mask:
    """Return all cards of several masks."""
    result = 0
    for mask in masks:
        result |= mask
    return result


def packs() -> st.SearchStrategy[list[CardId]]:
    """A shuffled pack, the top card first."""
    return st.permutations(range(CARD_COUNT))


@st.composite
def fresh_deals(draw: st.DrawFn) -> Deal:
    """A deal before its first action."""
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))
    return deal_cards(rng.sample(range(CARD_COUNT), CARD_COUNT), draw(st.integers(0, 3)))


@st.composite
def deals_in_play(draw: st.DrawFn, most_steps: int = 300) -> Deal:
    """A deal after some legal actions, now and then one that is over."""
    deal = draw(fresh_deals())
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))
    play_on(deal, rng, draw(st.sampled_from(LIKINGS)), draw(st.integers(0, most_steps)))
    return deal


@st.composite
def finished_deals(draw: st.DrawFn) -> Deal:
    """A deal played to its end."""
    return draw(deals_in_play(most_steps=MOST_STEPS).map(_played_out))


def _played_out(deal: Deal) -> Deal:
    play_on(deal, random.Random(deal.hands[0]), {}, MOST_STEPS)
    return deal
