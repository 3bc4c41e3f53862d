"""How strong the levels are, with intervals; run by `make strength`, STRENGTH_PAIRS sets how long,
STRENGTH_PLAYER (`search:16000`) plays instead of `expert`.

Each row prints its players, pairs, seed, margin a deal with its 95 % interval, and seconds a
decision."""

import os
from dataclasses import dataclass

import pytest

from service.rules.view import SeatView
from tests.frozen.ismcts_1.bot import FrozenBot, FrozenThumb
from workers.arena import estimate, play_pairs
from workers.arena_shows import describe
from workers.bots.base import Bot, Decision
from workers.bots.registry import BOTS, bot_named

pytestmark = pytest.mark.bench

PAIRS = int(os.environ.get("STRENGTH_PAIRS", "140"))
PROCESSES = int(os.environ.get("STRENGTH_PROCESSES", "2"))
NAME = os.environ.get("STRENGTH_PLAYER", "expert")
EXPERT = bot_named(NAME)
MATCHES: dict[str, tuple[Bot, Bot]] = {
    "expert against greedy": (EXPERT, BOTS["greedy"]),
    "expert against the frozen rules of thumb": (EXPERT, FrozenThumb()),
    "expert against plain SO-ISMCTS of 1,000": (EXPERT, FrozenBot(1_000)),
    "expert against plain SO-ISMCTS of 16,000": (EXPERT, FrozenBot(16_000)),
}


@dataclass(frozen=True, slots=True)
class Partners:
    """A team of two players: the one at the lower seat and the other."""

    lower: Bot
    upper: Bot

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Let the player at the viewer's seat decide."""
        return (self.lower if view.turn < 2 else self.upper).decide(view, seed)


def show(title: str, first: Bot, second: Bot, pairs: int) -> float:
    results = list(play_pairs(first, second, pairs, "strength", PROCESSES, deals=1))
    found = estimate(results)
    paces = []
    for side in (0, 1):
        seconds = sum(result.seconds[side] for result in results)
        paces.append(seconds / sum(result.decisions[side] for result in results))
    title = title.replace("expert", NAME)
    print(f"\n{title}: {describe(found)}, {paces[0]:.3f} and {paces[1]:.3f} s a decision")
    return found.margin


@pytest.mark.parametrize("title", MATCHES)
def test_expert_is_strong(title: str) -> None:
    assert show(title, *MATCHES[title], PAIRS) > 0


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [("casual", "greedy"), ("skilled", "casual"), ("expert", "skilled")],
)
def test_a_level_beats_the_one_below(stronger: str, weaker: str) -> None:
    first = EXPERT if stronger == "expert" else BOTS[stronger]

    assert show(f"{stronger} against {weaker}", first, BOTS[weaker], PAIRS) > 0


def test_a_strong_partner_helps() -> None:
    """A team of `expert` and `casual` beats two `casual`."""
    casual = BOTS["casual"]

    assert show("expert and casual against two casual", Partners(EXPERT, casual), casual, PAIRS) > 0
