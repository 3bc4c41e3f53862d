"""Requests made up from the document by Schemathesis: none is answered by a fault of ours.

The service is the one of a deployment, gunicorn and all, where keys are required; the caller has a
test key, so that nothing is closed to it. Statuses, content types, headers and shapes are held
against the document, what it forbids must be refused, and what it allows accepted, unless for a
reason that it cannot say (`ALLOWED`). Of the 5xx only a documented 503 is no fault. One check is
off: that nothing is there after a DELETE. Here that abandons a game or cancels a hint, which can be
read all the same.

Requests go to games that are there, some of the time: open ones, one in play, one that is over, and
one each with a hint, a bot move, a review, a match. Others are found by links, from what was
answered before.

In the tests it takes `SECONDS` and begins with one seed; `make fuzz` takes ten minutes and another
seed each time, which it prints. Of what it finds, each failure is told shortly: a made-up body may
be as long as the service allows, and would push all others out of sight.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import redis as redis_py

from service.games.access import SCOPES
from service.store.app_keys import RedisAppKeys
from tests.api.streams import served
from tests.e2e.harness import Player, free_port, seats

Json = dict[str, Any]

SECONDS = int(os.environ.get("FUZZ_S", "100"))
SEED = os.environ.get("FUZZ_SEED", "20")
EXAMPLES = 50
"""Of an operation and round; the rounds go on until the time is up."""
NO_FAULT = ("2xx", "3xx", "4xx", "503")
REFUSED = ("4xx", "503")
"""For a request that the document forbids: a body that is too large is refused for that alone."""
ALLOWED = ("2xx", "304", "401", "403", "404", "409", "410", "412", "422", "429", "503")
"""For a request that the document allows: that only one of three budgets may be given, that a
version is stale, a key used up or an address not public it cannot say."""
SHOWN = 1000
"""Characters that are shown of what was found in an answer, and of the request that got it."""
LIMITS = {
    # Long waits would leave less time, and limits by the minute little to see.
    "PERSIAN_RUMMY_MAX_WAIT_S": "0.1",
    "PERSIAN_RUMMY_MAX_STREAM_S": "0.1",
    "PERSIAN_RUMMY_ACTIONS_PER_MINUTE": "100000",
    "PERSIAN_RUMMY_HINTS_PER_MINUTE": "100000",
    "PERSIAN_RUMMY_REQUESTS_PER_MINUTE": "100000",
    "PERSIAN_RUMMY_MAX_HINTS": "0",
}


@pytest.fixture
def app(redis: redis_py.Redis, redis_url: str) -> Iterator[Player]:
    """Serve the service on this machine; return an app with a test key of all scopes."""
    key = RedisAppKeys(redis).create("fuzz", lambda _: "0" * 32, 0.0, SCOPES, is_test=True)
    port = free_port()
    with served(redis_url, port, PERSIAN_RUMMY_AUTH="required", **LIMITS):
        yield Player(f"http://127.0.0.1:{port}", key)


def make_game(app: Player, *holders: str, **more: Any) -> Json:
    """Return a new game."""
    order = {"seats": seats(*holders), "deals": 1, "seed": "fuzz", **more}
    game: Json = app.must(201, "POST", "/games", order)["game"]
    return game


def play_out(app: Player, game_id: str) -> None:
    """Play at random to the end of the game, tabling cards where that is possible."""
    rng, path = random.Random(1), f"/games/{game_id}"
    game = app.must(200, "GET", path)
    while game["status"] == "playing":
        seat = game["deal"]["turn"]
        actions = app.must(200, "GET", f"{path}/legal-actions?seat={seat}")["actions"]
        rich = [a for a in actions if a["type"] in ("meld", "lay_off", "take_discards")]
        action = {**rng.choice(rich or actions), "seat": seat}
        game = app.must(201, "POST", f"{path}/actions", action)["game"]


def make_world(app: Player) -> dict[str, list[str]]:
    """Make what requests may be about; return its ids by kind."""
    people = ["human"] * 4
    open_seats = [{"player": "open"}] * 3 + [{"player": "human"}]
    playing = make_game(app, *people)
    over = make_game(app, *people)
    clocked = make_game(app, *people, turn_seconds=3600)
    doomed = [make_game(app, *people), make_game(app, *people)]
    opened = [make_game(app, *people, seats=open_seats) for _ in range(3)]
    play_out(app, over["id"])
    position = app.must(200, "GET", f"/games/{playing['id']}?seat={playing['deal']['turn']}")
    app.must(202, "POST", f"/games/{playing['id']}/hints", {"iterations": 100})
    app.must(202, "POST", f"/games/{playing['id']}/bot-moves", {})
    app.must(202, "POST", f"/games/{over['id']}/review", {})
    app.must(202, "POST", "/positions/hints", {"position": position_of(position)})
    match = app.must(201, "POST", "/matches", {"seats": seats(*people)})["match"]
    ids = [game["id"] for game in (playing, over, clocked, *opened)]
    return {
        "games": ids,
        "clocked": [clocked["id"]],
        "doomed": [game["id"] for game in doomed],
        "matches": [match["id"]],
        "hints": ["h1"],
        "moves": ["m1"],
        "positions": ["p1"],
    }


def position_of(game: Json) -> Json:
    """Return what the viewer of GAME sees as a position to ask advice for."""
    deal = game["deal"]
    names = (
        *("number", "dealer", "turn", "phase", "due", "passes", "stock_count", "discard_pile"),
        *("hand", "hand_counts", "known_cards", "melds", "points"),
    )
    shown = {name: deal[name] for name in names}
    return {"seat": game["viewer"], "deals": game["deals"], "scores": game["scores"], **shown}


def configuration(world: dict[str, list[str]]) -> str:
    """Return a `schemathesis.toml`: every fourth id is made up, the others are of the world."""
    lines = [
        f"[checks.not_a_server_error]\nexpected-statuses = {json.dumps(NO_FAULT)}",
        "[checks.use_after_free]\nenabled = false",
        f"[checks.negative_data_rejection]\nexpected-statuses = {json.dumps(REFUSED)}",
        f"[checks.positive_data_acceptance]\nexpected-statuses = {json.dumps(ALLOWED)}",
    ]
    lines += [f"[dictionaries.{kind}]\nvalues = {json.dumps(ids)}" for kind, ids in world.items()]
    lines += [
        "[parameters]",
        *(
            f'"path.{name}" = {{ dictionary = "{kind}", probability = 0.75 }}'
            for name, kind in {
                "game_id": "games",
                "match_id": "matches",
                "hint_id": "hints",
                "move_id": "moves",
            }.items()
        ),
    ]
    for operation, parameter, kind in (
        ("DELETE /games/{game_id}", "path.game_id", "doomed"),
        ("POST /sandbox/clock", "body.game_id", "clocked"),
        ("GET /positions/hints/{hint_id}", "path.hint_id", "positions"),
        ("DELETE /positions/hints/{hint_id}", "path.hint_id", "positions"),
    ):
        lines.append(f'[[operations]]\ninclude-name = "{operation}"\n[operations.parameters]')
        lines.append(f'"{parameter}" = {{ dictionary = "{kind}", probability = 0.75 }}')
    return "\n".join(lines) + "\n"


def shortened(report: str) -> list[str]:
    """Return each failure in a JUnit REPORT of Schemathesis: the operation, the check, the answer
    and the request, the latter two cut.
    """
    found = []
    for operation in ElementTree.fromstring(report).iter("testcase"):
        for failure in operation.iter("failure"):
            for case in re.split(r"^\d+\. Test Case ID: ", failure.text or "", flags=re.M)[1:]:
                answer, _, request = case.partition("Reproduce with:")
                parts = (answer.strip()[:SHOWN], request.strip()[:SHOWN])
                found.append("\n".join((operation.attrib["name"], *parts)))
    return found


def test_a_long_request_hides_no_other_failure() -> None:
    """Both are told, the long one cut."""
    case = "{0}. Test Case ID: a{0}\n\n- Undocumented\n\n[408]\n\nReproduce with:\n\n    curl {1}\n"
    cases = "\n".join((case.format(1, "x" * 100_000), case.format(2, "y")))
    report = f"<a><testcase name='POST /games'><failure>{cases}</failure></testcase><testcase/></a>"

    long, short = shortened(report)

    assert short == "POST /games\na2\n\n- Undocumented\n\n[408]\ncurl y"
    assert long.startswith("POST /games\na1\n\n- Undocumented")
    assert len(long) < 2 * SHOWN


@pytest.mark.slow
@pytest.mark.first
def test_made_up_requests_find_no_fault(app: Player, tmp_path: Path) -> None:
    """All its phases: examples, edge cases, fuzzing and links, valid and invalid data."""
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(configuration(make_world(app)))
    report = tmp_path / "junit.xml"
    run = subprocess.run(
        [
            *(str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(settings)),
            *("run", f"{app.base_url}/openapi.json", "--no-color", "--mode", "all"),
            *("--header", f"Authorization: Bearer {app.token}"),
            *("--max-time", str(SECONDS), "--max-examples", str(EXAMPLES)),
            *("--report-junit-path", str(report)),
            *(("--seed", SEED) if SEED else ()),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS + 120,
        check=False,
    )
    print(run.stdout[-2000:])

    # Else it did not get as far as that, and its report is empty.
    assert run.returncode in (0, 1), run.stdout[-8000:] + run.stderr[-2000:]
    failures = shortened(report.read_text())
    told = "\n\n".join([*failures, run.stdout[-2000:], run.stderr[-2000:]])
    assert (run.returncode, failures) == (0, []), told
    generated = re.search(r"([\d,]+) generated", run.stdout)
    assert generated is not None
    assert int(generated[1].replace(",", "")) > 1000
