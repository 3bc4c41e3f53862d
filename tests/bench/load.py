"""A load generator: one connection, one request after another, as little Python as possible.

    python -m tests.bench.load PORT actions|floor SECONDS

prints a JSON list with the milliseconds that each request took. `actions` plays games of four
people: draw from the stock, discard a card of the hand that the answer shows, the next seat; games
are made between, not counted. `floor` posts the same bodies to the app of `floor.py`. Several of
these side by side are several clients.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable

STOCK = 27


class Connection:
    """A kept connection that speaks just enough HTTP/1.1."""

    def __init__(self, port: int) -> None:
        """Connect to this machine."""
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = b""

    def post(self, path: str, body: bytes) -> bytes:
        """Post JSON; return the answer's body. Raises RuntimeError for any status but 201."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body)
        received = self._left
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        head_bytes, answer = received[:end], received[end + 4 :]
        if not head_bytes.startswith(b"HTTP/1.1 201"):
            raise RuntimeError(received.decode(errors="replace"))
        length = _length(head_bytes)
        while len(answer) < length:
            answer += self._receive()
        self._left = answer[length:]
        return answer[:length]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _receive(self) -> bytes:
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("the server closed the connection")
        return received


def _length(head: bytes) -> int:
    name = b"content-length:"
    place = head.lower().index(name) + len(name)
    return int(head[place:].split(b"\r\n", 1)[0])


class Game:
    """Four people who draw and discard, as long as the stock lasts, then a new game."""

    def __init__(self, connection: Connection) -> None:
        """Nothing is made yet."""
        self._connection = connection
        self._path = ""
        self._turn = 0
        self._draws = STOCK
        self._card = ""

    def next_request(self) -> tuple[str, bytes]:
        """Return path and body of the next action; makes a game where one is over."""
        if not self._card and self._draws == STOCK:
            order = {"seats": [{"player": "human"}] * 4}
            made = json.loads(self._connection.post("/games", json.dumps(order).encode()))["game"]
            self._path = f"/games/{made['id']}/actions"
            self._turn, self._draws = made["deal"]["turn"], 0
        action = f'"discard","card":"{self._card}"' if self._card else '"draw_stock"'
        return self._path, f'{{"type":{action},"seat":{self._turn}}}'.encode()

    def read(self, answer: bytes) -> None:
        """Take the card to discard from the answer to a draw; after a discard the next draws."""
        if self._card:
            self._card = ""
            self._turn = (self._turn + 1) % 4
        else:
            place = answer.index(b'"hand":["') + len(b'"hand":["')
            self._card = answer[place : place + 2].decode()
            self._draws += 1


class Floor:
    """The same bodies for the app that does nothing with them."""

    def next_request(self) -> tuple[str, bytes]:
        """Return path and body."""
        return "/games/0123456789abcdef01234567/actions", b'{"type":"draw_stock","seat":0}'

    def read(self, answer: bytes) -> None:
        """Nothing is in it."""


def drive(
    kind: str, port: int, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Make requests for so long; return the milliseconds of each."""
    connection = Connection(port)
    source = Game(connection) if kind == "actions" else Floor()
    taken_ms = []
    deadline = clock() + seconds
    while clock() < deadline:
        path, body = source.next_request()
        began = clock()
        answer = connection.post(path, body)
        taken_ms.append(round(1000 * (clock() - began), 3))
        source.read(answer)
    return taken_ms


if __name__ == "__main__":
    print(json.dumps(drive(sys.argv[2], int(sys.argv[1]), float(sys.argv[3]))))
