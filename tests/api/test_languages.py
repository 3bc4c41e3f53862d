"""Sentences in the reader's language, all else the same in every language."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from flask import Flask
from werkzeug.serving import make_server

from service.games.advice import HINT
from service.games.errors import ActionRefused
from service.rules.violations import RULE_OF, SENTENCE_OF, Violation
from service.store.memory import MemoryStore
from service.translations import LANGUAGES
from tests.api.client import ApiClient, Table

SAMPLED = {
    "goes_out": 0.42,
    "they_go_out": 0.31,
    "left_in_hand": 12.4,
    "ends_within_round": 0.0,
    "next_takes_it": 0.07,
}
DISCARD = {
    "action": {"type": "discard", "card": "KD"},
    "expected_margin": 4.5,
    "visits": 900,
    "reason": {"code": "discard", "values": {"lays": 0, **SAMPLED}, "text": "Discards KD; …"},
}
FROM_LATER = {**DISCARD, "reason": {"code": "bluffs", "values": {}, "text": "Bluffs."}}


def asking(language: str) -> dict[str, str]:
    """Return the header of one who reads `language`."""
    return {"Accept-Language": language}


def check_headers(answer: Any, language: str) -> None:
    """Hold that an answer says its language, and that it depends on what was asked for."""
    assert answer.headers["Content-Language"] == language
    varies = [name.strip() for name in answer.headers["Vary"].split(",")]
    assert {"Authorization", "Accept-Language"} <= set(varies)


def test_the_rules_are_the_same_in_every_language(api: ApiClient) -> None:
    """GET /rules: the same ids in the same order; other texts; the same numbers in them."""
    told = {language: api.get("/rules", headers=asking(language)) for language in LANGUAGES}

    for language, answer in told.items():
        check_headers(answer, language)
        assert answer.json["language"] == language
        rules = answer.json["rules"]
        assert [rule["id"] for rule in rules] == [f"R{n}" for n in range(1, 34)]
        assert len({rule["section"] for rule in rules}) == 5
        for rule, english in zip(rules, told["en"].json["rules"], strict=True):
            assert (rule["text"] == english["text"]) == (language == "en")
            cited = {word.strip(".,;:()") for word in english["text"].split() if "R" in word[:1]}
            assert all(word in rule["text"] for word in cited if word[1:].isdigit())


@pytest.mark.parametrize("violation", [one for one in Violation if one is not Violation.NONE])
def test_each_refusal_is_told_in_every_language(app: Flask, violation: Violation) -> None:
    """Title and detail differ; type, status, rule and legal actions never do."""

    def refuse() -> str:
        raise ActionRefused(violation, 2, [{"type": "pass"}])

    app.add_url_rule("/refuse", view_func=refuse)
    client = app.test_client()
    told = [client.get("/refuse", headers=asking(language)) for language in LANGUAGES]

    for language, answer in zip(LANGUAGES, told, strict=True):
        check_headers(answer, language)
    assert told[0].json["detail"] == SENTENCE_OF[violation]
    assert len({answer.json["detail"] for answer in told}) == len(LANGUAGES)
    assert len({answer.json["title"] for answer in told}) == len(LANGUAGES)
    for answer in told:
        assert answer.status_code == 409
        assert {**answer.json, "title": "", "detail": ""} == {
            "type": "/docs/problems/rules-refuse",
            "title": "",
            "status": 409,
            "detail": "",
            "instance": "/refuse",
            "rule": RULE_OF[violation],
            "legal_actions": [{"type": "pass"}],
        }


def test_values_stand_in_a_refusal_as_they_are(table: Table) -> None:
    """The version that was seen, and the one that is."""
    headers = {"If-Match": '"7"', **asking("eo")}
    answer = table.play_dry(table.turn, {"type": "draw_stock"}, headers=headers)

    assert answer.status == 412
    assert answer.json["detail"] == "La ludo estas ĉe versio 0, ne 7."


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "en",
            "Discards KD; the next player takes it in 7\N{NO-BREAK SPACE}% of the samples.",
        ),
        ("eo", "Forĵetas KD; la sekva ludanto prenas ĝin en 7\N{NO-BREAK SPACE}% de la provoj."),
        ("fi", "Poistaa kortin KD; seuraava pelaaja ottaa sen 7\N{NO-BREAK SPACE}%:ssa"),
    ],
)
def test_a_hint_is_told_to_who_reads_it(
    table: Table, store: MemoryStore, language: str, text: str
) -> None:
    """Stored once, in English; the sentence is made anew from code and values, which stay."""
    table.api.post(f"{table.path}/hints", {}, token=table.tokens[table.turn])
    document = store.load_task(table.id, HINT, "h1")
    assert document is not None
    done = {**document, "status": "done", "candidates": [DISCARD, FROM_LATER]}
    store.save_task(table.id, HINT, "h1", done, 60)

    answer = table.api.get(
        f"{table.path}/hints/h1", token=table.tokens[table.turn], headers=asking(language)
    )

    check_headers(answer, language)
    known, unknown = answer.json["candidates"]
    assert known["reason"]["text"].startswith(text)
    assert known["reason"]["values"] == DISCARD["reason"]["values"]
    assert {**known, "reason": None} == {**DISCARD, "reason": None}
    assert unknown == FROM_LATER
    assert store.load_task(table.id, HINT, "h1") == done


def test_why_work_failed_is_told_too(table: Table, store: MemoryStore) -> None:
    """A sentence that was stored as plain text."""
    table.api.post(f"{table.path}/hints", {}, token=table.tokens[table.turn])
    document = store.load_task(table.id, HINT, "h1")
    assert document is not None
    failed = {**document, "status": "failed", "error": "The search was lost; ask again."}
    store.save_task(table.id, HINT, "h1", failed, 60)

    answer = table.api.get(
        f"{table.path}/hints/h1", token=table.tokens[table.turn], headers=asking("fi")
    )

    assert answer.json["error"] == "Haku katosi; pyydä uudelleen."


def test_a_game_has_no_language(table: Table) -> None:
    """What programs read: GAME, the log, legal actions, byte for byte."""
    token = table.tokens[table.turn]
    for path in (table.path, f"{table.path}/actions", f"{table.path}/legal-actions"):
        told = {table.api.get(path, token=token, headers=asking(one)).raw for one in LANGUAGES}
        assert len(told) == 1


@pytest.fixture
def address(app: Flask) -> Iterator[str]:
    """Serve `app` on this machine."""
    server = make_server("127.0.0.1", 0, app)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()


def test_a_client_of_http_gets_the_language_it_likes_best(address: str) -> None:
    """By quality, with dialects; the page alike, and its address may name one."""
    asked = {"fi-FI, en;q=0.5": "fi", "de, eo;q=0.2, en;q=0.1": "eo", "de": "en", "*": "en"}
    with httpx.Client(base_url=address) as client:
        for header, language in asked.items():
            for path in ("/rules", "/nothing", "/"):
                answer = client.get(path, headers=asking(header))
                assert answer.headers["Content-Language"] == language, (header, path)
                assert "Accept-Language" in answer.headers["Vary"]
        finnish = client.get("/nothing", headers=asking("fi"))
        assert finnish.json()["title"] == "Täällä ei ole mitään"
        assert client.get("/?lang=eo", headers=asking("fi")).headers["Content-Language"] == "eo"
