"""What the arena's commands print and draw: progress with the running estimate, tables, plots."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from service.games import levels as levels_module
from service.games.levels import bot_levels
from workers.arena import (
    Estimate,
    PairResult,
    Rating,
    SequentialTest,
    estimate,
    load_results,
    play_pairs,
    rate,
    save_result,
)
from workers.bots.registry import BOTS, bot_named
from workers.policy_learning import TEST_PAIRS, against_thumb, learn_policy, save_policy
from workers.quality import (
    Calibration,
    calibrate,
    deep_values,
    load_calibrations,
    positions,
    read_suite,
    regrets,
    save_calibration,
    write_suite,
)
from workers.search.policy import CHOICE_NAMES, POLICY_FILE
from workers.search.value_net import WEIGHTS_FILE
from workers.value_learning import (
    DEALS_A_BATCH,
    TO_THE_END,
    fit_net,
    horizon_errors,
    join_turns,
    new_states,
    refine_net,
    save_net,
    turns_of_deals,
)

T = TypeVar("T")

ANCHOR = "greedy"
"""The level whose rating is 0."""
POLICY_REPORTS = 30
"""Times that the learning of the policy says how far it is."""
LEVELS_FILE = Path(levels_module.__file__).with_name("levels.json")


def _progress(*more: ProgressColumn) -> Progress:
    """Return a progress bar on the error output, with `more` columns at its end."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, *more, console=Console(stderr=True))


def describe(found: Estimate) -> str:
    """Return an estimate in one line."""
    return (
        f"{found.margin:+.1f} ± {1.96 * found.margin_error:.1f} points a deal (95 %), "
        f"{found.win_share:.1%} ± {1.96 * found.win_error:.1%} of games, {found.pairs} pairs"
    )


def play_with_progress(
    first: str,
    second: str,
    pairs: int,
    processes: int,
    seed: str,
    out: Path | None,
    test: SequentialTest | None = None,
) -> list[PairResult]:
    """Play pairs under a progress bar that shows the running estimate; stop when `test` has its
    verdict.
    """
    results: list[PairResult] = []
    with _progress(TextColumn("{task.fields[estimate]}")) as progress:
        task = progress.add_task(f"{first} against {second}", total=pairs, estimate="")
        for result in play_pairs(first, second, pairs, seed, processes):
            results.append(result)
            if out is not None:
                save_result(out, first, second, result)
            found = estimate(results)
            progress.update(
                task, advance=1, estimate=f"{found.margin:+.1f} ± {1.96 * found.margin_error:.1f}"
            )
            if test is not None and test.verdict(found) is not None:
                break
    return results


def show_match(
    first: str,
    second: str,
    pairs: int,
    stop: tuple[float, float] | None,
    processes: int,
    seed: str,
    out: Path | None,
) -> None:
    """Play and print one match."""
    for name in (first, second):
        try:
            bot_named(name)
        except KeyError:
            raise click.ClickException(
                f"{name!r} is no player: {', '.join(BOTS)}, search:ITERATIONS, or learnt"
            ) from None
    test = None if stop is None else SequentialTest(*stop)
    results = play_with_progress(first, second, pairs, processes, seed, out, test)
    found = estimate(results)
    click.echo(f"{first} against {second}, seed {seed}: {describe(found)}")
    if test is not None:
        click.echo(f"verdict: {test.verdict(found) or 'none'} of {test.low} and {test.high}")
    for side, name in enumerate((first, second)):
        seconds = sum(result.seconds[side] for result in results)
        count = sum(result.decisions[side] for result in results)
        click.echo(f"{name}: {1000 * seconds / max(count, 1):.1f} ms a decision")


def show_ladder(
    pairs: int, plot: Path | None, write: bool, processes: int, seed: str, out: Path | None
) -> None:
    """Play the round robin that is missing in `out`, print ratings, write and draw them where
    asked.
    """
    names = list(BOTS)
    played = load_results(out) if out is not None and out.exists() else {}
    for gap in (1, 2):
        for weaker, stronger in zip(names, names[gap:], strict=False):
            done = played.setdefault((stronger, weaker), [])
            if len(done) < pairs:
                fresh = play_with_progress(
                    stronger, weaker, pairs - len(done), processes, f"{seed}-{len(done)}", out
                )
                done += fresh
    ratings = rate(played, names, ANCHOR)
    _print_ladder(ratings, played)
    if write:
        write_levels(ratings)
        click.echo(f"wrote {LEVELS_FILE.name}")
    if plot is not None:
        draw_ladder(ratings, plot)
        click.echo(f"drew {plot}")


