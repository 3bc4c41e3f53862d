"""Somebody else's service, as far as ours is concerned: it notes what is posted to it."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from standardwebhooks import Webhook

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


@dataclass(frozen=True)
class Posted:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    at: float

    @property
    def message(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)

    def check_signature(self, secret: str = SECRET) -> None:
        """Raise unless the signing library accepts the message."""
        Webhook(secret).verify(self.body, self.headers)


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Receiver:
    """A server on this machine and what it has got."""

    port: int
    answer: Callable[[Posted], Answer] = lambda _posted: (204, {}, b"")
    """What is answered; may take its time, or raise to break off."""
    got: list[Posted] = field(default_factory=list)

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def messages(self, kind: str | None = None) -> list[Any]:
        """Return the messages of a type, or all, in the order in which they came."""
        found = [posted.message for posted in self.got]
        return [message for message in found if kind in (None, message["type"])]

    def await_messages(self, count: int, timeout_s: float = 10) -> list[Any]:
        """Wait until so many have come."""
        deadline = time.monotonic() + timeout_s
        while len(self.got) < count:
            assert time.monotonic() < deadline, f"{len(self.got)} of {count} messages came"
            time.sleep(0.01)
        return self.messages()


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Run a receiver, over TLS if that is given."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            posted = Posted(self.path, headers, body, time.time())
            receiver.got.append(posted)
            try:
                status, more, content = receiver.answer(posted)
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Clients may go away."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver = Receiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
