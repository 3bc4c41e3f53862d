"""Guides to the API, below `/docs/guides`.

Every block of a guide is run by `tests/e2e/test_guides.py` against a real service: those of `sh` in
one shell, from top to bottom, in an empty folder; those of `python` are files, named by their first
line; and a block of `json` is what the block of `sh` above it prints, with `…` for what differs.
"""

from functools import cache
from importlib import resources

from flask import Blueprint, Response
from werkzeug.exceptions import NotFound

from service.web.articles import article, title_of

pages = Blueprint("guides", __name__)

GUIDES = {
    "first-game": "Make a game, look at it and play it, with nothing but curl.",
    "hosting-a-bot": "A seat that your own service plays: asked for each action, signed.",
    "hints": "What each move is worth, how sure that is and why, while it is worked out.",
    "webhooks": "Be told of turns, actions, hints and ends instead of asking.",
    "errors": "What a refusal says, and how to send again without playing twice.",
    "fair-deals": "How anybody can check that the cards were settled before the game.",
}
"""In the order in which they are listed, with what each is good for."""
ROOT = "/docs/guides"


@cache
def guide(name: str) -> str:
    """Return the Markdown of one of `GUIDES`."""
    folder = resources.files("service.web").joinpath("guides")
    return folder.joinpath(f"{name}.md").read_text("utf-8")


@cache
def introduction() -> str:
    """Return the Markdown of the list of guides."""
    listed = [
        f"- [{title_of(guide(name))}]({ROOT}/{name})\n  {why}" for name, why in GUIDES.items()
    ]
    return "\n".join(
        (
            "# Guides\n",
            "Each of these can be followed by copying its blocks into a shell, from top to bottom; "
            "the tests of the service do the same. The [reference](/docs) has every call, to be "
            "tried in the browser.\n",
            *listed,
        )
    )


@pages.get(ROOT)
def index() -> Response:
    """Serve the list of guides."""
    return article(introduction(), at=ROOT)


@pages.get(f"{ROOT}/<name>")
def show(name: str) -> Response:
    """Serve a guide; raises NotFound."""
    if name not in GUIDES:
        raise NotFound
    links = [(f"{ROOT}/{other}", title_of(guide(other))) for other in GUIDES]
    return article(guide(name), at=f"{ROOT}/{name}", beside=links, beside_label="Guides")
