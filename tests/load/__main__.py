"""Load on the whole service: `make load`, or `python -m tests.load --help`.

Starts the service as `make run` does, unless `--host` names one that runs; lets locust play whole
games with so many users at once, one number after the other (`locustfile.py`); looks at `/metrics`
each second; writes a report with plots. The generator has the same machine, so figures of it are
those of both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from tests.e2e.harness import ROOT, Service, wait_until
from tests.load.report import Round, write_report
from tests.load.samples import ACTIONS, Sample, percentile_between, read_sample

WORKED_ON = {"bots", "hints"}
"""Queues that the games need."""
WARM_S = 300.0
LOCUSTFILE = Path(__file__).parent / "locustfile.py"


@dataclass(frozen=True)
class Order:
    """What is to be measured."""

    host: str
    users: int
    seconds: int
    out: Path
    env: dict[str, str] = field(default_factory=dict)


@click.command()
@click.option("--users", default="10,20,40", show_default=True, help="Games at once, in turn.")
@click.option("--seconds", default=40, show_default=True, help="Of each number of users.")
@click.option("--think", default=0.5, show_default=True, help="A person's seconds an action.")
@click.option("--bots", default="greedy", show_default=True, help="Level of the bots.")
@click.option("--hint-iterations", default=2000, show_default=True, help="Of an advised player.")
@click.option("--host", help="Address of a service that runs; one is started without it.")
@click.option("--key", default="", help="An app key, where that service asks for one.")
@click.option(
    "--out",
    default="build/load",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the report.",
)
def main(
    users: str,
    seconds: int,
    think: float,
    bots: str,
    hint_iterations: int,
    host: str | None,
    key: str,
    out: Path,
) -> None:
    """Play whole games with many users at once, and report throughput, percentiles, waits."""
    out.mkdir(parents=True, exist_ok=True)
    env = {
        "LOAD_THINK_S": str(think),
        "LOAD_BOTS": bots,
        "LOAD_HINT_ITERATIONS": str(hint_iterations),
        "LOAD_KEY": key,
    }
    rounds = []
    with running(host) as address:
        for count in map(int, users.split(",")):
            rounds.append(measure(Order(address, count, seconds, out, env)))
            click.echo(rounds[-1].summary)
    path = write_report(out, rounds, think=think, bots=bots)
    click.echo(f"report  {path}")


@contextmanager
def running(host: str | None) -> Iterator[str]:
    """Give the address of a service, started here unless one is named."""
    if host is not None:
        yield host.rstrip("/")
        return
    # The workers load or compile the search before they take a job: that is not to be measured.
    subprocess.run([sys.executable, "-m", "workers", "warm"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), {"PERSIAN_RUMMY_LOG_LEVEL": "warning"})
        try:
            service.start()
            wait_until(lambda: sample(service.base_url).attended >= WORKED_ON, WARM_S, "workers")
            yield service.base_url
        finally:
            service.end()


def measure(order: Order) -> Round:
    """Let so many users play, look on, and return what was seen."""
    prefix = order.out / f"users-{order.users}"
    command = [
        *(sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--headless", "-H", order.host),
        *("-u", str(order.users), "-r", str(max(order.users / 4, 1)), "-t", f"{order.seconds}s"),
        *("--csv", str(prefix), "--html", f"{prefix}.html", "--exit-code-on-error", "0"),
        *("--only-summary", "--stop-timeout", "2"),
    ]
    env = {**os.environ, **order.env}
    with Path(f"{prefix}.log").open("wb") as log:
        locust = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
        try:
            samples = list(look_on(order, locust))
        finally:
            locust.terminate()
            code = locust.wait(60)
    if code:
        raise click.ClickException(f"locust ended with {code}; see {prefix}.log")
    return Round.read(order.users, prefix, samples)


def look_on(order: Order, locust: subprocess.Popen[bytes]) -> Iterator[Sample]:
    """Yield a sample each second while locust runs, with a line of progress."""
    before = sample(order.host)
    yield before
    began = before
    while locust.poll() is None:
        time.sleep(1)
        now = sample(order.host)
        passed = now.at_s - began.at_s
        requests = (now.requests - before.requests) / (now.at_s - before.at_s)
        p99 = percentile_between(before, now, ACTIONS, 0.99)
        click.echo(
            f"\r{order.users:4} users  {min(passed, order.seconds):3.0f} of {order.seconds} s  "
            f"{requests:6.0f} requests/s  actions p99 {1000 * p99:5.0f} ms  "
            f"{now.queued:4.0f} jobs wait  {now.finished - began.finished:4.0f} games over ",
            nl=not sys.stdout.isatty(),
        )
        before = now
        yield now
    if sys.stdout.isatty():
        click.echo()


def sample(host: str) -> Sample:
    """Look at the counters once."""
    with urllib.request.urlopen(f"{host}/metrics", timeout=30) as answer:
        return read_sample(answer.read().decode(), time.monotonic())


if __name__ == "__main__":
    main()
