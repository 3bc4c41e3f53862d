"""Requests as bytes: all that a server sends over a connection is kept, headers and chunks too."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
CARD = re.compile(rb"(?<![A-Za-z0-9])(?:[2-9TJQKA][CDHS]|X[1-4])(?![A-Za-z0-9])")
"""A card's name where it stands on its own, and so in no token and no digest."""
ANSWER_S = 60.0
"""For an answer on a busy machine."""


def cards_told(told: bytes) -> set[str]:
    """Return the cards whose names stand anywhere in some bytes."""
    return {card.decode() for card in CARD.findall(told)}


def request(method: str, path: str, token: str | None, body: Any, headers: Json) -> bytes:
    """Return a request; the header `If_Match` is sent as `If-Match`."""
    sent = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: table", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(sent)}"]
    return "\r\n".join([*lines, "", ""]).encode() + sent


@dataclass(frozen=True)
class Raw:
    """An answer as it came, to the last byte."""

    raw: bytes

    @property
    def status(self) -> int:
        return int(self.raw.split(b" ", 2)[1])

    @property
    def head(self) -> bytes:
        return self.raw.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        """What follows the head; of a body that came in chunks, these joined."""
        body = self.raw.partition(b"\r\n\r\n")[2]
        if b"transfer-encoding: chunked" not in self.head.lower():
            return body
        joined = b""
        while body:
            size, _, body = body.partition(b"\r\n")
            joined, body = joined + body[: int(size, 16)], body[int(size, 16) + 2 :]
        return joined

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Line:
    """One who asks, a connection for each request."""

    port: int
    token: str | None = None
    count: int = 0

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Raw:
        """Make a request and return the whole of its answer."""
        self.count += 1
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S) as connection:
            connection.sendall(request(method, path, self.token, body, headers))
            raw = b""
            while more := connection.recv(65536):
                raw += more
        return Raw(raw)

    def must(self, status: int, method: str, path: str, body: Any = None, **headers: str) -> Raw:
        """Make a request whose answer must have that status."""
        answer = self.ask(method, path, body, **headers)
        assert answer.status == status, (method, path, body, answer)
        return answer


@dataclass
class Listener:
    """One who follows a game by its stream, in a thread of its own, to the end of the stream."""

    line: Line
    path: str
    got: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._connection = socket.create_connection(("127.0.0.1", self.line.port), ANSWER_S)
        headers = {"X_Request_Id": "listens"}
        asked = request("GET", f"{self.path}/events", self.line.token, None, headers)
        self._connection.sendall(asked)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with self._connection, suppress(OSError):
            while more := self._connection.recv(65536):
                self.got += more

    def whole(self) -> Raw:
        """Return all that came, once the stream has ended."""
        self._thread.join(ANSWER_S)
        assert not self._thread.is_alive(), "the stream goes on"
        return Raw(bytes(self.got))
