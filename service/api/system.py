"""The process: health, readiness, counters, the document and its pages.

The pages load nothing from outside: Swagger UI's files come from an installed package and are
served here, under a policy that lets a browser load nothing else."""

import hashlib
import html
import secrets
from collections.abc import Callable
from importlib import resources
from importlib.metadata import version

import orjson
from flask import Blueprint, Response, current_app, request
from prometheus_client import CONTENT_TYPE_LATEST
from werkzeug.exceptions import NotFound

from service.api.problem import KINDS, PROBLEMS_PATH, Kind, problem_answer, problem_type
from service.api.resource import Answers, Call, Resource, json_answer
from service.api.schemas.system import Health, Readiness
from service.games.errors import Unavailable
from service.sentences import Sentence

resource = Resource("system", __name__, description="The process itself")
pages = Blueprint("pages", __name__)
NOT_READY_RETRY_S = 2
ASSETS = {
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}
"""Those of Swagger UI's files that the page loads, and their types."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


@resource.operation(
    "GET",
    "/healthz",
    "getHealth",
    answers=[Answers(200, "The process answers", Health)],
    callers=(),
)
def health(_call: Call) -> Response:
    """Tell that the process answers."""
    return json_answer({"status": "ok"})


@resource.operation(
    "GET",
    "/readyz",
    "getReadiness",
    answers=[Answers(200, "All parts answer", Readiness)],
    problems=(503,),
    callers=(),
)
def readiness(call: Call) -> Response:
    """Tell whether the parts that the process needs answer."""
    house = call.house
    found = {"store": _state(house.store.ping), "queue": _state(house.queue.ping)}
    away = [name for name, state in found.items() if state != "ok"]
    # Told to stop, it takes no new work, though all answer.
    is_stopping = call.parts.is_stopping.is_set()
    if away or is_stopping:
        return problem_answer(
            KINDS["not-ready"],
            Sentence("Stopping.")
            if is_stopping
            else Sentence("Away: {parts}.", parts=", ".join(away)),
            headers={"Retry-After": str(NOT_READY_RETRY_S)},
            dependencies=found,
        )
    return json_answer({"status": "ok", "dependencies": found})


def _state(ping: Callable[[], None]) -> str:
    try:
        ping()
    except Unavailable:
        return "away"
    return "ok"


@resource.operation(
    "GET",
    "/metrics",
    "getMetrics",
    answers=[
        Answers(
            200,
            "Counters in Prometheus' text format",
            {"type": "string"},
            content_type="text/plain",
        )
    ],
    callers=(),
)
def metrics(call: Call) -> Response:
    """Read the counters, as Prometheus does."""
    return Response(call.parts.metrics.exposition(), content_type=CONTENT_TYPE_LATEST)


@pages.get("/openapi.json")
def document() -> Response:
    """Serve the document; it is written out when first asked for."""
    stored = current_app.extensions.get("persian_rummy_document")
    if stored is None:
        api = current_app.extensions["flask-smorest"]["apis"][""]["ext_obj"]
        raw = orjson.dumps(api.spec.to_dict(), option=orjson.OPT_NON_STR_KEYS)
        stored = (raw, hashlib.sha256(raw).hexdigest()[:32])
        current_app.extensions["persian_rummy_document"] = stored
    raw, tag = stored
    answer = Response(raw, content_type="application/json")
    answer.set_etag(tag)
    answer.headers["Cache-Control"] = "no-cache"
    answer.make_conditional(request)
    return answer


def _page(title: str, body: str, *, head: str = "", script: str = "") -> Response:
    """Return an HTML page whose own script, if any, has this page's nonce."""
    nonce = secrets.token_urlsafe(16)
    inline = f'<script nonce="{nonce}">{script}</script>' if script else ""
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
        f'<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">{head}</head>\n'
        f"<body>{body}{inline}</body></html>\n"
    )
    answer = Response(text, content_type="text/html; charset=utf-8")
    answer.headers["Content-Security-Policy"] = PAGE_POLICY.format(nonce=nonce)
    return answer


@pages.get("/docs")
def docs() -> Response:
    """Serve the interactive docs."""
    return _page(
        "Persian Rummy: API",
        '<nav aria-label="Documentation"><a href="/docs/guides">Guides</a> · '
        f'<a href="{PROBLEMS_PATH}">Problems</a> · <a href="/">The table in the browser</a></nav>'
        '<div id="swagger-ui"></div><script src="/docs/assets/swagger-ui-bundle.js"></script>',
        head='<link rel="stylesheet" href="/docs/assets/swagger-ui.css">'
        "<style>nav { font: 16px sans-serif; max-width: 1460px; margin: auto; padding: 12px 20px; }"
        "</style>",
        script='SwaggerUIBundle({url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, '
        "validatorUrl: null});",
    )


@pages.get("/docs/assets/<name>")
def asset(name: str) -> Response:
    """Serve one of Swagger UI's files."""
    if name not in ASSETS:
        raise NotFound
    raw = resources.files("flask_swagger_ui").joinpath("dist", name).read_bytes()
    answer = Response(raw, content_type=ASSETS[name])
    answer.set_etag(version("flask-swagger-ui"))
    answer.headers["Cache-Control"] = "public, max-age=86400"
    answer.make_conditional(request)
    return answer


@pages.get(PROBLEMS_PATH)
def problems() -> Response:
    """Serve the list of all problems."""
    return _page("Problems", "<h1>Problems</h1>" + "".join(map(_problem_html, KINDS.values())))


@pages.get(f"{PROBLEMS_PATH}/<slug>")
def problem(slug: str) -> Response:
    """Serve what one problem's `type` points to."""
    if slug not in KINDS:
        raise NotFound
    kind = KINDS[slug]
    rest = f'<p><a href="{PROBLEMS_PATH}">All problems</a></p>'
    return _page(kind.title, _problem_html(kind) + rest)


def _problem_html(kind: Kind) -> str:
    return (
        f'<section id="{kind.slug}"><h2>{html.escape(kind.title)}</h2>'
        f"<p><code>{problem_type(kind)}</code>, status {kind.status}</p>"
        f"<p>{html.escape(kind.meaning)}</p></section>"
    )
