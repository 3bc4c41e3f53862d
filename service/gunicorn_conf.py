"""The settings of gunicorn: ``gunicorn --config python:service.gunicorn_conf service.wsgi:app``.

What a deployment changes is read from the environment or given on the command line, which wins:
``PORT``, ``WEB_CONCURRENCY``, ``--bind``, ``--graceful-timeout``. Workers are gevent's, since each
stream of events holds a connection open. The app is loaded in each worker, after gevent has
patched the standard library, never before the fork.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

from gunicorn import glogging

from service.config import Settings
from service.logs import configure_logs

bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
worker_class = "service.gunicorn_worker.ProblemWorker"
# Above this many a worker takes no further ones, and a stream holds one as long as it is open.
worker_connections = 10_000
preload_app = False

# A worker that says nothing for so long is killed; nothing of ours computes in a request.
timeout = 30
# Seconds that open requests and streams get to end when a worker is told to stop.
graceful_timeout = 30
# Longer than the usual 5 s of a proxy's idle connections would hold them for nothing.
keepalive = 5

# Its control socket would be a file in the home folder.
control_socket_disable = True
# The workers' heartbeat files: in memory where there is such a folder.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

# Far above what the API's paths and headers need.
limit_request_line = 4094
limit_request_fields = 64


SWITCH_S = 0.001
"""gevent's own 5 ms are waited for at each answer of Redis, several times a request."""
STOP_LOOK_S = 0.2
"""How often a worker looks whether it was told to stop."""


class Logger(glogging.Logger):
    """gunicorn's messages through our processors instead of handlers of its own."""

    def setup(self, cfg: Any) -> None:
        """Configure our logs, then let gunicorn's messages rise to the root logger."""
        super().setup(cfg)
        settings = Settings.from_env()
        configure_logs(settings.log_level, settings.log_format)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


logger_class = Logger


def on_starting(server: Any) -> None:
    """Listen on the port of `/metrics` as well, where it has one, and empty the folder of the
    workers' counters: those of the last run count no more.
    """
    port = Settings.from_env().metrics_port
    if port:
        # Here, and not in `bind`, which the command line replaces.
        first = server.cfg.bind[0]
        server.cfg.set("bind", [*server.cfg.bind, f"{first.rpartition(':')[0]}:{port}"])
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for counters in Path(folder).glob("*.db"):
            counters.unlink(missing_ok=True)


def post_worker_init(worker: Any) -> None:
    """Let a worker that is told to stop be unready, and its streams end: their clients take them up
    elsewhere. And let many streams hold up no request.
    """
    share_time()

    def watch() -> None:
        while worker.alive:
            time.sleep(STOP_LOOK_S)
        parts = worker.wsgi.extensions["persian_rummy"]
        parts.is_stopping.set()
        parts.house.store.end_watches()

    # gevent has patched the standard library by now: this is a greenlet.
    threading.Thread(target=watch, name="stop", daemon=True).start()


def share_time() -> None:
    """Keep short what a process with thousands of streams does at one go.

    What is told to a thousand streams is written by a thousand greenlets, which gevent runs for
    `SWITCH_S` before it looks for requests again. And Python's collector of cycles looks through
    all objects now and then, modules and schemas too, unless these are set aside."""
    # Imported here: gevent has patched the standard library by now.
    import gevent

    gevent.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()


def child_exit(_server: Any, worker: Any) -> None:
    """Drop the gauges of a worker that has ended."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        # Imported here: the library decides at its import how it keeps values.
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
