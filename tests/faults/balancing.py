"""What stands in front of several API processes, as a Kubernetes service does, and nothing more.

Each new connection goes to the next process in service, and stays with it; nothing is tried again.
A process is in service while its `/readyz` answers 200. One that is to go is taken out first, but
not everywhere at once: for a moment connections still reach it, for which its pre-stop pause is.
"""

from __future__ import annotations

import http.client
import itertools
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

LOOK_S = 0.1
"""Between two looks at who is ready."""
NEWS_TRAVEL_S = 0.5
"""How long after it was taken out a process still gets connections."""


@dataclass(eq=False)
class Backend:
    """One API process."""

    port: int
    is_ready: bool = False
    leaves_at: float | None = None
    """When connections go to it no more, by the monotonic clock; None: it stays."""
    connections: int = field(default=0)
    """How many it was given."""

    @property
    def is_in_service(self) -> bool:
        """Whether it is given connections."""
        if self.leaves_at is not None:
            # As ready as it was when it was taken out.
            return self.is_ready and time.monotonic() < self.leaves_at
        return self.is_ready

    def look(self) -> None:
        """Ask it whether it is ready."""
        if self.leaves_at is not None:
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            self.is_ready = connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            self.is_ready = False
        finally:
            connection.close()


class Balancer:
    """Passes connections on, one process after the other."""

    def __init__(self) -> None:
        """Listen; nobody is in service yet."""
        self._turns = itertools.count()
        self._backends: list[Backend] = []
        self._is_over = threading.Event()
        self.turned_away = 0
        """Connections for which nobody was in service."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        for work in (self._accept, self._look):
            threading.Thread(target=work, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def add(self, port: int) -> Backend:
        """Let a process have its share once it is ready."""
        backend = Backend(port)
        self._backends = [*self._backends, backend]
        return backend

    def take_out(self, backend: Backend) -> None:
        """Give a process no more connections, a moment from now."""
        backend.leaves_at = time.monotonic() + NEWS_TRAVEL_S

    def close(self) -> None:
        """Take no more connections."""
        self._is_over.set()
        self._listener.close()

    def _look(self) -> None:
        while not self._is_over.wait(LOOK_S):
            for backend in self._backends:
                backend.look()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        in_service = [backend for backend in self._backends if backend.is_in_service]
        if not in_service:
            self.turned_away += 1
            client.close()
            return
        backend = in_service[next(self._turns) % len(in_service)]
        backend.connections += 1
        with client, socket.socket() as server, suppress(OSError):
            # Refused: the client sees its connection closed without an answer.
            server.connect(("127.0.0.1", backend.port))
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on to the end of them, and then the end."""
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
