"""A whole game over HTTP: one seat follows hints, bots play the other three.

`make demo` runs it beside `make run`. It is a client like any other: the standard library, the
API's documents, and nothing of the service. Its one seat is played with the seat's token; every
action carries the version that was seen (`If-Match`) and a key (`Idempotency-Key`), so it may be
sent again after a "come back later" without being played twice.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

Json = dict[str, Any]

NAMES = ("You", "Left", "Partner", "Right")
SEAT = 0
WAIT_S = 20
"""Of one request for news; the API allows 30."""
PATIENCE_S = 120
"""Without any news for so long, something is wrong with the workers."""
MOST_REPEATS = 5
"""How often a request is made again that the service had to put off (503, 429)."""


class DemoEnded(Exception):
    """The game cannot go on; the message is a sentence for a person."""


class Client:
    """The API at one address, as JSON in and out."""

    def __init__(self, base_url: str, token: str | None = None) -> None:
        """Use the API at `base_url`; `token` is an app key or, later, a seat's token."""
        self.base_url = base_url.rstrip("/")
        self.token = token

    def call(self, method: str, path: str, body: Json | None = None, **headers: str) -> Json:
        """Make a request and return the answer; `If_Match="…"` is the header `If-Match`.

        Raises DemoEnded with what the service says when it refuses, or when none answers.
        """
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        request = urllib.request.Request(self.base_url + path, data, sent, method=method)
        for repeats_left in reversed(range(MOST_REPEATS)):
            try:
                with urllib.request.urlopen(request, timeout=WAIT_S + 40) as answer:
                    found: Json = json.load(answer)
                    return found
            except urllib.error.HTTPError as error:
                with error:
                    problem = _problem(error)
                    pause_s = error.headers.get("Retry-After", "")
                if not (pause_s.isdigit() and repeats_left):
                    raise DemoEnded(f"{method} {path}: {problem}") from None
                time.sleep(int(pause_s))
            except (OSError, ValueError) as error:
                raise DemoEnded(
                    f"No Persian Rummy answers at {self.base_url} ({_cause(error)}).\n"
                    "Start it in another terminal with: make run\n"
                    "If it runs elsewhere, say where: PORT=8001 make demo, or "
                    "BASE_URL=http://host:8000 make demo"
                ) from None
        raise AssertionError("the last repeat returns or raises")


def _problem(error: urllib.error.HTTPError) -> str:
    """Return what an `application/problem+json` says, or the bare status."""
    try:
        problem = json.load(error)
        return f"{error.code} {problem['title']}: {problem.get('detail', '')}"
    except (ValueError, LookupError, TypeError):
        return f"{error.code} {error.reason}"


def _cause(error: Exception) -> str:
    return str(getattr(error, "reason", error))


def play_game(client: Client, options: argparse.Namespace, screen: Screen) -> Json:
    """Make a game, play it to its end and return it."""
    bots = [{"player": "bot", "level": options.level, "name": name} for name in NAMES[1:]]
    order: Json = {"seats": [{"player": "human", "name": NAMES[SEAT]}, *bots]}
    if options.seed is not None:
        order["seed"] = options.seed
    made = client.call("POST", "/games", order)
    client.token = made["seat_tokens"][str(SEAT)]
    path = f"/games/{made['game']['id']}"
    screen.say(f"{client.base_url}{path}: you follow hints, three bots play {options.level}")
    game = client.call("GET", path)
    told = 0
    while game["status"] == "playing":
        told = tell_news(client, path, told, screen)
        if game["deal"]["turn"] == SEAT:
            if game["deal"]["phase"] == "draw":
                screen.show_board(game)
            game = follow_hint(client, path, game, options.hint_iterations, screen)
        else:
            game = await_news(client, path, game["version"])
    tell_news(client, path, told, screen)
    return game


def tell_news(client: Client, path: str, told: int, screen: Screen) -> int:
    """Tell what the others have played past version `told`; return the last version."""
    for event in client.call("GET", f"{path}/actions?since={told}")["actions"]:
        told = event["version"]
        if event["type"] == "played" and event["seat"] != SEAT:
            screen.say(f"  {NAMES[event['seat']]:<8} {describe(event['action'])}")
        if "deal_score" in event:
            totals = event["deal_score"]["total"]
            scored = " and ".join(f"{_team(team)} {totals[team]:+}" for team in (0, 1))
            screen.say(f"  deal {event['deal']} is over: {scored}")
    return told


def follow_hint(client: Client, path: str, game: Json, iterations: int, screen: Screen) -> Json:
    """Ask what to play, play it, and return the game after it."""
    hint = client.call("POST", f"{path}/hints", {"iterations": iterations}, Prefer=f"wait={WAIT_S}")
    deadline = time.monotonic() + PATIENCE_S
    while hint["status"] in ("queued", "running"):
        if time.monotonic() > deadline:
            raise DemoEnded("No hint came. Is a worker of the queue `hints` running?")
        time.sleep(0.2)
        hint = client.call("GET", f"{path}/hints/{hint['id']}")
    if hint["status"] != "done":
        raise DemoEnded(f"The hint is {hint['status']}: {hint['error']}")
    best = hint["candidates"][0]
    said = screen.faint(describe_hope(best))
    screen.say(f"  {NAMES[SEAT]:<8} {describe(best['action']):<28} {said}")
    played = client.call(
        "POST",
        f"{path}/actions",
        best["action"],
        If_Match=f'"{game["version"]}"',
        Idempotency_Key=str(uuid.uuid4()),
    )
    changed: Json = played["game"]
    return changed


