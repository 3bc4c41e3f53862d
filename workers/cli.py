"""The commands of `python -m workers`."""

from pathlib import Path

import click

from service.config import ConfigError, Settings


@click.group()
def main() -> None:
    """Work on the queues of Persian Rummy, and measure its players."""


def _settings() -> Settings:
    try:
        return Settings.from_env()
    except ConfigError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("queue", type=click.Choice(("bots", "hints")))
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
    """Play FIRST against SECOND: levels, or search:ITERATIONS."""
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
