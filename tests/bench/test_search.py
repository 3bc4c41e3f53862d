"""The search alone, on one core: playouts and iterations a second.

Seconds are processor time of the thread, so that other programs take nothing from the figures but
what they take from the caches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from service.rules.match import Match, play_in_match, start_match
from service.rules.view import SeatView, view_match
from tests.bench.figures import show, show_command
from tests.frozen.ismcts_1.bot import FrozenBot
from tests.strength import openspiel
from workers.bots.players import SearchBot
from workers.bots.registry import BOTS
from workers.search.search import Search, SearchSettings
from workers.warmup import choose_cache, warm_up

pytestmark = pytest.mark.bench

ROUNDS = 15
ROUND_S = 0.4
BEYOND_ANY_DEAL = 400
"""Turns."""
MID_DEAL_ACTIONS = 45
"""About the middle of a deal between greedy players."""


@pytest.fixture(scope="module", autouse=True)
def warm_kernels() -> None:
    """Compile before anything is measured."""
    warm_up(choose_cache())


def position(actions: int) -> SeatView:
    """Return the view of the seat to move after so many actions of greedy players, and on until it
    has something to choose.
    """
    match: Match = start_match("bench", 0)
    while True:
        view = view_match(match, match.deal.turn)
        if actions <= 0 and len(Search(view, "bench", 1).moves()) > 1:
            return view
        play_in_match(match, match.deal.turn, BOTS["greedy"].decide(view, "bench").action)
        actions -= 1


POSITIONS = {"first turn": 0, "mid-deal": MID_DEAL_ACTIONS}


def rates(run: Callable[[int], None], chunk: int) -> list[float]:
    """Return how many a second `run(chunk)` does, round by round."""
    found = []
    for _ in range(ROUNDS):
        done = 0
        began = time.thread_time()
        while (spent := time.thread_time() - began) < ROUND_S:
            run(chunk)
            done += chunk
        found.append(done / spent)
    return found


@pytest.mark.parametrize("where", POSITIONS)
def test_search_iterations_a_second(where: str) -> None:
    """Of the tree search, in one tree that grows from round to round as in a long hint."""
    show_command("search_iterations")
    search = Search(position(POSITIONS[where]), "bench", 4_000_000)
    search.run(2_000)

    show(f"iterations of the tree search, {where}", rates(search.run, 2_000), "/s")


OPENSPIEL_GAMES = {"hearts": 38, "gin_rummy": 58}
"""OpenSpiel's games, and the actions to the middle of a deal: half of the median of random play."""


def test_search_iterations_beside_openspiel() -> None:
    """OpenSpiel's C++ ISMCTS on card games of its own, random playouts, and ours, in one run."""
    if missing := openspiel.why_missing():
        pytest.skip(missing)
    show_command("beside_openspiel")
    search = Search(position(MID_DEAL_ACTIONS), "bench", 4_000_000)
    search.run(2_000)
    show("iterations of the tree search, mid-deal", rates(search.run, 2_000), "/s (aim: 100,000)")
    for game, actions in OPENSPIEL_GAMES.items():
        command = [sys.executable, "-m", "tests.strength.openspiel.rates", game, str(actions)]
        told = subprocess.run(
            [*command, str(ROUNDS), str(ROUND_S)],
            cwd=openspiel.ROOT,
            env={**os.environ, "PYTHONPATH": str(openspiel.FOLDER)},
            capture_output=True,
            check=True,
            timeout=300,
        )
        show(f"OpenSpiel's C++ ISMCTS on {game}, mid-deal", json.loads(told.stdout), "/s")


@pytest.mark.parametrize("where", POSITIONS)
def test_search_iterations_beside_the_frozen_search(where: str) -> None:
    """Whole decisions of `expert` and of plain SO-ISMCTS as it was first, in turn, equally long."""
    show_command("beside_the_frozen")
    view = position(POSITIONS[where])
    expert = BOTS["expert"]
    assert isinstance(expert, SearchBot)
    frozen = FrozenBot(expert.iterations)
    frozen.decide(view, "warm")
    found: dict[str, list[float]] = {"expert": [], "the frozen one": []}
    for number in range(ROUNDS):
        for name, bot in zip(found, (expert, frozen), strict=True):
            began = time.thread_time()
            decision = bot.decide(view, str(number))
            found[name].append(decision.iterations / (time.thread_time() - began))
    for name, values in found.items():
        show(f"iterations of {name}, {where}", values, "/s")


@pytest.mark.parametrize("where", POSITIONS)
def test_search_playouts_a_second(where: str) -> None:
    """Deals of the unseen cards, each played out by the quick player after a first move."""
    show_command("search_playouts")
    whole = SearchSettings(horizon=BEYOND_ANY_DEAL)
    search = Search(position(POSITIONS[where]), "bench", 2_000, whole)
    search.run(2_000)
    codes = [move.code for move in search.ranking()[:2]]

    def run(playouts: int) -> None:
        search.sample(codes, playouts // len(codes))

    show(f"playouts of whole deals, {where}", rates(run, 2_000), "/s (aim: 100,000)")


@pytest.mark.parametrize("level", [level for level in BOTS if level != "random"])
def test_search_time_of_a_decision(level: str) -> None:
    """Of each level, in mid-deal."""
    show_command("search_time")
    view = position(MID_DEAL_ACTIONS)
    taken_ms = []
    for number in range(9):
        began = time.thread_time()
        BOTS[level].decide(view, str(number))
        taken_ms.append(1000 * (time.thread_time() - began))

    show(f"a decision of {level}, mid-deal", taken_ms, "ms")
