"""How lines are logged: one JSON object a line for machines, or coloured text for people.

structlog's loggers and the standard library's (gunicorn, RQ) go through the same processors and one
handler to standard error. The last processor works on the finished line and takes out the secret
part of app keys and seat tokens, wherever in the line they stand: a message, a field, a traceback.
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


_processors: list[Processor] = []
"""What an event goes through to become a line; one list, for structlog's loggers keep it."""


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
    to_line: list[Processor] = [*_renderers(log_format), redact]
    _processors[:] = [
        structlog.stdlib.filter_by_level,
        *shared,
        structlog.stdlib.PositionalArgumentsFormatter(),
        *to_line,
    ]
    structlog.configure(
        processors=_processors,
        logger_factory=_ToHandlers,
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = _LineHandler(sys.stderr if out is None else out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *to_line],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


class _LineHandler(logging.StreamHandler[TextIO]):
    """Makes lines of the standard library's records, and takes finished ones from structlog."""

    def write(self, line: str) -> None:
        """Write a finished line. Where nobody reads any more it is lost, as a record would be."""
        self.acquire()
        try:
            self.stream.write(f"{line}\n")
            self.flush()
        except (OSError, ValueError):
            pass
        finally:
            self.release()


class _ToHandlers:
    """What structlog hands a module's finished lines to: straight to our handler, since a record of
    the standard library for each costs more than all the rest of a line. Another handler beside it
    (a test's, an agent's) is given a record.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._logger = logging.getLogger(name)

    @property
    def disabled(self) -> bool:
        """Whether somebody has silenced the logger."""
        return self._logger.disabled

    def getEffectiveLevel(self) -> int:
        """Return the level of the least important lines that are wanted."""
        return self._logger.getEffectiveLevel()

    def debug(self, line: str) -> None:
        self._send(logging.DEBUG, line)

    def info(self, line: str) -> None:
        self._send(logging.INFO, line)

    def warning(self, line: str) -> None:
        self._send(logging.WARNING, line)

    def error(self, line: str) -> None:
        self._send(logging.ERROR, line)

    exception = critical = error

    def _send(self, level: int, line: str) -> None:
        for handler in logging.getLogger().handlers:
            if isinstance(handler, _LineHandler):
                handler.write(line)
            else:
                handler.handle(self._logger.makeRecord(self.name, level, "", 0, line, (), None))


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
