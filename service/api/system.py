"""The process: health, readiness, counters, the document and its pages.

The pages load nothing from outside: Swagger UI's files come from an installed package and are
served here, under a policy that lets a browser load nothing else."""

import hashlib
import secrets
from collections.abc import Callable
from importlib import resources
from importlib.metadata import version

import orjson
from flask import Blueprint, Response, current_app, request
from prometheus_client import CONTENT_TYPE_LATEST
from werkzeug.exceptions import NotFound

from service.api.problem import KINDS, PROBLEMS_PATH, problem_answer, problem_type
from service.api.resource import Answers, Call, Resource, json_answer
from service.api.schemas.system import Health, Readiness
from service.games.errors import Unavailable
from service.sentences import Sentence
from service.web import wanted_language
from service.web.articles import article, language_note, section_links

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


@pages.get("/docs")
def docs() -> Response:
    """Serve the interactive docs; the page's own script has a nonce that is never used again."""
    nonce = secrets.token_urlsafe(16)
    filled = {
        "sections": section_links("/docs"),
        "note": language_note(wanted_language()),
        "nonce": nonce,
    }
    text = resources.files("service.web").joinpath("docs.html").read_text("utf-8")
    for field, value in filled.items():
        text = text.replace("{{" + field + "}}", value)
    answer = Response(text, content_type="text/html; charset=utf-8")
    answer.headers["Content-Security-Policy"] = PAGE_POLICY.format(nonce=nonce)
    answer.headers.extend({"Content-Language": "en", "Vary": "Accept-Language"})
    return answer


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
    rows = [
        f"## {status}\n\n"
        + "\n".join(
            f"- [{kind.title}]({problem_type(kind)})\n  {kind.meaning}"
            for kind in KINDS.values()
            if kind.status == status
        )
        for status in sorted({kind.status for kind in KINDS.values()})
    ]
    head = "# Problems\n\nWhat a refusal's `type` leads to, by status.\n"
    return article("\n\n".join((head, *rows)), at=PROBLEMS_PATH)


@pages.get(f"{PROBLEMS_PATH}/<slug>")
def problem(slug: str) -> Response:
    """Serve what one problem's `type` leads to; raises NotFound."""
    if slug not in KINDS:
        raise NotFound
    kind = KINDS[slug]
    text = (
        f"# {kind.title}\n\n`{problem_type(kind)}`, status {kind.status}\n\n{kind.meaning}\n\n"
        f"[All problems]({PROBLEMS_PATH})"
    )
    return article(text, at=problem_type(kind))
