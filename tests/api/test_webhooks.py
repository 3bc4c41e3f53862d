"""Webhooks over HTTP: an app's, a game's, external seats, the list of deliveries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from service.config import Settings
from service.games.access import LOCAL_APP, AppCaller
from service.games.changing import load_game
from service.games.externals import question_for
from service.games.hosting import GameOrder, SeatOrder, create_game
from service.games.webhooks import DELIVERY, announce, announce_hint
from service.store.app_keys import MemoryAppKeys
from tests.api.client import ApiClient, Table, document, memory_app, registry
from tests.receivers import SECRET

URL = "https://example.org/rummy"
OUTSIDE = {"player": "external", "url": URL, "secret": SECRET}
PEOPLE = [{"player": "human"}] * 3


def test_an_app_sets_reads_and_drops_its_webhook(any_api: ApiClient) -> None:
    """201 for the first, 200 for the next; a secret made here is shown once."""
    missing = any_api.get("/webhook")
    made = any_api.send("PUT", "/webhook", {"url": URL})
    again = any_api.send("PUT", "/webhook", {"url": URL, "secret": SECRET})
    read = any_api.get("/webhook")
    dropped = any_api.delete("/webhook")

    assert (missing.status, missing.json["type"]) == (404, "/docs/problems/webhook-not-found")
    assert (made.status, made.json["secret"][:6]) == (201, "whsec_")
    assert (again.status, "secret" in again.json) == (200, False)
    assert set(read.json) == {"url", "events", "created_at"}
    assert (dropped.status, dropped.raw) == (204, b"")
    assert any_api.delete("/webhook").status == 404


def test_each_app_has_its_own_webhook() -> None:
    keys = MemoryAppKeys()
    api = ApiClient(memory_app(keys=keys, settings=Settings(auth="required")))
    first, second = keys.create("first", "prk_first"), keys.create("second", "prk_second")
    api.send("PUT", "/webhook", {"url": URL}, token=first)

    assert api.get("/webhook", token=second).status == 404
    assert api.delete("/webhook", token=second).status == 404
    assert api.get("/webhook").status == 401
    assert api.get("/webhook", token=first).json["url"] == URL


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url"),
        ({"url": 5}, "url"),
        ({"url": "http://127.0.0.1/"}, "url"),
        ({"url": "http://2130706433/"}, "url"),
        ({"url": "http://[::ffff:169.254.169.254]/"}, "url"),
        ({"url": "ftp://example.org/"}, "url"),
        ({"url": "https://user:word@example.org/"}, "url"),
        ({"url": URL + "x" * 2000}, "url"),
        ({"url": URL, "secret": "short"}, "secret"),
        ({"url": URL, "secret": "whsec_" + "A" * 28}, "secret"),
        ({"url": URL, "secret": None}, "secret"),
        ({"url": URL, "events": []}, "events"),
        ({"url": URL, "events": ["card.drawn"]}, "events.0"),
        ({"url": URL, "events": "all"}, "events"),
        ({"url": URL, "name": "mine"}, "name"),
        ([], "body"),
    ],
)
def test_a_malformed_webhook_is_refused(api: ApiClient, body: Any, field: str) -> None:
    """Of an app and of a game alike."""
    answer = api.send("PUT", "/webhook", body)
    in_game = api.post("/games", {"seats": [*PEOPLE, {"player": "human"}], "webhook": body})

    assert answer.status == 422
    assert [fault["field"] for fault in answer.json["errors"]] == [field]
    assert in_game.status == 422
    wanted = "webhook" if field == "body" else f"webhook.{field}"
    assert [fault["field"] for fault in in_game.json["errors"]] == [wanted]
    assert api.get("/webhook").status == 404


@pytest.mark.parametrize(
    ("seat", "field"),
    [
        ({"player": "external"}, "url"),
        ({**OUTSIDE, "url": "http://10.0.0.1/"}, "url"),
        ({**OUTSIDE, "url": "http://localhost:8000/"}, "url"),
        ({**OUTSIDE, "secret": "x"}, "secret"),
        ({**OUTSIDE, "level": "god"}, "level"),
        ({**OUTSIDE, "token": "x"}, "token"),
        ({"player": "human", "url": URL}, "url"),
    ],
)
def test_a_malformed_external_seat_is_refused(api: ApiClient, seat: Any, field: str) -> None:
    answer = api.post("/games", {"seats": [*PEOPLE, seat]})

    assert answer.status == 422
    assert [fault["field"] for fault in answer.json["errors"]] == [f"seats.3.{field}"]


def test_an_external_seat_is_shown_without_its_address(any_api: ApiClient) -> None:
    """Secrets that are made here are in the answer to the creation, by seat; nowhere else."""
    seat = {"player": "external", "url": URL, "name": "Deep"}
    made = any_api.post("/games", {"seats": [*PEOPLE, seat], "webhook": {"url": URL}}).json
    place = made["game"]["seats"][3]

    assert place == {
        "seat": 3,
        "team": 1,
        "player": "external",
        "name": "Deep",
        "level": None,
        "stand_in": None,
    }
    assert set(made["seat_tokens"]) == {"0", "1", "2"}
    assert made["external_secrets"]["3"].startswith("whsec_")
    assert made["webhook_secret"].startswith("whsec_")
    assert URL not in json.dumps(made["game"])
    path = f"/games/{made['game']['id']}"
    assert any_api.get(f"{path}?seat=3").status == 403
    assert "whsec_" not in any_api.get(path).raw.decode()


def test_nobody_without_the_apps_key_has_to_do_with_webhooks(any_api: ApiClient) -> None:
    """403 for a seat's token; 404 for another's game, as everywhere."""
    table = Table(any_api, webhook={"url": URL})
    token = table.tokens[0]

    assert any_api.send("PUT", "/webhook", {"url": URL}, token=token).status == 403
    assert any_api.get("/webhook", token=token).status == 403
    assert any_api.delete("/webhook", token=token).status == 403
    assert any_api.get(f"{table.path}/deliveries", token=token).status == 403
    assert any_api.get("/games/nothing/deliveries").status == 404


def test_deliveries_are_read_in_pages(any_api: ApiClient) -> None:
    """Newest first, each with its tries; `next` leads on."""
    table = Table(any_api, webhook={"url": URL, "events": ["action.played"]})
    table.play_on(5)
    announce(any_api.app.extensions["persian_rummy"].house, table.id)
    first = any_api.get(f"{table.path}/deliveries?limit=3")
    rest = any_api.get(first.json["next"])

    assert [delivery["id"] for delivery in first.json["deliveries"]] == ["d5", "d4", "d3"]
    assert [delivery["id"] for delivery in rest.json["deliveries"]] == ["d2", "d1"]
    assert rest.json["next"] is None
    assert first.headers["Link"].startswith(f"<{first.json['next']}>")
    assert first.json["deliveries"][0]["status"] == "queued"
    for query in ("limit=0", "limit=101", "limit=x", "before=0", "after=1"):
        assert any_api.get(f"{table.path}/deliveries?{query}").status == 422


def test_what_is_posted_is_what_the_document_says(api: ApiClient) -> None:
    """Every type of message, held against its schema."""
    house = api.app.extensions["persian_rummy"].house
    table = Table(api, deals=1, webhook={"url": URL})
    announce(house, table.id)
    table.play_on(2)
    announce_hint(house, table.id, "h1", 0, 2, "done")
    api.delete(table.path)
    announce(house, table.id)
    outside = SeatOrder("external", url=URL, secret=SECRET)
    made = create_game(house, AppCaller(LOCAL_APP), GameOrder((outside,) * 4)).body["game"]
    game = load_game(house, made["id"])
    bodies = [question_for(game, game.match.deal.turn, house.now()).body]
    for number in range(1, house.store.count_tasks(table.id, DELIVERY) + 1):
        found = house.store.load_task(table.id, DELIVERY, f"d{number}")
        bodies.append({"type": found["event"], "timestamp": found["at"], "data": found["data"]})
    webhooks = document()["webhooks"]

    assert {body["type"] for body in bodies} == set(webhooks)
    for body in bodies:
        media = webhooks[body["type"]]["post"]["requestBody"]["content"]["application/json"]
        name = media["schema"]["properties"]["data"]["$ref"].removeprefix("#")
        Draft202012Validator({"$ref": f"urn:api#{name}"}, registry=registry()).validate(
            body["data"]
        )
    validate(document())
