"""Hidden cards in all bytes that leave the processes of a running service, while games are played.

gunicorn, the workers and Redis run as `make run` has them, keys required, the log at its most
talkative. Kept as they come are the answers (headers, errors, streams and all), what is posted to
webhooks and to a seat outside, the lines of all processes' logs, the counters, and the jobs.

Two ways of looking for a card: two games that differ only in who of two partners holds which hand
leave the same bytes for everybody else, to the end of the deal; and in a game with bots no card
stands anywhere in what its reader is sent before he may know it. `test_noninterference.py` and
`tests/api/test_hidden.py` do it for every operation, within one process."""

from __future__ import annotations

import random
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
import redis as redis_py
from rq.job import Job

from service.games.access import hash_secret
from service.rules.cards import CARD_NAMES
from service.rules.deal import SEATS
from service.store.app_keys import RedisAppKeys
from tests.api.streams import read_event
from tests.api.test_hidden import hidden_from
from tests.e2e.conftest import warm_kernels
from tests.e2e.harness import Player, Referee, Service, Table, seats, wait_until
from tests.e2e.test_surviving import socket_of
from tests.receivers import SECRET, Answer, Posted, Receiver, receiving
from tests.security.wire import CARD, Json, Line, Listener, Raw, cards_told

__all__ = ["warm_kernels"]

pytestmark = pytest.mark.e2e

DEALER = 3
LEFT, OUTSIDE, RIGHT = 1, 2, 3
"""The partners whose hands are exchanged, and between them a seat that is played from outside."""
HINT = {"iterations": 100, "seed": "same"}
WAITED = 'method="GET",route="/games/{game_id}",status="200"'
QUIET_S = 0.5
NOTICED_S = 60.0


@dataclass
class Room:
    """The running service, the keys of its apps, and somebody who is told of games."""

    service: Service
    redis: redis_py.Redis
    receiver: Receiver
    keys: dict[str, str]

    def line(self, token: str | None) -> Line:
        return Line(self.service.port, token)

    def player(self, token: str) -> Player:
        return Player(self.service.base_url, token)

    def quiet(self) -> None:
        """Wait until nothing has been posted or logged for a while."""

        def seen() -> tuple[int, int]:
            return len(self.receiver.got), self.service.output.stat().st_size

        deadline = time.monotonic() + NOTICED_S
        before, since = seen(), time.monotonic()
        while time.monotonic() - since < QUIET_S:
            assert time.monotonic() < deadline, "it never came to rest"
            time.sleep(0.05)
            if seen() != before:
                before, since = seen(), time.monotonic()

    def jobs_of(self, game_id: str) -> dict[str, Json]:
        """Return the arguments of the game's jobs, of those that are kept for a minute yet."""
        found = {}
        for key in self.redis.scan_iter("rq:job:*"):
            job_id = key.decode().removeprefix("rq:job:")
            if game_id in job_id:
                job = Job.fetch(job_id, connection=self.redis, serializer="json")
                found[job_id] = {"function": job.func_name, "arguments": job.kwargs}
        return found


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, warm_kernels: None) -> Iterator[Room]:
    """Run the service for the tests of this file."""
    settings = {
        "PERSIAN_RUMMY_AUTH": "required",
        "PERSIAN_RUMMY_LOG_LEVEL": "debug",
        "PERSIAN_RUMMY_WEBHOOK_ADDRESSES": "any",
    }
    service = Service(tmp_path_factory.mktemp("wire"), settings)
    try:
        service.start()
        with (
            redis_py.Redis(unix_socket_path=str(socket_of(service))) as redis,
            receiving() as receiver,
        ):
            apps = RedisAppKeys(redis)
            keys = {
                "app": apps.create("own", secrets.token_urlsafe, 0.0),
                "test": apps.create("own", secrets.token_urlsafe, 0.0, is_test=True),
                "other": apps.create("other", secrets.token_urlsafe, 0.0),
            }
            yield Room(service, redis, receiver, keys)
    finally:
        service.end()


# Twins: a game, and one in which seats 1 and 3 hold each other's hands.


def twin_decks() -> list[list[str]]:
    """Return two packs, the top card first, that deal two partners each other's hand."""
    cards = list(CARD_NAMES)
    random.Random(4).shuffle(cards)
    hands, rest = [cards[7 * seat : 7 * seat + 7] for seat in range(SEATS)], cards[28:]
    exchanged = [hands[seat] for seat in (0, RIGHT, OUTSIDE, LEFT)]
    return [
        [dealt[seat][place] for place in range(7) for seat in range(SEATS)] + rest
        for dealt in (hands, exchanged)
    ]


