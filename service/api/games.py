"""Games: making, listing, reading, ending."""

import base64
import binascii
from typing import Any

from flask import Response, url_for

from service.api.request_errors import Malformed
from service.api.resource import Answers, Body, Call, Resource, etag_of, json_answer
from service.api.schemas.games import (
    ChangedGame,
    CreatedGame,
    Game,
    GamePage,
    GameRequest,
    RematchRequest,
)
from service.api.schemas.queries import GameQuery, GamesQuery
from service.games.clocks import TIMEOUT_LEVEL
from service.games.hosting import (
    GameOrder,
    SeatOrder,
    abandon_game,
    create_game,
    list_games,
    rematch,
)
from service.games.playing import read_game
from service.rules.cards import parse_card
from service.sentences import Sentence

resource = Resource("games", __name__, description="Making, reading and ending games")

ONE_AGAINST_BOTS = {
    "seats": [
        {"player": "human", "name": "Ana"},
        {"player": "bot", "level": "expert"},
        {"player": "bot", "level": "skilled", "name": "Partner"},
        {"player": "bot", "level": "expert"},
    ]
}
FOUR_PEOPLE = {
    "seats": [
        {"player": "human", "name": "Ana"},
        {"player": "human", "name": "Bo"},
        {"player": "open"},
        {"player": "open"},
    ],
    "seating": "draw",
    "deals": 2,
}
FROM_OUTSIDE = {
    "seats": [
        {"player": "human"},
        {"player": "external", "url": "https://example.org/rummy/seat", "level": "greedy"},
        {"player": "human"},
        {"player": "bot"},
    ],
    "webhook": {"url": "https://example.org/rummy", "events": ["turn.started", "game.finished"]},
}
WITH_CLOCK = {
    "seats": [{"player": "human"}, {"player": "human"}, {"player": "human"}, {"player": "human"}],
    "turn_seconds": 60,
    "timeout_level": "greedy",
    "spectators": False,
}


@resource.operation(
    "POST",
    "/games",
    "createGame",
    callers=("appKey",),
    body=Body(
        GameRequest,
        {
            "One person and three bots": ONE_AGAINST_BOTS,
            "Two people, two to come": FOUR_PEOPLE,
            "A minute a turn": WITH_CLOCK,
            "A seat of a service of yours, and a webhook": FROM_OUTSIDE,
        },
    ),
    headers=("Idempotency-Key",),
    answers=[
        Answers(201, "The game was made", CreatedGame, ("Location", "ETag", "Idempotent-Replayed"))
    ],
    problems=(403,),
)
def create(call: Call) -> Response:
    """Make a game and deal the first deal.

    Seats are played by people over this API (`human`), by bots, which play by themselves (`bot`),
    by a service of yours that is asked for each action (`external`), or are `open` until somebody
    joins. The tokens of the human seats are shown here and never
    again: each lets its holder see and play that one seat. With `turn_seconds` a turn that is over
    its time is finished by a bot; after three in a row a bot has the seat until its owner acts."""
    outcome = create_game(call.house, call.caller, order_from(call.body), call.key)
    game = outcome.body["game"]
    headers = {"Location": f"/games/{game['id']}", "ETag": etag_of(game)}
    return json_answer(outcome.body, 201, headers | replayed_header(outcome.is_replayed))


def order_from(body: dict[str, Any]) -> GameOrder:
    """Return the order that a request's body asks for."""
    sandbox = body.get("sandbox", {})
    return GameOrder(
        seats=tuple(SeatOrder(**seat) for seat in body["seats"]),
        seating=body.get("seating", "fixed"),
        seed=body.get("seed"),
        client_seed=body.get("client_seed", ""),
        deals=body["deals"],
        spectators=body["spectators"],
        turn_seconds=body.get("turn_seconds"),
        timeout_level=body.get("timeout_level", TIMEOUT_LEVEL),
        webhook=body.get("webhook"),
        decks=tuple(tuple(map(parse_card, deck)) for deck in sandbox.get("decks", ())),
        dealer=sandbox.get("dealer"),
        is_sandbox="sandbox" in body,
    )


def replayed_header(is_replayed: bool) -> dict[str, str]:
    """Return the header that marks an answer as an earlier one."""
    return {"Idempotent-Replayed": "true"} if is_replayed else {}


