"""Measuring players against each other, so that a specialist would believe it.

The unit is a *pair of games*: the same cards twice, the teams' seats exchanged (duplicate bridge's
idea), so that luck of the deal mostly cancels. What is reported is the first player's margin a deal
with its standard error over pairs, and its share of games won. Seeds are printed; a run can be
repeated to the card.

The number of pairs is fixed beforehand, or a sequential test stops early (`Verdict`). Ratings of
levels come from games won in a round robin, fitted by Bradley and Terry's model with a bootstrap
over pairs."""

import json
import math
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from service.rules.match import play_in_match, start_match
from service.rules.view import view_match
from workers.bots.base import Bot
from workers.bots.registry import bot_named

ELO = 400 / math.log(10)
"""Rating points for each unit of log odds."""
SETTLED = 1e-9
"""Strengths that change by a smaller part have settled: far below a point of the rating."""
BOOTSTRAPS = 400


@dataclass(frozen=True, slots=True)
class PairResult:
    """A pair of games between two players."""

    seed: str
    margins: tuple[float, ...]
    """The first player's margin in each deal, points; the games one after the other."""
    wins: float
    """Of the two games, how many the first player's team won; half for a draw."""
    decisions: tuple[int, int]
    """Decisions made by the first and by the second player."""
    seconds: tuple[float, float]
    """Time that these took."""

    @property
    def mean_margin(self) -> float:
        """The first player's margin a deal, points."""
        return sum(self.margins) / len(self.margins)


def play_pair(first: str | Bot, second: str | Bot, seed: str, deals: int = 2) -> PairResult:
    """Play two games of `deals` deals from one seed, the teams' seats exchanged for the second.

    Players are bots, or names for `bot_named`.
    """
    players = (_player(first), _player(second))
    dealer = int(seed.rpartition("-")[2]) % 4 if seed.rpartition("-")[2].isdigit() else 0
    margins: list[float] = []
    wins = 0.0
    counts, seconds = [0, 0], [0.0, 0.0]
    for swapped in (0, 1):
        teams = (players[swapped], players[1 - swapped])
        scores = _play_game(teams, seed, dealer, deals, swapped, counts, seconds)
        sign = 1 - 2 * swapped
        margins += [sign * margin for margin in scores]
        total = sign * sum(scores)
        wins += 1.0 if total > 0 else 0.5 if total == 0 else 0.0
    return PairResult(seed, tuple(margins), wins, (counts[0], counts[1]), (seconds[0], seconds[1]))


def _player(player: str | Bot) -> Bot:
    return _named(player) if isinstance(player, str) else player


@cache
def _named(name: str) -> Bot:
    """Return a bot with its kernels loaded, so that no decision's time has that in it."""
    bot = bot_named(name)
    match = start_match("warm-up", 3)
    bot.decide(view_match(match, match.deal.turn), "warm-up")
    return bot


def _play_game(
    teams: tuple[Bot, Bot],
    seed: str,
    dealer: int,
    deals: int,
    swapped: int,
    counts: list[int],
    seconds: list[float],
) -> list[int]:
    """Play one game; return team 0's margin by deal."""
    match = start_match(seed, dealer, deals=deals)
    step = 0
    while not match.is_over:
        seat = match.deal.turn
        view = view_match(match, seat)
        start = time.perf_counter()
        decision = teams[seat % 2].decide(view, f"{seed}/{swapped}/{step}")
        who = (seat + swapped) % 2
        seconds[who] += time.perf_counter() - start
        counts[who] += 1
        play_in_match(match, seat, decision.action)
        step += 1
    return [score.total[0] - score.total[1] for score in match.scores]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the pairs so far say of the first player."""

    pairs: int
    margin: float
    """Points a deal."""
    margin_error: float
    """Standard error of that."""
    win_share: float
    win_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the margin."""
        return self.margin - 1.96 * self.margin_error, self.margin + 1.96 * self.margin_error


