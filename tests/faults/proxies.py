"""A proxy in front of Redis that can hold back one script: before it is done, or its answer."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path


class Holder:
    """Passes everything on until it meets the script that it was told to hold."""

    def __init__(self, upstream: Path, path: Path) -> None:
        """Listen at `path` for clients of the server at `upstream`."""
        self.path = path
        self.has_held = threading.Event()
        self._sha = b""
        self._is_done_first = False
        self._upstream = upstream
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The address for redis-py."""
        return f"unix://{self.path}?db=0"

    def hold(self, sha: str, *, is_done_first: bool) -> None:
        """Hold the next script of that hash: its answer if it is to be done, else all of it."""
        self.has_held.clear()
        self._is_done_first = is_done_first
        self._sha = sha.encode()

    def close(self) -> None:
        """Take no more clients."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._upstream))
                is_held = threading.Event()
                for pump in (self._pump_requests, self._pump_answers):
                    threading.Thread(
                        target=pump, args=(client, server, is_held), daemon=True
                    ).start()

    def _pump_requests(
        self, client: socket.socket, server: socket.socket, is_held: threading.Event
    ) -> None:
        with suppress(OSError), client, server:
            while data := client.recv(65536):
                if self._sha and self._sha in data:
                    self._sha = b""
                    is_held.set()
                    if self._is_done_first:
                        server.sendall(data)
                    else:
                        self.has_held.set()
                    continue
                server.sendall(data)

    def _pump_answers(
        self, client: socket.socket, server: socket.socket, is_held: threading.Event
    ) -> None:
        with suppress(OSError), client, server:
            while data := server.recv(65536):
                if is_held.is_set():
                    self.has_held.set()
                    continue
                client.sendall(data)
