"""Look for inputs that break a target, led by the coverage of our code (`make fuzz-input`).

    python -m tests.security.fuzz notation .cache/fuzz/notation -max_total_time=60

The engine is libFuzzer by Atheris, which is no part of the tests' environment: its wheels come
later than Python does. New inputs go to the folder given; name `tests/security/corpus/notation`
behind it to begin with the kept ones. What is worth keeping of the new ones is added by
`-merge=1 tests/security/corpus/notation .cache/fuzz/notation`."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import atheris
import structlog

CORPUS = Path(__file__).parent / "corpus"

with atheris.instrument_imports(include=["service"]):
    from tests.security.targets import TARGETS


def main(arguments: list[str]) -> None:
    """Fuzz the target named first; what follows is for libFuzzer."""
    target = TARGETS[arguments[1]]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

    def run(data: bytes) -> None:
        try:
            target(data)
        except BaseException:
            print(f"\nbroken by {data!r}", flush=True)
            raise

    words = CORPUS / f"{target.__name__}.dict"
    options = [arguments[0], *arguments[2:], "-timeout=5", "-max_len=6000"]
    if words.exists():
        options.append(f"-dict={words}")
    atheris.Setup(options, run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
