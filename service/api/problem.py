"""Problems (RFC 9457): the only place that knows which error is which status.

`KINDS` says what a client may meet; `KIND_OF` sorts every error of the use cases and of the rules
into it (a test fails on one that is missing); the pages under `/docs/problems` and
`openapi/problems.md` are made from `KINDS`.
"""

import http
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException

from service.api.limiting import limit_headers
from service.api.request_errors import EmptyBody, Malformed, NotJson, RequestError, WrongMediaType
from service.games import errors as games
from service.logs import get_logger
from service.rules import cards, notation, violations
from service.sentences import Sentence
from service.translations import language_headers, told

PROBLEM_TYPE = "application/problem+json"
PROBLEMS_PATH = "/docs/problems"
MAX_FAULTS = 500
"""Faults of positions that are listed: five for each of a hundred."""
UNKNOWN_FORMAT_RETRY_S = 60
"""A newer release wrote the game; one of its processes may take the next try."""
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem."""

    slug: str
    """The last part of its `type`."""
    status: int
    title: Sentence
    meaning: str
    """What it means and what to do, for who writes a client."""


KINDS: dict[str, Kind] = {
    kind.slug: kind
    for kind in (
        Kind(
            "not-json",
            400,
            Sentence("The body is not JSON"),
            "The request's body is empty or cannot be read as JSON in UTF-8: a syntax fault, a "
            "name twice in one object, NaN or Infinity, nesting too deep. Nothing was changed. "
            "Mend the body.",
        ),
        Kind(
            "bad-request",
            400,
            Sentence("The request cannot be read"),
            "The request breaks HTTP itself. Nothing was changed.",
        ),
        Kind(
            "not-authenticated",
            401,
            Sentence("Credentials are missing or not valid"),
            "Send `Authorization: Bearer` with an app key (`prk_...`) or a seat token "
            "(`prs_...`). A key may have been revoked; a token is valid for one game only.",
        ),
        Kind(
            "not-your-seat",
            403,
            Sentence("That seat is not yours"),
            "The token belongs to another seat, or the app named a seat that no person plays.",
        ),
        Kind(
            "not-allowed",
            403,
            Sentence("You may not do that"),
            "The credentials are right and do not reach so far: a seat token cannot create, list "
            "or abandon games, a spectator's token cannot play.",
        ),
        Kind(
            "not-found",
            404,
            Sentence("There is nothing here"),
            "No such path. The paths are in `/docs`.",
        ),
        Kind(
            "game-not-found",
            404,
            Sentence("There is no such game here"),
            "The id is unknown, the game has expired, or it is another app's: which of these is "
            "not told.",
        ),
        Kind(
            "match-not-found",
            404,
            Sentence("There is no such match here"),
            "The id is unknown, one of its games has expired, or it is another app's: which of "
            "these is not told.",
        ),
        Kind(
            "task-not-found",
            404,
            Sentence("There is no such hint or bot move here"),
            "The id was never given out for this game.",
        ),
        Kind(
            "webhook-not-found",
            404,
            Sentence("There is no webhook here"),
            "The app has set none, or has taken it away.",
        ),
        Kind(
            "method-not-allowed",
            405,
            Sentence("The method is not allowed here"),
            "The header `Allow` lists those that are.",
        ),
        Kind(
            "too-slow",
            408,
            Sentence("The body did not come in time"),
            "It has to have come half a minute after the headers. Nothing was changed. Send it "
            "again, on a new connection.",
        ),
        Kind(
            "rules-refuse",
            409,
            Sentence("The rules refuse this action"),
            "`rule` names the rule, `detail` says it in a sentence, and `legal_actions` lists what "
            "the seat may play instead. Nothing was changed.",
        ),
        Kind(
            "game-over",
            409,
            Sentence("The game is over"),
            "It is finished or abandoned; nothing more can be played in it.",
        ),
        Kind(
            "game-not-finished",
            409,
            Sentence("The game is not finished"),
            "What was asked for shows hidden cards and can be had after the end.",
        ),
        Kind(
            "seats-open",
            409,
            Sentence("The game has not begun"),
            "Some seats are still open. The game begins when the last is taken.",
        ),
        Kind("seat-taken", 409, Sentence("The seat is taken"), "Somebody sits there already."),
        Kind(
            "seat-away",
            409,
            Sentence("A bot plays the seat"),
            "Its owner or the app handed it over; take it back (`takeSeatBack`) to play.",
        ),
        Kind(
            "conflict",
            409,
            Sentence("The state of things does not allow that"),
            "`detail` says why: a hint that has ended cannot be cancelled, for example.",
        ),
        Kind(
            "contended",
            409,
            Sentence("Others were faster, again and again"),
            "The game changed at each of several tries. Nothing was changed by this request; send "
            "it again.",
        ),
        Kind(
            "expired",
            410,
            Sentence("The answer is not kept any longer"),
            "The hint or bot move was here and has expired. Ask again.",
        ),
        Kind(
            "stale-version",
            412,
            Sentence("The game has moved on"),
            "`If-Match` names another version than the game has now. `game` is the fresh view: "
            "decide anew. Nothing was changed.",
        ),
        Kind("too-large", 413, Sentence("The body is too large"), "Nothing was read. Send less."),
        Kind(
            "path-too-long",
            414,
            Sentence("The path and the query are too long"),
            "They have room in 4,000 bytes, which no path of these docs comes near to.",
        ),
        Kind(
            "unsupported-media-type",
            415,
            Sentence("The body is of a type that is not understood"),
            "Send `Content-Type: application/json`.",
        ),
        Kind(
            "invalid",
            422,
            Sentence("The request is malformed"),
            "The body, the query or a header has the wrong shape. `errors` lists each fault with "
            "the field it concerns. Nothing was changed.",
        ),
        Kind(
            "impossible-position",
            422,
            Sentence("The position cannot be"),
            "By the rules no player can ever see that. `errors` lists every fault with the member "
            "it concerns. Nothing was searched.",
        ),
        Kind(
            "seat-unnamed",
            422,
            Sentence("It is not clear which seat is meant"),
            'The app has several human seats in this game: name one, as `"seat"` in the body or '
            "`?seat=` in the query.",
        ),
        Kind(
            "key-reused",
            422,
            Sentence("The Idempotency-Key belongs to another request"),
            "The same key came before with another body or path. Use a new key for each request, "
            "and the same one only to repeat it.",
        ),
        Kind(
            "too-many-requests",
            429,
            Sentence("Too many requests"),
            "Wait for the seconds in `Retry-After`.",
        ),
        Kind(
            "headers-too-large",
            431,
            Sentence("The headers are too many or too long"),
            "There is room for 64 of them, each of up to 8,000 bytes.",
        ),
        Kind(
            "internal-error",
            500,
            Sentence("Something is wrong here"),
            "A fault of this service. It is logged under the id in the answer's `X-Request-Id`.",
        ),
        Kind(
            "unavailable",
            503,
            Sentence("A part of the service is away"),
            "The store of games or the queue does not answer. Try again after the seconds in "
            "`Retry-After`, with the same `Idempotency-Key`.",
        ),
        Kind(
            "queue-full",
            503,
            Sentence("Too much work waits"),
            "The queue takes no more for now. Try again after the seconds in `Retry-After`.",
        ),
        Kind(
            "unknown-format",
            503,
            Sentence("The game was stored by another release"),
            "This process cannot read it and leaves it untouched. Try again later.",
        ),
        Kind(
            "not-ready",
            503,
            Sentence("Not ready"),
            "`dependencies` says which part does not answer.",
        ),
    )
}
"""All kinds of problems, by slug."""

KIND_OF: dict[type[Exception], str] = {
    NotJson: "not-json",
    EmptyBody: "not-json",
    WrongMediaType: "unsupported-media-type",
    Malformed: "invalid",
    games.GameNotFound: "game-not-found",
    games.MatchNotFound: "match-not-found",
    games.NotAuthenticated: "not-authenticated",
    games.NotYourSeat: "not-your-seat",
    games.NotAllowed: "not-allowed",
    games.RateLimited: "too-many-requests",
    games.SeatUnnamed: "seat-unnamed",
    games.InvalidRequest: "invalid",
    games.ImpossiblePosition: "impossible-position",
    games.Conflict: "conflict",
    games.GameFinished: "game-over",
    games.GameNotFinished: "game-not-finished",
    games.SeatsOpen: "seats-open",
    games.SeatTaken: "seat-taken",
    games.SeatAway: "seat-away",
    games.ActionRefused: "rules-refuse",
    games.StaleVersion: "stale-version",
    games.TooManyRaces: "contended",
    games.KeyReused: "key-reused",
    games.TaskNotFound: "task-not-found",
    games.TaskExpired: "expired",
    games.WebhookNotFound: "webhook-not-found",
    games.Unavailable: "unavailable",
    games.StoreUnavailable: "unavailable",
    games.QueueFull: "queue-full",
    games.UnknownFormat: "unknown-format",
    violations.IllegalAction: "rules-refuse",
    notation.BadNotation: "invalid",
    cards.UnknownCard: "invalid",
}
"""The kind of each error, exactly by its class."""

_KIND_OF_STATUS = {
    400: "bad-request",
    404: "not-found",
    405: "method-not-allowed",
    408: "too-slow",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid",
    429: "too-many-requests",
    500: "internal-error",
    503: "unavailable",
}
_DETAIL_OF_STATUS = {
    404: Sentence("There is nothing at this path."),
    405: Sentence("This path does not know that method."),
    413: Sentence("The body is larger than this service reads."),
}


def problem_type(kind: Kind) -> str:
    """Return the `type` of a kind: a path that the docs serve."""
    return f"{PROBLEMS_PATH}/{kind.slug}"


def problem_answer(
    kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return the answer that tells of a problem, in the reader's language; `more` are members
    besides the usual ones.
    """
    return _answer(
        {
            "type": problem_type(kind),
            "title": told(kind.title),
            "status": kind.status,
            "detail": told(detail),
        },
        kind.status,
        headers,
        more,
    )


