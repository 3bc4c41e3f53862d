"""Proxies in front of Redis: one that holds back a script or its answer, one that is slow, one that
tells another time.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path


def listen_at(path: Path) -> socket.socket:
    """Return a socket that is bound to `path`."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    return listener


class Proxy:
    """Passes everything on between its clients and the server at `upstream`, both ways."""

    def __init__(self, upstream: Path, listener: socket.socket) -> None:
        """Take clients from `listener`, which is bound."""
        self._upstream = upstream
        self._listener = listener
        listener.listen(256)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more clients."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(self._upstream))
                except OSError:
                    client.close()
                    continue
                is_held = threading.Event()
                for pump in (self._pump_requests, self._pump_answers):
                    threading.Thread(
                        target=pump, args=(client, server, is_held), daemon=True
                    ).start()

    def _pump_requests(
        self, client: socket.socket, server: socket.socket, is_held: threading.Event
    ) -> None:
        # To the client's end: then the server's answers end too.
        with suppress(OSError), server:
            while data := client.recv(65536):
                self.pass_request(data, server, is_held)

    def _pump_answers(
        self, client: socket.socket, server: socket.socket, is_held: threading.Event
    ) -> None:
        with suppress(OSError), client, server:
            while data := server.recv(65536):
                self.pass_answer(data, client, is_held)

    def pass_request(self, data: bytes, server: socket.socket, is_held: threading.Event) -> None:
        """Do something with what a client has sent; `is_held` belongs to its connection."""
        server.sendall(data)

    def pass_answer(self, data: bytes, client: socket.socket, is_held: threading.Event) -> None:
        """Do something with what the server has sent."""
        client.sendall(data)


class Holder(Proxy):
    """Passes everything on until it meets the script that it was told to hold."""

    def __init__(self, upstream: Path, path: Path) -> None:
        """Listen at `path` for clients of the server at `upstream`."""
        self.path = path
        self.has_held = threading.Event()
        self._sha = b""
        self._is_done_first = False
        super().__init__(upstream, listen_at(path))

    @property
    def url(self) -> str:
        """The address for redis-py."""
        return f"unix://{self.path}?db=0"

    def hold(self, sha: str, *, is_done_first: bool) -> None:
        """Hold the next script of that hash: its answer if it is to be done, else all of it."""
        self.has_held.clear()
        self._is_done_first = is_done_first
        self._sha = sha.encode()

    def pass_request(self, data: bytes, server: socket.socket, is_held: threading.Event) -> None:
        """Hold back the script if it is not to be done."""
        if self._sha and self._sha in data:
            self._sha = b""
            is_held.set()
            if not self._is_done_first:
                self.has_held.set()
                return
        server.sendall(data)

    def pass_answer(self, data: bytes, client: socket.socket, is_held: threading.Event) -> None:
        """Hold back the answer to what was held."""
        if is_held.is_set():
            self.has_held.set()
            return
        client.sendall(data)


class PortProxy(Proxy):
    """One that listens on a port of this machine."""

    def __init__(self, upstream: Path) -> None:
        """Listen for clients of the server at `upstream`."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.port: int = listener.getsockname()[1]
        super().__init__(upstream, listener)

    @property
    def url(self) -> str:
        """The address for redis-py."""
        return f"redis://127.0.0.1:{self.port}/0"


class Slow(PortProxy):
    """Passes each call on after a while, as a Redis far away or overburdened would answer it."""

    def __init__(self, upstream: Path) -> None:
        """Listen; not slow yet."""
        self.delay_s = 0.0
        self.calls = 0
        """How many were passed on; what a client sends at once is one."""
        super().__init__(upstream)

    def pass_request(self, data: bytes, server: socket.socket, is_held: threading.Event) -> None:
        """Let it wait first."""
        self.calls += 1
        time.sleep(self.delay_s)
        server.sendall(data)


class Shifted(PortProxy):
    """Tells another time than Redis does when it is asked for it (`TIME`), and only then: what
    Redis itself lets expire lives as long as ever.
    """

    def __init__(self, upstream: Path) -> None:
        """Listen; the time is right yet."""
        self.ahead_s = 0
        self.times_told = 0
        super().__init__(upstream)

    def pass_request(self, data: bytes, server: socket.socket, is_held: threading.Event) -> None:
        """Note who asks for the time."""
        if data == ASK_TIME:
            is_held.set()
        server.sendall(data)

    def pass_answer(self, data: bytes, client: socket.socket, is_held: threading.Event) -> None:
        """Put another time in the place of what was asked for."""
        if is_held.is_set():
            is_held.clear()
            self.times_told += 1
            head, length, seconds, *rest = data.split(b"\r\n")
            data = b"\r\n".join([head, length, b"%d" % (int(seconds) + self.ahead_s), *rest])
        client.sendall(data)


ASK_TIME = b"*1\r\n$4\r\nTIME\r\n"
