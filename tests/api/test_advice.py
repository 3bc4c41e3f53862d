"""Hints and bot moves over HTTP; the queue's worker is played by the tests."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from service.games.advice import BOT_MOVE, HINT
from service.games.levels import bot_levels
from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import ONE_PERSON, ApiClient, Table, memory_app

DONE = {
    "status": "done",
    "progress": 1.0,
    "best": {"type": "draw_stock"},
    "candidates": [
        {
            "action": {"type": "draw_stock"},
            "expected_margin": 4.5,
            "margin_interval": [1.0, 8.0],
            "win_probability": 0.55,
            "visits": 900,
            "reason": {"code": "draw_stock", "values": {"lays": 0}, "text": "Draws a card."},
        }
    ],
    "search": {"iterations": 1000, "seconds": 0.2, "seed": "a", "engine": "test"},
    "finished_at": "2026-01-01T00:00:00.000Z",
}


def finish(store: MemoryStore, game_id: str, kind: str, task_id: str, **more: Any) -> None:
    """Do what a worker does when a task is done."""
    document = store.load_task(game_id, kind, task_id)
    assert document is not None
    store.save_task(game_id, kind, task_id, {**document, **more}, 60)


def ask(table: Table, body: Any = None, **more: Any) -> Any:
    """Ask for a hint for the seat to move."""
    token = table.tokens[table.turn]
    return table.api.post(f"{table.path}/hints", body or {}, token=token, **more)


def test_a_hint_is_queued_and_read(any_api: ApiClient) -> None:
    """202, where it is, and what it is for; then it can be read."""
    table = Table(any_api)
    seat = table.turn
    answer = ask(table, {"seconds": 1.0})

    assert answer.status == 202
    assert answer.headers["Location"] == f"{table.path}/hints/{answer.json['id']}"
    assert answer.json["status"] == "queued"
    assert (answer.json["seat"], answer.json["version"]) == (seat, 0)
    read = any_api.get(answer.headers["Location"], token=table.tokens[seat])
    assert read.json == answer.json


def test_a_job_is_told_what_the_seat_sees(table: Table, queue: MemoryQueue) -> None:
    """The queue gets the seat's view and the budget; no game, no other hand, no seed."""
    seat = table.turn
    ask(table, {"iterations": 500, "seed": 7})
    (job,) = queue.waiting

    assert job.queue == "hints"
    assert job.arguments["budget"] == {"iterations": 500, "seed": 7}
    assert job.arguments["view"]["hand"] == table.view(seat)["deal"]["hand"]
    assert set(job.arguments) == {"scope", "task_id", "view", "budget"}


