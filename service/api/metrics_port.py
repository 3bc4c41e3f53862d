"""`/metrics` on a port of its own, which serves nothing else: an ingress in front of the API then
serves no counters, and who may read these reaches nothing more.

gunicorn listens on both (`service/gunicorn_conf.py`) with the same processes, so that the counters
are those of all of them on either port."""

from flask import Flask, request
from werkzeug.exceptions import NotFound

METRICS_PATH = "/metrics"


def keep_metrics_apart(app: Flask, port: int) -> None:
    """Serve `/metrics` on `port` alone, and there nothing else; with port 0 do nothing."""

    def check() -> None:
        # Of the socket that the request came in by, not of its Host header.
        is_apart = request.environ["SERVER_PORT"] == str(port)
        if is_apart != (request.path == METRICS_PATH):
            raise NotFound

    if port:
        app.before_request(check)
