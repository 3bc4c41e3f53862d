"""Limits at the door: who has used up a bucket is refused with 429 before anything is done.

Each answer to a caller with limits tells of them in two headers (the IETF's draft of RateLimit
header fields, structured fields): `RateLimit-Policy: "actions";q=3000;w=60` and `RateLimit:
"actions";r=2999;t=42`, requests left and seconds to wait."""

from flask import Flask, Response, g

from service.config import Settings
from service.games.access import AppCaller, Caller
from service.games.errors import RateLimited
from service.games.limits import ACTIONS, ADVICE, REQUESTS, WINDOW_S, Allowance, Limits
from service.sentences import Sentence


def limits_of(settings: Settings) -> dict[str, int]:
    """Return how many requests a minute each bucket holds; 0 for no limit."""
    return {
        ACTIONS: settings.actions_per_minute,
        ADVICE: settings.hints_per_minute,
        REQUESTS: settings.requests_per_minute,
    }


def take_from_bucket(limits: Limits, bucket: str, caller: Caller, limit: int) -> None:
    """Take one from the caller's bucket; raises RateLimited when it is empty."""
    if isinstance(caller, AppCaller):
        if not caller.key_hash:
            return
        who = caller.key_hash
    else:
        who = caller.token_hash
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
