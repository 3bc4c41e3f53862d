"""Pages of other origins: what a browser is told, by setting."""

from __future__ import annotations

from typing import Any

import pytest

from service.config import Settings
from tests.api.client import ApiClient, memory_app

OURS = "https://cards.example.org"
ASKING = {
    "Origin": OURS,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type, idempotency-key",
}


def client(*origins: str, **more: Any) -> ApiClient:
    """Return a client of a service that allows those origins."""
    return ApiClient(memory_app(settings=Settings(cors_origins=origins, **more)))


def cors_headers(headers: Any) -> list[str]:
    """Return the names of the headers that are for browsers."""
    return [name for name in dict(headers) if name.startswith("Access-Control-")]


def test_nobody_is_allowed_unless_a_setting_says_so() -> None:
    """The default: pages of other origins read nothing."""
    api = client()
    answers = [api.get("/games", headers={"Origin": OURS})]
    answers.append(api.send("OPTIONS", "/games", headers=ASKING))

    for answer in answers:
        assert cors_headers(answer.headers) == []
        assert "Origin" not in answer.headers["Vary"]


@pytest.mark.parametrize("path", ["/games", "/games/x/actions", "/positions/hints", "/nothing"])
def test_a_browser_that_asks_first_is_answered(path: str) -> None:
    """204, without a key, with all that our clients send; remembered for a while."""
    api = client(OURS, "http://127.0.0.1:3000", auth="required")
    answer = api.send("OPTIONS", path, headers=ASKING)

    assert (answer.status, answer.raw) == (204, b"")
    headers = answer.headers
    assert headers["Access-Control-Allow-Origin"] == OURS
    allowed = headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"authorization", "content-type", "if-match", "idempotency-key"} <= set(allowed)
    assert {"GET", "POST", "PUT", "DELETE"} <= set(
        headers["Access-Control-Allow-Methods"].split(", ")
    )
    assert int(headers["Access-Control-Max-Age"]) > 60
    assert "Origin" in headers["Vary"]
    assert "Access-Control-Allow-Credentials" not in headers


def test_an_answer_can_be_read_by_the_pages_that_are_allowed() -> None:
    """Refusals too; the headers that clients live on are shown; caches keep origins apart."""
    api = client(OURS, auth="required")
    for answer in (
        api.get("/games", headers={"Origin": OURS}),
        api.get("/rules", headers={"Origin": OURS}),
        api.get("/nothing", headers={"Origin": OURS}),
    ):
        assert answer.headers["Access-Control-Allow-Origin"] == OURS
        exposed = set(answer.headers["Access-Control-Expose-Headers"].split(", "))
        assert {"ETag", "Location", "RateLimit", "Retry-After"} <= exposed
        assert "Origin" in answer.headers["Vary"]


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://cards.example.org",
        "https://cards.example.org.evil.example",
        "https://cards.example.org:444",
        "https://CARDS.example.org/",
        "null",
        "*",
        "",
    ],
)
def test_another_origin_is_told_nothing(origin: str) -> None:
    """Exactly ours, letter by letter; and that it might be another answer for others."""
    api = client(OURS)
    answers = [api.get("/games", headers={"Origin": origin})]
    answers.append(api.send("OPTIONS", "/games", headers={**ASKING, "Origin": origin}))

    for answer in answers:
        assert cors_headers(answer.headers) == []
        assert "Origin" in answer.headers["Vary"]


def test_a_star_allows_all_without_credentials() -> None:
    """The star itself, never the origin repeated, and no credentials with it."""
    api = client("*")
    read = api.get("/games", headers={"Origin": "https://anyone.example"})
    asked = api.send("OPTIONS", "/games", headers={**ASKING, "Origin": "null"})

    for answer in (read, asked):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert "Origin" not in answer.headers["Vary"]


def test_options_without_a_page_behind_it_are_as_ever() -> None:
    """200 with Allow."""
    answer = client(OURS).send("OPTIONS", "/games")

    assert answer.status == 200
    assert {"GET", "POST"} <= set(answer.headers["Allow"].replace(" ", "").split(","))