def _answer(
    body: dict[str, Any],
    status: int,
    headers: Mapping[str, str] | None,
    more: Mapping[str, Any],
) -> Response:
    body["instance"] = request.path
    body.update(more)
    answer = Response(orjson.dumps(body), status, content_type=PROBLEM_TYPE)
    answer.headers.extend(language_headers())
    if headers:
        answer.headers.extend(headers)
    return answer


def kind_of(error: Exception) -> Kind:
    """Return the kind of an error of ours; that of its parent for a class that is not listed."""
    for ancestor in type(error).__mro__:
        if ancestor in KIND_OF:
            return KINDS[KIND_OF[ancestor]]
    return KINDS["internal-error"]


def answer_error(error: Exception) -> Response:
    """Answer an error of the use cases, of the rules or of reading the request."""
    kind = kind_of(error)
    if kind.status == http.HTTPStatus.INTERNAL_SERVER_ERROR:
        return answer_fault(error)
    return problem_answer(
        kind, _sentence_of(error), headers=_headers_of(error, kind), **_more_of(error)
    )


def _sentence_of(error: Exception) -> str:
    """Return what an error says, not made into plain text yet."""
    if isinstance(error, games.InvalidRequest):
        return f"{error.field}: {told(error.why)}"
    if isinstance(error, Malformed):
        return error.summary(told)
    said = error.args[0] if error.args else None
    return said if isinstance(said, Sentence) else str(error)


