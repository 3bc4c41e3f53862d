"""Events: a game as it goes on, as a stream of server-sent events."""

import random
from collections.abc import Iterator

import orjson
from flask import Response

from service.api.observing import Metrics
from service.api.resource import Answers, Call, Resource
from service.api.schemas.actions import StreamEvent
from service.api.schemas.queries import EventsQuery
from service.games.live import Follower, News, Pace, follow_game

resource = Resource("events", __name__, description="A game as it goes on")
STREAM_TYPE = "text/event-stream"
COMMENT = b":\n\n"
HEADERS = {
    # nginx would keep events back until a buffer is full.
    "X-Accel-Buffering": "no",
}


@resource.operation(
    "GET",
    "/games/<string(maxlength=64):game_id>/events",
    "streamEvents",
    query=EventsQuery,
    headers=("Last-Event-ID",),
    answers=[
        Answers(
            200,
            "Server-sent events until the game is over",
            StreamEvent,
            content_type=STREAM_TYPE,
        )
    ],
    problems=(403, 404),
)
def stream(call: Call, game_id: str) -> Response:
    """Follow a game.

    Server-sent events, whose fields are shown as an object here: first `game`, the whole view
    (GAME); then an `action` for each version (EVENT), whose id is the version; at last
    `game_finished`, with GAME, and the server closes. A client that comes again with
    `Last-Event-ID` gets what it missed, without gap or repeat and without `game`; one that has got
    `game_finished` should not come again. Each 15 seconds without an event there is a comment. The
    hand and the cards drawn are shown as in `getGame`. The stream may end before the game does:
    after an hour, when the service restarts, when the token is replaced or the key revoked."""
    last_seen = call.last_event_id
    if last_seen is None:
        last_seen = call.query.get("last_event_id")
    follower = Follower(call.caller, game_id, call.query.get("seat"), last_seen, call.check_key)
    parts, settings = call.parts, call.parts.settings
    first_s = settings.keep_alive_s * random.uniform(0.5, 1)  # noqa: S311 (nothing secret)
    pace = Pace(settings.keep_alive_s, first_s, settings.max_stream_s, parts.sleep, parts.monotonic)
    news = follow_game(call.house, follower, pace)
    return Response(_write(news, parts.metrics), content_type=STREAM_TYPE, headers=HEADERS)


def _write(news: Iterator[News | None], metrics: Metrics) -> Iterator[bytes]:
    """Write news as server-sent events, and count the stream while it is open."""
    with metrics.streams.track_inprogress():
        for one in news:
            yield COMMENT if one is None else write_event(one)


def write_event(news: News) -> bytes:
    """Return one server-sent event; JSON has no line breaks, so one line of data is enough."""
    number = b"" if news.version is None else b"id: %d\n" % news.version
    return b"event: %s\n%sdata: %s\n\n" % (news.kind.encode(), number, orjson.dumps(news.body))
