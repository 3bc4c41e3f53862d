"""The commands of `python -m workers`."""

from pathlib import Path

import click

from service.config import ConfigError, Settings
from service.games.ports import QUEUES


@click.group()
def main() -> None:
    """Work on the queues of Persian Rummy, and measure its players."""


def _settings() -> Settings:
    try:
        return Settings.from_env()
    except ConfigError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("queue", type=click.Choice(QUEUES))
def work(queue: str) -> None:
    """Work on one QUEUE until told to stop."""
    from workers.main import work as work_on

    work_on(queue, _settings())


@main.command()
def sweep() -> None:
    """Call the bots of games that wait for one and have no job, again and again."""
    from workers.main import sweep as sweep_forever

    sweep_forever(_settings())


@main.command()
def warm() -> None:
    """Compile the kernels into the cache and say how long it took."""
    from workers.warmup import choose_cache, warm_up

    cache = choose_cache(_settings().numba_cache_dir)
    click.echo(f"{warm_up(cache):.1f} s, cache in {cache}")


@main.group()
def arena() -> None:
    """Measure players against each other over duplicate deals."""
    from workers.warmup import choose_cache

    choose_cache(_settings().numba_cache_dir)


_processes = click.option(
    "--processes", default=2, show_default=True, help="Processes to play in, one core each."
)
_seed = click.option(
    "--seed", default="arena", show_default=True, help="Of the cards; other seeds, other deals."
)
_out = click.option(
    "--out", type=click.Path(path_type=Path), help="Append each pair of games here as a JSON line."
)


@arena.command()
@click.argument("first")
@click.argument("second")
@click.option("--pairs", default=100, show_default=True, help="Most pairs of games to play.")
@click.option(
    "--stop",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Stop early when the margin is surely HIGH rather than LOW, or the reverse.",
)
@_processes
@_seed
@_out
def match(
    first: str,
    second: str,
    pairs: int,
    stop: tuple[float, float] | None,
    processes: int,
    seed: str,
    out: Path | None,
) -> None:
    """Play FIRST against SECOND: levels, search:ITERATIONS, or learnt."""
    from workers.arena_shows import show_match

    show_match(first, second, pairs, stop, processes, seed, out)


@arena.command()
@click.option("--pairs", default=60, show_default=True, help="Pairs of games a pairing.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the ladder here, as PNG.")
@click.option("--write/--no-write", default=False, help="Write the ratings that GET /bots serves.")
@_processes
@_seed
@_out
def ladder(
    pairs: int, plot: Path | None, write: bool, processes: int, seed: str, out: Path | None
) -> None:
    """Rate all levels by a round robin of neighbours and next neighbours."""
    from workers.arena_shows import show_ladder

    show_ladder(pairs, plot, write, processes, seed, out)


@arena.command()
@click.option("--decisions", default=500, show_default=True, help="Decisions of self-play.")
@click.option("--iterations", default=16_000, show_default=True, help="Of search, a decision.")
@click.option("--fresh", default=1_000, show_default=True, help="Fresh worlds that are shown.")
@click.option("--later", default=20_000, show_default=True, help="Worlds of the later average.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw shown against later, as PNG.")
@_processes
@_seed
@click.option(
    "--out", type=click.Path(path_type=Path), help="Append each decision here as a JSON line."
)
def calibration(
    decisions: int,
    iterations: int,
    fresh: int,
    later: int,
    plot: Path | None,
    processes: int,
    seed: str,
    out: Path | None,
) -> None:
    """Check that 95 % intervals hold the later average in about 95 % of decisions."""
    from workers.arena_shows import show_calibration

    show_calibration(decisions, (iterations, fresh, later), plot, processes, seed, out)


_suite = click.option(
    "--suite",
    default="tests/quality/suite.jsonl",
    show_default=True,
    type=click.Path(path_type=Path),
    help="File of positions with deep values.",
)


