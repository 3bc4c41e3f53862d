"""Server-sent events as a client reads them: from an app in this process, or over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Flask

ROOT = Path(__file__).resolve().parents[2]
START_S = 120.0
"""On a busy machine; it takes a second or two."""


@dataclass(frozen=True)
class Event:
    """One event as it was sent; a comment is the event `:`."""

    kind: str
    id: int | None
    data: Any


class StreamRefused(AssertionError):
    """A stream was asked for and another answer came."""


def read_events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Yield what the chunks of a stream say, as the standard has it read."""
    left = b""
    for chunk in chunks:
        *blocks, left = (left + chunk).split(b"\n\n")
        yield from map(read_event, blocks)
    assert not left


def read_event(block: bytes) -> Event:
    """Return the event of one block."""
    if block.startswith(b":"):
        return Event(":", None, None)
    fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
    number = fields.get("id")
    return Event(
        fields["event"], None if number is None else int(number), json.loads(fields["data"])
    )


@contextmanager
def stream_of(
    app: Flask, path: str, token: str | None = None, headers: Mapping[str, str] | None = None
) -> Iterator[Iterator[Event]]:
    """Open a stream of an app in this process; end it with the block."""
    sent = dict(headers or {})
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    with app.test_client(use_cookies=False).open(path, headers=sent, buffered=False) as answer:
        assert answer.status_code == 200, answer.get_data()
        assert answer.content_type == "text/event-stream"
        yield read_events(answer.iter_encoded())


@contextmanager
def stream_at(
    port: int, path: str, token: str | None = None, **headers: str
) -> Iterator[Iterator[Event]]:
    """Open a stream over HTTP; leave it with the block."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    with closing(connection):
        connection.request("GET", path, headers=sent)
        with connection.getresponse() as answer:
            if answer.status != 200:
                raise StreamRefused(answer.status, answer.read())
            yield read_events(iter(answer.read1, b""))


@contextmanager
def served(redis_url: str, port: int, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the API under gunicorn as a deployment does, one process, on the Redis given."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--config", "python:service.gunicorn_conf"),
            "service.wsgi:app",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "REDIS_URL": redis_url,
            "QUEUE_REDIS_URL": redis_url,
            "PORT": str(port),
            "WEB_CONCURRENCY": "1",
            **env,
        },
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + START_S
        while not _is_up(port):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()


def _is_up(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
