"""What so many games a day would take: reckoned from measured figures, the bots' queue simulated.

    python -m tests.load.scale --help        (or `make scale SCALE_ARGS=...`)

Processor and memory are multiplications. The wait in the bots' queue is not, so it is simulated
event by event (simpy): rounds come as a Poisson process, each is three bots' turns one after the
other, as a job calls the next bot; workers take jobs in order; KEDA looks every few seconds and
asks for the larger of waiting jobs over `queuedPerReplica` and running jobs; pods take some seconds
to come and leave only after the cooldown; a queue that is full refuses, and the sweep brings the
job when there is room. A run begins at the day's average, with pods for it, and goes over to the
peak at once, which is harsher than any evening. It says nothing of networks, of nodes, of Redis's
own latency.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
import simpy

DAY_S = 86_400
AT_PEAK_S = 60.0
"""After so long at the peak pods have come, and the wait is that of the peak itself."""
PHASES_S = (15.0, 80.0)
"""At the average, then at the peak."""


Job = tuple[float, simpy.Event]
"""When it was to be queued, and what happens at its end."""


@dataclass(frozen=True)
class Measured:
    """Figures of one game and one process, by measurement; helm/README.md says how each was got."""

    actions: int = 192
    """Of a whole game of two deals."""
    persons_actions: int = 48
    """Of the one person in it."""
    actions_a_turn: float = 2.7
    requests_an_action: float = 4.0
    """Of a person: the action and three reads."""
    api_s: float = 0.00105
    """Processor time of a request."""
    redis_s: float = 0.00008
    """Redis's processor time for an action, the bot's job included."""
    game_bytes: int = 7_400
    """Redis memory of a finished game."""
    answer_bytes: int = 1_400
    """Redis memory of an answer kept for its Idempotency-Key."""
    job_s: float = 0.012
    """A bot's turn from job to job without thinking: three of `greedy` take 36 ms."""
    decision_s: dict[str, float] = field(
        default_factory=lambda: {
            "greedy": 0.0001,
            "casual": 0.003,
            "skilled": 0.009,
            "expert": 0.06,
            "master": 0.32,
        }
    )
    """Thinking for one action, by level."""

    def turn_s(self, level: str) -> float:
        """Return the seconds that a worker has a bot's turn in hand."""
        return self.job_s + self.actions_a_turn * self.decision_s[level]


@dataclass(frozen=True)
class Chart:
    """How the chart scales; its defaults for the workers of `bots`."""

    min_pods: int = 1
    max_pods: int = 20
    queued_per_pod: int = 1
    look_every_s: float = 5.0
    pod_start_s: float = 8.0
    """To be scheduled and started on a node that has the image: 5 s assumed, 3 s measured."""
    cooldown_s: float = 300.0
    max_queued: int = 1000
    sweep_every_s: float = 1.0
    """When the sweep brings jobs that a full queue refused, as many as there is room for."""


@dataclass
class Seen:
    """What a run showed."""

    waits_s: list[tuple[float, float]] = field(default_factory=list)
    """When each job was begun, and for how long it had waited."""
    pods: list[tuple[float, int]] = field(default_factory=list)
    """Pods asked for, by time."""
    queued: list[tuple[float, int]] = field(default_factory=list)
    put_off: int = 0
    """Jobs that a full queue refused."""
    begun: int = 0
    done: int = 0

    def wait_s(self, part: float, since_s: float = 0.0) -> float:
        """Return what this part of the jobs begun after a moment waited less than."""
        waits = sorted(wait for at, wait in self.waits_s if at >= since_s)
        return waits[min(int(part * len(waits)), len(waits) - 1)] if waits else 0.0


