"""How lines are logged: one JSON object a line for machines, or coloured text for people.

structlog's loggers and the standard library's (gunicorn, RQ) go through the same processors to
standard error. The last processor works on the finished line and takes out the secret part of app
keys and seat tokens, wherever in the line they stand: a message, a field, a traceback.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, Literal, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

TOKEN = re.compile(r"\b(pr[sk]_)[A-Za-z0-9_\-]+")
"""A seat token (``prs_``) or an app key (``prk_``); group 1 is what may be shown of it."""

Format = Literal["json", "console"]


def configure_logs(
    level: str = "info", log_format: Format = "json", out: TextIO | None = None
) -> None:
    """Send every logger's lines of ``level`` and above to ``out`` (standard error).

    May be called again, in a worker after its parent for example: the last call holds.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.ExtraAdder(),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr if out is None else out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_renderers(log_format),
                redact,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of the module ``name``; fields are given as keyword arguments.

    >>> get_logger(__name__).bind(game="g1").info("game_created", seats=4)
    """
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def redact(_logger: WrappedLogger, _method: str, line: str | EventDict) -> str:
    """Return the finished line with tokens shortened to their prefix.

    >>> redact(None, "info", "joined with prs_0123456789abcdef")
    'joined with prs_…'
    """
    return TOKEN.sub(r"\1…", str(line))


def _renderers(log_format: Format) -> list[Processor]:
    if log_format == "console":
        # Plain tracebacks, here and below: the local variables of a frame hold hands and seeds.
        plain = structlog.dev.plain_traceback
        return [
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)
        ]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(serializer=_dumps),
    ]


def _dumps(event: EventDict, default: Any = repr, **_ignored: Any) -> str:
    return orjson.dumps(event, default=default, option=orjson.OPT_NON_STR_KEYS).decode()
