"""What the arena's commands print and draw: progress with the running estimate, tables, plots."""

import json
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
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

ANCHOR = "greedy"
"""The level whose rating is 0."""
LEVELS_FILE = Path(levels_module.__file__).with_name("levels.json")


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
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[estimate]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
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
                f"{name!r} is no player: {', '.join(BOTS)}, or search:ITERATIONS"
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


def draw_ladder(ratings: list[Rating], path: Path) -> None:
    """Draw the ratings with their intervals as PNG; needs the extra `plots`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise click.ClickException('drawing needs matplotlib: pip install -e ".[plots]"') from error
    figure = Figure(figsize=(8, 0.6 * len(ratings) + 1.5), layout="constrained")
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
