"""One search for one decision, in steps that a caller can time, watch and stop.

The caller runs chunks of iterations, reads the ranking between them, and at the end may ask for the
moves to be shown to be played on fresh worlds. Same view, seed and iterations: same numbers, on any
machine and however the iterations are cut into chunks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from service.rules.deal import NO_CARD
from service.rules.view import SeatView, view_to_json
from workers.search import evaluate
from workers.search.determinize import unknown_counts, unseen_array
from workers.search.ismcts import new_scratch, new_tree, run_iterations
from workers.search.moves import MAX_MOVES, list_moves
from workers.search.playout import QuickPlayer, mixed_player
from workers.search.rng import new_rng
from workers.search.value_net import PART_COUNT, Net, load_net
from workers.search.values import margin_values, win_chances
from workers.search.world import new_worlds, template_of_view

ENGINE = "so-ismcts-8"
"""Named in each hint; changes whenever an answer may."""
CHUNK = 1_000
"""Iterations between two looks at the clock: about 10 to 25 ms."""
NET_SPREAD = 100.0
"""How far the end of a deal lies from what the net expects, points: one standard deviation."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search; the defaults are those of the levels `skilled` and above."""

    exploration: float = 70.0
    """Factor of the bound's spread, in points: the scale of what an iteration finds."""
    horizon: int = 0
    """Turns that a playout has before the learnt value stands for the rest; with little stock it
    goes on to the end."""


DEFAULT_SETTINGS = SearchSettings()


@dataclass(frozen=True, slots=True)
class MoveStatistics:
    """What the tree says of one move of the root."""

    code: int
    visits: int
    mean: float
    """Average value for the mover's team, in points; biased, for ranking only."""


@dataclass(frozen=True, slots=True)
class MoveSamples:
    """What fresh worlds say of one move."""

    code: int
    samples: int
    sums: np.ndarray
    """Shape (COLUMN_COUNT,), float64: see `evaluate.py`."""

    def mean(self, column: int) -> float:
        """Return the average of a column."""
        return float(self.sums[column] / self.samples)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the margin, in points."""
        return _half_width(
            self.sums[evaluate.MARGIN], self.sums[evaluate.MARGIN_SQUARED], self.samples
        )


def _ranked(moves: list[MoveStatistics]) -> list[MoveStatistics]:
    """Return the moves, most visits first, ties by value, then by code."""
    return sorted(moves, key=lambda move: (-move.visits, -move.mean, move.code))


def merge_rankings(rankings: list[list[MoveStatistics]]) -> list[MoveStatistics]:
    """Return the ranking of several searches of one view together: visits and values added up."""
    visits: dict[int, int] = {}
    totals: dict[int, float] = {}
    for move in chain.from_iterable(rankings):
        visits[move.code] = visits.get(move.code, 0) + move.visits
        totals[move.code] = totals.get(move.code, 0.0) + move.visits * move.mean
    return _ranked(
        [
            MoveStatistics(code, count, totals[code] / max(count, 1))
            for code, count in visits.items()
        ]
    )


def _half_width(total: float, total_squared: float, samples: int) -> float:
    mean = total / samples
    variance = max(total_squared / samples - mean * mean, 0.0)
    return 1.96 * math.sqrt(variance / max(samples - 1, 1))


@dataclass(slots=True)
class Search:
    """A search from `view`, whose viewer is to move."""

    view: SeatView
    seed: str
    capacity: int
    """Room for nodes: the most iterations that add to the tree."""
    settings: SearchSettings = DEFAULT_SETTINGS
    iterations: int = 0
    _used: int = 1
    _arrays: dict[str, np.ndarray] = field(default_factory=dict)
    _scratch: tuple[np.ndarray, ...] = ()
    _net: Net = field(default_factory=load_net)
    _player: QuickPlayer = field(default_factory=mixed_player)

    def __post_init__(self) -> None:
        if self.view.seat != self.view.turn:
            raise ValueError("a search is for the seat to move")
        self._scratch = new_scratch()
        self._arrays = {
            "template": template_of_view(self.view),
            "unseen": unseen_array(self.view),
            "counts": unknown_counts(self.view),
            "nodes": new_tree(self.capacity + 2),
            "worlds": new_worlds(2),
            "values": margin_values(self.view),
            "blurred_values": margin_values(self.view, NET_SPREAD),
            "rng": new_rng(self.seed, view_to_json(self.view), ENGINE),
        }

    def moves(self) -> list[int]:
        """Return the codes of the moves that the search considers at the root."""
        out = np.zeros(MAX_MOVES, np.int64)
        count = list_moves(self._arrays["template"][0], out)
        return [int(code) for code in out[:count]]

    def run(self, iterations: int) -> None:
        """Go on for so many iterations, CHUNK at a time: no other thread of the process can do
        anything while a kernel runs, not even say that the worker lives.
        """
        for done in range(0, iterations, CHUNK):
            self._run_chunk(min(CHUNK, iterations - done))

    def _run_chunk(self, iterations: int) -> None:
        a = self._arrays
        self._used = run_iterations(
            a["template"],
            a["unseen"],
            a["counts"],
            a["nodes"],
            self._used,
            iterations,
            a["worlds"],
            self._scratch,
            self._player,
            self.settings.horizon,
            self._net,
            a["values"],
            a["blurred_values"],
            self.settings.exploration,
            a["rng"],
        )
        self.iterations += iterations

    def ranking(self) -> list[MoveStatistics]:
        """Return the root's moves, most visits first, ties by value, then by code."""
        nodes = self._arrays["nodes"]
        sign = 1 if self.view.turn % 2 == 0 else -1
        found = []
        for child in self._children(0):
            node = nodes[child]
            mean = sign * float(node.total) / max(int(node.visits), 1)
            found.append(MoveStatistics(int(node.code), int(node.visits), mean))
        return _ranked(found)

    def _children(self, node: int) -> Iterator[int]:
        nodes = self._arrays["nodes"]
        child = int(nodes[node].first_child)
        while child:
            yield child
            child = int(nodes[child].next_sibling)

    def sample(
        self, codes: list[int], samples: int, tops: list[int] | None = None
    ) -> list[MoveSamples]:
        """Play each of `codes` on the same `samples` fresh worlds; the first of `codes` is what the
        others are compared with.

        `tops` has the card that each finds on the stock, NO_CARD where that is left to chance, as
        it is everywhere without them."""
        sampling = self.sampling(codes, tops)
        sampling.run(samples)
        return sampling.found()

    def sampling(self, codes: list[int], tops: list[int] | None = None) -> "Sampling":
        """Return the sampling that `sample` does, to be gone on with in steps."""
        return Sampling(self, codes, tops or [NO_CARD] * len(codes))