def _headers_of(error: Exception, kind: Kind) -> dict[str, str]:
    if isinstance(error, games.Unavailable):
        return {"Retry-After": str(error.retry_after_s)}
    if isinstance(error, games.RateLimited):
        retry = {"Retry-After": str(error.allowance.reset_s)}
        return retry | limit_headers(error.allowance)
    if isinstance(error, games.UnknownFormat):
        return {"Retry-After": str(UNKNOWN_FORMAT_RETRY_S)}
    if isinstance(error, games.StaleVersion):
        return {"ETag": f'"{error.game["version"]}"'}
    if kind.status == http.HTTPStatus.UNAUTHORIZED:
        failed = ', error="invalid_token"' if "Authorization" in request.headers else ""
        return {"WWW-Authenticate": f'Bearer realm="persian-rummy"{failed}'}
    return {}


def _more_of(error: Exception) -> dict[str, Any]:
    """Return the members that only some problems have."""
    if isinstance(error, games.ActionRefused):
        return {"rule": error.rule, "legal_actions": error.legal_actions}
    if isinstance(error, violations.IllegalAction):
        return {"rule": error.rule, "legal_actions": []}
    if isinstance(error, games.StaleVersion):
        return {"game": error.game}
    if isinstance(error, Malformed):
        return {"errors": _faults_of(error.errors)}
    if isinstance(error, games.ImpossiblePosition):
        return {"errors": _faults_of(error.faults[:MAX_FAULTS])}
    if isinstance(error, games.InvalidRequest):
        return {"errors": _faults_of([(error.field, error.why)])}
    return {}


