"""The suite of positions with deep values."""

import pytest

from service.rules.view import view_from_json
from tests.quality import SUITE
from workers.quality import deep_values, read_suite
from workers.search.endgame import solve_endgame


def test_ends_that_can_be_solved_have_the_values_of_the_solution() -> None:
    """Samples play on by a quick player, and here they were a hundred points off."""
    solved = 0
    for position in read_suite(SUITE):
        view = view_from_json(position.view)
        if solve_endgame(view) is not None:
            solved += 1
            assert deep_values(view, 10, 10, "a") == position

    assert solved > 10


def test_a_choice_loses_what_the_best_is_better() -> None:
    """A move that was not valued loses as much as the worst valued."""
    position = next(p for p in read_suite(SUITE) if len(p.values) > 2)
    worst, best = min(position.values.values()), max(position.values.values())

    assert position.regret({"type": "no such move"}) == pytest.approx(best - worst)
