"""The commands of the service: ``persian-rummy …`` or ``python -m service …``.

``run`` is what ``make run`` calls: Redis, web server and queue workers on this machine until
Ctrl-C. ``openapi`` writes the API's description. ``keys`` makes, lists and revokes apps' keys. The
workers have commands of their own (``python -m workers``) and are only ever started, never
imported, from here.
"""

from __future__ import annotations

import errno
import http.client
import os
import secrets
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from service import __version__
from service.config import ConfigError, Settings, without_password
from service.embedded import RedisServer, RedisServerError, socket_path_for
from service.games.ports import QUEUES as QUEUES
from service.supervisor import Command, Supervisor

if TYPE_CHECKING:
    from service.store.app_keys import RedisAppKeys

SCOPES = ("play", "hints", "admin")
"""As `service/games/access.py` has them, which is not loaded for every command."""
SHOWN_DIGITS = 12
"""Of a key's hash, as its name in lists."""


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Persian Rummy over HTTP."""


@main.command()
@click.option(
    "--port", envvar="PORT", default=8000, show_default=True, type=click.IntRange(1, 65535)
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--data-dir",
    default=".data",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the Redis that is started; unused where REDIS_URL is set.",
)
@click.option("--app", default="service.wsgi:app", show_default=True, help="What gunicorn serves.")
@click.option(
    "--worker",
    default=f"{shlex.quote(sys.executable)} -m workers work",
    help="Command of a queue's worker; the queue's name is put behind it.",
)
def run(port: int, host: str, data_dir: Path, app: str, worker: str) -> None:
    """Run the whole service on this machine until Ctrl-C.

    Starts a Redis of its own unless REDIS_URL is set, gunicorn with WEB_CONCURRENCY workers (2),
    and one worker for each queue.
    """
    try:
        check_port_is_free(host, port)
        _check_tracing(Settings.from_env())
        server = None if os.environ.get("REDIS_URL") else RedisServer(data_dir / "redis")
        with tempfile.TemporaryDirectory(prefix="persian-rummy-") as counters:
            env = _environment(os.environ, server, counters)
            _check_redis(Settings.from_env(env), ours=server is not None)
            web = _web(app, host, port, env)
            supervisor = Supervisor(
                [web, *(_worker(worker, queue) for queue in QUEUES)],
                env=env,
                server=server,
                say=_say,
                when_ready=[
                    f"table   {url_of(host, port)}/",
                    f"docs    {url_of(host, port)}/docs",
                    "Ctrl-C stops everything",
                ],
            )
            code = supervisor.run()
    except (ConfigError, RedisServerError, NotStarted) as error:
        raise click.ClickException(str(error)) from error
    sys.exit(code)


@main.command()
@click.option(
    "--out",
    default="openapi/openapi.yaml",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.",
)
@click.option("--check", is_flag=True, help="Write nothing; fail when the file differs.")
def openapi(out: Path, check: bool) -> None:
    """Write the OpenAPI document that the code describes."""
    text = _openapi_yaml()
    if check:
        if not out.exists() or out.read_text(encoding="utf-8") != text:
            raise click.ClickException(f"{out} is not what the code describes: run `make openapi`")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    click.echo(f"wrote {out}")


@main.group()
@click.option(
    "--data-dir",
    default=".data",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the Redis that `run` has started; unused where REDIS_URL is set.",
)
@click.pass_context
def keys(context: click.Context, data_dir: Path) -> None:
    """Make, list and revoke the keys of apps."""
    context.obj = data_dir


@keys.command("create")
@click.argument("app", required=False)
@click.option("--app", "named", help="The same as APP.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="What the key is good for; may be given several times. All if not given.",
)
@click.option("--test", "is_test", is_flag=True, help="A key of the sandbox, and of nothing else.")
@click.pass_obj
def create_key(
    data_dir: Path, app: str | None, named: str | None, scopes: tuple[str, ...], is_test: bool
) -> None:
    """Make a key for APP and show it: this once, only its hash is kept."""
    names = [name for name in (app, named) if name is not None]
    if len(names) != 1:
        raise click.UsageError("Name the app once: `keys create APP` or `keys create --app APP`.")
    with _app_keys(data_dir) as app_keys:
        key = app_keys.create(
            names[0],
            secrets.token_urlsafe,
            time.time(),
            scopes or SCOPES,
            is_test=is_test,
        )
        click.echo(key)


@keys.command("list")
@click.pass_obj
def list_keys(data_dir: Path) -> None:
    """List all keys: app, when it was made, scopes, the first digits of its hash."""
    with _app_keys(data_dir) as app_keys:
        for key in app_keys.list():
            scopes = ",".join(key.scopes) + (" test" if key.is_test else "")
            digits = key.key_hash[:SHOWN_DIGITS]
            click.echo(f"{key.app:<40} {key.created_at} {scopes:<22} {digits}")


@keys.command("revoke")
@click.argument("digits")
@click.pass_obj
def revoke_key(data_dir: Path, digits: str) -> None:
    """Take away, at once, the key whose hash begins with DIGITS, as `keys list` shows it."""
    with _app_keys(data_dir) as app_keys:
        meant = [key for key in app_keys.list() if key.key_hash.startswith(digits)]
        if len(digits) < SHOWN_DIGITS or len(meant) != 1:
            raise click.ClickException(
                f"{len(meant)} keys begin so; give the {SHOWN_DIGITS} digits that `keys list` shows"
            )
        app_keys.revoke(meant[0].key_hash)
        click.echo(f"revoked a key of {meant[0].app}")


@contextmanager
def _app_keys(data_dir: Path) -> Iterator[RedisAppKeys]:
    """Give the keys in the Redis that the service uses; errors become sentences for a person."""
    from service.games.errors import StoreUnavailable
    from service.store.app_keys import BadAppName, RedisAppKeys
    from service.store.connecting import connect

    try:
        settings = Settings.from_env()
        url = settings.redis_url
        if not os.environ.get("REDIS_URL"):
            socket_path = socket_path_for((data_dir / "redis").absolute(), os.environ)
            url = f"unix://{quote(str(socket_path))}?db=0"
        with connect(url, settings.redis_timeout_s) as client:
            yield RedisAppKeys(client)
    except StoreUnavailable:
        raise click.ClickException(
            f"no Redis answers at {without_password(url)}: start the service with `make run`, or "
            "set REDIS_URL"
        ) from None
    except (BadAppName, ConfigError, RedisServerError) as error:
        raise click.ClickException(str(error)) from None


class NotStarted(RuntimeError):
    """The service cannot start here; the message is a sentence for a person."""


def check_port_is_free(host: str, port: int) -> None:
    """Raise NotStarted when something listens on the port already, or we may not listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As gunicorn does: connections of the last run that linger are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise NotStarted(f"this user may not listen on port {port}; try PORT=8000") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise NotStarted(f"cannot listen on {host} port {port}: {error}") from None
            raise NotStarted(
                f"port {port} on {host} is taken by another program; choose another one: "
                f"PORT={port % 65535 + 1} make run"
            ) from None


