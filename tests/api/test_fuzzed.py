"""Requests made up from the document by Schemathesis: none is answered by a fault of ours.

Its checks hold statuses, content types, headers and shapes against the document, and that what the
document forbids is refused. One check is left out: that whatever the document allows is accepted.
The document cannot say that only one of three budgets may be given, that a version is stale, or
that a key has been used.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.serving import WSGIRequestHandler, make_server

from service.app import create_app
from service.config import Settings

SECONDS = 30


class QuietHandler(WSGIRequestHandler):
    """Logs nothing: the service logs each request already."""

    def log(self, type: str, message: str, *args: object) -> None:
        """Do nothing."""


@pytest.fixture
def server_url(redis: object, redis_url: str) -> Iterator[str]:
    """Serve the service on this machine, over a real Redis; polls and streams are cut short."""
    settings = Settings(
        redis_url=redis_url, queue_redis_url=redis_url, max_wait_s=0.1, max_stream_s=0.1
    )
    app = create_app(settings)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_made_up_requests_find_no_fault(server_url: str, tmp_path: Path) -> None:
    """All its phases, valid and invalid data, for half a minute."""
    command = [
        *(str(Path(sys.executable).parent / "schemathesis"), "run", f"{server_url}/openapi.json"),
        *("--mode", "all", "--max-time", str(SECONDS), "--max-examples", "50"),
        *("--exclude-checks", "positive_data_acceptance", "--no-color", "--seed", "20"),
    ]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=6 * SECONDS, check=False
    )

    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    generated = re.search(r"([\d,]+) generated", run.stdout)
    assert generated is not None, run.stdout[-3000:]
    assert int(generated[1].replace(",", "")) > 200
