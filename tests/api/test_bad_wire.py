"""What is no HTTP request, or too much of one, sent to the running server byte by byte."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator

import pytest

from service.api.problem import KINDS, PROBLEMS_PATH
from service.gunicorn_worker import REFUSALS, ProblemWorker
from tests.api.client import document
from tests.api.streams import served
from tests.e2e.harness import free_port

pytestmark = pytest.mark.e2e

PROBLEM = b"application/problem+json"
HOST = b"Host: x\r\n"
TEN_MEGABYTES = 10 * 1024 * 1024
POST = b"POST /games HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"


@pytest.fixture(scope="module")
def port(redis_url: str) -> Iterator[int]:
    """Run the API under gunicorn, as a deployment does."""
    port = free_port()
    with served(redis_url, port):
        yield port


def talk(port: int, *parts: bytes) -> tuple[int, bytes, bytes, float]:
    """Send the parts; return the answer's status, head and body, and the seconds that it took."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        began = time.monotonic()
        try:
            for part in parts:
                connection.sendall(part)
        except OSError:
            # Answered and closed before all was sent.
            pass
        got = b""
        while b"\r\n\r\n" not in got:
            more = connection.recv(65536)
            assert more, got
            got += more
        seconds = time.monotonic() - began
        head, _, body = got.partition(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        while len(body) < length:
            body += connection.recv(65536)
    return int(head.split(b" ")[1]), head, body, seconds


BROKEN = {
    "no HTTP": b"hello\r\n\r\n",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "HTTP/9.9": b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
    "a method in small letters": b"get / HTTP/1.1\r\n" + HOST + b"\r\n",
    "100 headers": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: b\r\n" * 100 + b"\r\n",
    "5,000 headers": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: b\r\n" * 5_000 + b"\r\n",
    "a header of 20 KB": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: " + b"b" * 20_000 + b"\r\n\r\n",
    "a path of 5 KB": b"GET /" + b"a" * 5_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a token in a broken header": b"GET / HTTP/1.1\r\n" + HOST + b"Bad Name: prs_secret\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: b\r\n c\r\n\r\n",
    "a header without a colon": b"GET / HTTP/1.1\r\n" + HOST + b"X-A\r\n\r\n",
    "NUL in a header": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: b\0c\r\n\r\n",
    "a length below nought": POST + b"Content-Length: -5\r\n\r\n",
    "a length in words": POST + b"Content-Length: five\r\n\r\n",
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   ",
    "a length and chunks": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    "chunks of no size": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "markup in the path": b"GET /<script>alert(1)</script> HTTP/1.1\r\nBad Name: x\r\n\r\n",
}


def is_documented(status: int, *, with_body: bool = False) -> bool:
    """Return whether each operation may have that answer, or each one WITH_BODY."""
    return all(
        str(status) in operation["responses"]
        for item in document()["paths"].values()
        for method, operation in item.items()
        if method != "parameters" and ("requestBody" in operation or not with_body)
    )


@pytest.mark.parametrize("status", REFUSALS)
def test_what_the_server_refuses_is_of_a_kind(status: int) -> None:
    """With the title of its kind, though the server knows none of them."""
    slug, title, _ = REFUSALS[status]

    assert (KINDS[slug].status, KINDS[slug].title) == (status, title)


@pytest.mark.parametrize("sent", BROKEN.values(), ids=list(BROKEN))
def test_what_is_no_request_is_a_problem(port: int, sent: bytes) -> None:
    """4xx as problem+json, at once, as the document has it for every operation, and nothing of
    what was sent is repeated.
    """
    status, head, body, seconds = talk(port, sent)

    assert 400 <= status < 500, head
    assert is_documented(status)
    assert PROBLEM in head
    problem = json.loads(body)
    assert b"Content-Language: en" in head
    assert problem["type"].removeprefix(f"{PROBLEMS_PATH}/") in KINDS
    assert (problem["status"], bool(problem["title"]), bool(problem["detail"])) == (
        status,
        True,
        True,
    )
    assert b"secret" not in head + body
    assert b"<" not in body
    # A tenth of a second for us; the rest is for a machine that does other things besides.
    assert seconds < 1


def test_an_unknown_coding_of_the_body_is_a_problem(port: int) -> None:
    """501: RFC 9112 wants that one, although it is the client's doing."""
    status, head, body, _ = talk(port, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")

    assert status in (400, 501)
    assert PROBLEM in head
    assert json.loads(body)["status"] == status


@pytest.mark.parametrize("is_chunked", [False, True])
def test_ten_megabytes_are_refused_before_they_are_sent(port: int, is_chunked: bool) -> None:
    """413 after the head alone where it tells the length; else once the limit is passed."""
    if is_chunked:
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        parts = [
            POST + b"Transfer-Encoding: chunked\r\n\r\n",
            *[chunk] * (TEN_MEGABYTES // 0x10000),
        ]
    else:
        parts = [POST + b"Content-Length: %d\r\n\r\n" % TEN_MEGABYTES]
    status, head, body, seconds = talk(port, *parts)

    assert status == 413
    assert is_documented(413, with_body=True)
    assert PROBLEM in head
    assert json.loads(body)["type"] == "/docs/problems/too-large"
    assert seconds < 2


class ImpatientWorker(ProblemWorker):
    """The worker of a deployment, but for how long it waits for a body."""

    body_s = 0.5


@pytest.fixture(scope="module")
def impatient_port(redis_url: str) -> Iterator[int]:
    """Run the API with that worker."""
    port = free_port()
    worker = {"GUNICORN_CMD_ARGS": f"--worker-class {__name__}.ImpatientWorker"}
    with served(redis_url, port, **worker):
        yield port


TRICKLES = {
    "a byte, and no more": [b"Content-Length: 100\r\n\r\n{"],
    "a byte now and then": [b"Content-Length: 100\r\n\r\n", *[b" "] * 99],
    "chunks now and then": [b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\n \r\n"] * 99],
}


@pytest.mark.parametrize("parts", TRICKLES.values(), ids=list(TRICKLES))
def test_a_body_that_trickles_is_not_waited_for(impatient_port: int, parts: list[bytes]) -> None:
    """408, though a byte came a moment ago, and the connection is of no further use."""
    with socket.create_connection(("127.0.0.1", impatient_port), timeout=20) as connection:
        connection.sendall(POST)
        sent = 0
        for part in parts:
            connection.sendall(part)
            sent += 1
            if select.select([connection], [], [], 0.05)[0]:
                break
        got = connection.recv(65536)

    assert got.startswith(b"HTTP/1.1 408 ")
    assert is_documented(408, with_body=True)
    assert PROBLEM in got
    assert sent < 90


def test_a_body_that_does_not_come_holds_up_nobody_else(port: int) -> None:
    """Fifty clients send a byte and wait; others are answered meanwhile."""
    slow = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(POST + b"Content-Length: 100\r\n\r\n{")
        request = b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
        status, _, _, seconds = talk(port, request)
    finally:
        for connection in slow:
            connection.close()

    assert status == 200
    assert seconds < 1
