"""Reading a request: strict JSON, shapes, and the headers that carry conditions.

JSON is read by the standard library's decoder, since it lets us refuse what others let through: a
name twice in one object, NaN and Infinity, numbers that overflow. Bodies are small."""

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn

from flask import Request
from gunicorn.http.errors import ParseException
from marshmallow import Schema, ValidationError
from werkzeug.exceptions import (
    BadRequest,
    ClientDisconnected,
    RequestEntityTooLarge,
    RequestTimeout,
)

from service.api.auth import split_authorization
from service.api.request_errors import EmptyBody, Fault, Malformed, NotJson, WrongMediaType
from service.games.access import Caller
from service.games.ports import RequestKey
from service.sentences import Sentence

MAX_ERRORS = 20
"""Faults that are listed; more help nobody."""
MAX_FIELD = 100
"""Characters of a field's name that are repeated to the client."""
JSON_FAULTS = {
    "Expecting value": Sentence("a value is missing"),
    "Expecting property name enclosed in double quotes": Sentence(
        "a name in double quotes is missing"
    ),
    "Expecting ':' delimiter": Sentence("a colon is missing"),
    "Expecting ',' delimiter": Sentence("a comma is missing"),
    "Extra data": Sentence("the value is over, and more follows"),
    "Unterminated string starting at": Sentence("the text that begins here has no end"),
    "Invalid control character at": Sentence("a control character stands in a text"),
    "Invalid \\escape": Sentence("nothing is written like that with a backslash"),
    "Invalid \\uXXXX escape": Sentence("four hexadecimal digits have to follow `\\u`"),
    "Illegal trailing comma before end of object": Sentence("the last comma is too many"),
    "Illegal trailing comma before end of array": Sentence("the last comma is too many"),
}
"""What the decoder says, without a colon at its end, as sentences of ours."""
_VERSION = re.compile(r'(?:W/)?"([0-9]{1,9})"')
_EVENT_ID = re.compile("[0-9]{1,9}")
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,6})\"?\s*(?:$|[,;])", re.IGNORECASE)


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(Sentence("{name} is not JSON.", name=name))


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise NotJson(Sentence("A number is too large."))
    return value


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson(Sentence("A name stands twice in one object."))
    return members


_DECODER = json.JSONDecoder(
    object_pairs_hook=_refuse_doubles, parse_constant=_refuse_constant, parse_float=_finite
)


def read_json(raw: bytes) -> Any:
    """Return the JSON value in `raw`; raises NotJson, EmptyBody.

    >>> read_json(b'{"type": "pass"}')
    {'type': 'pass'}
    """
    if not raw.strip():
        raise EmptyBody
    try:
        return _DECODER.decode(raw.decode())
    except UnicodeDecodeError:
        raise NotJson(Sentence("The body is not UTF-8.")) from None
    except json.JSONDecodeError as error:
        raise NotJson(
            Sentence(
                "The body is not JSON: {fault} at line {line}, column {column}.",
                fault=JSON_FAULTS.get(error.msg, error.msg),
                line=error.lineno,
                column=error.colno,
            )
        ) from None
    except RecursionError:
        raise NotJson(Sentence("The body is nested too deeply.")) from None
    except ValueError:
        # Python refuses to read whole numbers of thousands of digits.
        raise NotJson(Sentence("A number is too long.")) from None


def read_raw(request: Request) -> bytes:
    """Return the request's body; raises BadRequest when its chunks are none, or it breaks off,
    RequestTimeout when it does not come in time (`service/gunicorn_worker.py`).
    """
    try:
        return request.get_data()
    except ClientDisconnected as error:
        # Werkzeug takes all that fails while it reads for a client that went away.
        if isinstance(error.__context__, TimeoutError):
            raise RequestTimeout from None
        raise
    except (ParseException, OSError):
        # gunicorn reads a body when it is asked for, so its refusals arise here.
        raise BadRequest from None


