"""How good and how honest the advice is: calibration of its intervals, regret against a search a
hundred times deeper.

Both work on positions from quick self-play with fixed seeds, one decision a deal, so that positions
are independent."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from service.rules.deal import OVER, deal_cards, play
from service.rules.legal import legal_actions
from service.rules.notation import action_to_json
from service.rules.shuffle import shuffled_deck
from service.rules.view import SeatView, view_deal, view_from_json, view_to_json
from workers.bots.players import SearchBot
from workers.bots.registry import bot_named
from workers.search import evaluate
from workers.search.endgame import solve_endgame
from workers.search.moves import action_of_move
from workers.search.rng import below, new_rng
from workers.search.search import Search

SELF_PLAY = SearchBot(300)
"""Who plays up to the positions: quick, and already a searcher, so that the positions are such as
hints are asked for.
"""


def positions(count: int, seed: str) -> Iterator[SeatView]:
    """Yield `count` decisions with at least two legal actions, one from each deal of self-play, at
    any stage.
    """
    found = number = 0
    while found < count:
        views = list(_decisions(f"{seed}-{number}", number % 4))
        chance = new_rng(seed, "position", number)
        number += 1
        if views:
            yield views[int(below(chance, len(views)))]
            found += 1


def _decisions(seed: str, dealer: int) -> Iterator[SeatView]:
    """Yield what the seat to move sees before each such decision of one deal of self-play."""
    deal = deal_cards(shuffled_deck(seed, "deal-1"), dealer)
    step = 0
    while deal.phase != OVER:
        view = view_deal(deal, deal.turn)
        if len(legal_actions(deal)) > 1:
            yield view
        play(deal, deal.turn, SELF_PLAY.decide(view, f"{seed}/{step}").action)
        step += 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """What became of the shown figures of one decision's best move."""

    shown: float
    """Expected margin as shown, points."""
    half_width: float
    """Half of its 95 % interval."""
    later: float
    """The average of many more worlds, from another seed."""
    later_half_width: float
    tree_mean: float
    """The search's own average of that move, which is not shown: it carries the winner's curse, and
    the poor moves that the tree tries later.
    """

    @property
    def holds(self) -> bool:
        """Tell whether the interval holds the later average, whose own error is small and added."""
        return abs(self.shown - self.later) <= float(
            np.hypot(self.half_width, self.later_half_width)
        )


def save_calibration(path: Path, found: Calibration) -> None:
    """Append one decision to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(found)) + "\n")


def load_calibrations(path: Path) -> list[Calibration]:
    """Read a file of JSON lines back."""
    return [Calibration(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def calibrate(view: SeatView, iterations: int, fresh: int, later: int, seed: str) -> Calibration:
    """Search `view`, sample the best move on `fresh` worlds as a hint does, and again on `later`
    other worlds.
    """
    search = Search(view, seed, iterations)
    search.run(iterations)
    best = search.ranking()[0]
    (shown,) = search.sample([best.code], fresh)
    search.seed = f"{seed}/later"
    (afterwards,) = search.sample([best.code], later)
    return Calibration(
        shown.mean(evaluate.MARGIN),
        shown.half_width,
        afterwards.mean(evaluate.MARGIN),
        afterwards.half_width,
        best.mean,
    )


@dataclass(frozen=True, slots=True)
class SuitePosition:
    """A position of the suite with the deep search's value of each of its best moves."""

    view: dict[str, Any]
    values: dict[str, float]
    """Expected margin of the mover's team, points, by action as JSON text with sorted keys: on
    fresh worlds, or solved.
    """

    def regret(self, action: dict[str, Any]) -> float:
        """Return how many points `action` is worse than the best; a move too poor to be valued
        costs as much as the worst one valued.
        """
        values = self.values.values()
        return max(values) - self.values.get(json.dumps(action, sort_keys=True), min(values))


def deep_values(
    view: SeatView, iterations: int, fresh: int, seed: str, moves: int = 6
) -> SuitePosition:
    """Search long, and value the `moves` most visited moves on `fresh` common worlds; where the end
    of the deal can be solved, all moves have the solution's values.
    """
    solution = solve_endgame(view)
    if solution is not None:
        values = solution.values
    else:
        search = Search(view, seed, iterations)
        search.run(iterations)
        samples = search.sample([move.code for move in search.ranking()[:moves]], fresh)
        values = {s.code: s.mean(evaluate.MARGIN) for s in samples}
    named = {
        json.dumps(action_to_json(action_of_move(code, view)), sort_keys=True): round(value, 2)
        for code, value in values.items()
    }
    return SuitePosition(view_to_json(view), named)


def write_suite(path: Path, suite: list[SuitePosition]) -> None:
    """Write a suite as JSON lines."""
    lines = (json.dumps({"view": p.view, "values": p.values}) for p in suite)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def read_suite(path: Path) -> list[SuitePosition]:
    """Read a suite."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [SuitePosition(row["view"], row["values"]) for row in rows]


def regrets(suite: list[SuitePosition], player: str) -> np.ndarray:
    """Return the regret of a player's choice in each position, points."""
    bot = bot_named(player)
    found = []
    for position in suite:
        decision = bot.decide(view_from_json(position.view), "suite")
        found.append(position.regret(action_to_json(decision.action)))
    return np.array(found)
