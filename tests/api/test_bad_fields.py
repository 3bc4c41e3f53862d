"""Junk in every field of every body and query, in headers, and in positions: never a fault of ours.

The fields are those of the document and its examples, so a new one is tried too. What cannot be
parsed at all is in `test_bad_input.py`."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marshmallow import Schema, fields, validate

from service.api.positions import AT_THE_START, IN_THE_MIDDLE
from service.api.schemas.fields import Items, RequestSchema
from service.config import Settings
from service.rules.cards import CARD_NAMES
from tests.api.client import ApiClient, Table, document, memory_app

Json = dict[str, Any]
JSON = {"Content-Type": "application/json"}
STUCK_S = 2.0
"""Of processor time for one answer: twenty times what is aimed at, and far from what goes by the
square of a body's length.
"""


def nested(depth: int) -> Any:
    """Return lists in lists, as deep as the decoder reads."""
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


JUNK: dict[str, Any] = {
    "nothing": None,
    "true": True,
    "a whole number of 4,000 digits": 10**4000,
    "a negative one": -(10**4000),
    "2^63": 2**63,
    "minus 1": -1,
    "a large float": 1.7e308,
    "a small float": 5e-324,
    "half a surrogate pair": "\ud800",
    "a pair the wrong way round": "\udc00\ud800",
    "NUL": "a\0b",
    "a right-to-left mark": "\u202e7H",
    "wide digits": "７Ｈ",
    "20,000 letters": "x" * 20_000,
    "an empty text": "",
    "an empty list": [],
    "2,000 lists": [[]] * 2_000,
    "a list 300 deep": nested(300),
    "an empty object": {},
    "2,000 members": {f"m{number}": number for number in range(2_000)},
    "a name that is half a pair": {"\ud800": 1},
    "another's prototype": {"__proto__": {"admin": True}, "constructor": 1},
}
TEXTS = [
    "",
    "-1",
    "99999999999999999999999999",
    "1e400",
    "NaN",
    "0x10",
    "１",
    "\0",
    "\ud800",
    "' OR 1=1 --",
    "{{7*7}}",
    "../../etc/passwd",
    "%",
    "x" * 3_000,
]


def bodies() -> list[tuple[str, str, Any]]:
    """Return (method, path, body) for each example of a body in the document."""
    found = []
    for path, item in document()["paths"].items():
        for method, operation in item.items():
            if method == "parameters" or "requestBody" not in operation:
                continue
            content = operation["requestBody"]["content"]["application/json"]
            examples = content.get("examples", {}).values()
            found += [(method.upper(), path, example["value"]) for example in examples]
    return found


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something stands in a body, the whole of it first."""
    yield at
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*at, 0))


def put(value: Any, at: tuple[Any, ...], junk: Any) -> Any:
    """Return the body with junk in one place."""
    if not at:
        return junk
    changed = copy.deepcopy(value)
    inner = changed
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = junk
    return changed


def fill(path: str, table: Table) -> str:
    """Return a documented path of the table's game."""
    path = path.replace("{game_id}", table.id).replace("{seat}", "1")
    return path.replace("{hint_id}", "h1").replace("{move_id}", "b1")


@pytest.fixture(scope="module")
def app() -> Flask:
    """Return the service; streams and polls end at once."""
    return memory_app(settings=Settings(max_wait_s=0, max_stream_s=0.05, keep_alive_s=0.05))


@pytest.fixture
def api(app: Flask) -> ApiClient:
    """Return a client that holds each 20th answer against the document."""
    return ApiClient(app, check_every=20)


@pytest.mark.parametrize(
    ("method", "path", "body"), bodies(), ids=[f"{m} {p}" for m, p, _ in bodies()]
)
def test_junk_in_any_field_is_no_fault_of_ours(
    api: ApiClient, method: str, path: str, body: Any
) -> None:
    """4xx, at once; a few kinds of junk are what some fields take."""
    table = Table(api)
    filled, slowest, refused = fill(path, table), 0.0, 0
    for at in places(body):
        for name, junk in JUNK.items():
            raw = json.dumps(put(body, at, junk)).encode()
            began = time.thread_time()
            answer = api.send(method, filled, raw=raw, headers=JSON)
            slowest = max(slowest, time.thread_time() - began)
            assert answer.status < 500, (at, name, answer.raw)
            assert answer.status != 404, (at, name, answer.raw)
            refused += answer.status >= 400
            assert len(answer.raw) < 20_000
    assert refused > len(JUNK) / 2
    print(f"\n{refused} refused, the slowest in {1000 * slowest:.0f} ms")
    assert slowest < STUCK_S


