"""The OpenAPI document: what is said once for all operations."""

import http
from typing import Any

from apispec_oneofschema import MarshmallowPlugin
from flask import Flask
from flask_smorest import Api
from werkzeug.routing import IntegerConverter

from service import __version__
from service.api.problem import KINDS, PROBLEM_TYPE, problem_type
from service.api.schemas.system import Problem
from service.api.schemas.webhooks import MESSAGES

DESCRIPTION = "\n\n".join(
    (
        "Games of Persian Rummy for four players in two teams: people, bots, or both.",
        "Make a game (`createGame`), look at it (`getGame`), play what `listLegalActions` lists "
        "(`playAction`). Bots play by themselves. Hints (`askHint`) are worked out on a queue.",
        "Nobody is told a card that a player at the table would not know. Cards are text: rank and "
        "suit (`7H`, `TD`, `AS`), jokers `X1` to `X4`. Seats are 0 to 3, teams 0 (seats 0 and 2) "
        "and 1 (seats 1 and 3). Times are RFC 3339 in UTC.",
        "Requests are counted by key or token and minute, in three buckets: actions, hints, all "
        "others. Answers tell what is left (`RateLimit`); past it they are 429 with `Retry-After`.",
        "With a test key (`keys create --test`) games are of the sandbox: their cards may be "
        "chosen (`sandbox` of `createGame`), their clock moved (`moveClock`), and the header "
        "`Sandbox-Force: 409`, `429` or `503` gets that problem from any operation that may have "
        "it. With any other key that is refused (403).",
        "Unknown fields in bodies and queries are refused; answers may gain members, so ignore "
        "those that you do not know. Every refusal is `application/problem+json` with a `type` "
        "that these docs explain.",
        "Sentences for people (`title`, `detail` and the `errors` of refusals, reasons of hints, "
        "the rules) come in English, Esperanto or Finnish, by `Accept-Language`; codes, names and "
        "values are the same in every language.",
    )
)

SECURITY_SCHEMES: dict[str, dict[str, str]] = {
    "appKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "prk_...",
        "description": "An app's key: makes games, sees and plays every human seat of them, as far "
        "as its scopes (`play`, `hints`, `admin`) reach. "
        "Where keys are optional a caller without one is the app `local`.",
    },
    "seatToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "prs_...",
        "description": "A seat's token: sees and plays that seat. Shown once, by `createGame` or "
        "`joinSeat`.",
    },
}

REQUEST_HEADERS: dict[str, dict[str, Any]] = {
    "If-Match": {
        "description": "The version that you have seen, in quotes. With another version than the "
        "game's the answer is 412, with the fresh game. `*`: whatever it is.",
        "schema": {
            "type": "string",
            "pattern": r'^(\*|(W/)?"[0-9]{1,9}")$',
            "examples": ['"12"'],
        },
    },
    "If-None-Match": {
        "description": "The version that you have, in quotes: 304 if the game still has it.",
        "schema": {"type": "string", "examples": ['"12"']},
    },
    "Idempotency-Key": {
        "description": "A text of your own, new for each request and hard to guess, such as a "
        "UUID. A repeated request with the same key and body gets the first answer again and does "
        "nothing; with another body, or by another of your app's keys: 422. Kept for 24 hours, "
        "encrypted by this text and your credentials.",
        "schema": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "pattern": "^[!-~]+$",
            "examples": ["5b1f0c7e"],
        },
    },
    "Prefer": {
        "description": "`wait=SECONDS` (at most 30): answer when the work is done (200), or when "
        "the seconds are over (202).",
        "schema": {"type": "string", "examples": ["wait=5"]},
    },
    "Last-Event-ID": {
        "description": "The id of the last event that you have: the stream goes on after it. "
        "Browsers send it by themselves when they come again. Empty: none.",
        "schema": {"type": "string", "pattern": "^[0-9]{0,9}$", "examples": ["12"]},
    },
    "Accept-Language": {
        "description": "Which language sentences for people are wanted in: English (`en`), "
        "Esperanto (`eo`) or Finnish (`fi`).",
        "schema": {"type": "string", "examples": ["fi, en;q=0.5"]},
    },
}

ANSWER_HEADERS: dict[str, dict[str, Any]] = {
    "ETag": {"description": "The game's version in quotes.", "schema": {"type": "string"}},
    "Location": {"description": "The path of what was made.", "schema": {"type": "string"}},
    "Link": {"description": 'The next page, as `rel="next"`.', "schema": {"type": "string"}},
    "Idempotent-Replayed": {
        "description": "`true` on the answer to an earlier request with the same key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Preference-Applied": {
        "description": "The preference that was followed.",
        "schema": {"type": "string"},
    },
    "Content-Language": {"description": "The texts' language.", "schema": {"type": "string"}},
    "WWW-Authenticate": {"description": "How to say who you are.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string"}},
    "RateLimit": {
        "description": "What is left in the bucket that the request took from: `r` requests, full "
        "again in `t` seconds.",
        "schema": {"type": "string", "examples": ['"actions";r=2999;t=42']},
    },
    "RateLimit-Policy": {
        "description": "What the bucket holds: `q` requests in `w` seconds.",
        "schema": {"type": "string", "examples": ['"actions";q=3000;w=60']},
    },
}

