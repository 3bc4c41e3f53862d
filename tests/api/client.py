"""A client for tests that holds every answer against the OpenAPI document.

An answer is refused when its status, its content type or its shape is not the documented one, or
when it has a member that the document does not know: so no test can pass on an answer that a
generated client would stumble over.
"""

from __future__ import annotations

import copy
import json
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import orjson
from flask import Flask
from flask_smorest import Api, Blueprint
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from service.app import create_app
from service.config import Settings
from service.store.app_keys import MemoryAppKeys
from service.store.limits import memory_limits
from service.store.memory import MemoryQueue, MemoryStore

FOUR_PEOPLE = [{"player": "human"}] * 4
ONE_PERSON = [{"player": "human", "name": "Ana"}, *[{"player": "bot", "level": "greedy"}] * 3]
NOTHING = object()


def api_of(app: Flask) -> Api:
    """Return the part of an app that has the document."""
    api: Api = app.extensions["flask-smorest"]["apis"][""]["ext_obj"]
    return api


@cache
def _first_app() -> Flask:
    return create_app(Settings(), **_in_memory())


def quick_app(settings: Settings, **parts: Any) -> Flask:
    """Return what `create_app` does. Most of its time goes into the document, which is the same for
    each app: it is made for the first and given to the others.
    """
    first = api_of(_first_app())
    with (
        patch.object(Blueprint, "register_views_in_doc"),
        patch.object(type(first), "_register_responses"),
    ):
        app = create_app(settings, **parts)
    api_of(app).spec = first.spec
    return app


def _in_memory(**more: Any) -> dict[str, Any]:
    limits = memory_limits(more.get("clock", time.time))
    parts = {"store": MemoryStore(), "queue": MemoryQueue(), "keys": MemoryAppKeys()}
    return {**parts, "limits": limits, **more}


def memory_app(settings: Settings | None = None, **more: Any) -> Flask:
    """Return the service over stores in memory."""
    return quick_app(settings or Settings(), **_in_memory(**more))


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document as JSON, as the service serves it."""
    with memory_app().test_client() as client:
        served: dict[str, Any] = json.loads(client.get("/openapi.json").data)
        return served


def close(schema: Any) -> Any:
    """Return a schema that takes no member besides those it names."""
    if isinstance(schema, list):
        return [close(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: close(value) for name, value in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


@cache
def registry() -> Registry[Any]:
    """Return where `urn:api` is the document with all its shapes closed."""
    closed = close(copy.deepcopy(document()))
    resource = Resource.from_contents(closed, default_specification=DRAFT202012)
    return Registry().with_resource("urn:api", resource)


@cache
def validator(reference: str) -> Draft202012Validator:
    """Return the validator of a part of the document, such as `/components/schemas/Game`."""
    return Draft202012Validator({"$ref": f"urn:api#{reference}"}, registry=registry())


@cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), path) for path in document()["paths"]]


def documented_path(path: str) -> str | None:
    """Return the document's name for `path`, literal parts first; None for none."""
    found = [name for pattern, name in _paths() if pattern.fullmatch(path)]
    return min(found, key=lambda name: name.count("{")) if found else None


def pointer(*parts: str) -> str:
    """Return a JSON pointer."""
    escaped = [part.replace("~", "~0").replace("/", "~1") for part in parts]
    return "/" + "/".join(escaped).replace("{", "%7B").replace("}", "%7D")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, read."""

    status: int
    headers: Mapping[str, str]
    raw: bytes
    json: Any
    """The body as JSON, None where it is none."""


class ApiClient:
    """Sends requests to an app and holds its answers against the document."""

    def __init__(self, app: Flask, check_every: int = 1) -> None:
        """Send to `app`, in this process, and check every so many of its answers."""
        self.app = app
        self._check_every = check_every
        self._sent = 0
        self._client = app.test_client(use_cookies=False)

    def send(
        self,
        method: str,
        path: str,
        body: Any = NOTHING,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        """Send a request and return its answer, which must be as documented."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if body is not NOTHING:
            raw = orjson.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        with self._client.open(path, method=method, data=raw, headers=sent) as answer:
            content = answer.get_data()
            is_json = "json" in (answer.content_type or "")
            result = Answer(
                answer.status_code,
                answer.headers,
                content,
                json.loads(content) if is_json and content else None,
            )
        self._sent += 1
        if self._sent % self._check_every == 0:
            check_answer(method, path.partition("?")[0], result)
        return result

    def get(self, path: str, **more: Any) -> Answer:
        """GET."""
        return self.send("GET", path, **more)

    def post(self, path: str, body: Any = NOTHING, **more: Any) -> Answer:
        """POST."""
        return self.send("POST", path, body, **more)

    def delete(self, path: str, **more: Any) -> Answer:
        """DELETE."""
        return self.send("DELETE", path, **more)


