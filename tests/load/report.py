"""The report of a load run: one page of HTML with its plots, each as PNG beside it, and the figures
as JSON.
"""

from __future__ import annotations

import base64
import csv
import html
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.load.samples import WAITS, Sample, percentile_between

ACTION_ROUTE = "/games/{game_id}/actions"
AIM_MS = 100
COLUMNS = ("requests", "failures", "requests_a_second", "p50_ms", "p95_ms", "p99_ms", "most_ms")


@dataclass(frozen=True)
class Row:
    """What locust says of one kind of request."""

    name: str
    requests: int
    failures: int
    requests_a_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    most_ms: float


@dataclass(frozen=True)
class Round:
    """One number of users at once."""

    users: int
    rows: list[Row]
    samples: list[Sample]

    @classmethod
    def read(cls, users: int, prefix: Path, samples: list[Sample]) -> Round:
        """Read what locust has written at `prefix`."""
        with Path(f"{prefix}_stats.csv").open(newline="") as file:
            rows = [
                Row(
                    f"{each['Type']} {each['Name']}".strip(),
                    int(each["Request Count"]),
                    int(each["Failure Count"]),
                    float(each["Requests/s"]),
                    *(_number(each[part]) for part in ("50%", "95%", "99%", "100%")),
                )
                for each in csv.DictReader(file)
            ]
        return cls(users, rows, samples)

    @property
    def actions(self) -> Row:
        """The actions of people."""
        return next(
            (row for row in self.rows if row.name == f"POST {ACTION_ROUTE}"),
            Row(ACTION_ROUTE, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0),
        )

    @property
    def requests_a_second(self) -> float:
        """Of all kinds, as the service counts them."""
        first, last = self.samples[0], self.samples[-1]
        return (last.requests - first.requests) / max(last.at_s - first.at_s, 1e-9)

    def wait_ms(self, part: float) -> float:
        """Milliseconds that this part of the jobs waited less than."""
        return 1000 * percentile_between(self.samples[0], self.samples[-1], WAITS, part)

    @property
    def failures(self) -> int:
        """Requests that did not end as they should."""
        return sum(row.failures for row in self.rows if row.name != "Aggregated")

    @property
    def summary(self) -> str:
        """One line about it."""
        actions = self.actions
        return (
            f"{self.users} users: {self.requests_a_second:.0f} requests/s, "
            f"{actions.requests_a_second:.1f} actions/s of people, p50 {actions.p50_ms:.0f}, "
            f"p99 {actions.p99_ms:.0f} ms; jobs waited p50 {self.wait_ms(0.5):.0f}, "
            f"p99 {self.wait_ms(0.99):.0f} ms; {self.failures} failed"
        )


def _number(text: str) -> float:
    return float(text) if text not in ("", "N/A") else 0.0


def write_report(out: Path, rounds: Sequence[Round], *, think: float, bots: str) -> Path:
    """Write page, plots and figures into `out`; return the page's path."""
    plots = {
        "throughput": _plot("Requests answered", "seconds", "requests/s", _draw_rates(rounds)),
        "percentiles": _plot("Actions of people", "users at once", "ms", _draw_percentiles(rounds)),
        "queue": _plot("Waits in the queues", "seconds", "ms (p99), jobs", _draw_waits(rounds)),
    }
    for name, figure in plots.items():
        figure.savefig(out / f"{name}.png", dpi=110)
    acted = [each for each in rounds if each.actions.requests]
    quick = [each.users for each in acted if each.actions.p99_ms < AIM_MS]
    figures: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "load_at_the_end": os.getloadavg()[0],
        "think_seconds": think,
        "bots": bots,
        "most_users_with_p99_below_100_ms": max(quick, default=0),
        "rounds": [
            {
                "users": each.users,
                "requests_a_second": round(each.requests_a_second, 1),
                "job_wait_p50_ms": round(each.wait_ms(0.5), 1),
                "job_wait_p99_ms": round(each.wait_ms(0.99), 1),
                "rows": [asdict(row) for row in each.rows],
            }
            for each in rounds
        ],
    }
    (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    page = out / "report.html"
    page.write_text(_page(figures, rounds, [out / f"{name}.png" for name in plots]))
    return page


def _plot(title: str, x: str, y: str, draw: Callable[[Axes], None]) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y)
    draw(axes)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def _steps(samples: Sequence[Sample]) -> list[tuple[float, Sample, Sample]]:
    """Return the pairs of neighbours, each with its seconds since the first."""
    return [
        (after.at_s - samples[0].at_s, before, after)
        for before, after in pairwise(samples)
        if after.at_s > before.at_s
    ]


def _draw_rates(rounds: Sequence[Round]) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        for each in rounds:
            steps = _steps(each.samples)
            rates = [(b.requests - a.requests) / (b.at_s - a.at_s) for _, a, b in steps]
            axes.plot([at for at, _, _ in steps], rates, label=f"{each.users} users")

    return draw


def _draw_percentiles(rounds: Sequence[Round]) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        users = [each.users for each in rounds]
        for part in ("p50_ms", "p95_ms", "p99_ms"):
            values = [getattr(each.actions, part) for each in rounds]
            axes.plot(users, values, marker="o", label=part.removesuffix("_ms"))
        axes.axhline(AIM_MS, color="grey", linestyle="--", label=f"{AIM_MS} ms")

    return draw


def _draw_waits(rounds: Sequence[Round]) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        for each in rounds:
            steps = _steps(each.samples)
            at = [second for second, _, _ in steps]
            waits = [1000 * percentile_between(a, b, WAITS, 0.99) for _, a, b in steps]
            (line,) = axes.plot(at, waits, label=f"{each.users} users: p99 of waits")
            queued = [b.queued for _, _, b in steps]
            axes.plot(at, queued, color=line.get_color(), linestyle=":", label="jobs that wait")

    return draw


def _page(figures: dict[str, Any], rounds: Sequence[Round], plots: Sequence[Path]) -> str:
    tables = "".join(map(_table, rounds))
    images = "".join(
        f'<img alt="{plot.stem}" src="data:image/png;base64,'
        f'{base64.b64encode(plot.read_bytes()).decode()}">'
        for plot in plots
    )
    told = (
        f"{figures['at']}, {figures['cores']} cores, load {figures['load_at_the_end']:.1f} at the "
        f"end, the generator on the same machine. A person thinks for "
        f"{figures['think_seconds']:g} s on average; bots are {html.escape(figures['bots'])}. Most "
        f"users tried with 99 of 100 actions below {AIM_MS} ms: "
        f"{figures['most_users_with_p99_below_100_ms']}."
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Load</title><style>'
        "body{font:15px sans-serif;margin:2em}td,th{padding:.2em .6em;text-align:right}"
        "td:first-child,th:first-child{text-align:left}img{max-width:100%;display:block}"
        f"</style><h1>Load</h1><p>{told}</p>{images}{tables}</html>\n"
    )


def _table(found: Round) -> str:
    head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ("request", *COLUMNS))
    rows = "".join(
        f"<tr><td>{html.escape(row.name)}</td>"
        + "".join(f"<td>{getattr(row, name):,.6g}</td>" for name in COLUMNS)
        + "</tr>"
        for row in found.rows
    )
    return (
        f"<h2>{found.users} users</h2><p>{html.escape(found.summary)}</p>"
        f"<table><tr>{head}</tr>{rows}</table>"
    )