PATH_FIELDS: dict[str, dict[str, str]] = {
    "game_id": {"description": "A game's id, as `createGame` gave it."},
    "seat": {"description": "A seat, 0 to 3."},
    "hint_id": {"description": "A hint's id, as `askHint` gave it.", "example": "h1"},
    "queue": {"description": "A queue: `bots`, `hints`, `reviews` or `webhooks`."},
    "job": {"description": "A job's name, as `getQueue` told it."},
    "match_id": {"description": "A match's id, as `createMatch` gave it."},
    "move_id": {"description": "A bot move's id, as `askBotMove` gave it.", "example": "m1"},
}

_HEADERS_OF_PROBLEM = {
    401: ["WWW-Authenticate"],
    429: ["Retry-After", "RateLimit", "RateLimit-Policy"],
    503: ["Retry-After"],
}


class SeatConverter(IntegerConverter):
    """A seat in a path, 0 to 3. Any other number is no such path, whatever the method."""

    regex = "[0-3]"


def _describe_seat(_converter: SeatConverter) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": 3}


class DocumentedApi(Api):  # type: ignore[misc]
    """flask-smorest's document without its error answers: ours are in `problem.py`."""

    ERROR_SCHEMA = Problem
    DEFAULT_ERROR_RESPONSE_NAME = None

    def _register_error_handlers(self) -> None:
        """Leave all errors to `problem.py`."""

    def _register_etag_headers(self) -> None:
        """Leave out flask-smorest's parts for ETags, which nothing here refers to."""

    def _register_pagination_header(self) -> None:
        """Leave out its header for pages, too."""

    def _register_responses(self) -> None:
        """Name the answer of each status that a problem may have: `Problem409`."""
        for status in sorted({kind.status for kind in KINDS.values()}):
            kinds = [kind for kind in KINDS.values() if kind.status == status]
            lines = [f"- `{problem_type(kind)}`: {kind.title}" for kind in kinds]
            response: dict[str, Any] = {
                "description": "\n".join([http.HTTPStatus(status).phrase + ":", *lines]),
                "content": {PROBLEM_TYPE: {"schema": Problem}},
            }
            names = ["Content-Language", *_HEADERS_OF_PROBLEM.get(status, [])]
            response["headers"] = {name: ANSWER_HEADERS[name] for name in names}
            self.spec.components.response(f"Problem{status}", response, lazy=True)

    def register_parts(self) -> None:
        """Put into the document what operations refer to."""
        components = self.spec.components
        for name, scheme in SECURITY_SCHEMES.items():
            components.security_scheme(name, scheme)
        for shape in MESSAGES.values():
            components.schema(shape.__name__, schema=shape)
        for name, header in REQUEST_HEADERS.items():
            components.parameter(name, "header", {"name": name, **header}, lazy=True)


def _webhooks() -> dict[str, Any]:
    """Return what is posted to others, by type."""
    headers = [
        ("webhook-id", "The same for each try of a message: what tells repetitions."),
        ("webhook-timestamp", "Seconds since 1970; refuse what is older than five minutes."),
        ("webhook-signature", "`v1,` and the HMAC-SHA256 of id, timestamp and body, in base64."),
    ]
    return {
        kind: {
            "post": {
                "operationId": f"on{shape.__name__}",
                "summary": (shape.__doc__ or "").strip().rstrip("."),
                "parameters": [
                    {
                        "in": "header",
                        "name": name,
                        "required": True,
                        "description": text,
                        "schema": {"type": "string"},
                    }
                    for name, text in headers
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["type", "timestamp", "data"],
                                "properties": {
                                    "type": {"type": "string", "const": kind},
                                    "timestamp": {"type": "string", "format": "date-time"},
                                    "data": {"$ref": f"#/components/schemas/{shape.__name__}"},
                                },
                            }
                        }
                    },
                },
                "responses": _answers_wanted(kind),
            }
        }
        for kind, shape in MESSAGES.items()
    }


def _answers_wanted(kind: str) -> dict[str, Any]:
    """Return what a receiver is to answer."""
    if kind != "action.wanted":
        return {
            "2XX": {"description": "Understood; anything else is tried again, 410 is not."},
            "429": {"description": "Tried again after the seconds of `Retry-After`; 503 likewise."},
        }
    action = {"$ref": "#/components/schemas/Action"}
    return {
        "200": {
            "description": "The action; on anything else a house bot finishes the turn.",
            "content": {"application/json": {"schema": action}},
        }
    }


def make_document(app: Flask) -> DocumentedApi:
    """Begin the document of `app`; blueprints are registered through it."""
    app.config.update(
        API_TITLE="Persian Rummy",
        API_VERSION=__version__,
        OPENAPI_VERSION="3.1.0",
    )
    app.url_map.converters["seat"] = SeatConverter
    api = DocumentedApi(
        spec_kwargs={
            "info": {
                "description": DESCRIPTION,
                "license": {"name": "MIT", "identifier": "MIT"},
            },
            "marshmallow_plugin": MarshmallowPlugin(),
            "servers": [{"url": "/"}],
            "webhooks": _webhooks(),
        }
    )
    api.init_app(app)
    api.register_converter(SeatConverter, _describe_seat)
    api.register_parts()
    return api
