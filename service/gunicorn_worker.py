"""gunicorn's gevent worker, whose own refusals are problems as all others of this service are.

gunicorn answers by itself what it cannot read as HTTP: a header too many, a line too long, a length
given twice. Its answers are HTML pages that repeat what was sent; here they are
`application/problem+json` and repeat nothing. gunicorn still chooses the status.

gunicorn ends a connection whose request line and headers do not come (`keepalive`), but waits for a
body as long as its client likes. Here a body has to have come after `ProblemWorker.body_s`,
however its bytes trickle; what reads it then meets a TimeoutError (`service/api/reading.py`). It
would wait as long for an answer to be taken: one who asks for a stream and never reads it would
hold a connection, and what is told on it, for good. After `ProblemWorker.answer_s` he counts as
gone.

This module knows no other part of the service: it is loaded before gevent has patched the standard
library."""

from __future__ import annotations

import errno
import json
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from gunicorn.workers.ggevent import GeventWorker

REFUSALS = {
    400: ("bad-request", "The request cannot be read", "The request breaks HTTP itself."),
    414: (
        "path-too-long",
        "The path and the query are too long",
        "The path and the query are longer than this service reads.",
    ),
    431: (
        "headers-too-large",
        "The headers are too many or too long",
        "The headers are more, or longer, than this service reads.",
    ),
    500: (
        "internal-error",
        "Something is wrong here",
        "Something went wrong here; it was logged.",
    ),
}
"""Kind, title and detail by status. Of others the status says all there is (RFC 9457, 4.2.1)."""


class ProblemWorker(GeventWorker):
    """The worker of `gunicorn_conf.py`."""

    body_s = 30.0
    """Seconds in which a body has to have come: the largest, at 17 KB a second."""
    answer_s = 60.0
    """Seconds in which each part of an answer has to have been taken, an event of a stream too."""

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        """Answer a request; neither its body nor the taking of the answer is waited for longer."""
        unreader = req.unreader
        client = unreader.sock
        end_at = time.monotonic() + self.body_s
        punctual: Any = _PunctualSocket(client, end_at, self.answer_s)
        unreader.sock = punctual
        try:
            goes_on = super().handle_request(listener_name, req, punctual, addr)
        except StopIteration:
            # gunicorn closes the connection now, or has done so.
            with suppress(OSError):
                punctual.send_head()
            raise
        else:
            punctual.send_head()
            return goes_on
        finally:
            unreader.sock = client

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what is no HTTP request."""
        stand_in: Any = _ProblemSocket(client)
        super().handle_error(req, stand_in, addr, exc)


class _PunctualSocket:
    """Stands for a client's socket while a body is read from it and the answer written to it."""

    def __init__(self, client: Any, end_at: float, answer_s: float) -> None:
        self._client = client
        self._end_at = end_at
        self._answer_s = answer_s
        self._head = b""
        """Of an answer whose body follows at once: sent with it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def recv(self, size: int) -> bytes:
        """Return some bytes; raises TimeoutError when it is too late for them."""
        left_s = self._end_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._client.settimeout(left_s)
        try:
            return bytes(self._client.recv(size))
        finally:
            self._client.settimeout(None)

    def sendall(self, part: bytes) -> None:
        """Send a part of the answer; raises ConnectionResetError when it is not taken in time."""
        if part.startswith(b"HTTP/1.1 ") and b"\r\nContent-Length: " in part:
            # gunicorn sends it by itself: a system call and a packet more for each answer.
            self._head = part
            return
        part, self._head = self._head + part, b""
        self._send(part)

    def sendfile(self, *args: Any, **options: Any) -> Any:
        """Send a file as the answer's body."""
        self.send_head()
        return self._client.sendfile(*args, **options)

    def send_head(self) -> None:
        """Send the head of an answer that turned out to have no body."""
        head, self._head = self._head, b""
        if head:
            self._send(head)

    def _send(self, part: bytes) -> None:
        self._client.settimeout(self._answer_s)
        try:
            self._client.sendall(part)
        except TimeoutError:
            # As of a client that has gone: gunicorn closes the connection and says nothing.
            raise ConnectionResetError(errno.ECONNRESET, "the answer is not taken") from None
        finally:
            self._client.settimeout(None)


class _ProblemSocket:
    """Stands for a client's socket while an error is written to it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def sendall(self, page: bytes) -> None:
        """Send a problem of the page's status in place of the page."""
        self._client.sendall(problem_for(int(page.split(b" ", 2)[1])))


def problem_for(status: int) -> bytes:
    """Return the whole answer that tells of a status, after which the connection is closed."""
    phrase = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": phrase, "status": status, "detail": f"{phrase}."}
    if status in REFUSALS:
        slug, title, detail = REFUSALS[status]
        problem |= {"type": f"/docs/problems/{slug}", "title": title, "detail": detail}
    body = json.dumps(problem).encode()
    head = (
        f"HTTP/1.1 {status} {phrase}\r\n"
        "Connection: close\r\n"
        "Content-Type: application/problem+json\r\n"
        "Content-Language: en\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "\r\n"
    )
    return head.encode() + body
