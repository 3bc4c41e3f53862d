"""Clients at some tables, each in a thread of its own, whatever happens to the service."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter

from tests.e2e.harness import Player, Table, seats
from tests.faults.history import Client, History, insist, listen

TABLES = 2
SETTLE_S = 90.0
"""How long games may take to their end after the last fault, on a busy machine too."""


class Crowd:
    """Clients at some tables: for each two people, their app, a listener; and two bots."""

    def __init__(self, app: Player, rng: random.Random) -> None:
        """Nothing is asked yet; all ask where `app` does."""
        self.app = app
        self.rng = rng
        self.histories: list[History] = []
        self.errors: list[BaseException] = []
        self.counts: Counter[str] = Counter()
        self.is_last = threading.Event()
        """Set: no new game is begun."""
        self.is_over = threading.Event()
        """Set: games are left as they are."""

    def start(self) -> list[threading.Thread]:
        """Start a thread for each table, which starts those of its clients, game after game."""
        threads = [threading.Thread(target=self._play_games, args=(n,)) for n in range(TABLES)]
        for thread in threads:
            thread.start()
        return threads

    def end(self, threads: list[threading.Thread], settle_s: float) -> None:
        """Let the games in play come to their end, within `settle_s`, and leave them then."""
        self.is_last.set()
        deadline = time.monotonic() + settle_s
        for thread in threads:
            thread.join(max(0, deadline - time.monotonic()))
        self.is_over.set()
        for thread in threads:
            thread.join()

    def total(self) -> Counter[str]:
        """Return what all clients have counted."""
        return sum((history.counts for history in self.histories), self.counts)

    def _play_games(self, number: int) -> None:
        rng = random.Random(self.rng.random())
        game = 0
        while not self.is_last.is_set() and not self.errors:
            game += 1
            with self.noting_errors():
                self.play_one(self.make_table(f"faults {number} {game}"), rng)

    def make_table(self, seed: str) -> Table:
        """Make a game, though it take many tries: of these one makes it."""
        app = self.app
        order = {"seats": seats("human", "greedy", "human", "greedy"), "seed": seed, "deals": 1}
        key = uuid.uuid4().hex
        answer = insist(app, self.count, "POST", "/games", order, Idempotency_Key=key)
        assert answer.status == 201, answer
        made = answer.body
        players = {int(s): Player(app.base_url, t) for s, t in made["seat_tokens"].items()}
        return Table(made["game"]["id"], seed, app, players, made["game"])

    def count(self, what: str) -> None:
        """Count one more of what belongs to no game."""
        self.counts[what] += 1

    def play_one(self, table: Table, rng: random.Random) -> None:
        """Play one game to its end, or until it is to be left."""
        history = History(table)
        self.histories.append(history)
        players = [{seat: player} for seat, player in table.players.items()]
        players.append(dict.fromkeys(table.players, table.app))
        clients = [Client(history, played, random.Random(rng.random())) for played in players]
        threads = [threading.Thread(target=self._play, args=(client,)) for client in clients]
        port = int(table.app.base_url.rpartition(":")[2])
        listening = threading.Thread(target=listen, args=(history, port, self._is_given_up))
        for thread in (*threads, listening):
            thread.start()
        for thread in (*threads, listening):
            thread.join()

    def _play(self, client: Client) -> None:
        with self.noting_errors():
            while client.step() and not self._is_given_up():
                pass

    def _is_given_up(self) -> bool:
        return self.is_over.is_set() or bool(self.errors)

    def noting_errors(self) -> _Noting:
        """Return a block whose error is noted, for the test to raise."""
        return _Noting(self.errors)


class _Noting:
    """Keeps what was raised in a thread for the test to raise."""

    def __init__(self, errors: list[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if error is not None:
            self._errors.append(error)
        return error is not None
