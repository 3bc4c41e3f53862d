"""What a hint says: repeatable anywhere, published as it grows, within its budget."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service.games.house import House
from service.rules.view import SeatView, view_to_json
from tests.workers.tables import four_people, view_of
from workers.bots.registry import BOTS
from workers.hints import budget_of, write_hint

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = """
import json, sys
from workers.warmup import choose_cache
choose_cache()
from service.rules.view import view_from_json
from workers.hints import write_hint
view, request = json.load(sys.stdin)
hint = write_hint(view_from_json(view), request, {}, lambda _: True, str, lambda: 0.0)
json.dump(hint["candidates"], sys.stdout)
"""


@pytest.fixture
def view(here: House) -> SeatView:
    """Return a view from the middle of a deal, with several actions to choose from."""
    return view_of(here, four_people(here, seed="hints", steps=31))


def ticking(step_s: float) -> Callable[[], float]:
    """Return a clock that goes on by so much with each look at it."""
    now = [0.0]

    def clock() -> float:
        now[0] += step_s
        return now[0]

    return clock


def hint_on(
    view: SeatView,
    request: Json,
    *,
    saved: list[Json] | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Json:
    """Write a hint; what would be published is put on `saved`."""

    def save(document: Json) -> bool:
        if saved is not None:
            saved.append(json.loads(json.dumps(document)))
        return True

    return write_hint(view, request, {"status": "running"}, save, lambda: "now", clock)


def test_the_same_seed_iterations_and_view_give_the_same_answer_in_another_process(
    view: SeatView,
) -> None:
    """On any machine: a hint can be checked by whoever has the view."""
    request = {"iterations": 5_000, "seed": "s"}
    here = hint_on(view, request)["candidates"]

    elsewhere = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        cwd=ROOT,
        input=json.dumps([view_to_json(view), request]),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    ).stdout

    assert json.dumps(here) == elsewhere


def test_when_it_is_published_changes_nothing_in_the_answer(view: SeatView) -> None:
    """A slow clock publishes after each chunk of the search, a still one only once."""
    request = {"iterations": 9_000, "seed": "s"}
    often: list[Json] = []
    seldom: list[Json] = []

    first = hint_on(view, request, saved=often, clock=ticking(1.0))
    second = hint_on(view, request, saved=seldom)

    assert len(often) > len(seldom)
    assert first["candidates"] == second["candidates"]


def test_another_seed_gives_other_numbers(view: SeatView) -> None:
    request = {"iterations": 2_000}

    assert (
        hint_on(view, {**request, "seed": "a"})["candidates"]
        != hint_on(view, {**request, "seed": "b"})["candidates"]
    )


def test_progress_and_the_best_so_far_are_published_on_the_way(view: SeatView) -> None:
    saved: list[Json] = []

    done = hint_on(view, {"iterations": 20_000}, saved=saved, clock=ticking(0.1))

    progress = [document["progress"] for document in saved]
    assert len(saved) > 3
    assert sorted(set(progress)) == progress
    assert 1.0 == progress[-1]
    assert ["running"] * (len(saved) - 1) + ["done"] == [document["status"] for document in saved]
    for document in saved:
        assert document["best"] == document["candidates"][0]["action"]
    assert saved[-1] == json.loads(json.dumps(done))


def test_a_hint_that_is_cancelled_searches_no_further(view: SeatView) -> None:
    """The document is not saved any more: that is how the search learns of it."""
    saves: list[Json] = []

    def save(document: Json) -> bool:
        saves.append(dict(document))
        return len(saves) < 3

    hint = write_hint(view, {"iterations": 10**6}, {}, save, str, ticking(1.0))

    assert "cancelled" == hint["status"]
    assert 3 == len(saves)


def test_a_hint_cancelled_at_the_last_moment_is_told_as_cancelled(view: SeatView) -> None:
    hint = write_hint(view, {"iterations": 100}, {}, lambda _: False, str, lambda: 0.0)

    assert "cancelled" == hint["status"]


def test_a_hint_is_cancelled_while_its_moves_are_played_on_fresh_worlds(view: SeatView) -> None:
    """A long hint has much of that; it is looked up as often as in the search."""
    progress: list[float] = []

    def save(document: Json) -> bool:
        progress.append(document["progress"])
        return document["progress"] < 0.9

    hint = write_hint(view, {"iterations": 30_000}, {}, save, str, ticking(1.0))

    assert "cancelled" == hint["status"]
    assert 0.9 <= progress[-1] < 1.0
    assert sum(step > 0.8 for step in progress) > 2


@pytest.mark.parametrize("seconds", [0.2, 0.6])
def test_a_hint_by_time_ends_when_the_time_does(view: SeatView, seconds: float) -> None:
    """Search and fresh worlds together: as many worlds as there is time for."""
    step_s = 0.001
    clock = ticking(step_s)
    start = clock()

    hint = hint_on(view, {"seconds": seconds}, clock=clock)

    assert 0.9 * seconds < clock() - start <= seconds + 5 * step_s
    assert hint["search"]["fresh_worlds"] > 0


def test_the_parts_of_a_margin_add_up_to_it(view: SeatView) -> None:
    """But for the rounding of six parts."""
    for candidate in hint_on(view, {"iterations": 3_000})["candidates"]:
        if candidate["split"] is not None:
            assert abs(sum(candidate["split"].values()) - candidate["expected_margin"]) < 0.4
            low, high = candidate["margin_interval"]
            assert low <= candidate["expected_margin"] <= high


def test_every_candidate_is_another_action_and_the_visits_are_the_iterations(
    view: SeatView,
) -> None:
    hint = hint_on(view, {"iterations": 4_000})

    actions = [json.dumps(candidate["action"]) for candidate in hint["candidates"]]
    assert len(actions) == len(set(actions))
    assert 4_000 == sum(candidate["visits"] for candidate in hint["candidates"])


# Budgets.


def chunks(request: Json, clock: Callable[[], float], size: int = 1_000) -> Iterator[int]:
    """Yield the chunks of search that a request's budget allows."""
    for iterations, _progress in budget_of(request).chunks(size, clock):
        yield iterations


def test_a_budget_of_iterations_is_kept_exactly() -> None:
    assert [1_000, 1_000, 500] == list(chunks({"iterations": 2_500}, ticking(1.0)))
    assert [1] == list(chunks({"iterations": 1}, ticking(1.0)))


def test_a_budget_by_level_is_that_levels_search() -> None:
    assert BOTS["expert"].iterations == sum(chunks({"level": "expert"}, ticking(1.0)))
    assert BOTS["expert"].iterations == sum(chunks({}, ticking(1.0)))
    # A level that does not search still gets a hint with figures.
    assert sum(chunks({"level": "greedy"}, ticking(1.0))) >= 100


@pytest.mark.parametrize("seconds", [0.05, 0.5, 2.0])
def test_a_budget_by_time_is_not_overrun(seconds: float) -> None:
    """A chunk is begun only if, at the pace so far, it ends in time."""
    now = [0.0]

    def spend_20_ms(progress: float) -> None:
        assert 0 <= progress <= 1
        now[0] += 0.02

    for _iterations, progress in budget_of({"seconds": seconds}).chunks(1_000, lambda: now[0]):
        spend_20_ms(progress)

    assert 0.6 * seconds - 0.02 <= now[0] <= seconds


def test_the_shortest_time_still_gives_an_answer(view: SeatView) -> None:
    """At least one chunk is searched."""
    hint = hint_on(view, {"seconds": 0.001}, clock=ticking(10.0))

    assert "done" == hint["status"]
    assert hint["search"]["iterations"] > 0
