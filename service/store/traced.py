"""Spans of what Redis is asked, inside those of a request or a job.

A client that is made while traces are wanted tells of each command and each pipeline: what they are
called, a script by its file, and nothing of their keys and arguments. Outside of any span (a worker
that waits for jobs, a sign of life, the thread that reads news) it tells nothing. Nothing is put on
a client that is made while none are wanted.

Names are those of OpenTelemetry's conventions for databases. The library's own instrumentation of
redis-py changes its classes for all, and puts commands with their arguments into spans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis
from redis.exceptions import NoScriptError

from service.tracing import Attributes, begin_inner_span, is_wanted

SYSTEM = "redis"
MOST_NAMED = 20
"""Commands of a pipeline that are named."""
Described = tuple[str, Attributes]
"""A span's name, and what it tells."""
_script_names: dict[str, str] = {}


def name_script(sha: str, name: str) -> None:
    """Let spans tell of the script of that hash by its name."""
    _script_names[sha] = name


def tell_of(client: redis.Redis) -> redis.Redis:
    """Let `client`, if traces are wanted, tell of what it asks; return it. Bears a repetition."""
    if is_wanted() and "execute_command" not in vars(client):
        own: Any = client
        execute, pipeline = own.execute_command, own.pipeline

        def traced_command(*args: Any, **options: Any) -> Any:
            return _spanned(lambda: _command(args), lambda: execute(*args, **options))

        def traced_pipeline(*args: Any, **options: Any) -> Any:
            return _traced_pipeline(pipeline(*args, **options))

        own.execute_command, own.pipeline = traced_command, traced_pipeline
    return client


def _traced_pipeline(pipeline: Any) -> Any:
    """Let a new pipeline tell of what is put into it, when it is sent; return it."""
    put, send = pipeline.execute_command, pipeline.execute
    names: list[str] = []

    def put_and_note(*args: Any, **options: Any) -> Any:
        names.append(_command(args)[0])
        return put(*args, **options)

    def describe() -> Described:
        return "PIPELINE", {
            "db.operation.name": "PIPELINE",
            "db.operation.batch.size": len(names),
            "db.query.summary": " ".join(names[:MOST_NAMED]),
        }

    def send_and_tell(*args: Any, **options: Any) -> Any:
        try:
            return _spanned(describe, lambda: send(*args, **options))
        finally:
            names.clear()

    pipeline.execute_command, pipeline.execute = put_and_note, send_and_tell
    return pipeline


def _spanned(describe: Callable[[], Described], ask: Callable[[], Any]) -> Any:
    """Return what `ask` returns, in a span with the name and attributes that `describe` gives."""
    begun = begin_inner_span(SYSTEM, "client")
    if begun is None:
        return ask()
    name, attributes = describe()
    begun.tell({"db.system.name": SYSTEM, **attributes})
    try:
        return ask()
    except NoScriptError:
        # No fault: redis-py sends the script then and asks again.
        raise
    except BaseException as error:
        begun.fail(type(error).__name__)
        raise
    finally:
        begun.end(name)


def _command(args: tuple[Any, ...]) -> Described:
    """Describe a command."""
    operation = str(args[0])
    if operation == "EVALSHA" and args[1] in _script_names:
        script = _script_names[args[1]]
        attributes = {"db.operation.name": operation, "db.stored_procedure.name": script}
        return f"{operation} {script}", attributes
    return operation, {"db.operation.name": operation}
