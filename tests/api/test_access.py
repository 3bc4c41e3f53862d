"""Who may do what: keys, tokens, and what is not told to whom."""

from __future__ import annotations

import logging
import secrets

import pytest
from redis import Redis

from service.app import create_app
from service.config import Settings
from service.games.access import hash_secret
from service.store.app_keys import MemoryAppKeys, RedisAppKeys
from tests.api.client import FOUR_PEOPLE, ApiClient, Table, document, memory_app

OPEN_OPERATIONS = {"getHealth", "getReadiness", "getMetrics", "listBots", "getRules"}
OWN, OTHER = "prk_own-key", "prk_other-key"


@pytest.fixture
def strict(keys: MemoryAppKeys) -> ApiClient:
    """Return a client of a service that wants keys, and knows two."""
    keys.create("own", OWN)
    keys.create("other", OTHER)
    return ApiClient(memory_app(keys=keys, settings=Settings(auth="required")))


def operations() -> list[tuple[str, str, str]]:
    """Return (id, method, path) of every documented operation."""
    return [
        (operation["operationId"], method.upper(), path)
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    ]


def fill(path: str, game_id: str) -> str:
    """Return a documented path with an id in each place."""
    path = path.replace("{game_id}", game_id).replace("{seat}", "1")
    return path.replace("{hint_id}", "h1").replace("{move_id}", "m1")


@pytest.mark.parametrize(("name", "method", "path"), operations())
def test_every_operation_asks_who_calls(
    strict: ApiClient, name: str, method: str, path: str
) -> None:
    """401 without a key, before anything else is looked at; but for health, docs, rules, bots."""
    path = fill(path, "g1")
    answers = [
        strict.send(method, path),
        strict.send(method, path, token="prk_unknown"),
        strict.send(method, path, headers={"Authorization": "Basic QTpC"}),
        strict.send(method, path, headers={"Authorization": "Bearer"}),
        strict.send(method, path, headers={"Authorization": f"Bearer {OWN[4:]}"}),
    ]

    if name in OPEN_OPERATIONS:
        assert {answer.status for answer in answers} == {200}
    else:
        assert {answer.status for answer in answers} == {401}
        assert all(a.headers["WWW-Authenticate"].startswith("Bearer") for a in answers)


BODIES = {
    "createGame": {"seats": FOUR_PEOPLE},
    "playAction": {"type": "draw_stock"},
    "joinSeat": {},
    "askHint": {},
    "askBotMove": {},
}
BY_APP = {"createGame", "listGames", "abandonGame"}


OF_ONE_GAME = [operation for operation in operations() if "{game_id}" in operation[2]]


@pytest.mark.parametrize(("name", "method", "path"), OF_ONE_GAME)
def test_another_apps_game_is_not_told_of(
    strict: ApiClient, name: str, method: str, path: str
) -> None:
    """404, the same as for a game that is not there, with another app's key or game's token."""
    made = strict.post("/games", {"seats": FOUR_PEOPLE}, token=OWN).json
    elsewhere = strict.post("/games", {"seats": FOUR_PEOPLE}, token=OWN).json["seat_tokens"]["0"]
    here, nowhere = fill(path, made["game"]["id"]), fill(path, "nowhere")
    body = {"body": BODIES[name]} if name in BODIES else {}

    for token in (OTHER, elsewhere):
        foreign = strict.send(method, here, token=token, **body)
        missing = strict.send(method, nowhere, token=OWN, **body)
        assert foreign.status == missing.status == 404
        for answer in (foreign, missing):
            del answer.json["instance"]
        assert foreign.json == missing.json


def test_an_app_sees_its_own_games_only(strict: ApiClient) -> None:
    """GET /games lists the caller's."""
    made = strict.post("/games", {"seats": FOUR_PEOPLE}, token=OWN).json["game"]["id"]

    assert [g["id"] for g in strict.get("/games", token=OWN).json["games"]] == [made]
    assert strict.get("/games", token=OTHER).json["games"] == []


def test_a_token_does_not_stand_for_its_app(table: Table) -> None:
    """403: a seat token neither creates nor lists nor abandons."""
    token = table.tokens[0]

    assert table.api.post("/games", {"seats": FOUR_PEOPLE}, token=token).status == 403
    assert table.api.get("/games", token=token).status == 403
    assert table.api.delete(table.path, token=token).status == 403


def test_a_wrong_token_of_the_right_game_is_no_token(table: Table) -> None:
    """401: right game, wrong secret; also when only its end differs."""
    token = table.tokens[0]

    for wrong in (token[:-1], token + "x", f"prs_{table.id}_guess", "prs_", f"prs_{table.id}"):
        assert table.api.get(table.path, token=wrong).status == 401
    assert table.api.get(table.path, token=token).status == 200


def test_a_token_sees_its_seat_only(table: Table) -> None:
    """403 for another seat's eyes, on every path that takes them."""
    for path in ("", "/legal-actions", "/actions"):
        url = f"{table.path}{path}?seat=1"
        assert table.api.get(url, token=table.tokens[2]).status == 403
        assert table.api.get(url, token=table.tokens[1]).status == 200


def test_a_revoked_key_opens_nothing(strict: ApiClient, keys: MemoryAppKeys) -> None:
    """401 at once."""
    assert strict.get("/games", token=OWN).status == 200
    keys.revoke(OWN)
    assert strict.get("/games", token=OWN).status == 401


def test_an_app_key_in_redis_opens_the_service(redis: Redis, redis_url: str) -> None:
    """The key that is made for an app is the one that its requests carry."""
    settings = Settings(redis_url=redis_url, queue_redis_url=redis_url, auth="required")
    api = ApiClient(create_app(settings))
    keys = RedisAppKeys(redis)
    club, arena = (keys.create(app, secrets.token_urlsafe, 0.0) for app in ("club", "arena"))
    made = api.post("/games", {"seats": FOUR_PEOPLE}, token=club)

    assert made.status == 201
    assert api.get(made.headers["Location"], token=club).status == 200
    assert api.get(made.headers["Location"], token=arena).status == 404
    keys.revoke(hash_secret(club))
    assert api.get(made.headers["Location"], token=club).status == 401


def test_secrets_are_in_no_log(api: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
    """Tokens and keys are neither logged with a request nor with a refusal."""
    with caplog.at_level(logging.DEBUG):
        table = Table(api)
        table.play_on(2)
        api.get(table.path, token="prk_secret-one")
        api.get(f"{table.path}?token=prs_secret-two")

    text = caplog.text
    for secret in (*table.tokens.values(), "secret-one", "secret-two"):
        assert secret.removeprefix(f"prs_{table.id}_") not in text


def test_answers_are_for_their_reader_only(table: Table) -> None:
    """No cache on the way may keep a hand; what is sent depends on the credentials."""
    answer = table.api.get(table.path, token=table.tokens[0])

    assert answer.headers["Cache-Control"] == "no-store"
    assert "Authorization" in answer.headers["Vary"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
