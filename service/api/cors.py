"""Pages of other origins: what browsers ask before they let such a page call the API.

Off unless the setting names origins. Cookies are never allowed, as nothing here reads any: who
calls is said by a bearer token that the page itself must hold, so `*` opens nothing but what anyone
with the token could do anyway."""

from flask import Flask, Response, request

METHODS = "GET, HEAD, POST, PUT, DELETE"
REQUEST_HEADERS = (
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, "
    "Accept-Language, X-Request-Id, Sandbox-Force"
)
EXPOSED_HEADERS = (
    "ETag, Location, Link, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, "
    "Preference-Applied, Content-Language, X-Request-Id, Allow"
)
PREFLIGHT_S = 7200
"""Seconds that a browser may remember the answer; what most of them allow at most."""


def allow_origins(app: Flask, origins: tuple[str, ...]) -> None:
    """Answer browsers for pages of `origins`, or of any for `*`; nothing for none."""
    if not origins:
        return
    is_for_all = "*" in origins

    def answer_preflight() -> Response | None:
        is_preflight = (
            request.method == "OPTIONS"
            and "Origin" in request.headers
            and "Access-Control-Request-Method" in request.headers
        )
        # The headers are put on below, if the origin is one of ours.
        return Response(status=204) if is_preflight else None

    def put_headers(answer: Response) -> Response:
        headers = answer.headers
        if not is_for_all:
            vary = headers.get("Vary", "")
            headers["Vary"] = f"{vary}, Origin" if vary else "Origin"
        origin = request.headers.get("Origin")
        if origin is None or not (is_for_all or origin in origins):
            return answer
        headers["Access-Control-Allow-Origin"] = "*" if is_for_all else origin
        if request.method == "OPTIONS":
            headers["Access-Control-Allow-Methods"] = METHODS
            headers["Access-Control-Allow-Headers"] = REQUEST_HEADERS
            headers["Access-Control-Max-Age"] = str(PREFLIGHT_S)
        else:
            headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
        return answer

    app.before_request(answer_preflight)
    app.after_request(put_headers)