def estimate(results: Iterable[PairResult]) -> Estimate:
    """Sum up pairs; errors are infinite below two."""
    results = list(results)
    margins = np.array([result.mean_margin for result in results])
    wins = np.array([result.wins / 2 for result in results])
    count = len(results)

    def error(values: np.ndarray) -> float:
        return float(values.std(ddof=1) / math.sqrt(count)) if count > 1 else math.inf

    return Estimate(count, float(margins.mean()), error(margins), float(wins.mean()), error(wins))


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Wald's test of "the margin is `high`" against "it is `low`" points a deal, the spread taken
    from the pairs.
    """

    low: float
    high: float
    error: float = 0.05
    fewest: int = 30
    """No verdict before so many pairs: the spread must be known."""

    def verdict(self, found: Estimate) -> str | None:
        """Return "high", "low" or None for "go on"."""
        if found.pairs < self.fewest or found.margin_error == 0:
            return None
        middle = (self.low + self.high) / 2
        ratio = (self.high - self.low) * (found.margin - middle) / found.margin_error**2
        bound = math.log((1 - self.error) / self.error)
        return "high" if ratio > bound else "low" if ratio < -bound else None


def play_pairs(
    first: str | Bot,
    second: str | Bot,
    pairs: int,
    seed: str,
    processes: int = 1,
    deals: int = 2,
) -> Iterator[PairResult]:
    """Yield the results of `pairs` pairs as they come, from so many processes."""
    seeds = [f"{seed}-{number}" for number in range(pairs)]
    if processes == 1:
        for each in seeds:
            yield play_pair(first, second, each, deals)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(play_pair, first, second, each, deals) for each in seeds]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def save_result(path: Path, first: str, second: str, result: PairResult) -> None:
    """Append one pair to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as out:
        out.write(json.dumps({"first": first, "second": second, **asdict(result)}) + "\n")


def load_results(path: Path) -> dict[tuple[str, str], list[PairResult]]:
    """Read a file of JSON lines back, by players."""
    found: dict[tuple[str, str], list[PairResult]] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        players = (row.pop("first"), row.pop("second"))
        result = PairResult(
            row["seed"],
            tuple(row["margins"]),
            row["wins"],
            (row["decisions"][0], row["decisions"][1]),
            (row["seconds"][0], row["seconds"][1]),
        )
        found.setdefault(players, []).append(result)
    return found


@dataclass(frozen=True, slots=True)
class Rating:
    """A level's rating in Elo points of the game, the anchor at 0, with its 95 % interval."""

    level: str
    rating: float
    low: float
    high: float
    seconds_a_decision: float


def fit_ratings(wins: np.ndarray, games: np.ndarray, anchor: int) -> np.ndarray:
    """Fit Bradley and Terry's model by Hunter's minorization (Ann. Stat. 32, 2004).

    `wins[i, j]` of `games[i, j]` went to i; half a game is added to each side of each pairing, so
    that no rating is infinite. Returns Elo points, `anchor` at 0."""
    played = games > 0
    wins = wins + 0.5 * played
    games = games + 1.0 * played
    strength = np.ones(len(wins))
    for _ in range(2000):
        before = strength
        pair_sums = strength[:, None] + strength[None, :]
        strength = wins.sum(axis=1) / (games / pair_sums).sum(axis=1)
        strength /= np.exp(np.mean(np.log(strength)))
        if np.abs(strength / before - 1).max() < SETTLED:
            break
    ratings: np.ndarray = ELO * np.log(strength / strength[anchor])
    return ratings


def rate(
    results: dict[tuple[str, str], list[PairResult]], levels: list[str], anchor: str, seed: int = 1
) -> list[Rating]:
    """Rate `levels` from the pairs between them; the interval by a bootstrap over pairs."""
    rng = np.random.default_rng(seed)
    place = {level: number for number, level in enumerate(levels)}
    kept = {p: r for p, r in results.items() if p[0] in place and p[1] in place}

    def fit(resample: bool) -> np.ndarray:
        wins = np.zeros((len(levels), len(levels)))
        games = np.zeros_like(wins)
        for (first, second), pairs in kept.items():
            chosen = rng.integers(len(pairs), size=len(pairs)) if resample else range(len(pairs))
            won = sum(pairs[number].wins for number in chosen)
            i, j = place[first], place[second]
            wins[i, j] += won
            wins[j, i] += 2 * len(pairs) - won
            games[i, j] += 2 * len(pairs)
            games[j, i] += 2 * len(pairs)
        return fit_ratings(wins, games, place[anchor])

    ratings = fit(False)
    spread = np.percentile([fit(True) for _ in range(BOOTSTRAPS)], (2.5, 97.5), axis=0)
    paces = _paces(kept)
    return [
        Rating(level, ratings[n], spread[0][n], spread[1][n], paces.get(level, 0.0))
        for level, n in place.items()
    ]


def _paces(results: dict[tuple[str, str], list[PairResult]]) -> dict[str, float]:
    """Return the mean seconds a decision by level."""
    spent: dict[str, list[float]] = {}
    for players, pairs in results.items():
        for side in (0, 1):
            total = spent.setdefault(players[side], [0.0, 0.0])
            total[0] += sum(pair.seconds[side] for pair in pairs)
            total[1] += sum(pair.decisions[side] for pair in pairs)
    return {level: seconds / max(count, 1) for level, (seconds, count) in spent.items()}
