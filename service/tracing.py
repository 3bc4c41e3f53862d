"""Traces: what a request sets off, through the queue and in the workers, as OpenTelemetry's spans.

Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector: the library is not imported here then,
and a span costs a look at a variable. The library's other variables (`OTEL_TRACES_SAMPLER`,
`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_RESOURCE_ATTRIBUTES`, ...) are its own to read. Spans are sent
as OTLP in JSON over HTTP, in the background; what the collector does not take is lost.

A job takes its trace along in its `meta`, as the W3C's `traceparent`, beside the request's id. A
bot's job calls the next bot, whose job is its child: a trace tells of a person's action and of all
that bots did until a person was to move again. What a webhook is told is of the trace of what
happened; when it is tried again, hours later, its own trace points to that one (`link`). Of a
request's headers `traceparent` alone is read: `tracestate` and `baggage` are free text of callers,
which would be carried on.

Spans tell what lines of the log tell: method, route and status, queue and job, level and
iterations, with tokens shortened as there. They are made by hand here, and for Redis in
`store/traced.py`, and not by the library's instrumentations of Flask and Redis, which put paths,
queries and arguments into them. The text of an error is left out as well: it may quote a card.
Names are those of OpenTelemetry's conventions for HTTP, messaging and databases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from service.logs import TOKEN

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor

Kind = Literal["internal", "server", "client", "producer", "consumer"]
Attributes = Mapping[str, str | int | float]
TRACEPARENT = "traceparent"
TRACES_PATH = "/v1/traces"


class Span:
    """A span under way; spans that begin before its end are its children."""

    def __init__(self, span: trace.Span) -> None:
        """Make `span` the current one."""
        from opentelemetry import context
        from opentelemetry.trace import set_span_in_context

        self._span = span
        self._token: Token[Context] = context.attach(set_span_in_context(span))

    @property
    def trace_id(self) -> str:
        """The trace's id, 32 hexadecimal digits."""
        return f"{self._span.get_span_context().trace_id:032x}"

    def tell(self, attributes: Attributes) -> None:
        """Add what became known meanwhile."""
        self._span.set_attributes(_redacted(attributes))

    def fail(self, kind: str) -> None:
        """Mark it as failed, by a kind of error, without the error's text."""
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)

    def end(self, name: str | None = None) -> None:
        """End it, under another name where that is known only now."""
        from opentelemetry import context

        if name is not None:
            self._span.update_name(name)
        context.detach(self._token)
        self._span.end()


