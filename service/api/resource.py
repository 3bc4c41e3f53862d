"""A blueprint whose operations are declared once, for the document and for the door alike.

`Resource.operation` names an operation's query and body schemas, what it answers and what it
refuses. The document is made from that by flask-smorest; at the door the same schemas read the
request, after the caller is known and before the view is called. flask-smorest's own decorators
wrap a view once for each thing documented, which costs more than the view: they are applied to a
stand-in here, and only what they noted is kept."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from flask import Response, current_app, g
from flask_smorest import Blueprint
from marshmallow import Schema

from service.api.auth import LOCAL, AppKeys, identify
from service.api.document import ANSWER_HEADERS
from service.api.observing import Metrics
from service.api.reading import read_body, read_query
from service.api.schemas.queries import NoQuery
from service.config import Settings
from service.games.access import Caller
from service.games.house import House

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Parts:
    """What views work with; made by `service/app.py`."""

    house: House
    settings: Settings
    keys: AppKeys
    metrics: Metrics
    sleep: Callable[[float], None]
    """Waits for so many seconds."""
    monotonic: Callable[[], float]
    """Seconds from some moment on, never turned back."""


def parts() -> Parts:
    """Return the parts of the app in hand."""
    found: Parts = current_app.extensions["persian_rummy"]
    return found


@dataclass(frozen=True, slots=True)
class Call:
    """A request as read: who calls, and the query and the body as their schemas give them."""

    parts: Parts
    caller: Caller
    query: dict[str, Any]
    body: dict[str, Any]

    @property
    def house(self) -> House:
        """What the use cases are given."""
        return self.parts.house


@dataclass(frozen=True, slots=True)
class Answers:
    """One way in which an operation succeeds, for the document."""

    status: int
    description: str
    schema: type[Schema] | None = None
    headers: Sequence[str] = ()
    """Names of headers that `document.py` describes."""
    content_type: str = JSON_TYPE
    example: Any = None


@dataclass(frozen=True, slots=True)
class Body:
    """An operation's request body."""

    schema: type[Schema]
    examples: Mapping[str, Any] = field(default_factory=dict)
    """By a short title; a test posts each of them."""
    is_optional: bool = False


View = Callable[..., Response]


class Resource(Blueprint):  # type: ignore[misc]
    """The operations of one resource."""

    def operation(
        self,
        method: str,
        path: str,
        operation_id: str,
        *,
        answers: Sequence[Answers],
        problems: Iterable[int] = (),
        query: type[Schema] = NoQuery,
        body: Body | None = None,
        headers: Sequence[str] = (),
        is_open: bool = False,
    ) -> Callable[[View], View]:
        """Declare a view `(call, **path fields) -> Response`.

        `problems` are statuses besides those that any operation may have; `headers` are request
        headers that `document.py` describes; an open operation asks nobody who calls."""
        statuses = {422, 500, *problems}
        if not is_open:
            statuses |= {401, 503}
        if body is not None:
            statuses |= {400, 413, 415}

        def declare(view: View) -> View:
            door = _door(view, query(), body, is_open=is_open)
            described = self._describe(view, answers, statuses, query, body)
            described = self.doc(
                operationId=operation_id,
                parameters=list(headers),
                security=[] if is_open else [{"appKey": []}, {"seatToken": []}, {}],
            )(described)
            # Where flask-smorest's decorators leave their notes.
            door._apidoc = described._apidoc  # type: ignore[attr-defined]
            self.add_url_rule(path, operation_id, door, methods=[method])
            return view

        return declare

    def _describe(
        self,
        view: View,
        answers: Sequence[Answers],
        statuses: Iterable[int],
        query: type[Schema],
        body: Body | None,
    ) -> Any:
        """Return a stand-in for `view` on which flask-smorest's decorators have noted all."""

        @functools.wraps(view)
        def described() -> None: ...

        if body is not None:
            described = self.arguments(
                body.schema,
                required=not body.is_optional,
                examples={
                    title: {"summary": title, "value": value}
                    for title, value in body.examples.items()
                }
                or None,
            )(described)
        described = self.arguments(query, location="query")(described)
        for status in sorted(statuses):
            described = self.alt_response(status, f"Problem{status}")(described)
        for answer in answers:
            described = self.alt_response(
                answer.status,
                schema=answer.schema,
                description=answer.description,
                content_type=answer.content_type,
                example=answer.example,
                headers={name: ANSWER_HEADERS[name] for name in answer.headers} or None,
            )(described)
        described._apidoc["arguments"]["responses"].clear()  # type: ignore[attr-defined]
        return described


def _door(view: View, query: Schema, body: Body | None, *, is_open: bool) -> View:
    """Return what Flask calls: it learns who calls, reads the request and calls `view`."""
    body_schema = None if body is None else body.schema()
    is_optional = body is not None and body.is_optional

    @functools.wraps(view)
    def door(**path: Any) -> Response:
        found = parts()
        caller: Caller = LOCAL
        if not is_open:
            caller = identify(found.settings, found.keys)
            g.caller = caller
        fields = read_query(query)
        content = {} if body_schema is None else read_body(body_schema, is_optional=is_optional)
        return view(Call(found, caller, fields, content), **path)

    return door


def json_answer(
    body: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return `body` as JSON."""
    answer = Response(orjson.dumps(body), status, content_type=JSON_TYPE)
    if headers:
        answer.headers.extend(headers)
    return answer


def etag_of(game: Mapping[str, Any]) -> str:
    """Return the ETag of a GAME: its version in quotes."""
    return f'"{game["version"]}"'
