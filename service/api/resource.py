"""A blueprint whose operations are declared once, for the document and for the door alike.

`Resource.operation` names an operation's query and body schemas, what it answers and what it
refuses. The document is made from that by flask-smorest; at the door the same schemas read the
request, after the caller is known and before the view is called. flask-smorest's own decorators
wrap a view once for each thing documented, which costs more than the view: they are applied to a
stand-in here, and only what they noted is kept."""

import functools
import inspect
import re
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from flask import Request, Response, current_app, g, request
from flask_smorest import Blueprint
from marshmallow import Schema

from service.api.auth import LOCAL, UNKNOWN, AppKeys, check_scope, identify
from service.api.document import ANSWER_HEADERS, PATH_FIELDS
from service.api.forcing import FORCE_HEADER, force_problem
from service.api.limiting import KnownTokens, take_from_bucket
from service.api.observing import Metrics
from service.api.reading import (
    expected_version,
    last_event_id,
    read_body,
    read_query,
    request_key,
)
from service.api.schemas.queries import NoQuery
from service.config import Settings
from service.games.access import PLAY, AppCaller, Caller
from service.games.errors import NotAuthenticated
from service.games.house import House
from service.games.limits import REQUESTS, Limits
from service.games.ports import RequestKey
from service.store.figures import Figures
from service.store.jobs import Jobs

JSON_TYPE = "application/json"
_PATH_FIELD = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")