def _print_ladder(ratings: list[Rating], played: dict[tuple[str, str], list[PairResult]]) -> None:
    table = Table("level", "rating", "95 %", "s a decision", "against the one below")
    names = [rating.level for rating in ratings]
    for place, rating in enumerate(ratings):
        below = played.get((rating.level, names[place - 1])) if place else None
        table.add_row(
            rating.level,
            f"{rating.rating:+.0f}",
            f"{rating.low:+.0f} to {rating.high:+.0f}",
            f"{rating.seconds_a_decision:.4f}",
            describe(estimate(below)) if below else "",
        )
    Console(width=120).print(table)


def write_levels(ratings: list[Rating], path: Path = LEVELS_FILE) -> None:
    """Write what `GET /bots` serves."""
    rows = {
        rating.level: {
            "level": rating.level,
            "rating": round(rating.rating),
            "rating_interval": [round(rating.low), round(rating.high)],
            "iterations": getattr(BOTS[rating.level], "iterations", 0),
            "typical_seconds": round(rating.seconds_a_decision, 4),
        }
        for rating in ratings
    }
    ordered = [rows.get(level["level"], level) for level in bot_levels()]
    lines = ",\n".join("    " + json.dumps(row) for row in ordered)
    path.write_text(f'{{\n  "levels": [\n{lines}\n  ]\n}}\n', "utf-8")


