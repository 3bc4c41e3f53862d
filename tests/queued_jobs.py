"""Jobs for the tests of the queue: what a worker of theirs imports by name."""

import os
import time


def add(a: int, b: int) -> int:
    """Return the sum: a job that ends at once."""
    return a + b


def fail() -> None:
    """Raise: a job that fails."""
    raise RuntimeError("as told")


def sleep(seconds: float, pid_file: str) -> None:
    """Say who runs it, then take that long."""
    with open(pid_file, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(seconds)
