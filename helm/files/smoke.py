"""Check a running service as one of its clients: `smoke.py game|hint`. Standard library only.

`game`: a game of one person and three bots is made, one turn is played with the legal actions that
the API offers, and the bots answer it. `hint`: a hint is asked for and comes. `API_URL` says where;
`APP_KEY` is an app's key, where the service wants one.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any

PATIENCE_S = 60
SEATS = [{"player": "human", "name": "Smoke"}] + [{"player": "bot", "level": "greedy"}] * 3


def call(method: str, path: str, body: Any = None, *, wait_s: int = 0) -> Any:
    """Make a request, again while the service puts it off; return the answer's JSON."""
    sent = {"Content-Type": "application/json"}
    if os.environ.get("APP_KEY"):
        sent["Authorization"] = f"Bearer {os.environ['APP_KEY']}"
    if wait_s:
        sent["Prefer"] = f"wait={wait_s}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["API_URL"] + path, data, sent, method=method)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(request, timeout=wait_s + 10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            told = error.read().decode(errors="replace")
            if error.code == 401:
                sys.exit("the service wants an app key: give one in tests.appKeySecret")
            if error.code not in (429, 503) or time.monotonic() > deadline:
                sys.exit(f"{method} {path}: {error.code} {told}")
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"{method} {path}: {error}")
        time.sleep(1)


def until(path: str, is_so: Any, what: str) -> Any:
    """Read `path` until `is_so` of it; end with a sentence when it does not come to that."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so(found := call("GET", path)):
        if time.monotonic() > deadline:
            sys.exit(f"after {PATIENCE_S} s {what}")
        time.sleep(0.2)
    return found


def await_turn(path: str) -> Any:
    """Return the game when seat 0 is to move, or it is over: the bots have answered."""
    return until(
        path,
        lambda game: game["status"] != "playing" or game["deal"]["turn"] == 0,
        "no bot has answered: does a worker of the queue bots run?",
    )


def play_a_turn(path: str) -> None:
    """Play seat 0's turn with the last legal action each time, and wait for the bots."""
    game = await_turn(path)
    deal = game["deal"]["number"]
    for _ in range(200):
        if game["status"] != "playing" or game["deal"]["turn"] != 0:
            break
        actions = call("GET", f"{path}/legal-actions?seat=0")["actions"]
        game = call("POST", f"{path}/actions", actions[-1] | {"seat": 0})["game"]
        if game["deal"]["number"] != deal:
            break
    game = await_turn(path)
    print(f"a turn was played and answered by bots; version {game['version']}")


def get_a_hint(path: str) -> None:
    """Ask for advice and wait for it."""
    await_turn(path)
    hint = call("POST", f"{path}/hints", {"seat": 0, "iterations": 500}, wait_s=20)
    hint = until(
        f"{path}/hints/{hint['id']}",
        lambda found: found["status"] not in ("queued", "running"),
        "no hint has come: does a worker of the queue hints run?",
    )
    if hint["status"] != "done":
        sys.exit(f"the hint ended as {hint['status']}")
    print(
        f"a hint came: {json.dumps(hint['best'])} after {hint['search']['iterations']} iterations"
    )


def main(what: str) -> None:
    """Make a game, do with it what is asked for, and abandon it."""
    call("GET", "/readyz")
    path = f"/games/{call('POST', '/games', {'seats': SEATS})['game']['id']}"
    {"game": play_a_turn, "hint": get_a_hint}[what](path)
    if call("GET", path)["status"] == "playing":
        sent = (
            {"Authorization": f"Bearer {os.environ['APP_KEY']}"} if "APP_KEY" in os.environ else {}
        )
        url = os.environ["API_URL"] + path
        with urllib.request.urlopen(urllib.request.Request(url, headers=sent, method="DELETE")):
            pass


if __name__ == "__main__":
    main(sys.argv[1])
