"""A service with a game of each kind in it, everybody who may call, and a request an operation.

`REQUESTS` names the world and the body with which the right caller of an operation succeeds, so
that what refuses another one is who he is and nothing else. Every request that can name a seat
names seat 1, every task is seat 1's."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

from service.api.positions import AT_THE_START
from service.config import Settings
from service.games.model import Game
from service.games.seats import seat_bot
from service.store.app_keys import MemoryAppKeys
from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import NOTHING, Answer, ApiClient, document, memory_app
from tests.games import tables
from tests.receivers import SECRET

Json = dict[str, Any]
SEAT, NEIGHBOUR = 1, 2
NOW_S = 1_790_000_100.0
NO_REDIS = "unix:///nonexistent/redis.sock"
"""What reads the queues in Redis itself is answered 503, whoever is let in."""
OWN, OTHER, TEST, REVOKED = "prk_own", "prk_other", "prk_test", "prk_revoked"
CALLERS = (
    "nobody",
    "unknown",
    "revoked",
    "other-app",
    "app",
    "test-key",
    "own-seat",
    "other-seat",
    "other-game",
    "spectator",
    "replaced",
)
"""Without a key; with one that never was; with one taken away; another app; the game's app; its key
for tests; the tokens of seat 1, of seat 2, of a seat of the app's next game, of who looks on; and
the token that seat 1 had before."""


@dataclass(frozen=True, slots=True)
class Request:
    """How an operation is asked for."""

    world: str = "playing"
    """The kind of game that there is: a key of `GAMES`."""
    body: Any = NOTHING
    query: str = ""
    needs: str = ""
    """What the app has asked for before: a key of `World.NEEDS`."""


FOUR = {"seats": [{"player": "human"}] * 4}
REQUESTS: dict[str, Request] = {
    "createGame": Request(body=FOUR),
    "listGames": Request(),
    "getGame": Request(),
    "getGame ?seat=1": Request(query="?seat=1"),
    "abandonGame": Request(),
    "rematch": Request("finished"),
    "joinSeat": Request("open", {"name": "Ana"}),
    "replaceSeatToken": Request(),
    "seatBot": Request(body={"level": "greedy"}),
    "takeSeatBack": Request("handed"),
    "listLegalActions": Request(),
    "listLegalActions ?seat=1": Request(query="?seat=1"),
    "playAction": Request(body={"type": "draw_stock", "seat": SEAT}),
    "playAction ?dry_run=true": Request(
        body={"type": "draw_stock", "seat": SEAT}, query="?dry_run=true"
    ),
    "listActions": Request(),
    "listActions ?seat=1": Request(query="?seat=1"),
    "streamEvents": Request("finished"),
    "streamEvents ?seat=1": Request("finished", query="?seat=1"),
    "askHint": Request(body={"iterations": 5, "seat": SEAT}),
    "getHint": Request(needs="hint"),
    "cancelHint": Request(needs="hint"),
    "askBotMove": Request(body={"level": "greedy", "seat": SEAT}),
    "getBotMove": Request(needs="bot move"),
    "askPositionHint": Request(body={"position": AT_THE_START, "iterations": 5}),
    "getPositionHint": Request(needs="position"),
    "cancelPositionHint": Request(needs="position"),
    "getRecord": Request("finished"),
    "getRecordPicture": Request("finished"),
    "createMatch": Request(body={"seats": [{"player": "bot", "level": "greedy"}] * 4}),
    "getMatch": Request(needs="match"),
    "askReview": Request("finished", {}),
    "getReview": Request("finished", needs="review"),
    "cancelReview": Request("finished", needs="review"),
    "setWebhook": Request(body={"url": "https://example.org/hook"}),
    "getWebhook": Request(needs="webhook"),
    "dropWebhook": Request(needs="webhook"),
    "listDeliveries": Request(),
    "listQueues": Request(),
    "getQueue": Request(),
    "requeueJob": Request(),
    "moveClock": Request("sandbox", {"game_id": "{game_id}", "seconds": 1}),
    "listBots": Request(),
    "getRules": Request(),
    "getHealth": Request(),
    "getReadiness": Request(),
    "getMetrics": Request(),
}
"""By operation, and once more where a query changes what is asked for."""


@cache
def operations() -> dict[str, tuple[str, str]]:
    """Return method and path of every operation of the document, by its id."""
    return {
        operation["operationId"]: (method.upper(), path)
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }


Kept = tuple[Game, list[Json], dict[str, str]]


def _kept(table: tables.Table) -> Kept:
    tokens = {**table.tokens, "spectator": str(table.spectator_token)}
    return table.game, table.store.read_log(table.game_id, 0, 10_000), tokens


def _new(players: str = "hhhh", **more: Any) -> tables.Table:
    hook = {"url": "https://example.org/game", "secret": SECRET}
    return tables.open_table(players, seed="security", spectators=True, webhook=hook, **more)


def _sandbox() -> tables.Table:
    table = _new(turn_seconds=60)
    game = table.game
    game.extra["sandbox"] = True
    marked = tables.table_at(game, table.store.read_log(game.id, 0, 99), table.tokens)
    marked.spectator_token = table.spectator_token
    return marked


def _playing() -> tables.Table:
    table = _new()
    table.play_until_turn_of(SEAT)
    return table


def _handed() -> tables.Table:
    table = _playing()
    seat_bot(table.house, tables.APP, table.game_id, SEAT, "greedy", None)
    return table


def _finished() -> tables.Table:
    table = _new(deals=1)
    table.play_randomly(random.Random(1), 5000)
    return table


GAMES: dict[str, Callable[[], tables.Table]] = {
    "playing": _playing,
    "open": lambda: _new("hohh"),
    "handed": _handed,
    "finished": _finished,
    "sandbox": _sandbox,
}


@cache
def game_of(kind: str) -> Kept:
    """Return a game of a kind, its log and its tokens."""
    return _kept(GAMES[kind]())


@cache
def world_for(kind: str, needs: str) -> World:
    """Return the world of requests that want such a game and such things asked for before."""
    return World(Request(kind, needs=needs))


class World:
    """A service that wants keys, with one game and all who may call in it."""

    NEEDS: dict[str, Callable[[World], None]]

    def __init__(self, request: Request, kept: Kept | None = None) -> None:
        """Make the world that `request` is made in, with another game in it if one is given.

        Its clock stands still and its secrets are counted, so two worlds answer alike."""
        game, log, tokens = kept or game_of(request.world)
        table = tables.table_at(game, log, tokens)
        table.store.index_game(game.app, game.id, 1)
        self._clock = table.clock
        self.store: MemoryStore = table.store
        self.queue: MemoryQueue = table.queue
        keys = MemoryAppKeys()
        keys.create(game.app, OWN)
        keys.create("other", OTHER)
        keys.create(game.app, TEST, is_test=True)
        keys.create(game.app, REVOKED)
        keys.revoke(REVOKED)
        numbers = itertools.count()
        app = memory_app(
            store=self.store,
            queue=self.queue,
            keys=keys,
            settings=Settings(auth="required", queue_redis_url=NO_REDIS),
            clock=lambda: NOW_S,
            new_secret=lambda size: sha256(b"%d" % next(numbers)).hexdigest()[: 2 * size],
            monotonic=lambda: 0.0,
        )
        self.api = ApiClient(app)
        self.game_id = game.id
        self.places = {"game_id": game.id, "seat": str(SEAT), "queue": "bots", "job": "none"}
        self.tokens = self._tokens(tokens)
        if request.needs:
            self.NEEDS[request.needs](self)
        self.settle()

    def _copy(self) -> list[dict[str, Any]]:
        """Return all that store and queue hold, but for clocks and locks."""
        return [
            {
                name: copy.deepcopy(value, {id(self._clock): self._clock})
                for name, value in vars(part).items()
                if name not in ("_changed", "_lock")
            }
            for part in (self.store, self.queue)
        ]

    def settle(self) -> None:
        """Take everything as it is now for what it was before anybody asked."""
        self._kept = self._copy()

    def put_back(self) -> None:
        """Make everything as it was before anybody asked."""
        kept, self._kept = self._kept, []
        for part, values in zip((self.store, self.queue), kept, strict=True):
            vars(part).update(values)
        self.settle()

    def _tokens(self, old: dict[str, str]) -> dict[str, str | None]:
        """Return who shows what; seat 1 has got a new token if it had one."""
        elsewhere = self.api.post("/games", FOUR, token=OWN).json["seat_tokens"]["0"]
        renewed = None
        if str(SEAT) in old:
            path = f"/games/{self.game_id}/seats/{SEAT}/token"
            answer = self.api.post(path, token=OWN)
            renewed = answer.json["token"] if answer.status == 201 else old[str(SEAT)]
        shown = {
            "nobody": None,
            "unknown": "prk_unknown",
            "revoked": REVOKED,
            "other-app": OTHER,
            "app": OWN,
            "test-key": TEST,
            "own-seat": renewed,
            "other-seat": old[str(NEIGHBOUR)],
            "other-game": elsewhere,
            "spectator": old["spectator"],
            "replaced": old.get(str(SEAT)) if renewed != old.get(str(SEAT)) else None,
        }
        return shown

    def has(self, caller: str) -> bool:
        """Tell whether there is such a caller here: an open seat has no token."""
        return caller == "nobody" or self.tokens[caller] is not None

    def ask(self, name: str, caller: str) -> Answer:
        """Send the request `name` as `caller`."""
        request = REQUESTS[name]
        method, path = operations()[name.partition(" ")[0]]
        body = request.body
        if isinstance(body, dict) and "game_id" in body:
            body = {**body, "game_id": self.game_id}
        path = path.format(**self.places) + request.query
        headers = {"X-Request-Id": "asked"}
        return self.api.send(method, path, body, token=self.tokens[caller], headers=headers)

    def is_untouched(self) -> bool:
        """Tell whether all is as it was before anybody asked: what is stored and what is queued."""
        return _comparable(self._kept) == _comparable(self._copy())

    def need(self, path: str, body: Json, place: str, method: str = "POST") -> None:
        """Ask for something as the app, and remember its id as what `{place}` stands for."""
        answer = self.api.send(method, path.format(**self.places), body, token=OWN)
        assert answer.status < 300, answer.raw
        found = answer.json.get("match", answer.json).get("id", "")
        self.places[place] = found


def _comparable(parts: list[dict[str, Any]]) -> str:
    """Return the contents as text; of what expires the contents alone."""
    return repr(
        [
            {name: getattr(value, "_entries", value) for name, value in part.items()}
            for part in parts
        ]
    )


World.NEEDS = {
    "hint": lambda world: world.need(
        "/games/{game_id}/hints", {"iterations": 5, "seat": SEAT}, "hint_id"
    ),
    "bot move": lambda world: world.need(
        "/games/{game_id}/bot-moves", {"level": "greedy", "seat": SEAT}, "move_id"
    ),
    "position": lambda world: world.need(
        "/positions/hints", {"position": AT_THE_START, "iterations": 5}, "hint_id"
    ),
    "match": lambda world: world.need("/matches", {"seats": [{"player": "human"}] * 4}, "match_id"),
    "review": lambda world: world.need("/games/{game_id}/review", {}, "review"),
    "webhook": lambda world: world.need(
        "/webhook", {"url": "https://example.org/hook"}, "webhook", "PUT"
    ),
}
