"""What clients did and saw while parts of the service failed, and whether it can be true.

In the manner of Jepsen: clients know only what they were answered. A request whose answer did not
come may have been done or not, and is sent again with its Idempotency-Key until it is answered for
good. Afterwards the record of the game and the histories of its clients are held against the
referee of `tests/oracle.py`, a sequential model of the game:

- an action that was answered 201 is in the log once, at the version that was told;
- no other action of a person is there: what was refused was not done;
- the log, in its order, is accepted by the referee;
- each view that anybody got is the referee's after as many actions as its version says;
- who has seen a version is never shown an earlier one.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.api.streams import StreamRefused, stream_at
from tests.e2e.harness import Answer, Player, Referee, Table

Json = dict[str, Any]

NO_ANSWER = (OSError, http.client.HTTPException, json.JSONDecodeError)
"""What a client meets when the process that it talks to is killed, in the middle of an answer too.
"""
PATIENCE_S = 60.0
"""How long a client repeats one request; longer than any fault and the recovery from it."""
REPEAT_S = 0.1
LOST = 0.1
"""How many answers get lost on their way."""
REFUSED = (409, 412)


@dataclass(frozen=True)
class Acknowledged:
    """An action that a client was told is done."""

    key: str
    event: Json
    is_replayed: bool


@dataclass
class History:
    """What the clients of one game did and saw; shared by their threads."""

    table: Table
    acknowledged: list[Acknowledged] = field(default_factory=list)
    views: list[Json] = field(default_factory=list)
    told: list[Json] = field(default_factory=list)
    """Events in the order in which a listener was told of them."""
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        """Count one more."""
        with self.lock:
            self.counts[what] += 1


def insist(
    player: Player,
    count: Callable[[str], None],
    method: str,
    path: str,
    body: Any,
    is_lost: Callable[[], bool] = lambda: False,
    **headers: str,
) -> Answer:
    """Send a request until its answer is a final one, the same each time; return that.

    `is_lost` tells of an answer whether it got lost on its way."""
    deadline = time.monotonic() + PATIENCE_S
    last: Answer | Exception
    while True:
        try:
            last = answer = player.ask(method, path, body, **headers)
        except NO_ANSWER as error:
            count("no answer")
            last = error
        else:
            assert answer.status == 503 or answer.status < 500, (method, path, answer)
            if answer.status == 503:
                count("503")
            elif is_lost():
                count("answer lost")
                continue
            else:
                return answer
        assert time.monotonic() < deadline, f"{method} {path}: for {PATIENCE_S:g} s {last!r}"
        time.sleep(REPEAT_S)


@dataclass
class Client:
    """One client of one game, who plays some of its seats."""

    history: History
    seats: dict[int, Player]
    """For each seat who plays it: the holder of its token, or the app."""
    rng: random.Random
    seen: int = 0
    """The newest version that it was shown."""

    def look(self, seat: int) -> Json:
        """Return the game as the seat sees it, and note that."""
        path = f"{self.history.table.path}?seat={seat}"
        game: Json = insist(self.seats[seat], self.history.count, "GET", path, None).body
        self.note(game)
        return game

    def note(self, game: Json) -> None:
        """Note a view; it is no older than those before."""
        assert self.seen <= game["version"], "a client was shown an earlier version than before"
        self.seen = game["version"]
        with self.history.lock:
            self.history.views.append(game)

    def step(self) -> bool:
        """Look, and play if one of the seats is to move; False when the game is over."""
        seat = self.rng.choice(list(self.seats))
        game = self.look(seat)
        if game["status"] != "playing":
            return False
        if game["deal"]["turn"] == seat and game["legal_actions"]:
            self.play(seat, game)
        else:
            time.sleep(self.rng.uniform(0.02, 0.06))
        return True

    def _loses_answer(self) -> bool:
        return self.rng.random() < LOST

    def play(self, seat: int, game: Json) -> None:
        """Play one action that the view lists, and note what came of it."""
        rich = [a for a in game["legal_actions"] if a["type"] in ("meld", "lay_off")]
        # For the app the list names the seat.
        body = self.rng.choice(rich or game["legal_actions"])
        action = {name: value for name, value in body.items() if name != "seat"}
        key = uuid.uuid4().hex
        headers = {"Idempotency_Key": key}
        if self.rng.random() < 0.5:
            headers["If_Match"] = f'"{game["version"]}"'
        path = f"{self.history.table.path}/actions"
        count = self.history.count
        answer = insist(self.seats[seat], count, "POST", path, body, self._loses_answer, **headers)
        if answer.status in REFUSED:
            self.history.count("refused")
            return
        assert answer.status == 201, answer
        is_replayed = answer.headers.get("idempotent-replayed") == "true"
        done = Acknowledged(key, answer.body["action"], is_replayed)
        assert (done.event["seat"], done.event["action"]) == (seat, action)
        with self.history.lock:
            self.history.acknowledged.append(done)
            self.history.views.append(answer.body["game"])
        self.seen = max(self.seen, done.event["version"])


def listen(history: History, port: int, is_given_up: Callable[[], bool]) -> None:
    """Follow the game's events to its end; taken up again each time that the stream breaks."""
    while not is_given_up():
        last = history.told[-1]["version"] if history.told else 0
        try:
            path = f"{history.table.path}/events"
            with stream_at(port, path, Last_Event_ID=str(last)) as events:
                for event in events:
                    if event.kind == "action":
                        history.told.append(event.data)
                    if event.kind == "game_finished":
                        return
                    if is_given_up():
                        return
        except StreamRefused:
            history.count("streams refused")
            time.sleep(REPEAT_S)
        except (*NO_ANSWER, AssertionError, ValueError):
            # Cut, in the middle of an event too.
            time.sleep(REPEAT_S)
        history.count("streams taken up again")


def check_history(history: History) -> int:
    """Hold a game's log against what its clients know; return the log's length."""
    table = history.table
    log = table.app.log(table.id)
    check_acknowledged(history, log)
    assert history.told == log[: len(history.told)], "a stream had a gap or a repetition"
    views: dict[int, dict[bytes, Json]] = defaultdict(dict)
    for game in history.views:
        # Who waits for the others sees the same again and again.
        views[game["version"]][orjson.dumps(game)] = game
    assert max(views, default=0) <= len(log), "a view shows more than was done"
    referee = Referee(table)
    for version in range(len(log) + 1):
        if version:
            referee.follow([log[version - 1]])
        for game in views[version].values():
            referee.check_view(game)
    return len(log)


def check_acknowledged(history: History, log: list[Json]) -> None:
    """Hold the persons' actions in the log against those that were acknowledged, one to one."""
    by_version: dict[int, Acknowledged] = {}
    for done in history.acknowledged:
        other = by_version.setdefault(done.event["version"], done)
        assert other is done, f"two requests were given one version: {other} {done}"
    for version, done in by_version.items():
        assert version <= len(log), f"an acknowledged action is lost: {done}"
        entry = log[version - 1]
        for name in ("version", "seat", "action", "by", "type", "deal"):
            assert entry[name] == done.event[name], (entry, done)
    persons = {entry["version"] for entry in log if entry["by"] == "human"}
    assert persons == set(by_version), "an action is in the log that nobody was told is done"
