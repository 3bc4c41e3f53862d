"""What is told of each request: an id, a line in the log, counters for Prometheus, a span where
traces are wanted.

Under gunicorn several processes count; with `PROMETHEUS_MULTIPROC_DIR` set they share a folder, and
any of them answers `/metrics` for all."""

import os
import re
import secrets
import time
from functools import cache

import structlog
from flask import Flask, Response, g, request
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)
from prometheus_client.registry import Collector

from service.api.auth import shown_name
from service.logs import get_logger
from service.tracing import TRACEPARENT, Span, begin_span

MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ARGUMENT = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")
log = get_logger(__name__)


class Metrics:
    """The counters of one app."""

    def __init__(self, figures: Collector | None = None) -> None:
        """Make the counters, in a registry of their own: apps of one process are kept apart.

        `figures` are told beside them; they are not of this process.
        """
        self.registry = CollectorRegistry()
        self._figures = figures
        if figures is not None:
            self.registry.register(figures)
        self._requests = Counter(
            "persian_rummy_http_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "persian_rummy_http_request_seconds",
            "Seconds from the request to its answer, waiting for news included.",
            ("method", "route"),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self._refusals = Counter(
            "persian_rummy_refusals", "Actions refused.", ("rule",), registry=self.registry
        )
        self.streams = Gauge(
            "persian_rummy_streams",
            "Streams of events that are open.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = (method, route, status)
        children = self._children.get(key)
        if children is None:
            children = (
                self._requests.labels(method, route, str(status)),
                self._seconds.labels(method, route),
            )
            self._children[key] = children
        children[0].inc()
        children[1].observe(seconds)

    def count_refusal(self, rule: str) -> None:
        """Count one action that a rule refused."""
        self._refusals.labels(rule).inc()

    def exposition(self) -> bytes:
        """Return all counters, those of sister processes included, as Prometheus reads them."""
        if not os.environ.get(MULTIPROCESS_FOLDER):
            return generate_latest(self.registry)
        everything = CollectorRegistry()
        multiprocess.MultiProcessCollector(everything)  # type: ignore[no-untyped-call]
        if self._figures is not None:
            everything.register(self._figures)
        return generate_latest(everything)


@cache
def shown_route(rule: str) -> str:
    """Return a Flask rule as the document writes the path.

    >>> shown_route("/games/<string(maxlength=64):game_id>")
    '/games/{game_id}'
    """
    return _ARGUMENT.sub(r"{\1}", rule)


def observe_requests(app: Flask, metrics: Metrics) -> None:
    """Give every request of `app` an id, and tell of it when it is answered."""

    def begin() -> None:
        # Set before anything that may fail: `end` relies on them.
        g.began = time.perf_counter()
        given = request.headers.get("X-Request-Id", "")
        g.request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        # A kept connection serves several requests in one context.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=g.request_id)
        carried = {TRACEPARENT: request.headers.get(TRACEPARENT, "")}
        g.span = begin_span(request.method, "server", {"request_id": g.request_id}, carried)
        if g.span is not None:
            structlog.contextvars.bind_contextvars(trace_id=g.span.trace_id)

    def end(answer: Response) -> Response:
        context = g._get_current_object()
        asked = request._get_current_object()  # type: ignore[attr-defined]
        seconds = time.perf_counter() - context.began
        rule = asked.url_rule
        route = shown_route(rule.rule) if rule is not None else "unmatched"
        method = asked.method if asked.method in METHODS else "other"
        status = answer.status_code
        answer.headers["X-Request-Id"] = context.request_id
        metrics.observe(method, route, status, seconds)
        log.info(
            "request",
            method=method,
            route=route,
            status=status,
            ms=round(seconds * 1000, 2),
            caller=shown_name(context.get("caller")),
        )
        if context.span is not None:
            _end_span(context.span, method, route, status)
        return answer

    app.before_request(begin)
    app.after_request(end)


def _end_span(span: Span, method: str, route: str, status: int) -> None:
    span.tell(
        {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
        }
    )
    if status >= 500:
        span.fail(str(status))
    span.end(f"{method} {route}")
