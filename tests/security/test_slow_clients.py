"""Who does not take what is sent to him holds a connection for so long, and no longer."""

from __future__ import annotations

import socket
import time

import pytest

from service.gunicorn_worker import ProblemWorker
from tests.api.streams import served
from tests.e2e.harness import free_port, wait_until
from tests.security.wire import Line, request

pytestmark = pytest.mark.e2e

ROOM = 4096
"""Bytes that the client takes unread, or some more: the kernel has its own idea."""
ASKED = 400
"""Answers of some hundred kilobytes each: more than the kernels of both sides hold for a socket."""


class ImpatientWorker(ProblemWorker):
    """The worker of a deployment, but for how long it waits for an answer to be taken."""

    answer_s = 1.0


def connections_of(pid: int, port: int) -> int:
    """Return how many connections to the port are open, by the table of the process."""
    with open(f"/proc/{pid}/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def test_an_answer_that_is_not_taken_is_given_up(redis_url: str) -> None:
    """The connection is closed; others are answered meanwhile, and nothing is wrong."""
    port = free_port()
    worker = {"GUNICORN_CMD_ARGS": f"--worker-class {__name__}.ImpatientWorker"}
    with served(redis_url, port, **worker) as process, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        client.connect(("127.0.0.1", port))
        asked = request("GET", "/openapi.json", None, None, {})
        client.sendall(asked.replace(b"Connection: close\r\n", b"") * ASKED)
        began = time.monotonic()
        wait_until(lambda: connections_of(process.pid, port) > 0, 20, "a connection")
        answers = [Line(port).ask("GET", "/healthz").status for _ in range(5)]
        wait_until(lambda: connections_of(process.pid, port) == 0, 60, "the end of it")

        print(f"\ngiven up after {time.monotonic() - began:.1f} s")
    assert answers == [200] * 5
