"""Matches at equal time: at each decision the opponent gets the time that the player would take.

Before the opponent decides, the player decides on the same view, and that is timed; so what the
machine does besides falls on both. Time is processor time of the thread: what other programs take
is nobody's. Where the player does not search (it solves the end), its average so far is given.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from service.rules.view import SeatView
from workers.bots.base import Bot, Decision


class TimedBot(Protocol):
    """A player that can be told how long to think."""

    def decide_within(self, view: SeatView, seed: str, seconds: float) -> tuple[Decision, float]:
        """Choose for the viewer, who is to move, after so much processor time; tell how much of it
        was used.
        """


def timed(bot: Bot, view: SeatView, seed: str) -> tuple[Decision, float]:
    """Let a player decide; return that and the processor seconds that it took."""
    began = time.thread_time()
    decision = bot.decide(view, seed)
    return decision, time.thread_time() - began


@dataclass(slots=True)
class Spent:
    """What a player has spent on searches."""

    searches: int = 0
    seconds: float = 0.0
    """Processor time."""
    iterations: int = 0

    def add(self, decision: Decision, seconds: float) -> None:
        """Count a decision if it was searched for."""
        if decision.iterations:
            self.searches += 1
            self.seconds += seconds
            self.iterations += decision.iterations

    def __str__(self) -> str:
        """Return it in words."""
        searches = max(self.searches, 1)
        return (
            f"{1000 * self.seconds / searches:.1f} ms and {self.iterations / searches:,.0f} "
            f"iterations a search, {self.iterations / max(self.seconds, 1e-9):,.0f} a second"
        )


@dataclass(slots=True)
class AtTimeOf:
    """Plays `bot`, each decision for `factor` times as long as `pattern` thinks about it."""

    bot: TimedBot
    pattern: Bot
    factor: float = 1.0
    spent: Spent = field(default_factory=Spent)
    pattern_spent: Spent = field(default_factory=Spent)

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Time the pattern on this view, then decide."""
        asked, seconds = timed(self.pattern, view, seed)
        self.pattern_spent.add(asked, seconds)
        if not asked.iterations and self.pattern_spent.searches:
            seconds = self.pattern_spent.seconds / self.pattern_spent.searches
        decision, used = self.bot.decide_within(view, seed, self.factor * seconds)
        self.spent.add(decision, used)
        return decision


@dataclass(frozen=True, slots=True)
class Counted:
    """Keeps to a time with a player that only counts iterations: tried out on the same view with
    `trial` iterations, it gets as many as fit by that pace.
    """

    bot_of: Callable[[int], Bot]
    trial: int

    def decide_within(self, view: SeatView, seed: str, seconds: float) -> tuple[Decision, float]:
        """Try out, then decide; the trial is not counted."""
        tried, taken = timed(self.bot_of(self.trial), view, seed)
        if not tried.iterations:
            return tried, taken
        fitting = max(1, round(self.trial * seconds / taken))
        return timed(self.bot_of(fitting), view, seed)