def _new_figure(width: float, height: float) -> Any:
    """Return an empty figure, sizes in inches; needs the extra `plots`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise click.ClickException('drawing needs matplotlib: pip install -e ".[plots]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def draw_ladder(ratings: list[Rating], path: Path) -> None:
    """Draw the ratings with their intervals as PNG; needs the extra `plots`."""
    figure = _new_figure(8, 0.6 * len(ratings) + 1.5)
    axes = figure.subplots()
    places = range(len(ratings))
    values = [rating.rating for rating in ratings]
    lower = [rating.rating - rating.low for rating in ratings]
    upper = [rating.high - rating.rating for rating in ratings]
    axes.barh(places, values, xerr=[lower, upper], color="#2a7f78", ecolor="#333333", capsize=3)
    axes.set_yticks(list(places), [rating.level for rating in ratings])
    axes.axvline(0, color="#333333", linewidth=0.8)
    axes.set_xlabel(f"rating in Elo points of the game, {ANCHOR} = 0, 95 % intervals")
    axes.set_title("Persian Rummy: the levels")
    figure.savefig(path, dpi=120)


def _in_processes(
    label: str, work: Callable[..., T], arguments: Sequence[tuple[Any, ...]], processes: int
) -> list[T]:
    """Return the results of `work` in the order of `arguments`, under a progress bar."""
    results: list[T | None] = [None] * len(arguments)
    with (
        _progress() as progress,
        ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool,
    ):
        task = progress.add_task(label, total=len(arguments))
        futures = {pool.submit(work, *each): place for place, each in enumerate(arguments)}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            progress.update(task, advance=1)
    return [result for result in results if result is not None]


def show_calibration(
    decisions: int,
    sizes: tuple[int, int, int],
    plot: Path | None,
    processes: int,
    seed: str,
    out: Path | None,
) -> None:
    """Calibrate and print the share of intervals that hold, and the bias with and without fresh
    worlds; write each decision to `out` and draw them where asked.
    """
    work = [
        (view, *sizes, f"{seed}-{number}") for number, view in enumerate(positions(decisions, seed))
    ]
    found = _in_processes("calibration", calibrate, work, processes)
    if out is not None:
        for one in found:
            save_calibration(out, one)
    held = np.array([one.holds for one in found])
    bias = np.array([one.shown - one.later for one in found])
    curse = np.array([one.tree_mean - one.later for one in found])
    error = 1.96 / np.sqrt(len(found))
    click.echo(
        f"{len(found)} decisions, {sizes[0]} iterations, {sizes[1]} fresh worlds, seed {seed}\n"
        f"95 % intervals that hold the average of {sizes[2]} later worlds: {held.mean():.1%}\n"
        f"shown less later: {bias.mean():+.2f} ± {error * bias.std():.2f} points\n"
        f"the search's own average less later: {curse.mean():+.2f} ± {error * curse.std():.2f}"
    )
    if plot is not None:
        draw_calibration(found, plot)
        click.echo(f"drew {plot}")


def plot_ladder(path: Path, picture: Path) -> None:
    """Draw the ladder of the pairs in a file that the arena wrote, by `--out`."""
    played = load_results(path)
    players = {name for pairing in played for name in pairing}
    if ANCHOR not in players:
        raise click.ClickException(f"{path} has no game of {ANCHOR!r}, whose rating is 0")
    draw_ladder(rate(played, [name for name in BOTS if name in players], ANCHOR), picture)
    click.echo(f"drew {picture}")


def plot_calibration(path: Path, picture: Path) -> None:
    """Draw the decisions in a file that `arena calibration --out` wrote."""
    found = load_calibrations(path)
    if not found:
        raise click.ClickException(f"{path} has no decision")
    draw_calibration(found, picture)
    click.echo(f"drew {picture}")


def make_suite(
    count: int, iterations: int, fresh: int, path: Path, processes: int, seed: str
) -> None:
    """Make and write a suite."""
    work = [
        (view, iterations, fresh, f"{seed}-{number}")
        for number, view in enumerate(positions(count, seed))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_suite(path, _in_processes("deep search", deep_values, work, processes))
    click.echo(f"wrote {count} positions to {path}, {iterations} iterations each, seed {seed}")


def show_regrets(players: tuple[str, ...], path: Path, processes: int) -> None:
    """Print the mean regret by player with its 95 % interval."""
    suite = read_suite(path)
    names = players or tuple(BOTS)
    rows = _in_processes("regret", regrets, [(suite, name) for name in names], processes)
    table = Table("player", "points lost a decision", "share of best choices")
    for name, row in zip(names, rows, strict=True):
        wide = 1.96 * row.std(ddof=1) / np.sqrt(len(row))
        table.add_row(name, f"{row.mean():.2f} ± {wide:.2f}", f"{(row < 0.01).mean():.0%}")
    Console(width=100).print(table)


def draw_calibration(found: list[Calibration], path: Path) -> None:
    """Draw shown against later averages as PNG."""
    figure = _new_figure(6, 6)
    axes = figure.subplots()
    later = [one.later for one in found]
    shown = [one.shown for one in found]
    axes.errorbar(
        later, shown, yerr=[one.half_width for one in found], fmt=".", color="#2a7f78", alpha=0.5
    )
    ends = [min(later), max(later)]
    axes.plot(ends, ends, color="#333333", linewidth=0.8)
    axes.set_xlabel("average of later worlds, points")
    axes.set_ylabel("shown in the hint, with its 95 % interval")
    axes.set_title("Calibration of the advice")
    figure.savefig(path, dpi=120)


def show_value_learning(
    count: int,
    playouts: int,
    hidden: int,
    epochs: int,
    deals: int,
    write: bool,
    processes: int,
    seed: str,
) -> None:
    """Make states, fit a net, refine it with deals of strong play, print how good it is after each
    epoch, and write it if asked to.
    """
    states = new_states(count, playouts, seed)
    weights: dict[str, np.ndarray] = {}
    for epoch, fit in fit_net(states, hidden, epochs, seed=1):
        weights = fit.weights
        click.echo(
            f"epoch {epoch}: explains {fit.explained:.1%} of the variance of {count:,} states,"
            f" misses one by {fit.error:.1f} of {fit.spread:.1f} points"
        )
    if deals:
        work = [(number, seed) for number in range(-(-deals // DEALS_A_BATCH))]
        turns = join_turns(_in_processes("strong play", turns_of_deals, work, processes))
        for epoch, refined, before, now in refine_net(weights, turns):
            weights = refined
            click.echo(
                f"epoch {epoch} of {len(turns):,} turns from {len(work) * DEALS_A_BATCH:,} deals"
                f" of strong play: mean squared error {now:,.0f}, {now - before:+,.0f}"
            )
    if write:
        save_net(weights)
        click.echo(f"written to {WEIGHTS_FILE}")


def show_policy_learning(steps: int, deals: int, write: bool, processes: int, seed: str) -> None:
    """Learn the search's policy, print how it does against the rules of thumb now and then, and
    write it if asked to.
    """
    shown = max(1, steps // POLICY_REPORTS)
    for step in learn_policy(steps, deals, processes, seed):
        if step.number % shown and step.number != steps:
            continue
        found = against_thumb(step.weights, TEST_PAIRS, f"{seed}-test-{step.number}")
        entropies = ", ".join(
            f"{name} {entropy:.2f}"
            for name, entropy in zip(CHOICE_NAMES, step.entropies, strict=True)
        )
        click.echo(
            f"{step.number} of {steps} steps: {found.margin:+.1f} ± {1.96 * found.error:.1f} points"
            f" a deal against the rules of thumb; entropies {entropies}"
        )
        if write:
            save_policy(step.weights)
    if write:
        click.echo(f"written to {POLICY_FILE}")


def show_horizons(decisions: int, worlds: int, seed: str) -> None:
    """Print error and spread by the turns played before the learnt value is asked."""
    horizons = (0, 2, 4, 8, 12, TO_THE_END)
    found = []
    with _progress() as progress:
        for number, view in enumerate(
            progress.track(positions(decisions, seed), total=decisions, description="horizons")
        ):
            found.append(horizon_errors(view, horizons, worlds, f"{seed}-{number}"))
    errors, variances = np.mean(found, axis=0)
    table = Table("turns", "error in the difference of two moves", "spread of a sample")
    for turns, error, variance in zip(horizons, errors, variances, strict=True):
        name = "to the end" if turns == TO_THE_END else str(turns)
        table.add_row(name, f"{max(error, 0.0) ** 0.5:.1f}", f"{variance**0.5:.0f}")
    Console().print(table)
