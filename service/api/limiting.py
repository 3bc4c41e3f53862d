"""Limits at the door: who has used up a bucket is refused with 429 before anything is done.

Each answer to a caller with limits tells of them in two headers (the IETF's draft of RateLimit
header fields, structured fields): `RateLimit-Policy: "actions";q=3000;w=60` and `RateLimit:
"actions";r=2999;t=42`, requests left and seconds to wait.

Only who is known is counted: a made-up key or token would have a counter of its own in Redis, and
whoever makes up many could fill it. What is made up is refused and leaves nothing. Nor are refusals
counted by address: it takes as long to look whether a key is right as to look whether its sender
may be answered, what is to be guessed has 192 bits, and behind a proxy all have one address."""

import time
from collections.abc import Callable

from flask import Flask, Response, g

from service.config import Settings
from service.games.access import AppCaller, Caller, SeatCaller, holder_of
from service.games.changing import load_game
from service.games.errors import GameNotFound, RateLimited
from service.games.house import House
from service.games.limits import ACTIONS, ADVICE, REQUESTS, WINDOW_S, Allowance, Limits
from service.sentences import Sentence

REMEMBERED_S = 60.0
MOST_REMEMBERED = 10_000


class KnownTokens:
    """Whose tokens are right, as it was when this process looked, for a minute: one look at the
    game for each of them. Only for counting; whether a token is right now shows at the game.
    """

    def __init__(self, house: House, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Know of none."""
        self._house = house
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, str]] = {}

    def holder(self, caller: SeatCaller) -> str | None:
        """Return the name of the seat whose token is shown, or of the game's spectators; None for
        a token that is none. The seat and not the token is counted: a new token is no new bucket.

        Raises StoreUnavailable, UnknownFormat."""
        now = self._monotonic()
        until, name = self._known.get(caller.token_hash, (0.0, ""))
        if until > now:
            return name
        try:
            found = holder_of(load_game(self._house, caller.game_id), caller)
        except GameNotFound:
            return None
        if found is not None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[caller.token_hash] = (now + REMEMBERED_S, found)
        return found


def limits_of(settings: Settings) -> dict[str, int]:
    """Return how many requests a minute each bucket holds; 0 for no limit."""
    return {
        ACTIONS: settings.actions_per_minute,
        ADVICE: settings.hints_per_minute,
        REQUESTS: settings.requests_per_minute,
    }


def take_from_bucket(
    limits: Limits, tokens: KnownTokens, bucket: str, caller: Caller, limit: int
) -> None:
    """Take one from the caller's bucket; raises RateLimited when it is empty."""
    who = caller.key_hash if isinstance(caller, AppCaller) else tokens.holder(caller)
    if not who:
        return
    allowance = limits.take(bucket, who, limit)
    g.allowance = allowance
    if not allowance.is_allowed:
        raise RateLimited(
            Sentence("More than {limit} requests a minute ({bucket}).", limit=limit, bucket=bucket),
            allowance,
        )


def limit_headers(allowance: Allowance) -> dict[str, str]:
    """Return the headers that tell of a bucket."""
    policy = f'"{allowance.bucket}";q={allowance.limit}'
    if allowance.bucket in (ACTIONS, ADVICE, REQUESTS):
        policy += f";w={WINDOW_S}"
    return {
        "RateLimit-Policy": policy,
        "RateLimit": f'"{allowance.bucket}";r={allowance.left};t={allowance.reset_s}',
    }


def show_limits(app: Flask) -> None:
    """Let every answer tell of the bucket that its request took from."""

    def put_headers(answer: Response) -> Response:
        allowance = g.get("allowance")
        if allowance is not None and "RateLimit" not in answer.headers:
            answer.headers.update(limit_headers(allowance))
        return answer

    app.after_request(put_headers)
