"""What a margin is worth: points of the deal, and the chance to win the game (R31, R32).

Tables by margin, so that the kernels need no transcendental function: entry `margin +
LARGEST_MARGIN`. A deal's margin is far from the ends: the pack is worth 476, doubled sets at most
double that."""

import math
from functools import cache

import numpy as np

from service.rules.view import SeatView

LARGEST_MARGIN = 1200
MARGIN_SPREAD = 120.0
"""Standard deviation of a deal's margin between equal players, in points (measured by the arena).
"""
MARGIN_SHARE = 0.5
"""Weight of a point of margin in the last deal."""
WIN_WORTH = 60.0
"""Half of what winning the game rather than losing it is worth in the last deal, points."""
WIN_SOFTNESS = 30.0
"""Width of the step at the margin that wins, points: a search cannot steer more exactly."""
_GRID = 2**-40
"""Chances are rounded to this grid, so that every machine has the same table."""


@cache
def _chances(deals_after: int, lead: int, uncertainty: float) -> np.ndarray:
    """Return the chance to win the game by the margin of the deal in hand, which may yet be
    `uncertainty` points off, for a team `lead` points ahead before it and `deals_after` deals to
    come.
    """
    margins = np.arange(-LARGEST_MARGIN, LARGEST_MARGIN + 1) + lead
    scale = math.hypot(MARGIN_SPREAD * math.sqrt(deals_after), uncertainty) * math.sqrt(2)
    if scale == 0:
        return np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))
    chances = [0.5 * math.erfc(-margin / scale) for margin in margins]
    return np.array([round(chance / _GRID) * _GRID for chance in chances])


def win_chances(view: SeatView, uncertainty: float = 0.0) -> np.ndarray:
    """Return the chance of the mover's team to win the game, by its margin of this deal, or by its
    expected margin where that may yet be `uncertainty` points off, one standard deviation; shape (2
    * LARGEST_MARGIN + 1,).
    """
    team = view.turn % 2
    lead = view.scores[team] - view.scores[1 - team]
    return _chances(view.deals - view.number, lead, uncertainty)


@cache
def _game_values(lead: int, softness: float) -> np.ndarray:
    """Return the value of team 0's margin in the last deal, for a team 0 that is `lead` points
    ahead.
    """
    margins = np.arange(-LARGEST_MARGIN, LARGEST_MARGIN + 1)
    scale = softness * math.sqrt(2)
    chances = [0.5 * math.erfc(-(int(margin) + lead) / scale) for margin in margins]
    values = MARGIN_SHARE * margins + WIN_WORTH * (2 * np.array(chances) - 1)
    return np.round(values / _GRID) * _GRID


def plain_values() -> np.ndarray:
    """Return the table in which a margin is worth itself."""
    return np.arange(-LARGEST_MARGIN, LARGEST_MARGIN + 1, dtype=np.float64)


def margin_values(view: SeatView, uncertainty: float = 0.0) -> np.ndarray:
    """Return the value that the search maximizes for team 0, by team 0's margin of this deal, or by
    its expected margin where the deal goes on and the margin may yet be `uncertainty` points off,
    one standard deviation.

    In points. Before the last deal it is the margin itself: the chance to win grows with it almost
    evenly, since what is still to come is as wide as any lead. In the last deal half of it is the
    margin and the rest the game, by a soft step at the margin that wins: a team ahead avoids risk,
    a team behind seeks it, and neither throws points away once the game is decided. Uncertainty
    makes the step softer."""
    if view.number < view.deals:
        return plain_values()
    softness = math.hypot(WIN_SOFTNESS, uncertainty)
    return _game_values(view.scores[0] - view.scores[1], softness)
