"""Limits by key and token, the quota of hints, scopes."""

from __future__ import annotations

from typing import Any

import pytest

from service.api.positions import IN_THE_MIDDLE
from service.config import Settings
from service.store.app_keys import MemoryAppKeys
from service.store.limits import redis_limits
from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import ApiClient, Table, memory_app

Json = dict[str, Any]
KEY = "prk_club"
SECOND_KEY = "prk_club_again"
SEATS = [{"player": "human"}] * 4


def limited(keys: MemoryAppKeys | None = None, **limits: int) -> ApiClient:
    """Return a client of a service with such limits, and with keys required."""
    keys = keys or MemoryAppKeys()
    keys.create("club", KEY)
    settings = Settings(auth="required", **limits)
    return ApiClient(memory_app(settings=settings, keys=keys, clock=lambda: 1_790_000_085.0))


def new_game(api: ApiClient, key: str = KEY) -> Json:
    """Make a game of four people; return the answer."""
    made: Json = api.post("/games", {"seats": SEATS, "seed": "limits"}, token=key).json
    return made


def test_every_answer_tells_what_is_left() -> None:
    """Refusals too; not where nobody is asked who calls."""
    api = limited(requests_per_minute=10)
    answers = [api.get("/games", token=KEY), api.get("/games/nothing", token=KEY)]

    assert [answer.headers["RateLimit"] for answer in answers] == [
        '"requests";r=9;t=15',
        '"requests";r=8;t=15',
    ]
    assert {answer.headers["RateLimit-Policy"] for answer in answers} == {'"requests";q=10;w=60'}
    assert "RateLimit" not in api.get("/healthz").headers
    assert "RateLimit" not in api.get("/games").headers


def test_who_asks_too_often_is_told_when_to_come_again() -> None:
    """429 with Retry-After; nothing is done; another key is not refused."""
    keys = MemoryAppKeys()
    keys.create("other", "prk_other")
    api = limited(keys, requests_per_minute=2)
    assert [api.get("/games", token=KEY).status for _ in range(2)] == [200, 200]
    refused = api.post("/games", {"seats": SEATS}, token=KEY)

    assert (refused.status, refused.json["type"]) == (429, "/docs/problems/too-many-requests")
    assert refused.headers["Retry-After"] == "15"
    assert refused.headers["RateLimit"] == '"requests";r=0;t=15'
    assert api.get("/games", token="prk_other").json["games"] == []


def test_hints_never_block_play() -> None:
    """Actions have a bucket of their own, and so has what puts work on a queue."""
    api = limited(hints_per_minute=1, actions_per_minute=2, requests_per_minute=1000)
    game = new_game(api)
    path = f"/games/{game['game']['id']}"
    token = game["seat_tokens"][str(game["game"]["deal"]["turn"])]

    hints = [api.post(f"{path}/hints", {"iterations": 9}, token=token).status for _ in range(2)]
    move = api.post(f"{path}/bot-moves", {}, token=token)
    drawn = api.post(f"{path}/actions", {"type": "draw_stock"}, token=token)
    assert (hints, move.status, drawn.status) == ([202, 429], 429, 201)
    assert drawn.headers["RateLimit"].startswith('"actions";r=1;')
    assert api.get(path, token=token).status == 200


def test_each_token_has_buckets_of_its_own() -> None:
    """One seat's haste is not another's."""
    api = limited(actions_per_minute=1)
    game = new_game(api)
    path = f"/games/{game['game']['id']}/actions?dry_run=true"
    tokens = list(game["seat_tokens"].values())

    first = [api.post(path, {"type": "draw_stock"}, token=tokens[0]).status for _ in range(2)]
    assert first[1] == 429
    assert api.post(path, {"type": "draw_stock"}, token=tokens[1]).status != 429


def test_the_local_app_has_no_limits() -> None:
    """Who runs the service for themselves needs none."""
    settings = Settings(requests_per_minute=1, hints_per_minute=1, max_hints=1)
    api = ApiClient(memory_app(settings=settings))
    table = Table(api)
    for _ in range(3):
        assert api.post(f"{table.path}/hints", {}).status == 202
        assert "RateLimit" not in api.get("/games").headers


def test_nought_is_no_limit() -> None:
    api = limited(requests_per_minute=0)

    assert "RateLimit" not in api.get("/games", token=KEY).headers


def test_limits_hold_for_all_processes_together(redis: Any) -> None:
    """Two services over one Redis count together."""
    keys = MemoryAppKeys()
    keys.create("club", KEY)
    settings = Settings(auth="required", requests_per_minute=3)

    def process() -> ApiClient:
        limits = redis_limits(redis, lambda: 60.0)
        return ApiClient(memory_app(settings=settings, keys=keys, limits=limits))

    first, second = process(), process()
    statuses = [api.get("/games", token=KEY).status for api in (first, second, first, second)]
    assert statuses == [200, 200, 200, 429]


# The quota of work on the queue.


def quota_api(queue: MemoryQueue, store: MemoryStore, most: int) -> ApiClient:
    """Return a client of a service in which a key may have so much work under way."""
    keys = MemoryAppKeys()
    keys.create("club", KEY)
    keys.create("club", SECOND_KEY)
    keys.create("other", "prk_other")
    settings = Settings(auth="required", max_hints=most)
    return ApiClient(memory_app(settings=settings, keys=keys, queue=queue, store=store))


