"""The short form of `make load`: few users for some seconds, and a whole report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import ROOT
from tests.load.samples import ACTIONS, WAITS, percentile_between, read_sample

KINDS = {
    "POST /games/{game_id}/actions",
    "GET [news of /games/{game_id}]",
    "POST [hint]",
    "GET [stream of /games/{game_id}/events]",
}


def measure(seconds: int, out: Path) -> tuple[str, dict[str, Any]]:
    """Play for so long; return what was printed, and the figures."""
    options = ("--users", "9", "--seconds", str(seconds), "--think", "0", "--out", str(out))
    run = subprocess.run(
        [sys.executable, "-m", "tests.load", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == run.returncode, run.stderr
    return run.stdout, json.loads((out / "figures.json").read_text())


@pytest.mark.e2e
@pytest.mark.slow
def test_users_of_all_kinds_play_and_are_reported(tmp_path: Path) -> None:
    """No request fails, and what was measured is in the page, its plots and the figures."""
    # On a busy machine some kinds of requests may not come up in a short run.
    for seconds in (5, 40, 120):
        printed, figures = measure(seconds, tmp_path)
        (measured,) = figures["rounds"]
        rows = {row["name"]: row for row in measured["rows"]}
        if rows.keys() >= KINDS:
            break

    assert 9 == measured["users"]
    assert rows.keys() >= KINDS
    assert [] == [(name, row["failures"]) for name, row in rows.items() if row["failures"]]
    assert measured["job_wait_p99_ms"] > 0
    assert "jobs wait" in printed
    page = (tmp_path / "report.html").read_text()
    assert "9 users" in page
    for name in ("throughput", "percentiles", "queue"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


METRICS = """
# TYPE persian_rummy_http_requests_total counter
persian_rummy_http_requests_total{{method="GET",route="/bots",status="200"}} {requests}
persian_rummy_http_requests_total{{method="GET",route="/metrics",status="200"}} 99
# TYPE persian_rummy_job_wait_seconds histogram
persian_rummy_job_wait_seconds_bucket{{le="0.1",queue="bots"}} {quick}
persian_rummy_job_wait_seconds_bucket{{le="0.2",queue="bots"}} {all}
persian_rummy_job_wait_seconds_bucket{{le="+Inf",queue="bots"}} {all}
"""


def test_percentiles_are_those_between_two_samples() -> None:
    """What was counted before does not count; what looks on is no load."""
    before = read_sample(METRICS.format(requests=5, quick=100, all=100), 1.0)
    after = read_sample(METRICS.format(requests=7, quick=110, all=120), 2.0)

    assert 2 == after.requests - before.requests
    assert 0.05 == pytest.approx(percentile_between(before, after, WAITS, 0.25))
    assert 0.15 == pytest.approx(percentile_between(before, after, WAITS, 0.75))
    assert 0.0 == percentile_between(before, after, ACTIONS, 0.5)
    assert 0.0 == percentile_between(after, after, WAITS, 0.5)
