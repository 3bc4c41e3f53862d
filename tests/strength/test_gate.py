"""Strength does not fall unnoticed: levels against each other and an opponent that never changes.

All players search by iterations and all seeds are fixed, so the figures are the same on every
machine and the gate cannot fail by chance; it fails when a change makes the players choose
otherwise and worse. The long form, with intervals that mean something, is `make strength`.
"""

import pytest

from tests.frozen.ismcts_1.bot import FrozenBot
from tests.quality import SUITE
from workers.arena import estimate, play_pairs
from workers.arena_shows import describe
from workers.bots.registry import BOTS
from workers.quality import read_suite, regrets

PAIRS = 5


@pytest.mark.slow
def test_expert_beats_the_frozen_reference(capsys: pytest.CaptureFixture[str]) -> None:
    """Five duplicate deals against plain SO-ISMCTS of 1,000 iterations."""
    found = estimate(play_pairs(BOTS["expert"], FrozenBot(1_000), PAIRS, "gate", deals=1))

    with capsys.disabled():
        print(f"\nexpert against the frozen 1,000: {describe(found)}")
    assert found.margin > 0


@pytest.mark.slow
def test_each_level_beats_a_weaker_one() -> None:
    """The quick ones. `skilled` and `casual` are some 20 points apart, which takes a hundred pairs
    to be seen (`make strength`); which of them loses less is told by the suite below.
    """
    for stronger, weaker, pairs in (
        ("novice", "random", 20),
        ("greedy", "novice", 40),
        ("casual", "greedy", 40),
        ("skilled", "greedy", 16),
    ):
        found = estimate(play_pairs(stronger, weaker, pairs, "gate", deals=1))

        assert found.margin > 0, f"{stronger} against {weaker}: {describe(found)}"


@pytest.mark.slow
def test_who_searches_longer_loses_less_on_the_suite() -> None:
    """On all positions, since no match here is long enough to tell `casual` and `skilled` apart;
    `arena regret` prints all levels.
    """
    suite = read_suite(SUITE)
    lost = [float(regrets(suite, player).mean()) for player in ("greedy", "casual", "skilled")]

    assert lost == sorted(lost, reverse=True), lost
