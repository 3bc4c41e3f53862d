"""Matches over HTTP."""

from __future__ import annotations

import random
from typing import Any

import pytest

from service.store.app_keys import MemoryAppKeys
from tests.api.client import ApiClient

Json = dict[str, Any]
SEATS = [{"player": "human", "name": name} for name in ("Ana", "Bo", "Cy", "Di")]


def play_out(api: ApiClient, game_id: str, tokens: dict[str, str], seed: int) -> None:
    """Play a table to its end, at random."""
    rng, path = random.Random(seed), f"/games/{game_id}"
    game = api.get(path).json
    while game["status"] == "playing":
        token = tokens[str(game["deal"]["turn"])]
        legal = api.get(f"{path}/legal-actions", token=token).json["actions"]
        game = api.post(f"{path}/actions", rng.choice(legal), token=token).json["game"]


def test_a_match_is_made_played_and_compared(any_api: ApiClient) -> None:
    """201 with both tables; nothing told in between; then the result, the seed, the records."""
    api = ApiClient(any_api.app, check_every=17)
    made = any_api.post("/matches", {"seats": SEATS, "deals": 1, "seed": "m"})
    assert made.status == 201
    path = made.headers["Location"]
    assert path == f"/matches/{made.json['match']['id']}"
    tables = made.json["tables"]
    ids = [table["game"]["id"] for table in tables]
    assert [table["game"]["match_id"] for table in tables] == [made.json["match"]["id"]] * 2

    play_out(api, ids[0], tables[0]["seat_tokens"], 1)
    between = any_api.get(path).json
    assert (between["status"], between["result"]) == ("playing", None)
    assert any_api.get(f"/games/{ids[0]}/record").status == 409
    assert any_api.get(f"/games/{ids[0]}").json["fairness"]["seed"] is None
    assert any_api.post(f"/games/{ids[0]}/review").status == 409

    play_out(api, ids[1], tables[1]["seat_tokens"], 2)
    found = any_api.get(path, token=tables[1]["seat_tokens"]["2"]).json
    scores = [any_api.get(f"/games/{game_id}").json["scores"] for game_id in ids]
    points = [scores[0][0] + scores[1][1], scores[0][1] + scores[1][0]]
    assert (found["status"], found["result"]["points"]) == ("finished", points)
    assert found["fairness"]["seed"] == "m"
    records = [any_api.get(f"/games/{game_id}/record").json for game_id in ids]
    assert records[0]["deals"][0]["deck"] == records[1]["deals"][0]["deck"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"seats": SEATS[:3]},
        {"seats": [*SEATS, SEATS[0]]},
        {"seats": [{"player": "cat"}] * 4},
        {"seats": SEATS, "seating": "draw"},
        {"seats": SEATS, "sandbox": {}},
        {"seats": SEATS, "deals": 0},
        {"seats": SEATS, "deals": 11},
        {"seats": SEATS, "seed": ""},
        {"seats": SEATS, "teams": []},
        [],
        None,
    ],
)
def test_a_malformed_match_is_refused(api: ApiClient, body: Any) -> None:
    """422, and no game is made."""
    assert api.post("/matches", body).status == 422
    assert api.get("/games").json["games"] == []


def test_a_match_is_its_apps_own(api: ApiClient, keys: MemoryAppKeys) -> None:
    """404 for another app and for what never was; 403 for a token that would make one."""
    keys.create("other", "prk_other")
    made = api.post("/matches", {"seats": SEATS})
    token = made.json["tables"][0]["seat_tokens"]["0"]

    assert api.get(made.headers["Location"], token="prk_other").status == 404
    for path in ("/matches/x", "/matches/a-b", f"/matches/{'a' * 80}"):
        answer = api.get(path)
        assert (answer.status, answer.json["type"]) == (404, "/docs/problems/match-not-found")
    assert api.post("/matches", {"seats": SEATS}, token=token).status == 403


def test_a_repeated_request_makes_one_match(any_api: ApiClient) -> None:
    """Idempotency-Key: both tables and all tokens again; another body with that key: 422."""
    headers = {"Idempotency-Key": "once"}
    first = any_api.post("/matches", {"seats": SEATS}, headers=headers)
    again = any_api.post("/matches", {"seats": SEATS}, headers=headers)
    other = any_api.post("/matches", {"seats": SEATS, "deals": 1}, headers=headers)

    assert again.json == first.json
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.status == 422
    assert len(any_api.get("/games").json["games"]) == 2
