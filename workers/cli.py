"""The commands of `python -m workers`."""

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