def test_a_hint_done_in_time_is_answered_at_once(store: MemoryStore) -> None:
    """Prefer: wait=5: 200 with the advice when it is done by then; and it says that it waited."""
    naps: list[float] = []

    def work_meanwhile(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            finish(store, table.id, HINT, "h1", **DONE)

    api = ApiClient(memory_app(store=store, sleep=work_meanwhile))
    table = Table(api)
    answer = ask(table, {"seconds": 0.2}, headers={"Prefer": "respond-async, wait=5"})

    assert answer.status == 200
    assert answer.headers["Preference-Applied"] == "wait=5"
    assert answer.headers["Location"] == f"{table.path}/hints/h1"
    assert answer.json["best"] == {"type": "draw_stock"}
    assert len(naps) == 3


def test_a_hint_not_done_in_time_is_answered_as_it_is(store: MemoryStore) -> None:
    """Prefer: wait=60: 202 after at most 30 s, with the best so far."""
    clock = [0.0]

    def nap(seconds: float) -> None:
        clock[0] += seconds

    api = ApiClient(memory_app(store=store, sleep=nap, monotonic=lambda: clock[0]))
    answer = ask(Table(api), headers={"Prefer": "wait=60"})

    assert answer.status == 202
    assert answer.headers["Preference-Applied"] == "wait=30"
    assert clock[0] == pytest.approx(30)


@pytest.mark.parametrize("given", ["wait=x", "wait", "return=minimal", "await=5", "wait=-1"])
def test_a_preference_that_cannot_be_read_is_ignored(table: Table, given: str) -> None:
    """RFC 7240: preferences are wishes."""
    answer = ask(table, headers={"Prefer": given})

    assert answer.status == 202
    assert "Preference-Applied" not in answer.headers


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"seconds": 0}, "seconds"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": 10.1}, "seconds"),
        ({"seconds": "1"}, "seconds"),
        ({"seconds": True}, "seconds"),
        ({"seconds": None}, "seconds"),
        ({"iterations": 0}, "iterations"),
        ({"iterations": 1_000_001}, "iterations"),
        ({"iterations": 1.5}, "iterations"),
        ({"level": "god"}, "level"),
        ({"level": 3}, "level"),
        ({"seconds": 1, "iterations": 5}, "iterations"),
        ({"seconds": 1, "level": "expert"}, "level"),
        ({"seed": "s" * 201}, "seed"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"seed": 10**400}, "seed"),
        ({"seed": None}, "seed"),
        ({"seed": [1]}, "seed"),
        ({"seed": True}, "seed"),
        ({"seat": 4}, "seat"),
        ({"workers": 0}, "workers"),
        ({"workers": 17}, "workers"),
        ({"workers": True}, "workers"),
        ({"threads": 2}, "threads"),
        ([], "body"),
    ],
)
def test_a_malformed_hint_is_refused(
    table: Table, queue: MemoryQueue, body: Any, field: str
) -> None:
    """422 names the field, and nothing is queued."""
    token = table.tokens[table.turn]
    raw = repr(body).replace("'", '"').replace("True", "true").replace("None", "null").encode()
    answer = table.api.post(
        f"{table.path}/hints", raw=raw, token=token, headers={"Content-Type": "application/json"}
    )

    assert answer.status == 422
    assert field in [error["field"] for error in answer.json["errors"]]
    assert queue.waiting == []


def test_advice_is_for_the_seat_to_move(api: ApiClient, table: Table) -> None:
    """R6: the other seats get 409; an app that names no seat asks for the one to move."""
    other = table.tokens[(table.turn + 1) % 4]
    refused = api.post(f"{table.path}/hints", {}, token=other)
    asked = api.post(f"{table.path}/hints", {})

    assert (refused.status, refused.json["rule"]) == (409, "R6")
    assert (asked.status, asked.json["seat"]) == (202, table.turn)


def test_a_hint_is_its_seats_own(table: Table) -> None:
    """403 for another seat: advice tells of the hand that it is for."""
    seat = table.turn
    location = ask(table).headers["Location"]

    assert table.api.get(location, token=table.tokens[(seat + 1) % 4]).status == 403
    assert table.api.delete(location, token=table.tokens[(seat + 1) % 4]).status == 403
    assert table.api.get(location).status == 200


def test_a_hint_is_cancelled(any_api: ApiClient) -> None:
    """DELETE: cancelled, also the second time; what has ended otherwise stays (409)."""
    table = Table(any_api)
    token = table.tokens[table.turn]
    location = ask(table).headers["Location"]

    assert any_api.delete(location, token=token).json["status"] == "cancelled"
    assert any_api.delete(location, token=token).status == 200


def test_a_finished_hint_is_not_cancelled(table: Table, store: MemoryStore) -> None:
    """409: it is done."""
    token = table.tokens[table.turn]
    location = ask(table).headers["Location"]
    finish(store, table.id, HINT, "h1", **DONE)

    assert table.api.delete(location, token=token).status == 409
    assert table.api.get(location, token=token).json["status"] == "done"


def test_an_expired_hint_is_gone(table: Table, store: MemoryStore) -> None:
    """410 for one that was there, 404 for one that never was; never a fault of ours."""
    ask(table)
    store.drop_task(table.id, HINT, "h1", None)

    for hint_id, status in (("h1", 410), ("h2", 404), ("m1", 404), ("x", 404), ("h01", 404)):
        assert table.api.get(f"{table.path}/hints/{hint_id}").status == status, hint_id
        assert table.api.delete(f"{table.path}/hints/{hint_id}").status == status, hint_id