class Cluster:
    """Workers of one queue, and who scales them."""

    def __init__(self, chart: Chart, turn_s: float, seed: int, pods: int) -> None:
        """Begin with so many pods."""
        self.env = simpy.Environment()
        self.seen = Seen()
        self._chart = chart
        self._turn_s = turn_s
        self._rng = random.Random(seed)
        self._queue = simpy.PriorityStore(self.env)
        self.queued = 0
        """Jobs that wait."""
        self._put = 0
        self._running = 0
        self._pods = 0
        self._low_since = 0.0
        self._refused: deque[Job] = deque()
        self.set_pods(pods, 0.0)

    def set_pods(self, count: int, start_s: float) -> None:
        """Start pods, or tell some to stop: each finishes its job first."""
        for _ in range(count - self._pods):
            self.env.process(self._work(start_s))
        for _ in range(self._pods - count):
            # Taken by whoever is free next, before any job.
            self._queue.put(simpy.PriorityItem(0, None))
        self._pods = count
        self.seen.pods.append((self.env.now, count))

    def _work(self, start_s: float) -> Iterator[simpy.Event]:
        yield self.env.timeout(start_s)
        while (job := (yield self._queue.get()).item) is not None:
            queued_at, is_over = job
            self.queued -= 1
            self.seen.waits_s.append((self.env.now, self.env.now - queued_at))
            self._running += 1
            # A turn is a few draws: less spread than a single one.
            yield self.env.timeout(self._rng.gammavariate(3, self._turn_s / 3))
            self._running -= 1
            self.seen.done += 1
            is_over.succeed()

    def rounds(self, rate: float, until_s: float) -> Iterator[simpy.Event]:
        """Let rounds of three turns come until a moment."""
        while self.env.now < until_s:
            yield self.env.timeout(self._rng.expovariate(rate))
            self.env.process(self._round())

    def _round(self) -> Iterator[simpy.Event]:
        for _ in range(3):
            self.seen.begun += 1
            job = self.env.now, self.env.event()
            if self.queued < self._chart.max_queued:
                self._enqueue(job)
            else:
                self.seen.put_off += 1
                self._refused.append(job)
            yield job[1]

    def _enqueue(self, job: Job) -> None:
        self.queued += 1
        self._put += 1
        self._queue.put(simpy.PriorityItem(self._put, job))

    def sweep(self) -> Iterator[simpy.Event]:
        """Bring what was refused, for ever."""
        while True:
            yield self.env.timeout(self._chart.sweep_every_s)
            while self._refused and self.queued < self._chart.max_queued:
                self._enqueue(self._refused.popleft())

    def scale(self) -> Iterator[simpy.Event]:
        """Do as KEDA does, for ever."""
        chart = self._chart
        while True:
            yield self.env.timeout(chart.look_every_s)
            self.seen.queued.append((self.env.now, self.queued))
            wanted = max(math.ceil(self.queued / chart.queued_per_pod), self._running)
            wanted = min(max(wanted, chart.min_pods), chart.max_pods)
            if wanted >= self._pods:
                self._low_since = self.env.now
                if wanted > self._pods:
                    self.set_pods(wanted, chart.pod_start_s)
            elif self.env.now - self._low_since >= chart.cooldown_s:
                self.set_pods(wanted, 0.0)


def simulate(
    chart: Chart,
    turn_s: float,
    rates: tuple[float, float],
    phases_s: tuple[float, float],
    seed: int,
) -> Seen:
    """Run rounds at the first rate, then at the second, for so many seconds each."""
    busy = math.ceil(3 * rates[0] * turn_s) + 1
    pods = min(max(busy, chart.min_pods), chart.max_pods)
    cluster = Cluster(chart, turn_s, seed, pods)
    env = cluster.env
    env.process(cluster.scale())
    env.process(cluster.sweep())

    def both() -> Iterator[simpy.Event]:
        yield env.process(cluster.rounds(rates[0], phases_s[0]))
        yield env.process(cluster.rounds(rates[1], sum(phases_s)))

    env.process(both())
    env.run(until=sum(phases_s))
    return cluster.seen


@dataclass(frozen=True)
class Reckoned:
    """What so many games a day take, with bots of one level."""

    games: int
    level: str
    peak_actions: float
    """A second."""
    redis_gb: float
    redis_share: float
    """Of Redis's one core, at the peak."""
    api_cores: float
    bot_cores: float
    """Busy at the peak."""
    pods: int
    """Of bots, at the most that the simulated run asked for."""
    core_hours: float
    """Of a day, API and bots, at their average and at `busy` of each core."""
    seen: Seen


def reckon(
    games: int,
    level: str,
    measured: Measured,
    chart: Chart,
    *,
    peak: float = 3.0,
    ttl_days: float = 7.0,
    answers_days: float = 1.0,
    busy: float = 0.7,
    phases_s: tuple[float, float] = PHASES_S,
    seed: int = 1,
) -> Reckoned:
    """Reckon with so many games a day, the peak so many times their average."""
    games_a_second = games / DAY_S
    bots_actions = measured.actions - measured.persons_actions
    turns = bots_actions / measured.actions_a_turn
    turn_s = measured.turn_s(level)
    rounds = games_a_second * turns / 3
    seen = simulate(chart, turn_s, (rounds, peak * rounds), phases_s, seed)
    api = games_a_second * measured.persons_actions * measured.requests_an_action * measured.api_s
    bots = games_a_second * turns * turn_s
    kept = ttl_days * measured.game_bytes + (
        answers_days * measured.persons_actions * measured.answer_bytes
    )
    return Reckoned(
        games=games,
        level=level,
        peak_actions=peak * games_a_second * measured.actions,
        redis_gb=games * kept / 1e9,
        redis_share=peak * games_a_second * measured.actions * measured.redis_s,
        api_cores=peak * api,
        bot_cores=peak * bots,
        pods=max(count for _, count in seen.pods),
        core_hours=24 * (api + bots) / busy,
        seen=seen,
    )


