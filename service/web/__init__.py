"""The table to play at in a browser: static files and the two pages that load them.

Nothing is built and nothing is loaded from elsewhere. The pages use the public API alone and know
no more than any other client: of the service this package imports nothing but the translations.

All files lie under a path with a digest of them all (`/static/<digest>/...`), so that modules find
each other by relative paths and a browser may keep what it has for a year; a path of another
release is answered with the file of this one, not to be kept. The pages come with the words of the
reader's language in them, so that nothing moves when the script takes over.
"""

import gzip
import hashlib
import html
import json
import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

from service.translations import LANGUAGES, best_language
from service.translations.page_words import told_words

pages = Blueprint("web", __name__)

TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""No inline script or style, and no HTML made from text, in any of the scripts."""
A_YEAR = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
_WORDS = re.compile(r'(data-i18n="([^"]+)"[^>]*>)')
_LABELS = re.compile(r'data-i18n-label="([^"]+)"')


@cache
def static_files() -> dict[str, bytes]:
    """Return all static files by their path, such as `table.js`. Of the words there is one file for
    each language, `i18n/fi.json`.
    """
    found: dict[str, bytes] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            elif entry.name.rpartition(".")[2] in TYPES:
                found[prefix + entry.name] = entry.read_bytes()

    walk(resources.files("service.web").joinpath("static"), "")
    english = json.loads(found[f"i18n/{LANGUAGES[0]}.json"])
    for language in LANGUAGES:
        words = json.dumps(told_words(english, language), ensure_ascii=False, separators=(",", ":"))
        found[f"i18n/{language}.json"] = words.encode()
    return dict(sorted(found.items()))


@cache
def card_drawings() -> str:
    """Return the drawings of the cards as an SVG document; its first comment tells how they are
    put together."""
    return resources.files("service.web").joinpath("cards.svg").read_text("utf-8")


@cache
def digest() -> str:
    """Return a digest of all that pages are made of: the same in every process of a release."""
    total = hashlib.sha256(card_drawings().encode())
    for path, raw in static_files().items():
        total.update(f"{path}\n{len(raw)}\n".encode() + raw)
    return total.hexdigest()[:16]


def static_base() -> str:
    """Return the path below which this release's static files are."""
    return f"/static/{digest()}"


@cache
def _gzipped(path: str) -> bytes:
    return gzip.compress(static_files()[path], 9, mtime=0)


@cache
def words_in(language: str) -> dict[str, str]:
    """Return the page's words in one of `LANGUAGES`, by key."""
    words: dict[str, str] = json.loads(static_files()[f"i18n/{language}.json"])
    return words


@cache
def page_in(name: str, language: str) -> bytes:
    """Return the page `name` with the words of `language` where the file leaves room for them.

    An element with `data-i18n="KEY"` gets the words as its text, one with `data-i18n-label="KEY"`
    as its accessible name; the script does the same when the language is switched.
    """
    words = words_in(language)
    base = static_base()
    text = static_files()[name].decode()
    text = _WORDS.sub(lambda m: m[1] + html.escape(words[m[2]], quote=False), text)
    text = _LABELS.sub(lambda m: f'{m[0]} aria-label="{html.escape(words[m[1]])}"', text)
    modules = "\n".join(
        f'<link rel="modulepreload" href="{base}/{path}">'
        for path in static_files()
        if path.endswith(".js")
    )
    cards = re.sub(r"</?svg[^>]*>|<!--.*?-->", "", card_drawings(), flags=re.DOTALL).strip()
    filled = {"lang": language, "static": base, "modules": modules, "cards": cards}
    for field, value in filled.items():
        text = text.replace("{{" + field + "}}", value)
    return text.encode()


def wanted_language() -> str:
    """Return the language that the address names, else the one that the browser likes best."""
    named = request.args.get("lang")
    return named if named in LANGUAGES else best_language(request.accept_languages)


def page_headers(language: str) -> dict[str, str]:
    """Return the headers of a page: nothing from elsewhere, nothing inline."""
    return {"Content-Language": language, "Content-Security-Policy": POLICY}


@pages.get("/")
def table() -> Response:
    """Serve the table."""
    language = wanted_language()
    raw = page_in("index.html", language)
    answer = Response(raw, content_type=TYPES["html"])
    answer.set_etag(f"{digest()}-{language}")
    answer.headers.extend(
        {**page_headers(language), "Cache-Control": ASK_AGAIN, "Vary": "Accept-Language"}
    )
    answer.make_conditional(request)
    return answer


@pages.get("/replay")
def replay() -> Response:
    """Serve the same page; it sees by its address that it is to replay a record."""
    return table()


@pages.get("/static/<string(length=16):release>/<path:path>")
def static_file(release: str, path: str) -> Response:
    """Serve a static file; raises NotFound."""
    files = static_files()
    if path not in files:
        raise NotFound
    is_packed = request.accept_encodings["gzip"] > 0 and len(files[path]) > 1000
    raw = _gzipped(path) if is_packed else files[path]
    answer = Response(raw, content_type=TYPES[path.rpartition(".")[2]])
    answer.set_etag(f"{digest()}-{'z' if is_packed else 'p'}")
    answer.headers["Cache-Control"] = A_YEAR if release == digest() else ASK_AGAIN
    answer.headers["Vary"] = "Accept-Encoding"
    if is_packed:
        answer.headers["Content-Encoding"] = "gzip"
    answer.make_conditional(request)
    return answer
