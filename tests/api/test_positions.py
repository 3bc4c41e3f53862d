"""Advice on positions over HTTP; the queue's worker is played by the tests."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest

from service.api.positions import AT_THE_START, IN_THE_MIDDLE
from service.games.positions import POSITION
from service.store.app_keys import MemoryAppKeys
from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import ApiClient, Table

Json = dict[str, Any]
PATH = "/positions/hints"
MELD: Json = IN_THE_MIDDLE["melds"][0]
DONE: Json = {
    "best": {"type": "draw_stock"},
    "candidates": [{"action": {"type": "draw_stock"}, "expected_margin": 4.5, "visits": 9}],
    "search": {"iterations": 10, "seconds": 0.1, "seed": "a", "engine": "test"},
}


def test_a_position_is_queued_read_and_cancelled(any_api: ApiClient) -> None:
    """202 with its place; GET; DELETE; and 409 for nothing: cancelling again is fine."""
    asked = any_api.post(PATH, {"position": AT_THE_START, "iterations": 500})

    assert (asked.status, asked.json["status"]) == (202, "queued")
    assert asked.headers["Location"] == f"{PATH}/{asked.json['id']}"
    assert (asked.json["seat"], asked.json["game_id"], asked.json["hints"]) == (0, None, None)
    assert any_api.get(asked.headers["Location"]).json == asked.json
    for _ in range(2):
        assert any_api.delete(asked.headers["Location"]).json["status"] == "cancelled"


def test_a_games_deal_can_be_sent_as_it_is(api: ApiClient, queue: MemoryQueue) -> None:
    """GAME's `deal` with `seat`, `deals` and `scores` beside it: nothing is renamed."""
    table = Table(api)
    table.play_on(40)
    seat = table.turn
    game = table.view(seat)
    beside = {"seat": seat, "deals": game["deals"], "scores": game["scores"]}
    asked = api.post(PATH, {"position": {**game["deal"], **beside}, "seed": 3})

    assert asked.status == 202
    job = queue.waiting[-1]
    assert job.arguments["views"][0]["hand"] == game["deal"]["hand"]


def test_several_positions_have_one_progress(
    api: ApiClient, store: MemoryStore, queue: MemoryQueue
) -> None:
    """`hints` has an entry for each, in order; half done it can be read."""
    asked = api.post(PATH, {"positions": [AT_THE_START, IN_THE_MIDDLE], "level": "casual"}).json
    first, second = asked["hints"]
    half = {**asked, "status": "running", "progress": 0.5, "hints": [{**first, **DONE}, second]}
    store.save_task("app-local", POSITION, asked["id"], half, 60)

    read = api.get(f"{PATH}/{asked['id']}").json
    assert (read["progress"], read["status"]) == (0.5, "running")
    assert [hint["seat"] for hint in read["hints"]] == [0, 1]
    assert read["hints"][0]["best"] == {"type": "draw_stock"}
    assert len(queue.waiting) == 1


def without(name: str) -> Callable[[Json], Any]:
    return lambda position: position.pop(name)


def with_(name: str, value: Any) -> Callable[[Json], Any]:
    return lambda position: position.update({name: value})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        *[(without(name), name) for name in AT_THE_START],
        (with_("hand", ["7h"]), "hand.0"),
        (with_("hand", "7H"), "hand"),
        (with_("hand", ["7H"] * 57), "hand"),
        (with_("discard_pile", [7]), "discard_pile.0"),
        (with_("seat", 4), "seat"),
        (with_("seat", True), "seat"),
        (with_("turn", "0"), "turn"),
        (with_("phase", "lunch"), "phase"),
        (with_("due", "1H"), "due"),
        (with_("passes", 5), "passes"),
        (with_("stock_count", -1), "stock_count"),
        (with_("stock_count", 10**15), "stock_count"),
        (with_("hand_counts", [7, 7, 7]), "hand_counts"),
        (with_("hand_counts", [7, 7, 7, 57]), "hand_counts.3"),
        (with_("known_cards", [[], [], []]), "known_cards"),
        (with_("known_cards", [[], [], [], ["YY"]]), "known_cards.3.0"),
        (with_("melds", [{}]), "melds.0.cards"),
        (with_("melds", ["m1"]), "melds.0"),
        (with_("melds", [MELD] * 19), "melds"),
        (
            with_("melds", [{**IN_THE_MIDDLE["melds"][0], "laid_by": [4, 0, 0]}]),
            "melds.0.laid_by.0",
        ),
        (with_("points", [0]), "points"),
        (with_("points", [0, 10**6]), "points.1"),
        (with_("scores", [0.5, 0]), "scores.0"),
        (with_("number", 0), "number"),
        (with_("deals", 11), "deals"),
        (with_("stock", ["2C"]), "stock"),
        (with_("hands", [[], [], [], []]), "hands"),
    ],
)
def test_a_malformed_position_is_refused(
    api: ApiClient, queue: MemoryQueue, change: Callable[[Json], Any], field: str
) -> None:
    """422 with the field, alone and among others; unknown members, such as a stock, too."""
    position = copy.deepcopy(AT_THE_START)
    change(position)
    alone = api.post(PATH, {"position": position})
    among = api.post(PATH, {"positions": [AT_THE_START, position]})

    for answer, place in ((alone, "position"), (among, "positions.1")):
        assert (answer.status, answer.json["type"]) == (422, "/docs/problems/invalid")
        assert f"{place}.{field}" in [error["field"] for error in answer.json["errors"]]
    assert queue.waiting == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"position": None},
        {"position": []},
        {"positions": []},
        {"positions": None},
        {"positions": [AT_THE_START] * 101},
        {"position": AT_THE_START, "positions": [AT_THE_START]},
        {"position": AT_THE_START, "seconds": 1, "iterations": 5},
        {"position": AT_THE_START, "level": "god"},
        {"position": AT_THE_START, "seat": 0},
        {"positions": [AT_THE_START] * 100, "seconds": 10},
        {"positions": [AT_THE_START] * 100, "iterations": 1_000_000},
        [],
        "x",
        None,
    ],
)
def test_a_malformed_request_is_refused(api: ApiClient, queue: MemoryQueue, body: Any) -> None:
    """422, and nothing is queued."""
    assert api.post(PATH, body).status == 422
    assert queue.waiting == []


