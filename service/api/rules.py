"""The rules as data, for programs that show or cite them."""

import json
from functools import cache
from importlib import resources
from typing import Any

from flask import Response

from service.api.resource import Answers, Call, Resource, json_answer
from service.api.schemas.system import Rules
from service.translations import catalogue, language_headers, language_in_use

resource = Resource("rules", __name__, description="The rules of the game")


@cache
def rules_in(language: str) -> dict[str, Any]:
    """Return the rules in one of the languages of `service/translations`: `rules_en.json`, and the
    others by the catalogues.
    """
    text = resources.files("service.api").joinpath("rules_en.json").read_text("utf-8")
    rules = json.loads(text)
    tell = catalogue(language).gettext
    return {
        "language": language,
        "title": tell(rules["title"]),
        "rules": [
            {"id": rule["id"], "section": tell(rule["section"]), "text": tell(rule["text"])}
            for rule in rules["rules"]
        ],
    }


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

    In English, Esperanto or Finnish. Refusals cite their ids, which never change their meaning."""
    return json_answer(rules_in(language_in_use()), 200, language_headers())
