"""How long the running service takes to refuse bad input: a tenth of a second is what is aimed at.

Printed and not asserted, since a machine that does other things besides would decide; what is
asserted is that each ends in a 4xx, and that none is worked on again and again (`STUCK_S`)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest

from tests.api.streams import served
from tests.api.test_bad_input import NOT_JSON, STUCK_S
from tests.api.test_bad_wire import BROKEN, HOST, POST, TEN_MEGABYTES, talk
from tests.e2e.harness import free_port

pytestmark = pytest.mark.e2e

TRIES = 3
AIM_MS = 100.0
BOMB = 60_000
"""Bytes: just below the largest body, 64 KiB."""


def posted(body: bytes) -> bytes:
    """Return a request for a game with a body."""
    return POST + b"Content-Length: %d\r\n\r\n" % len(body) + body


BODIES = {
    **NOT_JSON,
    "arrays to the limit": b"[" * BOMB,
    "objects to the limit": b'{"a":' * (BOMB // 5),
    "an object of 6,000 names": b"{"
    + b",".join(b'"%d":1' % number for number in range(6_000))
    + b"}",
    "a text of escapes": b'"' + rb"\u0041" * (BOMB // 6) + b'"',
    "a lone surrogate": rb'{"seats":"\ud800"}',
    "a name that is a lone surrogate": rb'{"\ud800":1}',
    "a number of 60,000 digits": b"[" + b"9" * BOMB + b"]",
    "a number below nought, to a power": b"[-1e-99999]",
    "20,000 seats": b'{"seats":[' + b"{}," * (BOMB // 3 - 10) + b"{}]}",
    "20,000 empty arrays": b"[" + b"[]," * (BOMB // 3 - 10) + b"[]]",
}
CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
SENT = {
    **BROKEN,
    **{name: posted(body) for name, body in BODIES.items() if body},
    "10 MB, told": POST + b"Content-Length: %d\r\n\r\n" % TEN_MEGABYTES,
    "10 MB in chunks": POST
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + CHUNK * (TEN_MEGABYTES // 0x10000),
    "1,900 fields in the query": b"GET /games?" + b"a&" * 1_900 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.fixture(scope="module")
def port(redis_url: str) -> Iterator[int]:
    """Run the API under gunicorn, as a deployment does."""
    port = free_port()
    with served(redis_url, port):
        yield port


def test_bad_input_is_refused_at_once(port: int) -> None:
    """Each alone, over a connection of its own."""
    talk(port, posted(b"{}"))
    took: dict[str, float] = {}
    for name, sent in SENT.items():
        tries = []
        for _ in range(TRIES):
            status, head, _, seconds = talk(port, sent)
            assert 400 <= status < 500, (name, head)
            tries.append(1000 * seconds)
        took[name] = min(tries)
    slowest = sorted(took, key=lambda name: -took[name])
    late = [name for name in slowest if took[name] >= AIM_MS]

    print(
        f"\n{len(took)} kinds of bad input, the best of {TRIES} each: median "
        f"{statistics.median(took.values()):.1f} ms, {len(late)} of them {AIM_MS:g} ms or more; "
        + ", ".join(f"{name} {took[name]:.0f}" for name in slowest[:5])
    )
    assert took[slowest[0]] < 1000 * STUCK_S