def test_a_position_that_cannot_be_is_refused_with_every_fault(api: ApiClient) -> None:
    """422 of a kind of its own; each fault with its member and a sentence with the rule."""
    wrong = copy.deepcopy(IN_THE_MIDDLE)
    wrong["melds"][0]["cards"][1] = "2S"
    wrong["hand"][0] = wrong["hand"][1]
    wrong["stock_count"] = 27
    answer = api.post(PATH, {"position": wrong})

    assert (answer.status, answer.json["type"]) == (422, "/docs/problems/impossible-position")
    found = {error["field"]: error["message"] for error in answer.json["errors"]}
    assert {"position", "position.hand", "position.melds.0.cards"} <= set(found)
    assert "R15" in found["position.melds.0.cards"]


def test_a_hundred_positions_fit_and_a_large_body_still_does_not(api: ApiClient) -> None:
    """413 past eight times the usual size; what is wrong in all hundred is told in bounds."""
    table = Table(api)
    table.play_on(60)
    seat = table.turn
    game = table.view(seat)
    beside = {"seat": seat, "deals": game["deals"], "scores": game["scores"]}
    position = {**game["deal"], **beside}
    began = time.thread_time()
    asked = api.post(PATH, {"positions": [position] * 100, "iterations": 10})
    took = time.thread_time() - began
    wrong = api.post(PATH, {"positions": [{**position, "passes": 4, "points": [9, 9]}] * 100})
    large = api.post(PATH, raw=b" " * 600_000, headers={"Content-Type": "application/json"})

    assert (asked.status, wrong.status, large.status) == (202, 422, 413)
    assert len(asked.json["hints"]) == 100
    assert len(wrong.raw) < 100_000
    assert took < 5


def test_only_its_app_reads_it(api: ApiClient, keys: MemoryAppKeys) -> None:
    """403 for a seat's token, 404 for another app and for what never was."""
    table = Table(api)
    keys.create("other", "prk_other")
    asked = api.post(PATH, {"position": AT_THE_START}).headers["Location"]

    assert api.post(PATH, {"position": AT_THE_START}, token=table.tokens[0]).status == 403
    assert api.get(asked, token=table.tokens[0]).status == 403
    assert api.get(asked, token="prk_other").status == 404
    assert api.delete(asked, token="prk_other").status == 404
    for task_id in ("p2", "h1", "x", "p01"):
        assert api.get(f"{PATH}/{task_id}").status == 404
        assert api.delete(f"{PATH}/{task_id}").status == 404


def test_an_expired_answer_is_gone_and_a_finished_one_stays(
    api: ApiClient, store: MemoryStore
) -> None:
    """410 for one that was there; 409 for cancelling what is done."""
    first, second = (api.post(PATH, {"position": AT_THE_START}).json for _ in range(2))
    store.drop_task("app-local", POSITION, first["id"], None)
    done = {**second, **DONE, "status": "done", "progress": 1.0}
    store.save_task("app-local", POSITION, second["id"], done, 60)

    assert api.get(f"{PATH}/{first['id']}").status == 410
    assert api.delete(f"{PATH}/{second['id']}").status == 409
    assert api.get(f"{PATH}/{second['id']}").json["candidates"] == DONE["candidates"]


def test_a_repeated_question_is_asked_once(any_api: ApiClient) -> None:
    """Idempotency-Key: the same task again; another body with that key: 422."""
    headers = {"Idempotency-Key": "why"}
    first = any_api.post(PATH, {"position": AT_THE_START}, headers=headers)
    again = any_api.post(PATH, {"position": AT_THE_START}, headers=headers)
    other = any_api.post(PATH, {"position": IN_THE_MIDDLE}, headers=headers)

    assert again.json["id"] == first.json["id"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.status == 422
