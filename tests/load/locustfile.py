"""Whole games as locust plays them: people, bots, hints, streams of events.

Run by `tests/load/__main__.py` (`make load`), or by hand:

    locust -f tests/load/locustfile.py --headless -H http://127.0.0.1:8000 -u 20 -r 5 -t 60s

Each user plays game after game to its end. `PersonAmongBots` is the usual game: one person, three
bots, who waits for news by long polls. `FourPeople` plays all four seats, so that no worker is in
it. `Advised` asks for a hint at each turn and plays it. `Onlooker` is a person among bots who hears
of the bots' turns by a stream of events in place of polls. A person thinks for `THINK_S` seconds
before an action; 0 for as fast as it goes.

Requests are named by route; what is waited for on purpose (news, hints, streams) has names in
brackets, so that it is not mixed up with what should be quick.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from typing import Any

from locust import FastHttpUser, events, task

Json = dict[str, Any]
THINK_S = float(os.environ.get("LOAD_THINK_S") or 0.5)
BOTS = os.environ.get("LOAD_BOTS") or "greedy"
HINT_ITERATIONS = int(os.environ.get("LOAD_HINT_ITERATIONS") or 2000)
KEY = os.environ.get("LOAD_KEY") or ""
POLL_S = 20
PERSON, BOT = {"player": "human"}, {"player": "bot", "level": BOTS}


class GameLost(RuntimeError):
    """A request of a game failed; the user begins another game."""


class Player(FastHttpUser):
    """One who plays games by HTTP."""

    abstract = True
    seats: tuple[Json, ...] = (PERSON, BOT, BOT, BOT)

    def on_start(self) -> None:
        """Choose as one would who knows the rules, differently from others."""
        self.rng = random.Random(self.environment.runner.user_count * 7919 + id(self))

    def wait_time(self) -> float:
        """Return the pause between two games."""
        return 0.1

    @task
    def play_game(self) -> None:
        """Play one game to its end."""
        made = self.ask("POST", "/games", "/games", {"seats": list(self.seats)}, 201)
        self.game_id = made["game"]["id"]
        self.tokens = made["seat_tokens"]
        game = made["game"]
        began = time.perf_counter()
        while game["status"] == "playing":
            game = self.turn(game)
        events.request.fire(
            request_type="GAME",
            name="[a whole game]",
            response_time=1000 * (time.perf_counter() - began),
            response_length=0,
            exception=None,
            context={},
        )

    def turn(self, game: Json) -> Json:
        """Play an action, or wait for one; return the game as it then is."""
        seat = game["deal"]["turn"]
        if str(seat) not in self.tokens:
            return self.await_news(game)
        if game["viewer"] != seat or not game["legal_actions"]:
            game = self.look(seat)
            if game["status"] != "playing" or game["deal"]["turn"] != seat:
                return game
        if THINK_S:
            time.sleep(self.rng.expovariate(1 / THINK_S))
        return self.act(game, self.choose(game))

    def choose(self, game: Json) -> Json:
        """Choose an action that goes on with the game: melds are rare, so that deals are long."""
        actions: list[Json] = game["legal_actions"]
        melds = [each for each in actions if each["type"] in ("meld", "lay_off")]
        if melds and self.rng.random() < 0.5:
            return self.rng.choice(melds)
        plain = [each for each in actions if each["type"] in ("draw_stock", "discard", "pass")]
        return self.rng.choice(plain or actions)

    def act(self, game: Json, action: Json) -> Json:
        """Post an action for the version that was seen."""
        path = f"/games/{game['id']}/actions"
        headers = {"If-Match": f'"{game["version"]}"'}
        seat = str(game["deal"]["turn"])
        answer = self.ask(
            "POST", path, "/games/{game_id}/actions", action, 201, self.tokens[seat], headers
        )
        played: Json = answer["game"]
        return played

    def look(self, seat: int) -> Json:
        """Read the game with a seat's eyes."""
        token = self.tokens[str(seat)]
        return self.ask("GET", f"/games/{self.game_id}", "/games/{game_id}", token=token)

    def await_news(self, game: Json) -> Json:
        """Wait by a long poll until the game has moved on."""
        path = f"/games/{game['id']}?since={game['version']}&wait={POLL_S}"
        token = self.tokens[str(game["viewer"])] if game["viewer"] is not None else self.any_token()
        return self.ask("GET", path, "[news of /games/{game_id}]", token=token)

    def any_token(self) -> str:
        """Return the token of a seat of ours."""
        token: str = next(iter(self.tokens.values()))
        return token

    def ask(
        self,
        method: str,
        path: str,
        name: str,
        body: Json | None = None,
        status: int = 200,
        token: str = "",
        headers: Json | None = None,
    ) -> Json:
        """Make a request, counted under `name`; raises GameLost for another status."""
        sent = dict(headers or {})
        if token or KEY:
            sent["Authorization"] = f"Bearer {token or KEY}"
        with self.client.request(
            method, path, name=name, json=body, headers=sent, catch_response=True
        ) as answer:
            if answer.status_code != status:
                answer.failure(f"{answer.status_code}: {(answer.text or '')[:200]}")
                raise GameLost
            return answer.json()  # type: ignore[no-any-return]


class PersonAmongBots(Player):
    """The usual game."""

    weight = 6


class FourPeople(Player):
    """No bot: what the API and Redis bear alone."""

    weight = 1
    seats = (PERSON,) * 4


class Advised(Player):
    """Who asks for a hint at each turn and plays it."""

    weight = 1

    def choose(self, game: Json) -> Json:
        """Ask, wait, and play the best, which is advice for the version that was seen."""
        if len(game["legal_actions"]) == 1:
            return game["legal_actions"][0]  # type: ignore[no-any-return]
        seat = str(game["deal"]["turn"])
        order = {"iterations": HINT_ITERATIONS}
        hint = self.ask(
            "POST",
            f"/games/{game['id']}/hints",
            "[hint]",
            order,
            200,
            self.tokens[seat],
            {"Prefer": "wait=20"},
        )
        best: Json = hint["best"]
        return best


class Onlooker(Player):
    """Who hears of the bots' turns by a stream."""

    weight = 1

    def await_news(self, game: Json) -> Json:
        """Listen until it is one's turn, or the game is over; then look."""
        token = self.any_token()
        seat = int(next(iter(self.tokens)))
        headers = {"Authorization": f"Bearer {token}", "Last-Event-ID": str(game["version"])}
        with self.client.get(
            f"/games/{game['id']}/events",
            name="[stream of /games/{game_id}/events]",
            headers=headers,
            stream=True,
            catch_response=True,
        ) as answer:
            now = game
            for kind in _events(answer.stream):
                if kind != "action":
                    continue
                now = self.look(seat)
                if now["status"] != "playing" or now["deal"]["turn"] == seat:
                    break
            answer.stream.release()
        return now if now is not game else self.look(seat)


def _events(stream: Any) -> Iterator[str]:
    """Yield the kinds of a stream's events as they come."""
    while line := stream.readline(b"\n"):
        if line.startswith(b"event:"):
            yield line.partition(b":")[2].strip().decode()
