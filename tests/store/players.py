"""Clients that play games while servers fail, and remember what they were told is done."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from service.games.ports import GameStore
from tests.api.client import ApiClient, Table
from tests.e2e.harness import wait_until

PATIENCE_S = 60.0


class Player(threading.Thread):
    """Plays one game after the other until told to stop, and remembers what it was told is done."""

    def __init__(self, api: ApiClient, games: int = 3) -> None:
        """Make the games; nothing is played yet."""
        super().__init__(daemon=True)
        self.tables = [Table(api) for _ in range(games)]
        self.acknowledged: list[tuple[str, dict[str, Any]]] = []
        """Game and event of each action."""
        self.refused = 0
        """Answers 503."""
        self.longest_s = 0.0
        """Between two acknowledged actions."""
        self.is_to_stop = threading.Event()
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Play; a lost game (its creation was acknowledged too) ends it as a fault."""
        try:
            last = time.monotonic()
            for table in self.tables:
                while not self.is_to_stop.is_set() and self._act(table):
                    self.longest_s = max(self.longest_s, time.monotonic() - last)
                    last = time.monotonic()
        except BaseException as error:
            self.fault = error

    def _act(self, table: Table) -> bool:
        """Ask what is legal and play it; repeat what was put off, by its key. False at the end."""
        game = self._ask(lambda: table.api.get(table.path)).json
        if game["status"] != "playing":
            return False
        seat = game["deal"]["turn"]
        token = table.tokens[seat]
        legal = self._ask(lambda: table.api.get(f"{table.path}/legal-actions", token=token))
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        # What was acknowledged may be lost between two requests: then it is another's turn.
        if legal.status == 200 and legal.json["actions"]:
            action = legal.json["actions"][-1]
            answer = self._ask(lambda: table.play(seat, action, headers=headers))
            if answer.status == 201:
                self.acknowledged.append((table.id, answer.json["action"]))
        return True

    def _ask(self, ask: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while (answer := ask()).status == 503:
            self.refused += 1
            assert time.monotonic() < deadline, "503 for too long"
            time.sleep(0.05)
        return answer

    def lost(self, store: GameStore) -> int:
        """Return how many actions that were acknowledged are not in the logs of `store`."""
        entries = {
            (table.id, entry["version"]): entry
            for table in self.tables
            for entry in store.read_log(table.id, 0, 100_000)
        }
        return sum(
            1
            for game_id, event in self.acknowledged
            if (entry := entries.get((game_id, event["version"]))) is None
            or entry["at"] != event["at"]
            or entry["action"] != event["action"]
        )


def played(players: list[Player]) -> int:
    """Return how many actions were acknowledged so far."""
    return sum(len(player.acknowledged) for player in players)


def put_off(players: list[Player]) -> int:
    """Return how many requests were answered 503 so far."""
    return sum(player.refused for player in players)


def has_gone_on(player: Player, before: int) -> bool:
    """Tell whether a player has played some more, or ended."""
    return not player.is_alive() or len(player.acknowledged) > before + 2


def start_players(api: ApiClient, count: int) -> list[Player]:
    """Return players at play, each of whom has been told of some actions by now."""
    players = [Player(api) for _ in range(count)]
    for player in players:
        player.start()
    wait_until(lambda: played(players) > 30, PATIENCE_S, "some actions")
    return players


def play_on_and_stop(players: list[Player]) -> None:
    """Return when each player has gone on playing and then stopped."""
    before = [len(player.acknowledged) for player in players]
    wait_until(lambda: all(map(has_gone_on, players, before)), PATIENCE_S, "games to go on")
    for player in players:
        player.is_to_stop.set()
    for player in players:
        player.join()


def figures_of(players: list[Player], store: GameStore) -> dict[str, float]:
    """Return what became of all that the players were told, by what `store` has of it."""
    return {
        "acknowledged": played(players),
        "lost": sum(player.lost(store) for player in players),
        "put_off": put_off(players),
        "longest_s": round(max(player.longest_s for player in players), 2),
    }