def await_news(client: Client, path: str, version: int) -> Json:
    """Wait until the game has moved past `version` and return it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        game = client.call("GET", f"{path}?since={version}&wait={WAIT_S}")
        if game["version"] > version:
            return game
    raise DemoEnded("The bots do not move. Is a worker of the queue `bots` running?")


def describe(action: Json) -> str:
    """Return an ACTION in words."""
    words: dict[str, str] = {
        "draw_stock": "draws from the stock",
        "take_discards": "takes {card} from the pile",
        "meld": "melds {cards}",
        "lay_off": "lays {cards} on {meld}",
        "discard": "discards {card}",
        "pass": "passes",
    }
    shown = {**action, "cards": " ".join(action.get("cards", ()))}
    return words[action["type"]].format(**shown)


def describe_hope(candidate: Json) -> str:
    """Return what a hint expects of an action; a solved end of a deal has no chance to win."""
    margin, chance = candidate["expected_margin"], candidate["win_probability"]
    return f"margin {margin:+.0f}" + ("" if chance is None else f", wins {chance:.0%}")


class Screen:
    """Where the table is drawn: plain text, with colour only on a terminal that wants it."""

    def __init__(self, out: TextIO, *, colour: bool) -> None:
        """Write to `out`."""
        self._out = out
        self._colour = colour

    def say(self, line: str = "") -> None:
        """Write a line, at once."""
        print(line, file=self._out, flush=True)

    def faint(self, text: str) -> str:
        """Return text that stands back."""
        return f"\x1b[2m{text}\x1b[0m" if self._colour else text

    def cards(self, cards: Sequence[str]) -> str:
        """Return cards side by side, diamonds and hearts in red."""
        return " ".join(
            f"\x1b[31m{card}\x1b[0m" if self._colour and card[1] in "DH" else card for card in cards
        )

    def show_board(self, game: Json) -> None:
        """Draw the table as the viewer sees it."""
        deal = game["deal"]
        self.say()
        self.say(f"---- deal {deal['number']} of {game['deals']} {'-' * 52} {game['version']:>4}")
        for team in (0, 1):
            score, laid = game["scores"][team], deal["points"][team]
            self.say(f"{_team(team):<18} {score:>4} points, {laid:>3} on the table")
        held = [f"{NAMES[s]} {deal['hand_counts'][s]}" for s in range(4) if s != SEAT]
        self.say(f"others hold  {', '.join(held)}")
        for seat in range(4):
            known = deal["known_cards"][seat]
            if known and seat != SEAT:
                self.say(f"             {NAMES[seat]} took {self.cards(known)}")
        self.say(f"stock        {deal['stock_count']} cards")
        self.say(f"pile         {self.cards(deal['discard_pile']) or '-'}")
        for meld in deal["melds"]:
            self.say(f"{meld['id']:<4} {meld['kind']:<7} {self._meld(meld)}")
        self.say(f"your hand    {self.cards(deal['hand']) or '-'}")

    def _meld(self, meld: Json) -> str:
        """Return a meld with who laid what: `JS JD JH (You) JC (Left)`."""
        runs = list(_stretches(meld["cards"], meld["laid_by"]))
        doubled = ", counts double" if meld["doubled"] else ""
        return " ".join(f"{self.cards(cards)} ({NAMES[seat]})" for seat, cards in runs) + doubled

    def show_score(self, title: str, score: Json) -> None:
        """Write a deal's score in its parts."""
        self.say()
        self.say(f"{title:<18} {'laid':>6} {'bonus':>6} {'hands':>6} {'total':>6}")
        for team in (0, 1):
            parts = [score[part][team] for part in ("laid", "bonus", "hands", "total")]
            self.say(f"{_team(team):<18} " + " ".join(f"{part:>6}" for part in parts))

    def show_result(self, game: Json) -> None:
        """Write the final score, deal by deal, and who has won."""
        for number, score in enumerate(game["deal_scores"], start=1):
            self.show_score(f"deal {number}", score)
        self.say()
        totals = ", ".join(f"{_team(team)} {game['scores'][team]}" for team in (0, 1))
        self.say(f"final score: {totals}")
        winner = game["winner"]
        self.say("a draw" if winner is None else f"{_team(winner)} won")
        self.say(f"the seed was {game['fairness']['seed']}")


def _team(team: int) -> str:
    return f"{NAMES[team]} and {NAMES[team + 2]}"


def _stretches(cards: Sequence[str], seats: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
    """Yield neighbouring cards laid by one seat."""
    held: list[str] = []
    for place, card in enumerate(cards):
        held.append(card)
        if place + 1 == len(cards) or seats[place + 1] != seats[place]:
            yield seats[place], held
            held = []


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line; the address may come from BASE_URL or PORT."""
    env = os.environ
    parser = argparse.ArgumentParser(
        prog="make demo", description="Play a game of Persian Rummy over HTTP, following hints."
    )
    parser.add_argument(
        "--base-url",
        default=env.get("BASE_URL") or f"http://127.0.0.1:{env.get('PORT') or 8000}",
        help="where the service answers (BASE_URL, or PORT on this machine; %(default)s)",
    )
    parser.add_argument("--level", default="skilled", help="of the three bots (%(default)s)")
    parser.add_argument("--seed", help="shuffle from this text, for the same cards again")
    parser.add_argument(
        "--hint-iterations",
        type=int,
        default=10_000,
        metavar="N",
        help="how long the hints think (%(default)s)",
    )
    parser.add_argument(
        "--key", default=env.get("APP_KEY"), help="an app key, where keys are required (APP_KEY)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play one game; return the exit code."""
    options = read_options(arguments)
    screen = Screen(sys.stdout, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    try:
        game = play_game(Client(options.base_url, options.key), options, screen)
        if game["status"] != "finished":
            raise DemoEnded(f"The game was {game['status']}.")
        screen.show_result(game)
    except DemoEnded as error:
        print(error, file=sys.stderr)
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