@resource.operation(
    "GET",
    "/games",
    "listGames",
    callers=("appKey",),
    query=GamesQuery,
    answers=[Answers(200, "A page of games", GamePage, ("Link",))],
    problems=(403,),
)
def list_page(call: Call) -> Response:
    """List the app's games, newest first.

    As one sees them who sees no hand. `next` is the path of the next page, or null; it alone tells
    whether there are more, for a page may have fewer than `limit`, or none."""
    query = call.query
    before = read_cursor(query["cursor"]) if "cursor" in query else None
    found, following = list_games(
        call.house, call.caller, query.get("status"), query["limit"], before
    )
    if following is None:
        return json_answer({"games": found, "next": None})
    more = {name: query[name] for name in ("status", "limit") if name in query}
    following_path = url_for("games.listGames", **more, cursor=write_cursor(following))
    link = {"Link": f'<{following_path}>; rel="next"'}
    return json_answer({"games": found, "next": following_path}, 200, link)


def write_cursor(place: tuple[int, str]) -> str:
    """Return the cursor of the games after `place` (creation in ms, game id)."""
    return base64.urlsafe_b64encode(f"{place[0]}:{place[1]}".encode()).decode().rstrip("=")


def read_cursor(text: str) -> tuple[int, str]:
    """Return the place that `write_cursor` wrote; raises Malformed.

    >>> read_cursor(write_cursor((1700000000000, "g1")))
    (1700000000000, 'g1')
    """
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        at, colon, game_id = (
            base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").partition(":")
        )
        if colon and game_id and at.isdigit() and len(at) <= 15:
            return int(at), game_id
    except (UnicodeError, binascii.Error):
        pass
    none = Sentence("Not a cursor of this service; follow the `next` link.")
    raise Malformed([("cursor", none)])


@resource.operation(
    "GET",
    "/games/<string(maxlength=64):game_id>",
    "getGame",
    query=GameQuery,
    headers=("If-None-Match",),
    answers=[
        Answers(200, "The game as the caller may see it", Game, ("ETag",)),
        Answers(304, "The version is the one of `If-None-Match`", headers=("ETag",)),
    ],
    problems=(403, 404),
)
def read(call: Call, game_id: str) -> Response:
    """Read a game.

    A seat token shows that seat's hand. An app sees the hand of the human seat that it names, or
    none. With `since` and `wait` the answer comes when the game has moved past that version, or
    when the seconds are over: a long poll."""
    query = call.query
    seat = query.get("seat")
    game = read_game(call.house, call.caller, game_id, seat)
    since = query.get("since")
    if since is not None and game["version"] <= since:
        wait_s = min(query.get("wait", 0), call.parts.settings.max_wait_s)
        if wait_s > 0 and call.house.store.wait_for_version(game_id, since, wait_s):
            call.check_key()
            game = read_game(call.house, call.caller, game_id, seat)
    etag = etag_of(game)
    if "If-None-Match" in call.request.headers and call.request.if_none_match.contains_weak(
        etag[1:-1]
    ):
        return Response(status=304, headers={"ETag": etag})
    return json_answer(game, 200, {"ETag": etag})


@resource.operation(
    "DELETE",
    "/games/<string(maxlength=64):game_id>",
    "abandonGame",
    callers=("appKey",),
    answers=[Answers(200, "The game is over, without a result", ChangedGame, ("ETag",))],
    problems=(403, 404, 409),
)
def abandon(call: Call, game_id: str) -> Response:
    """Abandon a game.

    Only its app may. The game can still be read until it expires."""
    outcome = abandon_game(call.house, call.caller, game_id)
    return json_answer(outcome.body, 200, {"ETag": etag_of(outcome.body["game"])})


@resource.operation(
    "POST",
    "/games/<string(maxlength=64):game_id>/rematch",
    "rematch",
    callers=("appKey",),
    body=Body(
        RematchRequest,
        {"The usual": {}, "Cards from both": {"client_seed": "ours"}},
        is_optional=True,
    ),
    headers=("Idempotency-Key",),
    answers=[
        Answers(201, "The next game", CreatedGame, ("Location", "ETag", "Idempotent-Replayed"))
    ],
    problems=(403, 404, 409),
)
def play_again(call: Call, game_id: str) -> Response:
    """Play the next game with the same seats.

    After the end, and only the game's app may. Everybody sits where he sat and all is as it was
    ordered; the tokens are new, and the dealer is drawn anew (R4). A person whose seat a bot played
    at the end has it again."""
    order = call.body
    outcome = rematch(
        call.house, call.caller, game_id, order.get("seed"), order.get("client_seed", ""), call.key
    )
    game = outcome.body["game"]
    headers = {"Location": f"/games/{game['id']}", "ETag": etag_of(game)}
    return json_answer(outcome.body, 201, headers | replayed_header(outcome.is_replayed))
