"""Reviews over HTTP; the queue's worker is played by the tests."""

from __future__ import annotations

from typing import Any

import pytest

from service.games.reviews import REVIEW
from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import ApiClient, Table

Json = dict[str, Any]
DECISION: Json = {
    "version": 2,
    "deal": 1,
    "seat": 0,
    "action": {"type": "discard", "card": "7H"},
    "best": {"type": "discard", "card": "KD"},
    "choices": 8,
    "expected_margin": 12.5,
    "loss": 16.5,
    "loss_interval": [10.1, 22.9],
    "word": "blunder",
}
DRAW: Json = {
    "version": 1,
    "deal": 1,
    "seat": 0,
    "card": "7H",
    "before": 1.0,
    "after": 3.5,
    "luck": 2.5,
    "luck_interval": [-3.5, 8.5],
}
SEARCH: Json = {"iterations": 2000, "fresh_worlds": 2000, "seconds": 5.0, "seed": "", "engine": "e"}


def finished(api: ApiClient) -> Table:
    """Return a table whose game was played to its end."""
    table = Table(ApiClient(api.app, check_every=13), deals=1)
    table.play_out()
    return table


def save(store: MemoryStore, table: Table, **more: Any) -> None:
    """Do what a worker does."""
    document = store.load_task(table.id, REVIEW, "r1")
    assert document is not None
    store.save_task(table.id, REVIEW, "r1", {**document, **more}, 60)


def test_a_review_is_queued_read_and_cancelled(any_api: ApiClient) -> None:
    """202 at the game's one place for it; a body is not needed."""
    table = finished(any_api)
    path = f"{table.path}/review"
    asked = any_api.post(path)

    assert (asked.status, asked.json["status"]) == (202, "queued")
    assert asked.headers["Location"] == path
    assert any_api.get(path, token=table.tokens[2]).json == asked.json
    assert any_api.post(path, {}).json == asked.json
    assert any_api.delete(path).json["status"] == "cancelled"
    assert any_api.get(path).json["status"] == "cancelled"


def test_a_part_can_be_read_and_the_whole_is_answered_at_once(
    api: ApiClient, store: MemoryStore, queue: MemoryQueue
) -> None:
    """200 for one that is done already; it is not done again."""
    table = finished(api)
    path = f"{table.path}/review"
    api.post(path)
    save(store, table, status="running", progress=0.5, decisions=[DECISION], draws=[DRAW])
    half = api.get(path).json
    assert (half["progress"], half["decisions"], half["draws"]) == (0.5, [DECISION], [DRAW])

    save(store, table, status="done", progress=1.0, search=SEARCH, decisions=[DECISION])
    # Only a request that says that it would wait is told so.
    done = api.post(path, headers={"Prefer": "wait=5"})
    again = api.post(path)

    assert (done.status, again.status) == (200, 200)
    assert done.json["decisions"] == again.json["decisions"] == [DECISION]
    assert len(queue.waiting) == 1
    assert api.delete(path).status == 409


def test_before_the_end_there_is_none(any_api: ApiClient) -> None:
    """409 for all three, also once abandoned."""
    table = Table(any_api)
    table.play_on(10)
    path = f"{table.path}/review"
    for _ in range(2):
        for answer in (any_api.post(path), any_api.get(path), any_api.delete(path)):
            assert (answer.status, answer.json["type"]) == (
                409,
                "/docs/problems/game-not-finished",
            )
        any_api.delete(table.path)


@pytest.mark.parametrize(
    "body",
    [
        {"iterations": 99},
        {"iterations": 50_001},
        {"iterations": "2000"},
        {"iterations": None},
        {"iterations": True},
        {"iterations": 200.5},
        {"seed": None},
        {"seed": -1},
        {"seed": "s" * 201},
        {"seed": [1]},
        {"seconds": 1},
        {"level": "expert"},
        [],
        None,
    ],
)
def test_a_malformed_request_is_refused(api: ApiClient, queue: MemoryQueue, body: Any) -> None:
    """422, and nothing is queued."""
    table = finished(api)

    assert api.post(f"{table.path}/review", body).status == 422
    assert queue.waiting == []


def test_other_options_wait_and_nobody_else_is_answered(api: ApiClient) -> None:
    """409 while one is under way; 404 before anybody asked and for another game's token."""
    table, other = finished(api), Table(api)
    path = f"{table.path}/review"
    assert api.get(path).status == 404
    assert api.delete(path).status == 404
    assert api.post(path, {"iterations": 500, "seed": 7}).status == 202
    assert api.post(path, {"iterations": 501}).status == 409

    for send in (api.get, api.post, api.delete):
        assert send(path, token=other.tokens[0]).status == 404


def test_an_expired_review_is_gone(api: ApiClient, store: MemoryStore) -> None:
    """410, and it can be asked for again."""
    table = finished(api)
    api.post(f"{table.path}/review")
    store.drop_task(table.id, REVIEW, "r1", None)

    assert api.get(f"{table.path}/review").status == 410
    assert api.post(f"{table.path}/review").json["id"] == "r2"


def test_a_repeated_request_with_a_key_is_answered_alike(any_api: ApiClient) -> None:
    """Idempotency-Key: while it is under way the same review is answered anyway; another body with
    that key is refused.
    """
    table = finished(any_api)
    headers = {"Idempotency-Key": "why"}
    path = f"{table.path}/review"
    first = any_api.post(path, {"seed": 1}, headers=headers)

    assert any_api.post(path, {"seed": 1}, headers=headers).json == first.json
    any_api.delete(path)
    assert any_api.post(path, {"seed": 2}, headers=headers).status == 422
