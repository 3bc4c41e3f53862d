"""The logs: one line each, and no token in any of them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from service.logs import configure_logs, get_logger, redact


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """Return what the logs are written to; the root logger is put back afterwards."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield io.StringIO()
    root.handlers[:] = before[0]
    root.setLevel(before[1])


def test_a_line_is_an_object_with_its_fields(out):
    """JSON for machines: message, level, time and what was bound."""
    configure_logs("info", "json", out)

    get_logger("service.test").bind(game="g1").info("action_played", version=3)

    line = json.loads(out.getvalue())
    assert ("action_played", "info", "g1", 3) == (
        line["message"],
        line["level"],
        line["game"],
        line["version"],
    )
    assert line["timestamp"].endswith("Z")


def test_lines_of_other_libraries_look_the_same(out):
    """gunicorn and RQ log through the standard library."""
    configure_logs("info", "json", out)

    logging.getLogger("rq.worker").warning("lost %s", "job-1")

    line = json.loads(out.getvalue())
    assert ("lost job-1", "warning", "rq.worker") == (
        line["message"],
        line["level"],
        line["logger"],
    )


def test_the_last_call_holds_for_loggers_that_have_written_already(out):
    """A worker configures its logs after its parent did; its modules keep their loggers."""
    configure_logs("info", "console", out)
    log = get_logger("service.test")
    log.info("first")
    second = io.StringIO()

    configure_logs("warning", "json", second)
    log.info("quiet")
    log.bind(game="g1").warning("second")

    assert "first" in out.getvalue()
    assert "second" not in out.getvalue()
    line = json.loads(second.getvalue())
    assert ("second", "g1") == (line["message"], line["game"])


def test_a_handler_that_others_put_beside_ours_gets_the_lines_too(out):
    """As records of the standard library, by level and logger."""
    records = []

    class Others(logging.Handler):
        def emit(self, record):
            records.append((record.name, record.levelname, json.loads(record.getMessage())["a"]))

    configure_logs("info", "json", out)
    logging.getLogger().addHandler(Others())

    get_logger("service.test").error("100 % wrong", a=1)

    assert [("service.test", "ERROR", 1)] == records
    assert 1 == out.getvalue().count("100 % wrong")


def test_where_nobody_reads_the_lines_nothing_fails(out):
    """Standard error may be closed, or a pipe whose reader has gone."""
    configure_logs("info", "json", out)
    out.close()

    get_logger("service.test").info("lost")


def test_a_silenced_logger_is_silent(out):
    """As `logging.config` does it to loggers that it does not name."""
    configure_logs("info", "json", out)
    log = get_logger("service.silenced")
    logging.getLogger("service.silenced").disabled = True

    log.info("quiet")

    assert "" == out.getvalue()


def test_lines_below_the_level_are_not_written(out):
    """The level counts for every logger."""
    configure_logs("warning", "json", out)

    get_logger("service.test").info("quiet")
    logging.getLogger("some.library").info("quiet")

    assert "" == out.getvalue()


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_no_token_reaches_the_log(out, log_format):
    """Neither from a message, a field, a nested field, an object nor a traceback."""
    configure_logs("info", log_format, out)
    secret = "S3cret-_0123456789"

    class Holder:
        def __repr__(self) -> str:
            return f"<Holder prk_{secret}>"

    logging.getLogger("gunicorn.error").info("GET /?token=prs_%s", secret)
    log = get_logger("service.test")
    log.info("joined", token=f"prs_{secret}", nested={"keys": [f"prk_{secret}"]}, it=Holder())
    try:
        raise ValueError(f"bad token prs_{secret}")
    except ValueError:
        log.exception("failed")

    assert secret not in out.getvalue()
    assert 5 == out.getvalue().count("prs_…") + out.getvalue().count("prk_…")


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_shows_no_local_variables(out, log_format):
    """They hold hands and seeds."""
    configure_logs("info", log_format, out)
    stock_order = "the-hidden-order"

    try:
        raise ValueError(len(stock_order))
    except ValueError:
        get_logger("service.test").exception("failed")

    assert "ValueError: 16" in out.getvalue()
    assert stock_order not in out.getvalue()


def test_words_that_only_look_like_tokens_stay():
    """The prefix must start a word."""
    assert "sprs_x prk prs_…." == redact(None, "info", "sprs_x prk prs_abc.")
