"""Stand-ins for the web app and the queue workers, for tests of what runs them.

``tests.standin:app`` is a WSGI app that tells its process; ``python tests/standin.py QUEUE`` waits
until it is told to stop, and notes its process in the folder ``STANDIN_DIR``. A queue named in
``STANDIN_BROKEN`` ends with exit code 3 at once; one in ``STANDIN_DEAF`` ignores SIGTERM and has a
child that does, too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def app(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer every request with the number of the process and where it was told Redis is."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {os.environ['REDIS_URL']}".encode()]


def work(queue: str) -> None:
    """Note that a worker of ``queue`` runs, then wait."""
    if queue in os.environ.get("STANDIN_BROKEN", "").split():
        sys.exit(3)
    notes = Path(os.environ["STANDIN_DIR"])
    if queue in os.environ.get("STANDIN_DEAF", "").split():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"])
        (notes / f"{queue}-child").write_text(str(child.pid))
    (notes / queue).write_text(str(os.getpid()))
    while True:
        time.sleep(600)


if __name__ == "__main__":
    work(sys.argv[1])
