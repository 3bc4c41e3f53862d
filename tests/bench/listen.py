"""A listener to many streams, as little Python as possible.

    python -m tests.bench.listen PORT STREAMS PATH...

opens so many streams, over the paths in turn; prints `ready` when each has had its first event and,
when its input is closed, how many bytes and events came after that.
"""

from __future__ import annotations

import selectors
import socket
import sys


def open_stream(port: int, path: str) -> socket.socket:
    """Ask for a stream; its answer is not read yet."""
    stream = socket.create_connection(("127.0.0.1", port))
    stream.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return stream


def listen(port: int, count: int, paths: list[str]) -> None:
    """Listen until the input is closed."""
    selector = selectors.DefaultSelector()
    streams = []
    for number in range(count):
        stream = open_stream(port, paths[number % len(paths)])
        begun = b""
        while not begun.endswith(b"\n\n\r\n"):
            received = stream.recv(65536)
            if not received:
                raise ConnectionError(begun.decode())
            begun += received
        streams.append(stream)
        stream.setblocking(False)
        selector.register(stream, selectors.EVENT_READ, stream)
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    print("ready", flush=True)
    events = 0
    while True:
        for key, _ in selector.select():
            if key.data is None:
                print(events, flush=True)
                return
            events += key.data.recv(65536).count(b"event: action")


if __name__ == "__main__":
    listen(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