@arena.command()
@click.option("--count", default=300, show_default=True, help="Positions.")
@click.option("--iterations", default=200_000, show_default=True, help="Of the deep search.")
@click.option("--fresh", default=4_000, show_default=True, help="Fresh worlds a move.")
@_suite
@_processes
@_seed
def suite(count: int, iterations: int, fresh: int, suite: Path, processes: int, seed: str) -> None:
    """Make the suite of positions with deep values."""
    from workers.arena_shows import make_suite

    make_suite(count, iterations, fresh, suite, processes, seed)


@arena.command()
@click.argument("players", nargs=-1)
@_suite
@_processes
def regret(players: tuple[str, ...], suite: Path, processes: int) -> None:
    """Print how many points a decision PLAYERS (default: all levels) lose on the suite."""
    from workers.arena_shows import show_regrets

    show_regrets(players, suite, processes)


@arena.command()
@click.option("--states", default=5_000_000, show_default=True, help="States to learn from.")
@click.option("--playouts", default=4, show_default=True, help="To the end of the deal, a state.")
@click.option("--hidden", default=128, show_default=True, help="Units of the hidden layer.")
@click.option("--epochs", default=8, show_default=True, help="Times to go through the states.")
@click.option("--deals", default=32_000, show_default=True, help="Deals of strong play, then.")
@click.option("--write/--no-write", default=False, help="Write the net that the search uses.")
@_processes
@_seed
def learn_value(
    states: int,
    playouts: int,
    hidden: int,
    epochs: int,
    deals: int,
    write: bool,
    processes: int,
    seed: str,
) -> None:
    """Learn what the rest of a deal is worth: from playouts, some minutes and 5 GB, then from deals
    that a search plays with itself, some fifteen a second and core.
    """
    from workers.arena_shows import show_value_learning

    show_value_learning(states, playouts, hidden, epochs, deals, write, processes, seed)


@arena.command()
@click.option("--decisions", default=150, show_default=True, help="Decisions of self-play.")
@click.option("--worlds", default=3_000, show_default=True, help="Common worlds, a decision.")
@_seed
def horizons(decisions: int, worlds: int, seed: str) -> None:
    """Print what asking the learnt value early costs in exactness and saves in spread."""
    from workers.arena_shows import show_horizons

    show_horizons(decisions, worlds, seed)


@arena.command("learn-policy")
@click.option("--steps", default=2_000, show_default=True, help="Steps of learning.")
@click.option("--deals", default=2_000, show_default=True, help="Deals a step.")
@click.option("--write", is_flag=True, help="Put the choices into the package.")
@_processes
@_seed
def learn_policy(steps: int, deals: int, write: bool, processes: int, seed: str) -> None:
    """Learn from deals it plays with itself what the learnt policy of the search draws, holds back
    and throws: three thousand deals a second and core.
    """
    from workers.arena_shows import show_policy_learning

    show_policy_learning(steps, deals, write, processes, seed)


@arena.command()
@click.option("--pairs", default=16_000, show_default=True, help="Duplicate deals a comparison.")
@click.option("--rounds", default=2, show_default=True, help="Times to go through the weights.")
@_seed
def tune(pairs: int, rounds: int, seed: str) -> None:
    """Look for better weights of the rules of thumb, one at a time; print them."""
    from workers.learning import tune as tune_weights

    weights, test = tune_weights(pairs, rounds, seed)
    click.echo(f"{test.margin:+.1f} ± {1.96 * test.error:.1f} points a deal on other deals")
    click.echo(" ".join(map(str, weights)))


@main.group()
def plot() -> None:
    """Draw what the arena has written down, as PNG; needs the extra `plots`."""


_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_picture = click.argument("picture", type=click.Path(path_type=Path))


@plot.command("ladder")
@_file
@_picture
def plot_ladder(file: Path, picture: Path) -> None:
    """Draw the levels' ratings from FILE, which `arena ladder --out` wrote, as PICTURE."""
    from workers.arena_shows import plot_ladder as draw

    draw(file, picture)


@plot.command("calibration")
@_file
@_picture
def plot_calibration(file: Path, picture: Path) -> None:
    """Draw shown against later averages from FILE, which `arena calibration --out` wrote."""
    from workers.arena_shows import plot_calibration as draw

    draw(file, picture)
