"""The rules as data, for programs that show or cite them."""

import json
from functools import cache
from importlib import resources
from typing import Any

from flask import Response

from service.api.resource import Answers, Call, Resource, json_answer
from service.api.schemas.system import Rules

resource = Resource("rules", __name__, description="The rules of the game")
DEFAULT_LANGUAGE = "en"
LANGUAGES = (DEFAULT_LANGUAGE,)
"""The languages there is a file for: `rules_LANGUAGE.json`."""


@cache
def rules_in(language: str) -> dict[str, Any]:
    """Return the rules in one of `LANGUAGES`."""
    text = resources.files("service.api").joinpath(f"rules_{language}.json").read_text("utf-8")
    rules: dict[str, Any] = json.loads(text)
    return rules


@resource.operation(
    "GET",
    "/rules",
    "getRules",
    headers=("Accept-Language",),
    answers=[Answers(200, "All rules, in order", Rules, ("Content-Language",))],
    callers=(),
)
def read(call: Call) -> Response:
    """Read the rules.

    Refusals cite their ids, which never change their meaning. English where the wanted language
    is not there."""
    language = call.request.accept_languages.best_match(LANGUAGES) or DEFAULT_LANGUAGE
    headers = {"Content-Language": language, "Vary": "Accept-Language"}
    return json_answer(rules_in(language), 200, headers)