def draw_and_discard() -> Any:
    """Return how the seat outside answers: it discards what it has drawn."""
    held: dict[str, set[str]] = {}

    def answer(posted: Posted) -> Answer:
        if posted.message["type"] != "action.wanted":
            return 204, {}, b""
        data = posted.message["data"]
        hand, legal = set(data["view"]["hand"]), data["legal_actions"]
        if data["view"]["phase"] == "draw":
            held[data["game_id"]] = hand
            wanted = {"type": "draw_stock"}
            action = wanted if wanted in legal else {"type": "pass"}
        else:
            (drawn,) = hand - held[data["game_id"]]
            action = {"type": "discard", "card": drawn}
        return 200, {}, orjson.dumps(action)

    return answer


@dataclass
class Twin:
    """One of the two games, and all that left the processes for those who must not tell it from
    the other.
    """

    room: Room
    deck: list[str]
    answers: list[tuple[str, bytes]] = field(default_factory=list)
    own: list[bytes] = field(default_factory=list)
    """What the exchanged seats were shown."""
    told: dict[str, Any] = field(default_factory=dict)
    """What left besides the answers, by the way that it took."""

    def __post_init__(self) -> None:
        self.asked = 0
        receiver = self.room.receiver
        order = {
            "seats": [
                {"player": "human", "name": "Ana"},
                {"player": "human", "name": "Bo"},
                {"player": "external", "url": receiver.url("/seat"), "secret": SECRET},
                {"player": "human", "name": "Di"},
            ],
            "seed": "twins",
            "deals": 1,
            "sandbox": {"decks": [self.deck], "dealer": DEALER},
            "webhook": {"url": receiver.url("/hook"), "secret": SECRET},
        }
        self.app = self.room.player(self.room.keys["test"])
        made = self.app.must(201, "POST", "/games", order)
        self.id: str = made["game"]["id"]
        self.path, self.made_up = f"/games/{self.id}", f"prs_{self.id}_madeup"
        self.tokens: dict[str, str] = {**made["seat_tokens"], "spectator": made["spectator_token"]}

    def normal(self, told: bytes) -> bytes:
        """Return bytes without what tells any two games apart: names, moments, durations."""
        for name, token in self.tokens.items():
            told = told.replace(token.encode(), b"TOKEN" + name.encode())
            told = told.replace(hash_secret(token)[:8].encode(), b"HASH" + name.encode())
        told = told.replace(hash_secret(self.made_up)[:8].encode(), b"HASHmadeup")
        told = told.replace(self.id.encode(), b"GAME")
        for pattern, instead in (
            (rb"\d{4}-\d\d-\d\dT[\d:.]+Z", b"AT"),
            (rb"(?m)^Date: .*$", b"Date"),
            (rb";r=\d+;t=\d+", b";r;t"),
            (rb'"(ms|seconds)":[\d.e-]+', rb'"\1":S'),
            (rb'"request_id":"[0-9a-f]{16}"', b'"request_id":"R"'),
        ):
            told = re.sub(pattern, instead, told)
        return told

    def ask(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> Raw:
        """Ask as somebody for whom both games are one, and keep the answer."""
        self.asked += 1
        token = self.tokens.get(who, self.room.keys.get(who))
        line = self.room.line(self.made_up if who == "guesser" else token)
        headers["X_Request_Id"] = f"twin-{self.asked}"
        answer = line.ask(method, path.replace("GAME", self.id), body, **headers)
        raw = answer.raw
        if b'"seconds":' in raw:
            # As long as the number is that says how long it took.
            raw = re.sub(rb"Content-Length: \d+", b"Content-Length", raw)
        self.answers.append((f"{who} {method} {path}", self.normal(raw)))
        return answer

    def look(self) -> None:
        """Let all of them look at all that there is."""
        for path in ("", "?seat=1", "/legal-actions", "/actions", "/hints/h1", "/bot-moves/m1"):
            self.ask("0", "GET", f"/games/GAME{path}")
        for path in ("/record", "/review", "/deliveries", "/nothing"):
            self.ask("0", "GET", f"/games/GAME{path}")
        for path in ("", "/actions", "/legal-actions", "/record", "?seat=3"):
            self.ask("spectator", "GET", f"/games/GAME{path}")
        for who in ("other", "guesser", "nobody"):
            self.ask(who, "GET", "/games/GAME")
        for seat in (LEFT, RIGHT):
            self.own.append(
                self.normal(self.room.line(self.tokens[str(seat)]).ask("GET", self.path).body)
            )

    def try_all(self) -> None:
        """Let seat 0 try what it may not, with cards that others hold."""
        for card in (self.deck[LEFT], self.deck[RIGHT], self.deck[-1]):
            for tried in (
                {"type": "discard", "card": card},
                {"type": "take_discards", "card": card},
            ):
                self.ask("0", "POST", "/games/GAME/actions?dry_run=true", tried)
        self.ask("0", "POST", "/games/GAME/actions", {"type": "draw_stock"}, If_Match='"999"')
        self.ask("0", "POST", "/games/GAME/actions", {"type": "draw_stock", "seat": RIGHT})

    def play_turn(self, seat: int) -> None:
        """Draw for a seat and discard what was drawn, or pass; of seat 0 the answers are kept."""

        def play(action: Json) -> Json:
            if seat == 0:
                return self.ask("0", "POST", "/games/GAME/actions", action).json
            token = self.tokens[str(seat)]
            return self.room.player(token).must(201, "POST", f"{self.path}/actions", action)

        legal = self.app.must(200, "GET", f"{self.path}/legal-actions?seat={seat}")["actions"]
        if not any(action["type"] == "draw_stock" for action in legal):
            play({"type": "pass"})
            return
        drawn = play({"type": "draw_stock"})["action"]["card"]
        play({"type": "discard", "card": drawn})

    def play(self) -> Twin:
        """Play the deal to its end and gather what has left."""
        started, begun = self.room.service.output.stat().st_size, len(self.room.receiver.got)
        counted = self.counters()
        listeners = {
            who: Listener(self.room.line(self.tokens[who]), self.path) for who in ("0", "spectator")
        }
        turns = 0
        game = self.app.must(200, "GET", self.path)
        while game["status"] == "playing":
            turn = game["deal"]["turn"]
            if turn == OUTSIDE:
                game = self.app.await_version(self.id, game["version"] + 1)
                continue
            if turns % 8 == 0 or (turn == 0 and turns > 24):
                self.look()
            if turn == 0 and turns % 6 == 0:
                self.try_all()
                self.ask("0", "POST", "/games/GAME/hints", HINT, Prefer="wait=30")
            self.play_turn(turn)
            turns += 1
            game = self.app.must(200, "GET", self.path)
        self.answers += [
            (f"{who} streams", self.normal(re.sub(rb"(?m)^:\n\n", b"", raw.head + raw.body)))
            for who, raw in ((who, listener.whole()) for who, listener in listeners.items())
        ]
        for who in ("0", "spectator"):
            for path in ("", "/actions", "/legal-actions"):
                self.ask(who, "GET", f"/games/GAME{path}")
        self.room.quiet()
        self.told = {
            "posted": Counter(map(self.shown, self.room.receiver.got[begun:])),
            "logged": self.lines_from(started),
            "counted": self.counters() - counted,
            "queued": Counter(
                self.normal(orjson.dumps(job)) for job in self.room.jobs_of(self.id).items()
            ),
        }
        return self

    def shown(self, posted: Posted) -> bytes:
        """Return a message as it came, its headers too."""
        headers = {
            name: value
            for name, value in posted.headers.items()
            if name not in ("webhook-signature", "webhook-timestamp")
        }
        told = self.normal(orjson.dumps([posted.path, headers]) + posted.body)
        # Which of several news is numbered first, and whether the turn is over by then, is chance.
        told = re.sub(rb"GAME\.d\d+", b"GAME.d", told)
        return re.sub(rb'"deadline":(null|"AT")|"content-length":"\d+"', b"", told)

    def lines_from(self, start: int) -> Counter[str]:
        """Return the lines of the log that tell of the game, or of a request that was kept."""
        text = self.room.service.output.read_bytes()[start:]
        found: Counter[str] = Counter()
        for line in self.normal(text).decode().splitlines():
            if ("GAME" in line or '"twin-' in line) and line.startswith("{"):
                told = orjson.loads(re.sub(r":S([,}])", r":0\1", line))
                # RQ's own, among them signs of life, depend on how long a job took.
                if told["logger"].startswith(("service", "workers")):
                    for name in ("timestamp", "ms", "thought_ms", "retry_after_s"):
                        told.pop(name, None)
                    found[orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode()] += 1
        return found

    def counters(self) -> Counter[str]:
        """Return what is counted, but for times and what grows with them: how often is waited for
        the seat outside.
        """
        lines = self.room.line(None).must(200, "GET", "/metrics").body.decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return Counter(
            {
                name: int(float(value))
                for name, value in pairs
                if "_total" in name and "seconds" not in name and WAITED not in name
            }
        )


def test_two_games_that_differ_in_hidden_hands_leave_the_same_bytes(room: Room) -> None:
    """Partners exchange their hands: to the end of the deal nobody else is sent another byte."""
    began = time.monotonic()
    room.receiver.answer = draw_and_discard()
    first, second = (Twin(room, deck).play() for deck in twin_decks())

    sizes = {name: sum(told.values()) for name, told in first.told.items()}
    size = sum(len(answer) for _, answer in first.answers)
    print(
        f"\n{len(first.answers)} answers of {size:,} bytes each, {sizes}, "
        f"{time.monotonic() - began:.1f} s"
    )
    for (name, ours), (other_name, theirs) in zip(first.answers, second.answers, strict=True):
        assert name == other_name
        assert ours == theirs, name
    for name, told in first.told.items():
        assert told == second.told[name], (name, told - second.told[name], second.told[name] - told)
    assert len(first.answers) > 100
    assert sizes["posted"] > 100
    assert sizes["logged"] > 200
    # A check of the check: who holds the hands is shown others, and the record tells all.
    assert first.own != second.own
    records = [twin.app.must(200, "GET", f"{twin.path}/record") for twin in (first, second)]
    assert records[0]["deals"][0]["deck"] != records[1]["deals"][0]["deck"]


# A game with bots, in which all that lies hidden is a canary.


class Hidden:
    """What a game hides from whom at which of its versions, by the independent referee."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._referee = Referee(table)
        self._hidden: list[dict[int | None, set[str]]] = []
        self._note()

    def _note(self) -> None:
        deal = self._referee.deal
        nothing: set[str] = set()
        self._hidden.append(
            {
                seat: nothing if self._referee.is_over else hidden_from(deal, seat)
                for seat in (None, *range(SEATS))
            }
        )

    def at(self, version: int, seat: int | None) -> set[str]:
        """Return the cards that a seat, or who has none, may not know at a version."""
        if version >= len(self._hidden):
            for event in self._table.app.log(self._table.id, len(self._hidden) - 1):
                self._referee.follow([event])
                self._note()
        return self._hidden[version][seat]


def version_of(told: Any) -> int | None:
    """Return the newest version that an answer tells of, None where it tells of none."""
    if not isinstance(told, dict):
        return None
    game = told.get("game")
    found = [told.get("version"), game.get("version") if isinstance(game, dict) else None]
    found += [event["version"] for event in told.get("actions", []) if "version" in event]
    event = told.get("event")
    found.append(event.get("version") if isinstance(event, dict) else None)
    return max((version for version in found if version is not None), default=None)


def without_draw(raw: bytes, told: Any) -> bytes:
    """Return an answer without the draw for the dealer, which is of another pack."""
    for game in (told, told.get("game"), told.get("data", {}).get("game")):
        if isinstance(game, dict) and "seating" in game:
            raw = raw.replace(orjson.dumps(game["seating"]), b"")
    return raw


def test_no_hidden_card_is_in_any_byte_of_a_game_with_bots(room: Room) -> None:
    """Two people against bots: what each is sent, and a spectator, the app, the webhook, the log,
    the counters and the queue, held against what the referee hides at that very version.
    """
    began = time.monotonic()
    room.receiver.answer = lambda _posted: (204, {}, b"")
    posted_before, logged_before = len(room.receiver.got), room.service.output.stat().st_size
    app = room.player(room.keys["app"])
    seed = "canaries on the wire"
    hook = {"url": room.receiver.url("/canary"), "secret": SECRET}
    order = {"seats": seats("human", "greedy", "human", "casual"), "seed": seed, "deals": 1}
    made = app.must(201, "POST", "/games", {**order, "webhook": hook})
    table = Table(made["game"]["id"], seed, app, {}, made["game"])
    hidden, rng = Hidden(table), random.Random(1)
    readers: dict[int | None, Line] = {
        int(seat): room.line(token) for seat, token in made["seat_tokens"].items()
    }
    readers[None] = room.line(made["spectator_token"])
    listeners = {seat: Listener(line, table.path) for seat, line in readers.items()}
    size = found = hints = looked = 0

    def search(raw: bytes, told: Any, seat: int | None, what: str) -> None:
        nonlocal size, found
        version = version_of(told)
        # What tells no version is told after what was seen before: nothing is hidden again.
        newest = app.must(200, "GET", table.path)["version"] if version is None else version
        cards = cards_told(without_draw(raw, told))
        assert not cards & hidden.at(newest, seat), (what, seat, newest)
        size += len(raw)
        found += len(cards)

    def ask(seat: int | None, method: str, path: str, body: Any = None, **more: str) -> Any:
        answer = readers[seat].ask(method, table.path + path, body, **more)
        told = answer.json
        search(answer.raw, told, seat, f"{method} {path}")
        return told

    game = ask(0, "GET", "")
    while game["status"] == "playing":
        turn = game["deal"]["turn"]
        if turn not in (0, 2):
            game = ask(0, "GET", f"?since={game['version']}&wait=10")
            continue
        looked = (looked + 1) % 3
        for seat in readers if not looked else ():
            for path in ("", "/actions", "/legal-actions", "/hints/h1"):
                ask(seat, "GET", path)
        ask(2 - turn, "POST", "/actions", {"type": "draw_stock"})
        if hints < 4:
            hints += 1
            ask(turn, "POST", "/hints", {"iterations": 50}, Prefer="wait=30")
        legal = ask(turn, "GET", "/legal-actions")["actions"]
        rich = [action for action in legal if action["type"] not in ("draw_stock", "discard")]
        ask(turn, "POST", "/actions", rng.choice(rich or legal))
        game = ask(0, "GET", "")
    for seat, listener in listeners.items():
        for block in listener.whole().body.split(b"\n\n"):
            event = read_event(block) if block and not block.startswith(b":") else None
            if event is not None:
                told = event.data if event.id is None else {**event.data, "version": event.id}
                search(block, told, seat, f"event {event.kind}")
    room.quiet()
    messages = room.receiver.got[posted_before:]
    for posted in messages:
        headers = {k: v for k, v in posted.headers.items() if k != "webhook-signature"}
        data = {"data": posted.message["data"], **posted.message["data"]}
        search(orjson.dumps(headers) + posted.body, data, None, posted.message["type"])
    jobs = room.jobs_of(table.id)
    asked = {f"hint-{table.id}-h{n}": n for n in range(1, hints + 1)}
    for job_id, job in jobs.items():
        if job_id in asked:
            hint = app.must(200, "GET", f"{table.path}/hints/h{asked[job_id]}")
            search(orjson.dumps(job), {"version": hint["version"]}, hint["seat"], job_id)
        else:
            assert not cards_told(orjson.dumps(job)), job_id
    logged = room.service.output.read_bytes()[logged_before:]
    counted = room.line(None).must(200, "GET", "/metrics").raw

    print(
        f"\n{sum(line.count for line in readers.values())} answers, {len(messages)} messages, "
        f"{len(jobs)} jobs: {size:,} bytes, {found:,} cards in them, and {len(logged):,} bytes of "
        f"logs; {time.monotonic() - began:.1f} s"
    )
    assert game["status"] == "finished"
    assert found > 1_000, "where no card is told at all, none is searched for"
    assert asked.keys() <= jobs.keys()
    assert not CARD.search(logged)
    assert not CARD.search(counted)
    assert b"bot_played" in logged
    wait_until(lambda: room.receiver.messages("game.finished"), NOTICED_S, "the last message")


def test_the_search_finds_a_card_that_stands_anywhere(room: Room) -> None:
    """A check of the check: in a header, a path, JSON; not within a token or a digest."""
    for told in (b"X-Card: 7H\r\n", b"/games/7H", b'{"card":"TD"}', b"X1", b"[X4]", b'"7H"'):
        assert cards_told(told)
    for told in (b"prs_abc_x7Hy", b"a7Hb", b"X5", b"17H", b"7h", b"TDX"):
        assert not cards_told(told)
    order = {"seats": seats(*["human"] * 4), "seed": "seen", "deals": 1}
    app = room.player(room.keys["app"])
    made = app.must(201, "POST", "/games", order)
    table = Table(made["game"]["id"], "seen", app, {}, made["game"])
    shown = room.line(made["seat_tokens"]["1"]).must(200, "GET", table.path)

    assert cards_told(without_draw(shown.raw, shown.json)) & Hidden(table).at(0, 0)
