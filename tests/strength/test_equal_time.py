"""`expert` at equal time, which counts what was done for speed too; run by `make strength`.

Each row prints the margin a deal with its 95 % interval, and time, iterations a search and a second
of both, measured in the match itself, in one process. EQUAL_TIME_PAIRS sets how long; where the
opponent has ten times as long, a third of that is played."""

import os

import pytest

from tests.frozen.ismcts_1.bot import FrozenBot
from tests.strength import openspiel
from tests.strength.equal_time import AtTimeOf, Counted, TimedBot
from workers.arena import estimate, play_pairs
from workers.arena_shows import describe
from workers.bots.registry import BOTS
from workers.warmup import choose_cache, warm_up

pytestmark = pytest.mark.bench

PAIRS = int(os.environ.get("EQUAL_TIME_PAIRS", "30"))
EXPERT = BOTS["expert"]
TRIAL = 16_000
"""Iterations to take the frozen player's pace from: about as many as it then gets."""


@pytest.fixture(scope="module", autouse=True)
def warm_kernels() -> None:
    """Compile before anything is timed."""
    warm_up(choose_cache())


def margin_at_time(title: str, bot: TimedBot, factor: float = 1.0) -> float:
    """Play `expert` against `bot` at `factor` times its time; print and return the margin a deal,
    in points.
    """
    opponent = AtTimeOf(bot, EXPERT, factor)
    pairs = PAIRS if factor == 1 else max(PAIRS // 3, 2)
    results = play_pairs(EXPERT, opponent, pairs, "equal-time", deals=1)
    found = estimate(list(results))
    print(
        f"\n{title}: {describe(found)}\n  it: {opponent.spent}\n  expert: {opponent.pattern_spent}"
    )
    return found.margin


def test_expert_against_the_frozen_reference_at_equal_time() -> None:
    """Plain SO-ISMCTS, as it was first measured."""
    assert margin_at_time("expert against plain SO-ISMCTS", Counted(FrozenBot, TRIAL)) > 0


@pytest.mark.parametrize("factor", [1, 10])
@pytest.mark.parametrize("playouts", ["compiled", "own"])
def test_expert_against_openspiel(
    playouts: str, factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSpiel's ISMCTS on this game, as it comes, and with playouts of ours; equal time, and ten
    times as long.
    """
    if missing := openspiel.why_missing():
        pytest.skip(missing)
    monkeypatch.syspath_prepend(openspiel.FOLDER)
    from tests.strength.openspiel.bot import OpenSpielBot

    title = f"expert against OpenSpiel's ISMCTS, {playouts} playouts, {factor} times as long"
    bot = OpenSpielBot(own_playouts=playouts == "own")
    assert margin_at_time(title, bot, factor) > 0