class _Tracing:
    """The library, once it is wanted."""

    def __init__(self, role: str, processor: SpanProcessor) -> None:
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.trace import SpanKind, get_current_span
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        own = Resource({"service.name": f"persian-rummy-{role}"})
        self._provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()))
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("persian-rummy")
        self._propagator = TraceContextTextMapPropagator()
        self._kinds = SpanKind
        self._current = get_current_span

    def is_under_way(self) -> bool:
        """Tell whether there is a current span that is sent somewhere."""
        return self._current().is_recording()

    def begin(
        self,
        name: str,
        kind: Kind,
        attributes: Attributes,
        carried: Mapping[str, str] | None,
        link: Mapping[str, str] | None,
    ) -> Span:
        """Begin a span, a child of the current one, or of what `carried` names where given."""
        from opentelemetry.trace import Link, get_current_span

        parent = None if carried is None else self._named(carried)
        linked = get_current_span(None if link is None else self._named(link)).get_span_context()
        own = get_current_span(parent).get_span_context()
        # To its own trace it belongs without one.
        is_other = link is not None and linked.is_valid and linked.trace_id != own.trace_id
        return Span(
            self._tracer.start_span(
                name,
                parent,
                kind=self._kinds[kind.upper()],
                attributes=_redacted(attributes),
                links=[Link(linked)] if is_other else [],
            )
        )

    def _named(self, carried: Mapping[str, str]) -> Context:
        """Return a context with the span that `carried` names, if it names one."""
        from opentelemetry.context import Context

        # A job's meta is whatever somebody wrote there.
        traceparent = {TRACEPARENT: str(carried.get(TRACEPARENT))}
        return self._propagator.extract(traceparent, Context())

    def carry(self) -> dict[str, str]:
        """Return what names the current span elsewhere."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return {TRACEPARENT: carrier[TRACEPARENT]} if TRACEPARENT in carrier else {}

    def stop(self) -> None:
        """Send what has not been sent."""
        self._provider.shutdown()


def _redacted(attributes: Attributes) -> Attributes:
    """Shorten tokens: an id of a request is what a caller wants it to be."""
    return {
        name: TOKEN.sub(r"\1…", value) if isinstance(value, str) else value
        for name, value in attributes.items()
    }


class TracingMissing(RuntimeError):
    """An endpoint for traces is set, and the library is not installed."""

    def __init__(self) -> None:
        """Say what to install."""
        super().__init__(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and the extra `traces` is not installed: "
            "pip install 'persian-rummy[traces]', or `.venv/bin/pip install -e '.[traces]'` here"
        )


_tracing: _Tracing | None = None


def check_installed() -> None:
    """Raise TracingMissing unless the library is installed."""
    try:
        import opentelemetry.exporter.otlp.json.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError as error:
        raise TracingMissing from error


def start_tracing(endpoint: str, role: str) -> None:
    """Send this process's spans to the collector at `endpoint`; do nothing where that is empty.

    Call it after the process was forked: a thread sends them. `role` (`api`, or a worker's queue)
    is in the name of the service that they are of. Raises TracingMissing.
    """
    if not endpoint:
        return
    check_installed()
    from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + TRACES_PATH)
    trace_to(BatchSpanProcessor(exporter), role)


def trace_to(processor: SpanProcessor, role: str) -> None:
    """Hand this process's spans to `processor`, in place of one before."""
    global _tracing
    stop_tracing()
    _tracing = _Tracing(role, processor)


def stop_tracing() -> None:
    """Send what has not been sent, and make no more spans."""
    global _tracing
    stopped, _tracing = _tracing, None
    if stopped is not None:
        stopped.stop()


def begin_span(
    name: str,
    kind: Kind = "internal",
    attributes: Attributes | None = None,
    carried: Mapping[str, str] | None = None,
    link: Mapping[str, str] | None = None,
) -> Span | None:
    """Begin a span, which the caller ends, in the same thread or greenlet; None where tracing is
    off.

    It is a child of the current span; where `carried` is given, of the one that this names, and of
    none if it names none. The span that `link` names is pointed to, where it is of another trace.
    """
    if _tracing is None:
        return None
    return _tracing.begin(name, kind, attributes or {}, carried, link)


def begin_inner_span(name: str, kind: Kind = "internal") -> Span | None:
    """Begin a span as `begin_span` does, but only inside of another; None where there is none."""
    is_inside = _tracing is not None and _tracing.is_under_way()
    return begin_span(name, kind) if is_inside else None


def is_wanted() -> bool:
    """Tell whether spans are made in this process, now."""
    return _tracing is not None


@contextmanager
def span(
    name: str,
    kind: Kind = "internal",
    attributes: Attributes | None = None,
    carried: Mapping[str, str] | None = None,
    link: Mapping[str, str] | None = None,
) -> Iterator[Span | None]:
    """Span what is done inside, as `begin_span` does; what is raised marks it as failed."""
    begun = begin_span(name, kind, attributes, carried, link)
    if begun is None:
        yield None
        return
    try:
        yield begun
    except BaseException as error:
        begun.fail(type(error).__name__)
        raise
    finally:
        begun.end()


def carry() -> dict[str, str]:
    """Return what makes spans elsewhere children of the current one; nothing if tracing is off."""
    return {} if _tracing is None else _tracing.carry()