def url_of(host: str, port: int) -> str:
    """Return where the service is reached.

    >>> url_of("::1", 8000)
    'http://[::1]:8000'
    """
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _web(app: str, host: str, port: int, env: Mapping[str, str]) -> Command:
    # A stream of events would keep a worker for the whole of gunicorn's usual grace.
    return Command(
        name="web",
        argv=(
            *(sys.executable, "-m", "gunicorn", "--config", "python:service.gunicorn_conf"),
            *("--bind", f"[{host}]:{port}" if ":" in host else f"{host}:{port}"),
            *("--graceful-timeout", "3", app),
        ),
        about=f"{url_of(host, port)} (gunicorn, {env['WEB_CONCURRENCY']} gevent workers)",
        is_ready=lambda: _answers(host, port),
    )


def _worker(command: str, queue: str) -> Command:
    return Command(
        name=queue, argv=(*shlex.split(command), queue), about=f"worker of queue {queue}"
    )


def _environment(
    env: Mapping[str, str], server: RedisServer | None, counters: str
) -> dict[str, str]:
    """Return the environment of the processes: where Redis is, where the web processes count
    together, logs for people at a terminal.
    """
    child = {"WEB_CONCURRENCY": "2", "PROMETHEUS_MULTIPROC_DIR": counters, **env}
    if sys.stderr.isatty():
        child.setdefault("PERSIAN_RUMMY_LOG_FORMAT", "console")
    if server is not None:
        child["REDIS_URL"] = server.url
    return child


def _check_tracing(settings: Settings) -> None:
    """Raise NotStarted when traces are wanted and what sends them is not installed."""
    if not settings.otlp_endpoint:
        return
    from service.tracing import TracingMissing, check_installed

    try:
        check_installed()
    except TracingMissing as error:
        raise NotStarted(str(error)) from error


def _check_redis(settings: Settings, *, ours: bool) -> None:
    """Raise NotStarted when a Redis that others run, and that we were told to use, is away."""
    import redis

    from service.store.connecting import connect

    wanted = {"REDIS_URL": settings.redis_url, "QUEUE_REDIS_URL": settings.queue_redis_url}
    for variable, url in wanted.items():
        if ours and url == settings.redis_url:
            continue
        try:
            with connect(url, settings.redis_timeout_s) as client:
                client.ping()
        except redis.RedisError as error:
            raise NotStarted(
                f"no Redis answers at {variable} ({without_password(url)}): {error}"
            ) from error


def _openapi_yaml() -> str:
    """Return the document as YAML, in the code's order."""
    import yaml

    from service.app import create_app

    app = create_app(Settings())
    # flask-smorest keeps its Api objects by their prefix of configuration; ours has none.
    spec = app.extensions["flask-smorest"]["apis"][""]["ext_obj"].spec.to_dict()
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=100)


def _answers(host: str, port: int) -> bool:
    """Tell whether a worker answers requests; gunicorn listens before its workers are up."""
    # A server on every address is reached on this machine's own.
    nearest = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    connection = http.client.HTTPConnection(nearest, port, timeout=0.3)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def _say(line: str) -> None:
    print(line, flush=True)
