"""After the end, through real processes: record, review, a match; and positions of other games."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.e2e.harness import ROOT, Player, Service, make_table, wait_until

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
VERIFIER = ROOT / "openapi" / "examples" / "verify_record.py"
BOTS = [{"player": "bot", "level": level} for level in ("greedy", "novice", "greedy", "novice")]


def finished(app: Player, path: str) -> Json:
    """Wait until a game of bots, or a match, is over."""
    found: list[Json] = []

    def is_over() -> bool:
        found[:] = [app.must(200, "GET", path)]
        return bool(found[0]["status"] == "finished")

    wait_until(is_over, 60, path)
    return found[0]


def check_record(record: Json) -> None:
    """Run the stand-alone verifier."""
    done = subprocess.run(
        [sys.executable, "-I", str(VERIFIER)],
        input=json.dumps(record),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_game_of_bots_is_verified_and_reviewed(service: Service) -> None:
    """The reviews' own worker does it, while progress can be read; each player has figures."""
    app = service.app
    made = app.must(201, "POST", "/games", {"seats": BOTS, "seed": "look", "deals": 1})
    path = f"/games/{made['game']['id']}"
    finished(app, path)
    check_record(app.must(200, "GET", f"{path}/record"))

    began = time.monotonic()
    app.must(202, "POST", f"{path}/review", {"iterations": 200})
    review = app.must(200, "GET", f"{path}/review")
    while review["status"] in ("queued", "running"):
        assert time.monotonic() - began < 60
        time.sleep(0.2)
        review = app.must(200, "GET", f"{path}/review")

    assert (review["status"], review["progress"]) == ("done", 1.0)
    assert sum(player["decisions"] for player in review["players"]) == len(review["decisions"]) > 20
    print(f"\n{len(review['decisions'])} decisions in {time.monotonic() - began:.1f} s")


def test_a_match_of_bots_has_a_result(service: Service) -> None:
    """Both tables are played by the bots' worker; the records are told after both."""
    made = service.app.must(201, "POST", "/matches", {"seats": BOTS, "deals": 1})
    found = finished(service.app, f"/matches/{made['match']['id']}")

    points = found["result"]["points"]
    assert found["result"]["margin"] == points[0] - points[1]
    for table in found["tables"]:
        record = service.app.must(200, "GET", f"/games/{table['game_id']}/record")
        check_record(record)
        assert record["fairness"]["seed"] == found["fairness"]["seed"]


def test_a_positions_advice_is_that_of_the_game_it_is_from(service: Service) -> None:
    """Seed for seed, by real workers."""
    table = make_table(service.app, "e2e-position", "human", "human", "human", "human")
    game = service.app.must(200, "GET", table.path)
    seat = game["deal"]["turn"]
    view = service.app.must(200, "GET", f"{table.path}?seat={seat}")
    position = {**view["deal"], "seat": seat, "deals": view["deals"], "scores": view["scores"]}
    budget = {"iterations": 1000, "seed": "e2e"}
    wait = {"Prefer": "wait=20"}

    hosted = service.app.must(200, "POST", f"{table.path}/hints", budget, **wait)
    asked = {"position": position, **budget}
    sent = service.app.must(200, "POST", "/positions/hints", asked, **wait)
    assert sent["candidates"] == hosted["candidates"]
    assert sent["best"] == hosted["best"]