def _faults_of(faults: Sequence[tuple[str, Sentence]]) -> list[dict[str, str]]:
    """Return faults by field, told in the reader's language."""
    return [{"field": field, "message": told(why)} for field, why in faults]


def answer_http_error(error: HTTPException) -> Response:
    """Answer what Flask and Werkzeug refuse by themselves, and keep their headers (`Allow`)."""
    status = error.code or 500
    headers = {
        name: value
        for name, value in error.get_headers()
        if name not in ("Content-Type", "Content-Length")
    }
    if status not in _KIND_OF_STATUS:
        title = error.name
        body = {
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": error.description or title,
        }
        return _answer(body, status, headers, {})
    kind = KINDS[_KIND_OF_STATUS[status]]
    detail = _DETAIL_OF_STATUS.get(status, f"{told(kind.title)}.")
    return problem_answer(kind, detail, headers=headers)


def answer_fault(error: Exception) -> Response:
    """Log a fault of ours once, with its traceback, and tell the client nothing of it."""
    log.error("fault", exc_info=error, path=request.path, method=request.method)
    return problem_answer(
        KINDS["internal-error"], Sentence("Something went wrong here; it was logged.")
    )


def register_problems(app: Flask) -> None:
    """Let every error leave `app` as a problem."""

    def count(error: Exception) -> Response:
        if isinstance(error, games.ActionRefused):
            current_app.extensions["persian_rummy"].metrics.count_refusal(error.rule)
        return answer_error(error)

    for family in (games.GamesError, violations.RulesError, RequestError):
        app.register_error_handler(family, count)
    app.register_error_handler(cards.UnknownCard, count)
    app.register_error_handler(HTTPException, answer_http_error)
    # The edge of the process: whatever else is raised is a fault, and no HTML page tells of it.
    app.register_error_handler(Exception, answer_fault)


def problems_markdown() -> str:
    """Return `openapi/problems.md`."""
    lines = [
        "# Problems",
        "",
        "Every refusal is `application/problem+json` (RFC 9457) with `type`, `title`, `status`, "
        "`detail` and",
        "`instance`. `type` is one of the paths below, served by the service itself. Made from "
        "`service/api/problem.py`",
        "by `python -m service.api.problem`.",
        "",
        "| type | status | title | meaning |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{problem_type(kind)}` | {kind.status} | {kind.title} | {kind.meaning} |"
        for kind in KINDS.values()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(problems_markdown(), end="")
