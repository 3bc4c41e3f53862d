"""Advice on positions: the same as a hosted game's, one progress for many, stopped when told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from service.games.advice import HINT, ask_hint
from service.games.house import House
from service.games.positions import (
    POSITION,
    ask_position_hints,
    cancel_position_hints,
    read_position_hints,
    scope_of,
)
from service.rules.view import view_from_json, view_to_json
from tests.workers.tables import APP, four_people, view_of
from workers import jobs
from workers.hints import write_hints

Json = dict[str, Any]
BUDGET: Json = {"iterations": 1_500, "seed": "same"}


def positions_of(here: House, count: int) -> list[Json]:
    """Return what the seats to move see in some games."""
    games = [four_people(here, f"position-{n}", steps=5 + 11 * n) for n in range(count)]
    return [view_to_json(view_of(here, game_id)) for game_id in games]


def run(here: House, positions: list[Json], *, is_batch: bool, budget: Json = BUDGET) -> Json:
    """Ask, do what a worker does, and read."""
    asked = ask_position_hints(here, APP, positions, budget, is_batch=is_batch).body
    views = [view_to_json(view_from_json(position)) for position in positions]
    jobs.advise_on_positions(scope_of(APP), asked["id"], views, budget)
    return read_position_hints(here, APP, asked["id"])


def hosted(here: House, game_id: str) -> Json:
    """Return the hint for the seat to move of a hosted game."""
    asked = ask_hint(here, APP, game_id, None, BUDGET).body
    view = view_to_json(view_of(here, game_id))
    jobs.give_hint(game_id, asked["id"], view, BUDGET)
    document = here.store.load_task(game_id, HINT, asked["id"])
    assert document is not None
    return document


def without_time(hint: Json) -> Json:
    """Return what an answer says, but for how long it took."""
    search = {name: value for name, value in hint["search"].items() if name != "seconds"}
    return {"best": hint["best"], "candidates": hint["candidates"], "search": search}


@pytest.mark.parametrize("steps", [0, 9, 30, 60, 120])
def test_the_answer_is_that_of_the_same_view_of_a_hosted_game(here: House, steps: int) -> None:
    """Seed for seed, whatever order the cards of hand and melds are sent in."""
    game_id = four_people(here, "hosted", steps=steps)
    position = view_to_json(view_of(here, game_id))
    position["hand"].reverse()
    for meld in position["melds"]:
        meld["cards"].reverse()
        meld["laid_by"].reverse()

    advice = run(here, [position], is_batch=False)

    assert advice["status"] == "done"
    assert (advice["progress"], advice["hints"], advice["error"]) == (1.0, None, None)
    assert advice["finished_at"] is not None
    assert without_time(advice) == without_time(hosted(here, game_id))


def test_many_positions_are_answered_as_each_alone(here: House) -> None:
    """In the order sent; whatever is beside it changes no answer."""
    positions = positions_of(here, 4)

    together = run(here, positions, is_batch=True)

    assert (together["status"], together["progress"]) == ("done", 1.0)
    assert (together["best"], together["candidates"], together["seat"]) == (None, [], None)
    alone = [run(here, [position], is_batch=False) for position in positions]
    assert [without_time(hint) for hint in together["hints"]] == list(map(without_time, alone))
    assert [hint["seat"] for hint in together["hints"]] == [p["seat"] for p in positions]


def test_many_positions_share_one_progress_that_only_grows(here: House) -> None:
    """What is found for the first can be read while the others are thought about."""
    saved: list[Json] = []

    def save(document: Json) -> bool:
        saved.append(json.loads(json.dumps(document)))
        return True

    views = list(map(view_from_json, positions_of(here, 3)))
    write_hints(views, BUDGET, empty_batch(3), save, lambda: "now", ticking())

    progress = [document["progress"] for document in saved]
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    half = next(document for document in saved if document["hints"][1]["best"])
    assert half["hints"][0]["search"] is not None
    assert [d["status"] for d in saved] == ["running"] * (len(saved) - 1) + ["done"]


def test_a_batch_stops_at_the_position_at_which_it_is_cancelled(here: House) -> None:
    """The document is not saved any more: that is how the search learns of it."""
    saves: list[float] = []

    def save(document: Json) -> bool:
        saves.append(document["progress"])
        return len(saves) < 3

    views = list(map(view_from_json, positions_of(here, 3)))
    finished = write_hints(views, BUDGET, empty_batch(3), save, lambda: "now", ticking())

    assert (finished["status"], len(saves)) == ("cancelled", 3)


def empty_batch(count: int) -> Json:
    """Return the document of a batch that has just begun."""
    hints = [{"best": None, "candidates": [], "search": None} for _ in range(count)]
    return {"status": "running", "progress": 0.0, "hints": hints}


def ticking() -> Callable[[], float]:
    """Return a clock that goes on by a second with each look at it."""
    return map(float, itertools.count()).__next__


def test_a_cancelled_batch_searches_no_further(here: House) -> None:
    """The document says so, and a job that begins later does nothing."""
    positions = positions_of(here, 3)
    asked = ask_position_hints(here, APP, positions, BUDGET, is_batch=True).body

    assert cancel_position_hints(here, APP, asked["id"])["status"] == "cancelled"

    done = jobs.advise_on_positions(scope_of(APP), asked["id"], positions, BUDGET)
    assert done == {"status": "gone"}
    stored = here.store.load_task(scope_of(APP), POSITION, asked["id"])
    assert stored is not None
    assert stored["status"] == "cancelled"


def test_the_job_as_queued_is_plain_and_runs_twice(here: House) -> None:
    """A second run leaves what is done as it is."""
    positions = positions_of(here, 2)
    first = run(here, positions, is_batch=True)

    again = jobs.advise_on_positions(scope_of(APP), first["id"], positions, BUDGET)

    assert again == {"status": "gone"}
    assert read_position_hints(here, APP, first["id"]) == first