@dataclass(frozen=True, slots=True)
class Parts:
    """What views work with; made by `service/app.py`."""

    house: House
    settings: Settings
    keys: AppKeys
    metrics: Metrics
    figures: Figures
    jobs: Jobs
    """The queues, as operators see them."""
    limits: Limits
    tokens: KnownTokens
    bucket_limits: Mapping[str, int]
    """Requests a minute by bucket; 0 for no limit."""
    sleep: Callable[[float], None]
    """Waits for so many seconds."""
    monotonic: Callable[[], float]
    """Seconds from some moment on, never turned back."""
    is_stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the process has been told to stop: it is ready for nothing new."""


def parts() -> Parts:
    """Return the parts of the app in hand."""
    found: Parts = current_app.extensions["persian_rummy"]
    return found


@dataclass(frozen=True, slots=True)
class Call:
    """A request as read: who calls, the query and the body as their schemas give them, and the
    headers that the operation declares.
    """

    request: Request
    parts: Parts
    caller: Caller
    query: dict[str, Any]
    body: dict[str, Any]
    key: RequestKey | None = None
    """Of `Idempotency-Key`."""
    expected_version: int | None = None
    """Of `If-Match`."""
    last_event_id: int | None = None
    """Of `Last-Event-ID`."""

    @property
    def house(self) -> House:
        """What the use cases are given."""
        return self.parts.house

    def check_key(self) -> None:
        """Look again at the app's key, for who has waited or goes on to be told: revoking holds at
        once. A token is looked at with its game.

        Raises NotAuthenticated, StoreUnavailable."""
        key_hash = self.caller.key_hash if isinstance(self.caller, AppCaller) else ""
        if key_hash and self.parts.keys.find(key_hash) is None:
            raise NotAuthenticated(UNKNOWN)


@dataclass(frozen=True, slots=True)
class Answers:
    """One way in which an operation succeeds, for the document."""

    status: int
    description: str
    schema: type[Schema] | dict[str, str] | None = None
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
    size: int = 1
    """How many times as large as other bodies it may be."""


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
        callers: Sequence[str] = ("appKey", "seatToken"),
        scope: str = PLAY,
        bucket: str = REQUESTS,
    ) -> Callable[[View], View]:
        """Declare a view `(call, **path fields) -> Response`.

        The view's docstring is the operation's summary and description. `problems` are statuses
        besides those that any operation may have; `headers` are request headers that `document.py`
        describes; `callers` are those whom the operation serves: with none it asks nobody who
        calls. `scope` is what an app's key must have; `bucket` is what the request is taken from.
        """
        # The server refuses what breaks HTTP or is too long, whatever it is for.
        statuses = {400, 414, 422, 431, 500, *problems}
        if callers:
            statuses |= {401, 403, 429, 503}
        if body is not None or "Idempotency-Key" in headers:
            # What a key is for is told apart by the body, also where none is wanted.
            statuses |= {408, 413}
        if body is not None:
            statuses.add(415)

        def declare(view: View) -> View:
            door = _door(
                view,
                query(),
                body,
                headers,
                statuses,
                is_open=not callers,
                scope=scope,
                bucket=bucket,
            )
            described = self._describe(view, answers, statuses, query, body)
            described._apidoc["arguments"]["parameters"] += headers
            described = self.doc(
                **_words(view),
                operationId=operation_id,
                security=[{name: [scope] if name == "appKey" else []} for name in callers] + [{}]
                if callers
                else [],
            )(described)
            # Where flask-smorest's decorators leave their notes.
            door._apidoc = described._apidoc  # type: ignore[attr-defined]
            parameters = [
                {"in": "path", "name": name, **PATH_FIELDS[name]}
                for name in _PATH_FIELD.findall(path)
            ]
            self.add_url_rule(path, operation_id, door, methods=[method], parameters=parameters)
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
        def plain() -> None: ...

        described: Any = plain
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
        described._apidoc["arguments"]["responses"].clear()
        refusals = set(statuses).difference(answer.status for answer in answers)
        parts: list[tuple[int, Answers | None]] = [(status, None) for status in refusals]
        # One status may have several answers, each of another content type; flask-smorest puts the
        # last one first.
        parts += [(answer.status, answer) for answer in reversed(answers)]
        for status, answer in sorted(parts, key=lambda part: part[0]):
            if answer is None:
                described = self.alt_response(status, f"Problem{status}")(described)
                continue
            described = self.alt_response(
                status,
                schema=answer.schema,
                description=answer.description,
                content_type=answer.content_type,
                example=answer.example,
                headers={name: ANSWER_HEADERS[name] for name in answer.headers} or None,
            )(described)
        return described


def _words(view: View) -> dict[str, str]:
    """Return summary and description of an operation from its docstring, each on one line."""
    paragraphs = [
        " ".join(paragraph.split())
        for paragraph in inspect.cleandoc(view.__doc__ or "").split("\n\n")
    ]
    words = {"summary": paragraphs[0].rstrip(".")}
    if len(paragraphs) > 1:
        words["description"] = "\n\n".join(paragraphs[1:])
    return words


def _door(
    view: View,
    query: Schema,
    body: Body | None,
    headers: Container[str],
    statuses: Container[int],
    *,
    is_open: bool,
    scope: str,
    bucket: str,
) -> View:
    """Return what Flask calls: it learns who calls, reads the request and calls `view`."""
    body_schema = None if body is None else body.schema()
    is_optional = body is not None and body.is_optional
    size = 1 if body is None else body.size
    no_query = query.load({})
    has_key, has_version, has_event = (
        name in headers for name in ("Idempotency-Key", "If-Match", "Last-Event-ID")
    )

    @functools.wraps(view)
    def door(**path: Any) -> Response:
        # The objects behind Flask's proxies: each use of a proxy looks them up anew.
        asked = request._get_current_object()  # type: ignore[attr-defined]
        found = parts()
        caller: Caller = LOCAL
        if not is_open:
            caller = identify(asked, found.settings, found.keys)
            g.caller = caller
            check_scope(caller, scope)
            if FORCE_HEADER in asked.headers:
                force_problem(asked.headers[FORCE_HEADER], caller, statuses)
            limit = found.bucket_limits[bucket]
            if limit:
                take_from_bucket(found.limits, found.tokens, bucket, caller, limit)
        fields = read_query(asked, query) if asked.query_string else no_query
        if size > 1:
            asked.max_content_length = size * found.settings.max_body_bytes
        content = (
            {} if body_schema is None else read_body(asked, body_schema, is_optional=is_optional)
        )
        call = Call(
            asked,
            found,
            caller,
            fields,
            content,
            request_key(asked, caller) if has_key else None,
            expected_version(asked) if has_version else None,
            last_event_id(asked) if has_event else None,
        )
        return view(call, **path)

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
