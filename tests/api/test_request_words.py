"""What is wrong with the form of a request, in the reader's language.

The messages are marshmallow's, those of our own checks, and the JSON decoder's. Each has to be a
`Sentence` that the catalogues have, whichever field, list or check of whichever shape says it: a
new field or a newer marshmallow with a message of its own fails here."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from marshmallow import Schema, ValidationError, fields

from service.api.positions import AT_THE_START
from service.api.reading import JSON_FAULTS, load, read_json
from service.api.request_errors import Malformed, NotJson
from service.api.schemas import messages
from service.api.schemas.messages import messages_of, parts_of
from service.sentences import Sentence
from service.translations import LANGUAGES, catalogue
from tests.api.client import ApiClient, document
from tests.api.test_bad_fields import bodies, places, put, request_shapes
from tests.api.test_languages import asking, check_headers
from tests.api.test_shapes_agree import VALUES, gaps, shapes

SCHEMAS = Path(messages.__file__).parent
OTHERS = LANGUAGES[1:]


def check_told(message: object, where: object) -> None:
    """Hold that a message is a sentence, and that every catalogue has it."""
    assert isinstance(message, Sentence), (where, message)
    for language in OTHERS:
        assert catalogue(language).gettext(message.pattern) != message.pattern, (where, message)


def fields_of(shape: type[Schema]) -> Iterator[tuple[str, fields.Field[Any]]]:
    """Yield the fields of a shape as a request meets them, those of items too."""
    for name, field in shape().fields.items():
        for part in parts_of(field):
            yield f"{shape.__name__}.{name}", part


def test_all_that_shapes_and_fields_can_say_is_in_the_catalogues() -> None:
    """Also what no request can make some field say."""
    looked_at = 0
    for shape in request_shapes():
        for key, message in shape().error_messages.items():
            check_told(message, (shape.__name__, key))
        for where, field in fields_of(shape):
            for key, message in field.error_messages.items():
                looked_at += 1
                check_told(message, (where, key))

    assert looked_at > 300


def test_all_that_checks_of_fields_can_say_is_in_the_catalogues() -> None:
    """Those of marshmallow have their words replaced; all others are our own."""
    looked_at = 0
    for shape in request_shapes():
        for where, field in fields_of(shape):
            for check in field.validators:
                said = messages_of(check)
                for name, message in said.items():
                    looked_at += 1
                    check_told(message, (where, name))
                kind = check if callable(getattr(check, "__code__", None)) else type(check)
                is_ours = getattr(check, "__module__", kind.__module__).startswith("service.")
                assert said or is_ours, (where, check)

    assert looked_at > 60


def test_our_own_checks_raise_sentences() -> None:
    """Whatever `ValidationError` is raised with in the shapes: no text stands there bare."""
    raised = 0
    for path in SCHEMAS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ValidationError":
                raised += 1
                assert list(bare_texts(node.args[0])) == [], (path.name, node.lineno)

    assert raised > 12


def bare_texts(node: ast.expr) -> Iterator[str]:
    """Yield texts in an expression that are neither names of fields nor in a `Sentence`."""
    if isinstance(node, ast.Constant | ast.JoinedStr):
        yield ast.unparse(node)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from bare_texts(value)
    elif isinstance(node, ast.DictComp):
        yield from bare_texts(node.value)
    elif isinstance(node, ast.List):
        for value in node.elts:
            yield from bare_texts(value)


@pytest.mark.parametrize(
    ("method", "path", "body"), bodies(), ids=[f"{m} {p}" for m, p, _ in bodies()]
)
def test_whatever_a_body_is_refused_for_is_told_in_every_language(
    method: str, path: str, body: Any
) -> None:
    """Each place of each body with each kind of junk, as marshmallow really answers it."""
    content = document()["paths"][path][method.lower()]["requestBody"]["content"]
    name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
    shape, refused = shapes()[name](), 0
    for at in (*places(body), *gaps(shape, body)):
        for kind, value in VALUES.items():
            try:
                load(shape, copy.deepcopy(put(body, at, value)))
            except Malformed as error:
                refused += 1
                for field, message in error.errors:
                    check_told(message, (field, kind))

    assert refused > len(VALUES) / 2


def test_the_codes_stay_and_the_words_change(api: ApiClient) -> None:
    """A body with a fault of each sort: the same fields in the same order in every language."""
    body = {
        "seats": [{"player": "human", "name": ""}, {"player": "lunch"}, {}, 3],
        "deals": 11,
        "turn_seconds": "5",
        "lunch": True,
    }
    told = [api.post("/games", body, headers=asking(language)) for language in LANGUAGES]

    for language, answer in zip(LANGUAGES, told, strict=True):
        check_headers(answer, language)
        assert answer.status == 422
        assert answer.json["type"] == told[0].json["type"]
        assert [error["field"] for error in answer.json["errors"]] == [
            error["field"] for error in told[0].json["errors"]
        ]
        first = answer.json["errors"][0]
        assert answer.json["detail"].startswith(f"{first['field']}: {first['message']}; ")
    assert len(told[0].json["errors"]) == 8
    for messages_told in zip(
        *([error["message"] for error in answer.json["errors"]] for answer in told), strict=True
    ):
        assert len(set(messages_told)) == len(LANGUAGES), messages_told


def test_values_stand_in_what_is_told(api: ApiClient) -> None:
    """Bounds and choices as they are, in words of another language around them."""
    answer = api.post("/games", {"seats": [], "deals": 11}, headers=asking("fi"))

    told = {error["field"]: error["message"] for error in answer.json["errors"]}
    assert told == {"seats": "Pituuden on oltava 4.", "deals": "Tarvitaan luku väliltä 1–10."}


@pytest.mark.parametrize(
    ("headers", "query", "field"),
    [
        ({"If-Match": "1"}, "", "If-Match"),
        ({"Idempotency-Key": "two words"}, "", "Idempotency-Key"),
        ({}, "?seat=9", "seat"),
        ({}, "?seat=1&seat=2", "seat"),
        ({}, "?lunch=1", "lunch"),
    ],
)
def test_queries_and_headers_are_refused_in_the_readers_language(
    api: ApiClient, headers: dict[str, str], query: str, field: str
) -> None:
    """The field keeps its name."""
    told = [
        api.post(
            f"/games/none/actions{query}",
            {"type": "draw_stock"},
            headers={**headers, **asking(language)},
        ).json["errors"]
        for language in LANGUAGES
    ]

    assert {error["field"] for errors in told for error in errors} == {field}
    assert len({errors[0]["message"] for errors in told}) == len(LANGUAGES)


def test_why_a_position_cannot_be_is_told_too(api: ApiClient) -> None:
    """Faults by the rules: each member's, and the first of them in the detail."""
    position = {**AT_THE_START, "phase": "over", "stock_count": 12}
    told = [
        api.post("/positions/hints", {"position": position}, headers=asking(language)).json
        for language in LANGUAGES
    ]

    fields_told = [[error["field"] for error in body["errors"]] for body in told]
    assert len(fields_told[0]) > 1
    assert all(names == fields_told[0] for names in fields_told)
    for place in range(len(fields_told[0])):
        assert len({body["errors"][place]["message"] for body in told}) == len(LANGUAGES)
    for body in told:
        assert body["errors"][0]["message"] in body["detail"]


NO_JSON = (
    "{",
    '{"a"',
    '{"a":1',
    "[1",
    '{"a":1,}',
    "[1,]",
    '"a',
    '"\x01"',
    '"\\q"',
    '"\\u12"',
    "1 2",
    "lunch",
)


@pytest.mark.parametrize("text", NO_JSON)
def test_why_a_body_is_no_json_is_told_too(text: str) -> None:
    """The decoder's reason is replaced by a sentence, which is told with the one around it."""
    with pytest.raises(NotJson) as caught:
        read_json(text.encode())

    (sentence,) = caught.value.args
    check_told(sentence, text)
    check_told(sentence.values["fault"], text)
    assert sentence.values["fault"] in JSON_FAULTS.values()


def test_a_sentence_that_a_library_fills_in_stays_one() -> None:
    """Else marshmallow's `.format` would make plain English of it."""
    with pytest.raises(ValidationError) as caught:
        shapes()["JoinRequest"]().load({"name": "x" * 41})

    (message,) = caught.value.messages_dict["name"]
    assert message.pattern == "The length must be from {min} to {max}."
    assert "Pituuden on oltava väliltä 1–40." == message.told(catalogue("fi").gettext)