def read_body(request: Request, schema: Schema, *, is_optional: bool = False) -> dict[str, Any]:
    """Return the request's body as `schema` reads it; `{}` for none where it is optional.

    Raises WrongMediaType, NotJson, Malformed, RequestEntityTooLarge."""
    raw = read_raw(request)
    if request.content_length is None and len(raw) == request.max_content_length:
        # Of a body that comes in pieces Werkzeug silently leaves out what is past the limit.
        raise RequestEntityTooLarge
    if is_optional and not raw:
        return {}
    if request.mimetype != "application/json":
        if not raw:
            raise EmptyBody
        raise WrongMediaType
    return load(schema, read_json(raw))


def read_query(request: Request, schema: Schema) -> dict[str, Any]:
    """Return the query as `schema` reads it; raises Malformed, also for a field named twice."""
    given = request.args.to_dict(flat=False)
    doubles = [
        (show_field(name), Sentence("Given more than once."))
        for name, values in given.items()
        if len(values) > 1
    ]
    if doubles:
        raise Malformed(doubles[:MAX_ERRORS])
    return load(schema, {name: values[0] for name, values in given.items()})


def load(schema: Schema, data: Any) -> dict[str, Any]:
    """Return `data` as `schema` reads it; raises Malformed."""
    try:
        loaded: dict[str, Any] = schema.load(data)
    except ValidationError as error:
        raise Malformed(list(islice(_flatten(error.messages, ()), MAX_ERRORS))) from None
    return loaded


def _flatten(messages: Any, path: tuple[str, ...]) -> Iterator[Fault]:
    """Yield (field, message) for each fault; `seats.0.level` is how a field in a list is named."""
    if isinstance(messages, dict):
        for name, inner in messages.items():
            yield from _flatten(inner, path if name == "_schema" else (*path, show_field(name)))
    elif isinstance(messages, list):
        for message in messages:
            yield from _flatten(message, path)
    else:
        message = messages if isinstance(messages, Sentence) else Sentence(str(messages))
        yield ".".join(path) or "body", message


def show_field(name: object) -> str:
    """Return a field's name, as the client sent it, fit to be sent back."""
    return str(name)[:MAX_FIELD].encode("utf-8", "backslashreplace").decode()


def _header(request: Request, name: str, default: str) -> str:
    """Return a header without what HTTP takes for space around a value: of Latin-1 Python would
    take off more.
    """
    return request.headers.get(name, default).strip(" \t")


def expected_version(request: Request) -> int | None:
    """Return the version of `If-Match`, None without one or for `*`; raises Malformed.

    A weak tag counts as the strong one: proxies weaken tags when they compress."""
    given = _header(request, "If-Match", "*")
    if given == "*":
        return None
    found = _VERSION.fullmatch(given)
    if found is None:
        needed = Sentence('One version in quotes is needed, such as "12".')
        raise Malformed([("If-Match", needed)])
    return int(found[1])


def last_event_id(request: Request) -> int | None:
    """Return the version of `Last-Event-ID`, None without one; raises Malformed."""
    given = _header(request, "Last-Event-ID", "")
    if not given:
        return None
    if not _EVENT_ID.fullmatch(given):
        needed = Sentence("The id of an event is needed, such as 12.")
        raise Malformed([("Last-Event-ID", needed)])
    return int(given)


def request_key(request: Request, caller: Caller) -> RequestKey | None:
    """Return the key of the request's `Idempotency-Key`, None without one; raises Malformed.

    The name keeps callers and routes apart; the fingerprint is of all that says what to do; the
    secret is of what the caller alone knows."""
    given = request.headers.get("Idempotency-Key")
    if given is None:
        return None
    if not _KEY.fullmatch(given):
        needed = Sentence("1 to 255 visible ASCII characters are needed.")
        raise Malformed([("Idempotency-Key", needed)])
    name = "\n".join((caller.name, request.method, request.path, given))
    what = b"\n".join(
        (request.method.encode(), request.path.encode(), request.query_string, read_raw(request))
    )
    _, credentials = split_authorization(request.headers.get("Authorization", ""))
    return RequestKey(
        hashlib.sha256(name.encode()).hexdigest(),
        hashlib.sha256(what).hexdigest(),
        f"{credentials}\n{given}".encode(),
    )


def preferred_wait_s(request: Request) -> int | None:
    """Return the seconds of `Prefer: wait=` (RFC 7240), None without one that can be read."""
    given = ",".join(request.headers.getlist("Prefer"))
    found = _WAIT.search(given) if given else None
    return int(found[1]) if found else None