@dataclass(slots=True)
class Sampling:
    """Moves played on fresh worlds, the same ones for each; as many worlds as have been asked for,
    however they were cut into steps.
    """

    search: Search
    codes: list[int]
    tops: list[int]
    """The card that each of `codes` finds on the stock, or NO_CARD."""
    samples: int = 0
    _sums: np.ndarray = field(init=False)
    _parts: np.ndarray = field(init=False)
    _unseen: np.ndarray = field(init=False)
    _rng: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        search = self.search
        view = view_to_json(search.view)
        self._sums = np.zeros((len(self.codes), evaluate.COLUMN_COUNT))
        self._parts = np.zeros(PART_COUNT)
        self._unseen = np.sort(search._arrays["unseen"])
        self._rng = new_rng(search.seed, view, ENGINE, "fresh", search.iterations)

    def run(self, samples: int) -> None:
        """Go on for so many worlds."""
        search = self.search
        a = search._arrays
        evaluate.sample_moves(
            a["template"],
            self._unseen,
            a["counts"],
            a["nodes"],
            np.array(self.codes, dtype=np.int64),
            np.array(self.tops, dtype=np.int64),
            samples,
            a["worlds"],
            search._scratch,
            search._player,
            search.settings.horizon,
            search._net,
            self._parts,
            win_chances(search.view),
            win_chances(search.view, NET_SPREAD),
            self._rng,
            self._sums,
        )
        self.samples += samples

    def found(self) -> list[MoveSamples]:
        """Return what the worlds so far say, by move."""
        return [
            MoveSamples(code, self.samples, self._sums[row].copy())
            for row, code in enumerate(self.codes)
        ]


def difference_half_width(first: MoveSamples, other: MoveSamples) -> float:
    """Half of the 95 % interval of the difference in margin of two moves sampled on the same
    worlds, `first` being the first sampled.
    """
    total = other.sums[evaluate.MARGIN] - first.sums[evaluate.MARGIN]
    return _half_width(total, other.sums[evaluate.BEHIND], other.samples)