def table(found: list[Reckoned], chart: Chart, prices: tuple[float, float]) -> str:
    """Return what was reckoned as a table in Markdown; prices of an hour of a core and of a GB."""
    core_hour, gb_hour = prices
    first_s = PHASES_S[0]
    lines = [
        "| games a day | level | actions/s at the peak | Redis GB | Redis core | API cores | "
        "bots: busy, pods | waits p50, p99; p99 after a minute of peak | put off | core hours "
        "for 1,000 games | cost of those |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in found:
        seen = each.seen
        thousands = each.games / 1000
        cost = (each.core_hours * core_hour + 24 * each.redis_gb * gb_hour) / thousands
        lines.append(
            f"| {each.games:,} | `{each.level}` | {each.peak_actions:,.0f} | "
            f"{each.redis_gb:,.1f} | "
            f"{each.redis_share:.0%} | {each.api_cores:.1f} | {each.bot_cores:,.1f}, {each.pods} | "
            f"{_time(seen.wait_s(0.5, first_s))}, {_time(seen.wait_s(0.99, first_s))}; "
            f"{_time(seen.wait_s(0.99, first_s + AT_PEAK_S))} | {seen.put_off:,} | "
            f"{each.core_hours / thousands:.2f} | {cost:.3f} |"
        )
    lines.append(f"\nPods of bots: {chart.min_pods} to {chart.max_pods}.")
    return "\n".join(lines)


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def draw(found: list[Reckoned], out: Path) -> None:
    """Draw pods and waits by time, one row a reckoning, into an SVG or PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.2 * len(found)), layout="constrained")
    for row, each in enumerate(found):
        axes = figure.add_subplot(len(found), 1, row + 1)
        at, pods = zip(*each.seen.pods, strict=True)
        axes.step(at, pods, where="post", label="pods")
        axes.axvline(PHASES_S[0], color="grey", linestyle="--")
        waits = axes.twinx()
        some = each.seen.waits_s[:: max(len(each.seen.waits_s) // 4000, 1)]
        waits.plot(*zip(*some, strict=True), ".", markersize=1, color="tab:red")
        waits.set_ylabel("wait, s", color="tab:red")
        axes.set(title=f"{each.games:,} games a day, {each.level}", ylabel="pods", ylim=(0, None))
    figure.savefig(out)


@click.command()
@click.option("--games", default="10000,1000000", show_default=True, help="A day, commas between.")
@click.option("--levels", default="greedy,skilled,expert", show_default=True, help="Of the bots.")
@click.option("--peak", default=3.0, show_default=True, help="Times the day's average.")
@click.option("--ttl-days", default=7.0, show_default=True, help="That a finished game is kept.")
@click.option("--answers-days", default=1.0, show_default=True, help="That answers are kept.")
@click.option("--game-bytes", default=Measured.game_bytes, show_default=True, help="In Redis.")
@click.option("--max-pods", default=Chart.max_pods, show_default=True, help="Of bots.")
@click.option("--queued-per-pod", default=Chart.queued_per_pod, show_default=True)
@click.option("--max-queued", default=Chart.max_queued, show_default=True)
@click.option("--core-hour", default=0.04, show_default=True, help="Price, in what you pay in.")
@click.option("--gb-hour", default=0.01, show_default=True, help="Price of a GB of Redis.")
@click.option("--seed", default=1, show_default=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw pods and waits: .svg or .png.")
def main(
    games: str,
    levels: str,
    peak: float,
    ttl_days: float,
    answers_days: float,
    game_bytes: int,
    max_pods: int,
    queued_per_pod: int,
    max_queued: int,
    core_hour: float,
    gb_hour: float,
    seed: int,
    plot: Path | None,
) -> None:
    """Reckon pods, memory and cost of so many games a day; simulate the bots' queue."""
    chart = replace(
        Chart(), max_pods=max_pods, queued_per_pod=queued_per_pod, max_queued=max_queued
    )
    measured = replace(Measured(), game_bytes=game_bytes)
    found = [
        reckon(
            int(count),
            level,
            measured,
            chart,
            peak=peak,
            ttl_days=ttl_days,
            answers_days=answers_days,
            seed=seed,
        )
        for count in games.split(",")
        for level in levels.split(",")
    ]
    click.echo(table(found, chart, (core_hour, gb_hour)))
    if plot is not None:
        draw(found, plot)


if __name__ == "__main__":
    main()