def test_a_repeated_question_is_asked_once(any_api: ApiClient) -> None:
    """Idempotency-Key: the same hint again, and no second job."""
    table = Table(any_api)
    headers = {"Idempotency-Key": "why"}
    first = ask(table, {"level": "expert"}, headers=headers)
    again = ask(table, {"level": "expert"}, headers=headers)
    other = ask(table, {"level": "novice"}, headers=headers)

    assert again.json["id"] == first.json["id"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.status == 422


def test_a_full_queue_refuses_and_plays_on(store: MemoryStore) -> None:
    """503 with Retry-After for the hint; playing goes on."""
    queue = MemoryQueue(max_queued_jobs=1)
    api = ApiClient(memory_app(store=store, queue=queue))
    table = Table(api)
    assert ask(table).status == 202
    answer = ask(table)

    assert (answer.status, answer.json["type"]) == (503, "/docs/problems/queue-full")
    assert int(answer.headers["Retry-After"]) >= 1
    assert table.play(table.turn, {"type": "draw_stock"}).status == 201


def test_a_bot_plays_a_persons_turn(table: Table, store: MemoryStore, queue: MemoryQueue) -> None:
    """202 and a resource that shows what was played."""
    seat = table.turn
    answer = table.api.post(
        f"{table.path}/bot-moves", {"level": "greedy"}, token=table.tokens[seat]
    )

    assert answer.status == 202
    assert answer.headers["Location"] == f"{table.path}/bot-moves/m1"
    assert (answer.json["seat"], answer.json["version"]) == (seat, 0)
    assert [job.queue for job in queue.waiting] == ["bots"]
    event = table.play(seat, {"type": "draw_stock"}).json["action"]
    finish(store, table.id, BOT_MOVE, "m1", status="done", actions=[event])
    read = table.api.get(answer.headers["Location"], token=table.tokens[seat])
    assert read.json["actions"] == [event]


@pytest.mark.parametrize(
    "body", [{"level": "god"}, {"level": None}, {"seat": 9}, {"seconds": 1}, []]
)
def test_a_malformed_bot_move_is_refused(table: Table, queue: MemoryQueue, body: Any) -> None:
    """422, and nothing is queued."""
    token = table.tokens[table.turn]

    assert table.api.post(f"{table.path}/bot-moves", body, token=token).status == 422
    assert queue.waiting == []


def test_an_empty_body_asks_for_nothing(table: Table, queue: MemoryQueue) -> None:
    """400: neither advice nor a move is asked for by accident."""
    token = table.tokens[table.turn]
    for path in ("hints", "bot-moves"):
        assert table.api.post(f"{table.path}/{path}", token=token).status == 400

    assert queue.waiting == []


def test_a_bots_seat_needs_no_asking(api: ApiClient) -> None:
    """A bot's turn cannot be asked for, nor advised."""
    for number in range(20):
        made = api.post("/games", {"seats": ONE_PERSON, "seed": f"b{number}"}).json
        if made["game"]["deal"]["turn"] != 0:
            break
    path = f"/games/{made['game']['id']}"
    for work in ("hints", "bot-moves"):
        assert api.post(f"{path}/{work}", {}, token=made["seat_tokens"]["0"]).status == 409
        assert api.post(f"{path}/{work}", {"seat": made["game"]["deal"]["turn"]}).status == 403


def test_waiting_for_advice_blocks_nobody(table: Table, store: MemoryStore) -> None:
    """While one request waits for its hint, another one plays."""
    answers: list[Any] = []
    waiting = threading.Thread(
        target=lambda: answers.append(ask(table, headers={"Prefer": "wait=20"}))
    )
    waiting.start()
    while store.load_task(table.id, HINT, "h1") is None:
        pass
    assert table.play(table.turn, {"type": "draw_stock"}).status == 201
    finish(store, table.id, HINT, "h1", **DONE)
    waiting.join(10)

    assert answers[0].status == 200


def test_bots_are_listed_weakest_first(api: ApiClient) -> None:
    """GET /bots: the levels that a game's bots may have."""
    bots = api.get("/bots").json["bots"]

    assert bots == list(bot_levels())
    assert {"random", "greedy", "expert"} <= {bot["level"] for bot in bots}
