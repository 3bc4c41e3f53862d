"""The whole service as its users run it: real processes, HTTP on loopback, its own data folder.

`Service` is `python -m service run`; `Player` is one caller of its API; `Referee` is the
independent count: a game of `tests/oracle.py` fed with what the log says.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.rules.cards import CARD_NAMES
from service.rules.shuffle import shuffled_deck
from service.supervisor import session_members
from tests import oracle

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0
"""On a busy machine; it takes two seconds or three."""
BOT_S = 60.0
NOT_PASSED_ON = ("REDIS_URL", "QUEUE_REDIS_URL", "PORT", "WEB_CONCURRENCY")


def free_port() -> int:
    """Return a port that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_running(pid: int) -> bool:
    """Tell whether the process exists and is no zombie."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def wait_until(condition: Callable[[], object], timeout_s: float, what: str = "") -> None:
    """Wait for the condition; fail when it does not come true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s for {what or condition}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Answer:
    """What came back over HTTP."""

    status: int
    body: Any
    headers: dict[str, str]
    """Names in lower case."""


@dataclass
class Player:
    """A caller of the API: the local app, or the holder of `token`."""

    base_url: str
    token: str | None = None

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Make a request; `If_Match="…"` is the header `If-Match`. Any status is an answer."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        request = urllib.request.Request(self.base_url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return _read(answer)
        except urllib.error.HTTPError as error:
            with error:
                return _read(error)

    def must(self, status: int, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Make a request and return the body of its answer, which must have that status."""
        answer = self.ask(method, path, body, **headers)
        assert status == answer.status, (method, path, body, answer)
        return answer.body

    def log(self, game_id: str, since: int = 0) -> list[Json]:
        """Return all events past a version."""
        events: list[Json] = []
        while page := self.must(200, "GET", f"/games/{game_id}/actions?since={since}")["actions"]:
            events += page
            since = page[-1]["version"]
        return events

    def await_version(self, game_id: str, version: int, timeout_s: float = BOT_S) -> Json:
        """Wait until the game has that version or a later one; return the game."""
        deadline = time.monotonic() + timeout_s
        while True:
            game: Json = self.must(200, "GET", f"/games/{game_id}?since={version - 1}&wait=5")
            if game["version"] >= version:
                return game
            assert time.monotonic() < deadline, f"version {version} never came: {game}"

    def await_turn(self, game_id: str, seat: int, timeout_s: float = BOT_S) -> Json:
        """Wait until it is the seat's turn or the game is over; return the game."""
        game: Json = self.must(200, "GET", f"/games/{game_id}")
        while game["status"] == "playing" and game["deal"]["turn"] != seat:
            game = self.await_version(game_id, game["version"] + 1, timeout_s)
        return game


def _read(answer: Any) -> Answer:
    raw = answer.read()
    headers = {name.lower(): value for name, value in answer.headers.items()}
    is_json = "json" in headers.get("content-type", "")
    return Answer(answer.status, json.loads(raw) if is_json else raw.decode(), headers)


@dataclass
class Service:
    """`python -m service run`, from its start to a signal."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)

    @property
    def base_url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def app(self) -> Player:
        """The local app, which needs no key."""
        return Player(self.base_url)

    @property
    def output(self) -> Path:
        """The file that its lines go to, those of its processes too."""
        return self.folder / "output"

    @property
    def lines(self) -> list[str]:
        """What it has said since its last start."""
        return self.output.read_text(errors="replace").splitlines()

    def says(self, pattern: str) -> bool:
        """Tell whether a line of its output matches."""
        return any(re.search(pattern, line) for line in self.lines)

    def start(self) -> Service:
        """Start it and wait until it is ready; the same data folder and port each time."""
        inherited = {k: v for k, v in os.environ.items() if k not in NOT_PASSED_ON}
        command = (sys.executable, "-m", "service", "run", "--port", str(self.port))
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(self.folder / "data")],
                cwd=ROOT,
                env={**inherited, **self.env},
                stdout=output,
                stderr=output,
            )
        wait_until(lambda: self._is_over() or self.says(r"^docs "), START_S, "the service")
        assert not self._is_over(), "\n".join(self.lines)
        return self

    def _is_over(self) -> bool:
        return self.process.poll() is not None

    def child(self, *words: str) -> int | None:
        """Return the direct child whose command has all these words, None for none."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_text()
            except OSError:
                continue
            if int(state[1]) == self.process.pid and all(word in command for word in words):
                return int(entry.name)
        return None

    def worker(self, queue: str) -> int:
        """Return the process that works on a queue, once it does."""
        found: list[int | None] = []

        def is_there() -> bool:
            found.append(self.child("workers\0work", queue))
            return found[-1] is not None

        wait_until(is_there, START_S, f"the worker of {queue}")
        assert found[-1] is not None
        return found[-1]

    def everything(self) -> list[int]:
        """Return all its processes: the supervisor's children and what these have started."""
        children = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(state[1]) == self.process.pid:
                children += session_members(int(entry.name))
        return [self.process.pid, *children]

    def stop(self, number: int = signal.SIGINT) -> int:
        """Stop it, by Ctrl-C's signal; return the exit code once everything was said."""
        self.process.send_signal(number)
        return self.process.wait(30)

    def end(self) -> None:
        """Make sure that nothing is left, whatever the test did."""
        if not self._is_over():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    @contextmanager
    def running(self) -> Iterator[Service]:
        """Start it for a `with`, and end it whatever comes."""
        try:
            yield self.start()
        finally:
            self.end()


# Games.


def seats(*holders: str) -> list[Json]:
    """Return four places for a new game: `human`, or a bot's level.

    >>> seats("human", "greedy", "greedy", "greedy")[1]
    {'player': 'bot', 'level': 'greedy'}
    """
    return [
        {"player": "human"} if holder == "human" else {"player": "bot", "level": holder}
        for holder in holders
    ]


@dataclass(frozen=True)
class Table:
    """A game that was made: its id, its seed, and a player for each human seat."""

    id: str
    seed: str
    app: Player
    players: dict[int, Player]
    made: Json
    """GAME as it was when made."""

    @property
    def path(self) -> str:
        """The game's path."""
        return f"/games/{self.id}"


def make_table(app: Player, seed: str, *holders: str, **more: Any) -> Table:
    """Make a game of these four."""
    made = app.must(201, "POST", "/games", {"seats": seats(*holders), "seed": seed, **more})
    players = {
        int(seat): Player(app.base_url, token) for seat, token in made["seat_tokens"].items()
    }
    return Table(made["game"]["id"], seed, app, players, made["game"])


class Referee:
    """The independent count of one game: `tests/oracle.py`, fed with the log, event by event."""

    def __init__(self, table: Table) -> None:
        """Deal the cards that the seed gives."""
        self.dealer = table.made["seating"]["dealer"]
        self.deals: list[oracle.RefereeDeal] = []
        self.version = 0
        self._seed = table.seed
        self._count = table.made["deals"]
        self._next_deal()

    @property
    def deal(self) -> oracle.RefereeDeal:
        """The deal in play, or the last."""
        return self.deals[-1]

    @property
    def is_over(self) -> bool:
        """Tell whether the last deal is over."""
        return self.deal.over and len(self.deals) == self._count

    @property
    def scores(self) -> list[dict[str, list[int]]]:
        """The scores of the deals that are over."""
        return [deal.score() for deal in self.deals if deal.over]

    @property
    def totals(self) -> list[int]:
        """The points of the deals that are over, by team."""
        return [sum(score["total"][team] for score in self.scores) for team in (0, 1)]

    def _next_deal(self) -> None:
        number = len(self.deals) + 1
        dealer = (self.dealer + number - 1) % 4
        pack = [CARD_NAMES[card] for card in shuffled_deck(self._seed, f"deal-{number}")]
        self.deals.append(oracle.RefereeDeal(*oracle.deal_out(pack, dealer), dealer))

    def follow(self, events: Iterable[Json]) -> Referee:
        """Play what the log says; fails on a gap, a repetition, or what the rules refuse."""
        for event in events:
            assert self.version + 1 == event["version"], "the log has a gap or a repetition"
            self.version = event["version"]
            assert (event["type"], event["deal"]) == ("played", len(self.deals))
            self.deal.play(event["seat"], event["action"])
            assert self.deal.over == ("deal_score" in event)
            if self.deal.over:
                self._check_score(event["deal_score"])
                if len(self.deals) < self._count:
                    self._next_deal()
        return self

    def _check_score(self, told: Json) -> None:
        counted = self.deal.score()
        assert counted == {part: told[part] for part in counted}
        assert self.deal.went_out == told["went_out"]

    def check_view(self, game: Json) -> None:
        """Compare GAME with what its viewer may see."""
        seat = game["viewer"]
        assert game["version"] == self.version
        assert [score["total"] for score in game["deal_scores"]] == [
            score["total"] for score in self.scores
        ]
        assert self.totals == game["scores"]
        if self.is_over:
            assert "finished" == game["status"]
            return
        told = game["deal"]
        counted = self.deal.view(seat)
        assert sorted(counted.pop("hand")) == sorted(told["hand"])
        assert list(map(sorted, counted.pop("known_cards"))) == list(
            map(sorted, told["known_cards"])
        )
        assert list(map(oracle.meld_key, counted.pop("melds"))) == list(
            map(oracle.meld_key, told["melds"])
        )
        assert counted == {part: told[part] for part in counted}
        self.check_legal_actions(game["legal_actions"] if seat == self.deal.turn else None)

    def check_legal_actions(self, told: list[Json] | None) -> None:
        """Compare a list of legal actions; None: there is none to compare."""
        if told is not None:
            counted = map(oracle.action_key, self.deal.legal_actions())
            assert sorted(counted, key=repr) == sorted(map(oracle.action_key, told), key=repr)

    def check_result(self, game: Json) -> None:
        """Compare a finished game's scores and winner with the count."""
        assert self.is_over
        assert "finished" == game["status"]
        assert len(self.scores) == len(game["deal_scores"])
        for counted, told in zip(self.scores, game["deal_scores"], strict=True):
            assert counted == {part: told[part] for part in counted}
        assert self.totals == game["scores"]
        ours, theirs = self.totals
        assert (None if ours == theirs else int(theirs > ours)) == game["winner"]
