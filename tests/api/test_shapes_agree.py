"""A body that the document forbids is refused: the shapes and the document say the same.

The document is made from the shapes, but what it says of a field that takes anything, of a pattern
or of a function that checks is written beside it by hand. So every field of every body, also those
that no example has, is given values of other types and values near to what is right; what the
document's JSON Schema forbids, the shape must not take. The other way round there are things that a
schema cannot say."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from marshmallow import Schema, ValidationError, fields
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from service.api.schemas.actions import Action, Union
from tests.api.client import document
from tests.api.test_bad_fields import JUNK, bodies, places, put, request_shapes

VALUES: dict[str, Any] = JUNK | {
    "false": False,
    "nought": 0,
    "one": 1,
    "one as a float": 1.0,
    "minus nought": -0.0,
    "a half": 0.5,
    "one in a text": "1",
    "true in a text": "true",
    "a blank": " ",
    "a card and a line break": "7H\n",
    "a secret": "A" * 32,
    "a secret and a line break": "A" * 32 + "\n",
    "a moment": "2026-01-01T00:00:00Z",
    "40 characters outside the first plane": "\U0001f600" * 40,
    "41 of them": "\U0001f600" * 41,
    "a list with a number": [1],
    "a list with a card": ["7H"],
    "a member that nobody knows": {"a": 1},
}


def ecma(schema: Any) -> Any:
    """Return a schema whose patterns mean to Python what they mean in a document: `$` is the end,
    not a line break before it.
    """
    if isinstance(schema, list):
        return [ecma(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: re.sub(r"\$$", r"\\Z", value)
        if name == "pattern" and isinstance(value, str)
        else ecma(value)
        for name, value in schema.items()
    }


@cache
def registry() -> Registry[Any]:
    """Return where `urn:api` is the document."""
    resource = Resource.from_contents(ecma(document()), default_specification=DRAFT202012)
    return Registry().with_resource("urn:api", resource)


@cache
def shapes() -> dict[str, type[Schema]]:
    """Return the shapes of bodies by the names that they have in the document."""
    return {"Action": Action} | {shape.__name__: shape for shape in request_shapes()}


def gaps(shape: Schema, value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where a body has nothing and its shape might have something."""
    if isinstance(shape, Union):
        named = shape.type_schemas[value[shape.type_field]]
        shape = named if isinstance(named, Schema) else named()
    for name, field in shape.fields.items():
        place, found = (*at, name), value.get(name)
        if name not in value:
            yield place
        while isinstance(field, fields.List) and found:
            field, place, found = field.inner, (*place, 0), found[0]
        if isinstance(field, fields.Nested) and found:
            yield from gaps(field.schema, found, place)


@pytest.mark.parametrize(
    ("method", "path", "body"), bodies(), ids=[f"{m} {p}" for m, p, _ in bodies()]
)
def test_what_the_document_forbids_is_refused(method: str, path: str, body: Any) -> None:
    """Whatever stands in whichever place."""
    content = document()["paths"][path][method.lower()]["requestBody"]["content"]
    reference = content["application/json"]["schema"]["$ref"]
    allows = Draft202012Validator({"$ref": f"urn:api{reference}"}, registry=registry()).is_valid
    shape = shapes()[reference.rpartition("/")[2]]()
    forbidden, taken = 0, []
    for at in (*places(body), *gaps(shape, body)):
        for name, value in VALUES.items():
            changed = put(body, at, value)
            if allows(changed):
                continue
            forbidden += 1
            try:
                shape.load(copy.deepcopy(changed))
            except ValidationError:
                continue
            taken.append((at, name))

    assert taken == []
    assert forbidden > len(VALUES) / 2
