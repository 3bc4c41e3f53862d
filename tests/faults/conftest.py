"""The service of the tests of faults, started as those of `tests/e2e` start it."""

from __future__ import annotations

from tests.e2e.conftest import start_service, warm_kernels

__all__ = ["start_service", "warm_kernels"]
