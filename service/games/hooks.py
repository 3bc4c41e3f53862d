"""Who is told of a game by webhook, and calling those who tell them.

A webhook belongs to one game (ordered with it) or to an app (all its games). A game that has one is
noted before each commit and the announcer called after it: it finds what is new in the log
(`webhooks.py`), so nothing is lost with a job.

Kept in `Game.extra`: `webhook`, as `Hook` has it; of the app's: the store's `webhook`."""

import base64
import binascii
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.games.addresses import check_target
from service.games.errors import InvalidRequest, Unavailable
from service.games.house import House
from service.games.model import Game
from service.games.ports import NEWS
from service.games.ports import WEBHOOK_QUEUE as WEBHOOK_QUEUE
from service.sentences import Sentence

ANNOUNCE_JOB = "workers.webhooks.announce_news"
SEND_JOB = "workers.webhooks.send_delivery"
HINT_NEWS_JOB = "workers.webhooks.announce_hint"
EVENTS = ("turn.started", "action.played", "hint.finished", "game.finished")
SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32
_SECRET = re.compile(r"(?:whsec_)?([A-Za-z0-9+/]{32,88}={0,2})")


@dataclass(frozen=True, slots=True)
class Hook:
    """Where news go, and which."""

    scope: str
    """game or app: whose it is."""
    url: str
    secret: str
    """As the Standard Webhooks scheme writes it: whsec_ and 24 to 64 bytes in base64."""
    events: tuple[str, ...]
    """Those of `EVENTS` that are wanted."""
    since: str
    """When it was set, RFC 3339: an app's is told only what happened from then on."""

    def to_json(self) -> dict[str, Any]:
        """Return what is stored."""
        return {
            "url": self.url,
            "secret": self.secret,
            "events": list(self.events),
            "since": self.since,
        }


def hook_from_json(scope: str, stored: dict[str, Any]) -> Hook:
    """Return a stored hook."""
    return Hook(scope, stored["url"], stored["secret"], tuple(stored["events"]), stored["since"])


def check_secret(secret: str, field: str) -> str:
    """Return `secret` in its usual form; raises InvalidRequest for what the scheme does not take.

    The message does not repeat it."""
    found = _SECRET.fullmatch(secret)
    try:
        size = len(base64.b64decode(found[1] + "==", validate=False)) if found else 0
    except binascii.Error:
        size = 0
    if found is None or not 24 <= size <= 64:
        raise InvalidRequest(field, Sentence("whsec_ and 24 to 64 bytes in base64 are needed"))
    return SECRET_PREFIX + found[1]


def make_secret(house: House) -> str:
    """Return a new secret."""
    raw = house.new_secret(SECRET_BYTES).encode()[:SECRET_BYTES]
    return SECRET_PREFIX + base64.b64encode(raw).decode()


def make_hook(house: House, scope: str, asked: dict[str, Any], field: str) -> Hook:
    """Return the hook that is asked for (url, and secret and events if given); raises
    InvalidRequest, naming the member of `field`.
    """
    before = f"{field}." if field else ""
    url = check_target(asked["url"], f"{before}url", any_address=house.posts_anywhere)
    given = asked.get("secret")
    secret = make_secret(house) if given is None else check_secret(given, f"{before}secret")
    return Hook(scope, url, secret, tuple(asked.get("events") or EVENTS), house.now())


def hook_owner(app: str, *, is_test: bool) -> str:
    """Return under which name the hook of an app is kept. That of its test keys is another one,
    told of the sandbox alone: no app's name has a slash.
    """
    return f"{app}/test" if is_test else app


def is_told_of(house: House, game: Game) -> bool:
    """Tell whether anybody is told of the game; of an app's hook what was so some seconds ago."""
    return "webhook" in game.extra or house.store.has_webhook(
        hook_owner(game.app, is_test=game.is_sandbox)
    )


def hooks_of(house: House, game: Game) -> list[Hook]:
    """Return the hooks of the game and of its app."""
    found = []
    if "webhook" in game.extra:
        found.append(hook_from_json("game", game.extra["webhook"]))
    stored = house.store.webhook(hook_owner(game.app, is_test=game.is_sandbox))
    if stored is not None:
        found.append(hook_from_json("app", stored))
    return found


def note_news(house: House, game: Game, at_s: float) -> None:
    """Note, before the commit, that there will be news of the game."""
    house.store.mark_waiting(game.id, at_s, NEWS)


def call_announcer(house: House, game_id: str, version: int) -> bool:
    """Let a worker tell what is new up to a version; False when that is on the queue already. A job
    for each version: one that runs may have read the log before. A queue that is full or away loses
    nothing: the game is noted, and the sweep calls again.
    """
    with suppress(Unavailable):
        job_id = f"news-{game_id}-{version}"
        return house.queue.enqueue(WEBHOOK_QUEUE, ANNOUNCE_JOB, job_id, {"game_id": game_id})
    return False


def call_hint_announcer(house: House, hint: dict[str, Any]) -> None:
    """Let a worker tell that a hint of a game has ended, if anybody is told of that game."""
    arguments = {name: hint[name] for name in ("game_id", "seat", "version", "status")}
    arguments["hint_id"] = hint["id"]
    job_id = f"hint-{hint['game_id']}-{hint['id']}"
    with suppress(Unavailable):
        house.queue.enqueue(WEBHOOK_QUEUE, HINT_NEWS_JOB, job_id, arguments)
