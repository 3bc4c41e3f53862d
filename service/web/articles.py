"""Pages of text: Markdown with the looks of the table, for guides and for what problems mean.

They are in English, as the reference is: they speak to who writes a client, and their blocks are
what the tests run. Who reads another language is told so in it."""

import html
from collections.abc import Sequence
from functools import cache
from importlib import resources

from flask import Response, request
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from service.sentences import Sentence
from service.translations import LANGUAGES, catalogue
from service.web import ASK_AGAIN, TYPES, page_headers, static_base, wanted_language

ENGLISH_ONLY = Sentence(
    "These pages are in English only. The table, the rules and what the API says are in your "
    "language too."
)
SECTIONS = (
    ("/docs/guides", "Guides"),
    ("/docs", "Reference"),
    ("/docs/problems", "Problems"),
    ("/", "Table"),
)
"""What the pages of documentation lead to, in the order shown."""

Link = tuple[str, str]
"""A path and the words that lead to it."""


def language_note(language: str) -> str:
    """Return, as HTML, that the documentation is in English; nothing for who reads English."""
    if language == LANGUAGES[0]:
        return ""
    told = catalogue(language).gettext(ENGLISH_ONLY)
    return f'<p class="tongue" lang="{language}">{html.escape(told)}</p>'


def section_links(at: str) -> str:
    """Return the links of `SECTIONS` as HTML; the one to `at` is marked."""
    return " ".join(_link(path, words, at) for path, words in SECTIONS)


def _link(path: str, words: str, at: str) -> str:
    here = ' aria-current="page"' if path == at else ""
    return f'<a href="{path}"{here}>{html.escape(words)}</a>'


def _coloured(code: str, language: str, _attributes: str) -> str:
    """Return code as HTML, its parts marked by classes."""
    lexer = get_lexer_by_name(language, stripnl=False)
    coloured: str = highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix="hl-"))
    # A long line can be scrolled, by keys too.
    return f'<pre tabindex="0" class="{html.escape(language)}"><code>{coloured}</code></pre>'


def render(markdown: str) -> str:
    """Return Markdown as HTML; what is HTML in it is shown as it stands."""
    found: str = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).render(markdown)
    return found


def title_of(markdown: str) -> str:
    """Return the heading that Markdown begins with."""
    return markdown.partition("\n")[0].removeprefix("# ")


@cache
def _page(
    markdown: str, at: str, beside: Sequence[Link], beside_label: str, language: str
) -> bytes:
    items = "".join(f"<li>{_link(path, words, at)}</li>" for path, words in beside)
    side = f'<nav class="all" aria-label="{beside_label}"><ol>{items}</ol></nav>' if items else ""
    filled = {
        "title": html.escape(title_of(markdown)),
        "static": static_base(),
        "sections": section_links(at),
        "note": language_note(language),
        "columns": "columns" if items else "columns alone",
        "side": side,
        "text": render(markdown),
    }
    page = resources.files("service.web").joinpath("article.html").read_text("utf-8")
    for field, value in filled.items():
        page = page.replace("{{" + field + "}}", value)
    return page.encode()


def article(
    markdown: str, *, at: str, beside: Sequence[Link] = (), beside_label: str = ""
) -> Response:
    """Answer with a page: `at` is its path, `beside` are the links at its side.

    Each page is rendered once for each language that its reader may have."""
    raw = _page(markdown, at, tuple(beside), beside_label, wanted_language())
    answer = Response(raw, content_type=TYPES["html"])
    answer.add_etag()
    answer.headers.extend(
        {**page_headers(LANGUAGES[0]), "Cache-Control": ASK_AGAIN, "Vary": "Accept-Language"}
    )
    answer.make_conditional(request)
    return answer