def check_answer(method: str, path: str, answer: Answer) -> None:
    """Assert that the answer is one that the document foresees, or a problem."""
    assert answer.headers["X-Request-Id"]
    if answer.status >= 400:
        check_problem(answer)
    name = documented_path(path)
    operation = document()["paths"].get(name, {}).get(method.lower())
    if operation is None:
        return
    assert str(answer.status) in operation["responses"], (method, path, answer.status, answer.raw)
    place = ["paths", str(name), method.lower(), "responses", str(answer.status)]
    response = operation["responses"][str(answer.status)]
    if "$ref" in response:
        place = response["$ref"].removeprefix("#/").split("/")
        response = document()["components"]["responses"][place[-1]]
    for header in response.get("headers", {}):
        if header not in ("Idempotent-Replayed", "Preference-Applied", "Link"):
            assert header in answer.headers, (method, path, header)
    media_types = response.get("content", {})
    if not media_types:
        assert not answer.raw
        return
    media_type = answer.headers["Content-Type"].partition(";")[0]
    assert media_type in media_types
    if "json" in media_type:
        reference = pointer(*place, "content", media_type, "schema")
        validator(reference).validate(answer.json)


def check_problem(answer: Answer) -> None:
    """Assert that a refusal is a problem as RFC 9457 has it, and that its type is explained."""
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json
    assert problem["status"] == answer.status
    assert problem["title"]
    assert problem["detail"]
    assert problem["type"].startswith("/docs/problems/")
    assert b"Traceback" not in answer.raw
    validator("/components/schemas/Problem").validate(problem)


class Table:
    """A game of four people, played over the API."""

    def __init__(self, api: ApiClient, **more: Any) -> None:
        """Make the game; `more` are members of the body besides the seats."""
        self.api = api
        answer = api.post("/games", {"seats": FOUR_PEOPLE, "seed": "table", **more})
        assert answer.status == 201, answer.raw
        self.id = answer.json["game"]["id"]
        self.path = f"/games/{self.id}"
        self.tokens = {int(seat): token for seat, token in answer.json["seat_tokens"].items()}

    def view(self, seat: int) -> dict[str, Any]:
        """Return GAME as a seat's token shows it."""
        game: dict[str, Any] = self.api.get(self.path, token=self.tokens[seat]).json
        return game

    @property
    def turn(self) -> int:
        """The seat to move."""
        seat: int = self.api.get(self.path).json["deal"]["turn"]
        return seat

    def legal(self, seat: int) -> list[dict[str, Any]]:
        """Return the seat's legal actions."""
        answer = self.api.get(f"{self.path}/legal-actions", token=self.tokens[seat])
        actions: list[dict[str, Any]] = answer.json["actions"]
        return actions

    def play(self, seat: int, action: dict[str, Any], **more: Any) -> Answer:
        """Post an action with the seat's token."""
        return self.api.post(f"{self.path}/actions", action, token=self.tokens[seat], **more)

    def play_dry(self, seat: int, action: dict[str, Any], **more: Any) -> Answer:
        """Post an action to be judged only."""
        path = f"{self.path}/actions?dry_run=true"
        return self.api.post(path, action, token=self.tokens[seat], **more)

    def play_raw(self, raw: bytes, headers: Mapping[str, str]) -> Answer:
        """Post some bytes as an action of the seat to move."""
        token = self.tokens[self.turn]
        return self.api.post(f"{self.path}/actions", raw=raw, token=token, headers=headers)

    def play_on(self, steps: int) -> None:
        """Play some legal actions."""
        for _ in range(steps):
            seat = self.turn
            assert self.play(seat, self.legal(seat)[-1]).status == 201

    def play_out(self, seed: str = "out") -> dict[str, Any]:
        """Play at random, tabling rather than not, to the end of the game; return GAME."""
        rng, game = random.Random(seed), self.view(0)
        actions = self.legal(game["deal"]["turn"])
        while game["status"] == "playing":
            rich = [a for a in actions if a["type"] in ("meld", "lay_off", "take_discards")]
            action = rng.choice(rich if rich and rng.random() < 0.7 else actions)
            game = self.play(game["deal"]["turn"], action).json["game"]
            actions = game["legal_actions"] or self.legal(game["deal"]["turn"])
        return game
