"""One running service for the tests that leave it as it was; a fresh one for those that do not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import ROOT, Service


@pytest.fixture(scope="session")
def warm_kernels() -> None:
    """Compile what the workers run, if it is not in the cache: no test is to wait for it."""
    subprocess.run([sys.executable, "-m", "workers", "warm"], cwd=ROOT, check=True, timeout=300)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, warm_kernels: None) -> Iterator[Service]:
    """Run the service for all tests that only play."""
    with Service(tmp_path_factory.mktemp("service")).running() as running:
        yield running


@pytest.fixture
def start_service(tmp_path: Path, warm_kernels: None) -> Iterator[Callable[..., Service]]:
    """Return a function that starts a service of the test's own, with an environment."""
    started: list[Service] = []

    def start(**env: str) -> Service:
        started.append(Service(tmp_path, env))
        return started[-1].start()

    yield start
    for running in started:
        running.end()
