"""The service over real HTTP and a real Redis, for programs that are started beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from werkzeug.serving import WSGIRequestHandler, make_server

from service.app import create_app
from service.config import Settings


class QuietHandler(WSGIRequestHandler):
    """Logs nothing: the service logs each request already."""

    def log(self, type: str, message: str, *args: object) -> None:
        """Do nothing."""


@pytest.fixture
def serve(redis: object, redis_url: str) -> Iterator[Callable[..., str]]:
    """Return a function that starts the service with some settings and returns its address."""
    stop: list[Callable[[], None]] = []

    def start(**settings: object) -> str:
        found = Settings(redis_url=redis_url, queue_redis_url=redis_url, **settings)  # type: ignore[arg-type]
        server = make_server(
            "127.0.0.1", 0, create_app(found), threaded=True, request_handler=QuietHandler
        )
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        stop.extend((server.shutdown, thread.join, server.server_close))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for end in stop:
        end()


@pytest.fixture
def server_url(serve: Callable[..., str]) -> str:
    """Return the address of the service as it is by default."""
    return serve()