def test_a_key_has_only_so_much_work_under_way(queue: MemoryQueue, store: MemoryStore) -> None:
    """429 for the next hint of whatever kind; what has ended makes room; others are not touched."""
    api = quota_api(queue, store, 2)
    game = new_game(api)
    path = f"/games/{game['game']['id']}"
    token = game["seat_tokens"][str(game["game"]["deal"]["turn"])]
    ask = {"token": token, "headers": {"Idempotency-Key": "third"}}
    assert api.post(f"{path}/hints", {}, token=token).status == 202
    assert api.post(f"{path}/bot-moves", {}, token=KEY).status == 202
    refused = api.post(f"{path}/hints", {"seed": 3}, **ask)

    assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
    assert refused.headers["RateLimit"] == '"queued-hints";r=0;t=5'
    assert refused.headers["RateLimit-Policy"] == '"queued-hints";q=2'
    assert len(queue.waiting) == 2
    other = new_game(api, "prk_other")["game"]["id"]
    assert api.post(f"/games/{other}/hints", {}, token="prk_other").status == 202
    # Playing goes on all the while.
    assert api.post(f"{path}/actions", {"type": "draw_stock"}, token=token).status == 201

    queue.end(queue.start().job_id)
    assert api.post(f"{path}/hints", {"seed": 3}, **ask).status == 202
    assert api.post(f"{path}/hints", {"seed": 4}, token=token).status == 429


def test_each_key_of_an_app_has_a_quota_of_its_own(queue: MemoryQueue, store: MemoryStore) -> None:
    """As it has buckets of its own; tokens count to the key that their game was made with."""
    api = quota_api(queue, store, 1)
    game = new_game(api)
    path = f"/games/{game['game']['id']}"
    token = game["seat_tokens"][str(game["game"]["deal"]["turn"])]
    position = {"position": IN_THE_MIDDLE, "iterations": 100}
    assert api.post("/positions/hints", position, token=SECOND_KEY).status == 202
    assert api.post(f"{path}/hints", {}, token=SECOND_KEY).status == 429
    assert api.post(f"{path}/hints", {}, token=token).status == 202

    assert api.post(f"{path}/hints", {}, token=KEY).status == 429
    assert api.post(f"{path}/hints", {}, token=token).status == 429


def test_the_local_app_has_no_quota(queue: MemoryQueue, store: MemoryStore) -> None:
    """Nor have the tokens of its games: a machine of one's own."""
    settings = Settings(max_hints=1)
    api = ApiClient(memory_app(settings=settings, queue=queue, store=store))
    game = api.post("/games", {"seats": SEATS}).json
    path = f"/games/{game['game']['id']}/hints"
    token = game["seat_tokens"][str(game["game"]["deal"]["turn"])]

    for caller in (None, None, token, token):
        assert api.post(path, {}, token=caller).status == 202


def test_a_repeated_request_is_answered_though_the_quota_is_full(
    queue: MemoryQueue, store: MemoryStore
) -> None:
    """It asks for nothing new."""
    api = quota_api(queue, store, 1)
    path = f"/games/{new_game(api)['game']['id']}/hints"
    ask = {"token": KEY, "headers": {"Idempotency-Key": "k"}}
    first = api.post(path, {}, **ask)

    again = api.post(path, {}, **ask)
    assert (again.status, again.json["id"]) == (202, first.json["id"])


# Scopes.

REACHES = [
    ("GET", "/games", "play"),
    ("POST", "/games", "play"),
    ("GET", "/games/x", "play"),
    ("POST", "/games/x/actions", "play"),
    ("POST", "/games/x/bot-moves", "play"),
    ("GET", "/games/x/record", "play"),
    ("POST", "/games/x/hints", "hints"),
    ("GET", "/games/x/hints/h1", "hints"),
    ("DELETE", "/games/x/hints/h1", "hints"),
    ("POST", "/positions/hints", "hints"),
    ("GET", "/positions/hints/p1", "hints"),
    ("POST", "/games/x/review", "hints"),
    ("GET", "/games/x/review", "hints"),
    ("PUT", "/webhook", "admin"),
    ("GET", "/webhook", "admin"),
    ("DELETE", "/webhook", "admin"),
    ("GET", "/queues", "admin"),
    ("GET", "/queues/bots", "admin"),
    ("POST", "/queues/bots/failed/0123456789abcdef/requeue", "admin"),
]


@pytest.mark.parametrize(("method", "path", "scope"), REACHES)
def test_a_key_reaches_as_far_as_its_scopes(method: str, path: str, scope: str) -> None:
    """403 for a key without the scope, before anything else is looked at."""
    keys = MemoryAppKeys()
    keys.create("club", "prk_one", [scope])
    keys.create("club", "prk_others", {"play", "hints", "admin"} - {scope})
    keys.create("club", "prk_none", [])
    api = limited(keys)

    for key in ("prk_others", "prk_none"):
        refused = api.send(method, path, token=key)
        assert (refused.status, refused.json["type"]) == (403, "/docs/problems/not-allowed")
        assert f"`{scope}`" in refused.json["detail"]
    assert api.send(method, path, token="prk_one").status not in (401, 403)


def test_the_document_names_the_scope_of_each_operation(api: ApiClient) -> None:
    """For app keys; tokens have none."""
    from tests.api.client import document, documented_path

    for method, path, scope in REACHES:
        name = documented_path(path)
        security = document()["paths"][name][method.lower()]["security"]
        assert {"appKey": [scope]} in security


def test_a_seats_token_has_no_scopes() -> None:
    """Whoever holds a seat may also ask for advice on it."""
    keys = MemoryAppKeys()
    keys.create("club", "prk_play", ["play"])
    api = limited(keys)
    game = new_game(api, "prk_play")
    turn = str(game["game"]["deal"]["turn"])
    path = f"/games/{game['game']['id']}/hints"

    assert api.post(path, {}, token=game["seat_tokens"][turn]).status == 202
    assert api.post(path, {}, token="prk_play").status == 403
