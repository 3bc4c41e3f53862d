"""Every error of ours has a kind, every kind a page; a fault tells nothing."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from flask import Flask

from service.api.problem import KIND_OF, KINDS, kind_of, problems_markdown
from service.api.request_errors import RequestError
from service.games.errors import GamesError
from service.rules.cards import UnknownCard
from service.rules.violations import RulesError
from tests.api.client import ApiClient


def family(root: type[Exception]) -> set[type[Exception]]:
    """Return all subclasses of `root` that the service defines."""
    found = set()
    for child in root.__subclasses__():
        if child.__module__.startswith("service."):
            found |= {child} | family(child)
    return found


@pytest.mark.parametrize(
    "error",
    sorted(
        family(GamesError) | family(RulesError) | family(RequestError) | {UnknownCard},
        key=lambda error: error.__name__,
    ),
)
def test_every_error_has_a_kind_of_its_own(error: type[Exception]) -> None:
    """A new error must be sorted in, or it would be answered as its parent."""
    assert error in KIND_OF
    assert KIND_OF[error] in KINDS


def test_an_error_that_is_not_listed_is_answered_as_its_parent() -> None:
    """And one of nobody's is a fault."""

    class New(GamesError):
        pass

    assert kind_of(New()).status == 500


def test_every_kind_is_of_use() -> None:
    """No kind without title and meaning; each slug stands for one status."""
    for slug, kind in KINDS.items():
        assert slug == kind.slug
        assert kind.title
        assert kind.meaning.endswith(".")
        assert 400 <= kind.status <= 503


@pytest.mark.parametrize("slug", KINDS)
def test_every_type_is_a_page(api: ApiClient, slug: str) -> None:
    """`type` is a path of this service that says what the problem means."""
    answer = api.get(f"/docs/problems/{slug}")

    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert slug in answer.raw.decode()
    assert slug in api.get("/docs/problems").raw.decode()


def test_the_list_of_problems_is_up_to_date() -> None:
    """`openapi/problems.md` is what `python -m service.api.problem` prints."""
    path = Path(__file__).parents[2] / "openapi" / "problems.md"

    assert path.read_text("utf-8") == problems_markdown()


def test_a_fault_is_logged_once_and_tells_nothing(
    app: Flask, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """500 as a problem without a trace of the cause; the log has the traceback and the id."""

    def broken() -> str:
        raise ZeroDivisionError("the secret cause")

    app.add_url_rule("/broken", view_func=broken)
    with caplog.at_level(logging.ERROR):
        answer = ApiClient(app).get("/broken", headers={"X-Request-Id": "find-me"})

    assert answer.status == 500
    assert answer.json["type"] == "/docs/problems/internal-error"
    assert b"secret cause" not in answer.raw
    assert b"ZeroDivisionError" not in answer.raw
    logged = caplog.text + capsys.readouterr().out
    assert logged.count("Traceback (most recent call last)") == 1
    assert "find-me" in logged