def request_shapes(shape: type[Schema] = RequestSchema) -> Iterator[type[Schema]]:
    """Yield all shapes of bodies and queries."""
    for heir in shape.__subclasses__():
        yield heir
        yield from request_shapes(heir)


def lists_of(field: fields.Field[Any]) -> Iterator[fields.Field[Any]]:
    """Yield the lists that a field is made of."""
    if isinstance(field, fields.List):
        yield field
        yield from lists_of(field.inner)


def test_every_list_in_a_body_has_a_length_that_is_looked_at_first() -> None:
    """Else its items are read before it is refused, however many they are."""
    found = [
        (shape.__name__, name, part)
        for shape in request_shapes()
        for name, field in shape._declared_fields.items()
        for part in lists_of(field)
    ]
    assert len(found) > 8
    for shape_name, name, part in found:
        assert isinstance(part, Items), (shape_name, name)
        bounds = [check for check in part.validators if isinstance(check, validate.Length)]
        assert any(check.max or check.equal for check in bounds), (shape_name, name)


MANY = 500_000
BOMBS = {
    "empty lists": b'{"positions":[' + b"[]," * (MANY // 3) + b"[]]}",
    "a hundred with a thousand melds": json.dumps({"positions": [{"melds": [{}] * 1000}] * 100}),
    "a hand of objects": json.dumps({"position": {"hand": [{}] * (MANY // 5)}}),
    "cards": json.dumps({"position": {"known_cards": [["7H"] * 20_000] * 4}}),
    "numbers": b'{"position":{"points":[' + b"1e308," * (MANY // 7) + b"1]}}",
    "digits": b'{"position":{"points":[' + b",".join([b"9" * 4000] * 120) + b"]}}",
    "members": json.dumps({f"m{number}": 1 for number in range(MANY // 15)}),
    "members of one": json.dumps({"position": {f"m{number}": 1 for number in range(MANY // 15)}}),
    "a text": b'{"position":"' + b"\\u0041" * (MANY // 6) + b'"}',
}
"""As much as the largest body may hold, made to cost as much as it can."""


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=list(BOMBS))
def test_half_a_megabyte_of_json_costs_little(api: ApiClient, bomb: bytes | str) -> None:
    """422; once it took five seconds, in which its process answered nobody."""
    raw = bomb if isinstance(bomb, bytes) else bomb.encode()
    api.get("/healthz")
    began = time.thread_time()
    answer = api.post("/positions/hints", raw=raw, headers=JSON)
    seconds = time.thread_time() - began

    print(f"\n{len(raw)} bytes in {1000 * seconds:.0f} ms")
    assert answer.status == 422
    assert len(answer.raw) < 20_000
    assert seconds < 1


def queries() -> list[tuple[str, str, str]]:
    """Return (method, path, name) of each parameter in a query."""
    return [
        (method.upper(), path, parameter["name"])
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
        for parameter in operation.get("parameters", [])
        if parameter.get("in") == "query"
    ]


@pytest.mark.parametrize(("method", "path", "name"), queries())
def test_junk_in_any_query_is_no_fault_of_ours(
    api: ApiClient, method: str, path: str, name: str
) -> None:
    """422 for what is no value; twice the same name, and what is no UTF-8, too."""
    filled = fill(path, Table(api))
    given = [f"{name}={quote(text, errors='surrogatepass')}" for text in TEXTS]
    for query in (*given, f"{name}=1&{name}=2", f"{name}=%ff%fe", f"{name}[]=1", name, "&" * 500):
        answer = api.send(method, f"{filled}?{query}")
        assert answer.status < 500, (query, answer.raw)


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Idempotency-Key",
        "If-Match",
        "If-None-Match",
        "Last-Event-ID",
        "Prefer",
        "Accept-Language",
        "Content-Type",
        "Origin",
        "X-Request-Id",
        "X-Forwarded-For",
        "Host",
        "Content-Encoding",
        "Cookie",
    ],
)
def test_junk_in_any_header_is_no_fault_of_ours(api: ApiClient, name: str) -> None:
    """On a look, on an action, and on a stream where it is read there."""
    table = Table(api)
    looks = [table.path, "/rules"]
    if name in ("Authorization", "Last-Event-ID"):
        looks.append(f"{table.path}/events")
    junk = [text for text in TEXTS if text.isascii()]
    junk += ["\xff\xfe", 'W/"1"', '"1", "2"', "*", ",;="]
    for text in junk:
        headers = {name: text}
        for path in looks:
            assert api.get(path, headers=headers).status < 500
        body = b'{"type":"lunch"}'
        answer = api.post(f"{table.path}/actions", raw=body, headers={**JSON, **headers})
        assert 400 <= answer.status < 500


def read_headers() -> list[tuple[str, str, str]]:
    """Return (method, path, name) of each header in the document that has a pattern."""
    patterned = {
        name
        for name, parameter in document()["components"]["parameters"].items()
        if "pattern" in parameter["schema"]
    }
    return [
        (method.upper(), path, name)
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
        for parameter in operation.get("parameters", [])
        if (name := parameter.get("$ref", "").rpartition("/")[2]) in patterned
    ]


JUNK_HEADERS = {
    "Idempotency-Key": ("", " ", "two words", "\xe9", "x" * 256),
    "If-Match": ("", "1", '"x"', '"1", "2"', '"-1"', '"1234567890"', 'W/"1', '\xa0"1"', "*\x1f"),
    "Last-Event-ID": ("x", "-1", "1.0", "1234567890", '"1"', "\xb2", "1\xa0"),
}


@pytest.mark.parametrize(("method", "path", "name"), read_headers())
def test_a_header_that_is_none_is_refused(
    api: ApiClient, method: str, path: str, name: str
) -> None:
    """422 that names it, wherever the document has it; also where nothing would be done with it."""
    filled = fill(path, Table(api))
    body = next((b for m, p, b in bodies() if (m, p) == (method, path)), {})
    raw = None if method in ("GET", "DELETE") or path.endswith("/token") else json.dumps(body)
    paths = [filled, f"{filled}?dry_run=true"] if path.endswith("/actions") else [filled]
    for text in JUNK_HEADERS[name]:
        for asked in paths:
            headers = {name: text} if raw is None else {**JSON, name: text}
            sent = None if raw is None else raw.encode()
            answer = api.send(method, asked, raw=sent, headers=headers)
            assert answer.status == 422, (text, answer.raw)
            assert [error["field"] for error in answer.json["errors"]] == [name]


HEADER_TEXT = st.text(
    st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=40
) | st.from_regex(r"\A[0-9+\-_.eE xn]{1,30}\Z")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(HEADER_TEXT)
def test_a_stream_is_taken_up_at_a_version_or_refused(api: ApiClient, text: str) -> None:
    """Whatever stands in Last-Event-ID: 200 for nothing or a whole number, else 422."""
    table = Table(api)
    answer = api.get(f"{table.path}/events", headers={"Last-Event-ID": text})
    given = text.strip()

    is_one = not given or (given.isascii() and given.isdigit() and len(given) < 10)
    # What a header is stripped of is less than what Python strips a text of.
    assert answer.status in ((200,) if is_one else (200, 422) if not given.isascii() else (422,))
    if answer.status == 200:
        assert answer.headers["Content-Type"] == "text/event-stream"


ANY_CARD = st.sampled_from(CARD_NAMES)
ANY_VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 60)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_CARD
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(list(IN_THE_MIDDLE)), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def spoilt_positions(draw: st.DrawFn) -> Json:
    """Return a position with some of its parts replaced, by the likes of it or by anything."""
    position: Json = copy.deepcopy(draw(st.sampled_from([AT_THE_START, IN_THE_MIDDLE])))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.sampled_from(list(places(position))[1:]))
        likely = st.lists(ANY_CARD, max_size=8) | st.lists(st.integers(0, 9), max_size=4) | ANY_CARD
        position = put(position, at, draw(likely | ANY_VALUE))
        if not isinstance(position, dict):
            break
    return position


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(spoilt_positions() | ANY_VALUE)
def test_a_position_is_taken_or_refused(api: ApiClient, position: Any) -> None:
    """202, or 422 with the faults by their members; nothing else, whatever is sent."""
    body = {"position": position, "iterations": 1}
    answer = api.post("/positions/hints", raw=json.dumps(body).encode(), headers=JSON)

    assert answer.status in (202, 400, 422), answer.raw
    if answer.status == 422:
        assert answer.json["errors"]
        assert all(error["field"].startswith("position") for error in answer.json["errors"])
