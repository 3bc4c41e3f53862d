"""Guides to the API, below `/docs/guides`: Markdown with the looks of the table, rendered once.

Every block of a guide is run by `tests/e2e/test_guides.py` against a real service: those of `sh` in
one shell, from top to bottom, in an empty folder; those of `python` are files, named by their first
line; and a block of `json` is what the block of `sh` above it prints, with `…` for what differs.
"""

import html
from functools import cache
from importlib import resources

from flask import Blueprint, Response, request
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from werkzeug.exceptions import NotFound

from service.web import ASK_AGAIN, TYPES, page_headers, static_base

pages = Blueprint("guides", __name__)

GUIDES = ("first-game", "hosting-a-bot", "hints", "webhooks", "errors", "fair-deals")
"""In the order in which they are listed."""
INTRODUCTION = """# Guides

Each of these can be followed by copying its blocks into a shell, from top to bottom; the tests of
the service do the same. The [reference](/docs) has every call, to be tried in the browser.
"""


@cache
def guide(name: str) -> str:
    """Return the Markdown of one of `GUIDES`."""
    folder = resources.files("service.web").joinpath("guides")
    return folder.joinpath(f"{name}.md").read_text("utf-8")


def title_of(text: str) -> str:
    """Return the heading that Markdown begins with."""
    return text.partition("\n")[0].removeprefix("# ")


def _coloured(code: str, language: str, _attributes: str) -> str:
    """Return code as HTML, its parts marked by classes."""
    lexer = get_lexer_by_name(language, stripnl=False)
    coloured: str = highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix="hl-"))
    # A long line can be scrolled, by keys too.
    return f'<pre tabindex="0" class="{html.escape(language)}"><code>{coloured}</code></pre>'


def _render(text: str) -> str:
    rendered: str = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).render(text)
    return rendered


@cache
def page_of(name: str | None) -> bytes:
    """Return the page of one of `GUIDES`, or of the list of them."""
    text = INTRODUCTION if name is None else guide(name)
    links = [
        f'<li><a href="/docs/guides/{other}"{_here(other == name)}>'
        f"{html.escape(title_of(guide(other)))}</a></li>"
        for other in GUIDES
    ]
    filled = {
        "title": html.escape(title_of(text)),
        "static": static_base(),
        "at-index": _here(name is None),
        "all": "".join(links),
        "text": _render(text) + ("" if name else f'<ol class="list">{"".join(links)}</ol>'),
    }
    page = resources.files("service.web").joinpath("guides.html").read_text("utf-8")
    for field, value in filled.items():
        page = page.replace("{{" + field + "}}", value)
    return page.encode()


def _here(is_here: bool) -> str:
    return ' aria-current="page"' if is_here else ""


@pages.get("/docs/guides")
def index() -> Response:
    """Serve the list of guides."""
    return _answer(None)


@pages.get("/docs/guides/<name>")
def show(name: str) -> Response:
    """Serve a guide; raises NotFound."""
    if name not in GUIDES:
        raise NotFound
    return _answer(name)


def _answer(name: str | None) -> Response:
    answer = Response(page_of(name), content_type=TYPES["html"])
    answer.add_etag()
    answer.headers.extend({**page_headers("en"), "Cache-Control": ASK_AGAIN})
    answer.make_conditional(request)
    return answer
