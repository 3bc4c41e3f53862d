"""A failure is reported whatever its traceback has: else one would end the whole run."""

import sys
from types import TracebackType

import pytest

from tests.conftest import pytest_runtest_makereport


def fail_without_a_line() -> None:
    """Raise an error whose traceback has a step without a line."""
    here = sys._getframe()
    (lambda: here)()  # makes it a cell: what the compiler puts in front for that has no line
    step = TracebackType(None, here, 0, -1)
    raise ValueError("no line").with_traceback(step)


def test_steps_without_a_line_are_left_out() -> None:
    """The first step has one: the test's own."""
    call = pytest.CallInfo.from_call(fail_without_a_line, "call")
    assert call.excinfo is not None
    first = call.excinfo.value.__traceback__
    assert first is not None
    assert first.tb_next is not None
    assert first.tb_next.tb_next is not None
    assert first.tb_next.tb_next.tb_lineno is None

    pytest_runtest_makereport(call)

    assert "no line" in str(call.excinfo.getrepr())
