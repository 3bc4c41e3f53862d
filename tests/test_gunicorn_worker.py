"""How an answer goes out: its head together with its body, where one follows at once."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from service.gunicorn_worker import _PunctualSocket
from tests.api.streams import served
from tests.e2e.harness import free_port

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Client:
    """A socket that remembers what it was given to send, call by call."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def settimeout(self, seconds: float | None) -> None:
        """Wait for nothing."""

    def sendall(self, part: bytes) -> None:
        self.sent.append(part)

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> None:
        self.sent.append(b"file")


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def line(client: Client) -> _PunctualSocket:
    return _PunctualSocket(client, 0.0, 1.0)


def test_head_and_body_are_one_packet(client: Client, line: _PunctualSocket) -> None:
    """And the next answer of the connection begins anew."""
    for part in (HEAD, b"bo", b"dy", HEAD, b"more"):
        line.sendall(part)
    line.send_head()

    assert [HEAD + b"bo", b"dy", HEAD + b"more"] == client.sent


def test_a_head_without_a_body_is_sent_at_the_end(client: Client, line: _PunctualSocket) -> None:
    """The answer to HEAD, and one that is empty."""
    line.sendall(HEAD)
    assert [] == client.sent

    line.send_head()
    line.send_head()

    assert [HEAD] == client.sent


@pytest.mark.parametrize("head", [STREAM, b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_what_has_no_length_is_sent_at_once(
    client: Client, line: _PunctualSocket, head: bytes
) -> None:
    """A stream's first event may be long in coming, and a client may wait to be told to go on."""
    line.sendall(head)

    assert [head] == client.sent


def test_a_file_comes_behind_its_head(client: Client, line: _PunctualSocket) -> None:
    line.sendall(HEAD)
    line.sendfile(None, count=4)

    assert [HEAD, b"file"] == client.sent


@pytest.fixture(scope="module")
def port(redis_url: str) -> Iterator[int]:
    """Run the API under gunicorn, as a deployment does."""
    port = free_port()
    with served(redis_url, port):
        yield port


def ask(connection: socket.socket, request: bytes) -> tuple[bytes, bytes]:
    """Send a request; return the answer's head, and what has come behind it."""
    connection.sendall(request)
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(65536)
        assert more, got
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.e2e
def test_answers_without_a_body_follow_each_other_on_a_connection(port: int) -> None:
    """Each is there before the next is asked for, the last one before the connection is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        asked = b" /rules HTTP/1.1\r\nHost: x\r\n"
        for end in (b"\r\n", b"\r\n", b"Connection: close\r\n\r\n"):
            head, body = ask(connection, b"HEAD" + asked + end)
            assert head.startswith(b"HTTP/1.1 200 ")
            assert int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]) > 1000
            assert b"" == body
        assert b"" == connection.recv(1)
