"""A running service and a real browser for the tests of the table.

The browser is the system's Chromium; Playwright only drives it and downloads nothing. Where there
is none the tests of the browser are skipped with one line that says so; `make test-web` fails
instead. `SCREENS=FOLDER` keeps a picture of each state that a test shows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.e2e.harness import ROOT, Service
from tests.web.table import Table

NAMES_ON_PATH = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS = 20_000
"""For what takes a fraction of a second on a machine that does nothing else."""


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the browser's executable."""
    found = next(filter(None, map(shutil.which, NAMES_ON_PATH)), None)
    if found is None:
        pytest.skip(
            "no Chromium on PATH, so the table was not tried in a browser: install the system's "
            "package chromium"
        )
    return found


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """Run the browser, headless."""
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="session")
def warm_kernels(chromium: str) -> None:
    """Compile what the workers run, if it is not in the cache: no test is to wait for it."""
    subprocess.run([sys.executable, "-m", "workers", "warm"], cwd=ROOT, check=True, timeout=300)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, warm_kernels: None) -> Iterator[Service]:
    """Run the service for all tests that only play."""
    with Service(tmp_path_factory.mktemp("web-service")).running() as running:
        yield running


@pytest.fixture
def own_service(tmp_path: Path, warm_kernels: None) -> Iterator[Service]:
    """Run a service that the test may stop and start."""
    with Service(tmp_path).running() as running:
        yield running


@pytest.fixture
def open_table(browser: Browser) -> Iterator[Callable[..., Table]]:
    """Return a function that opens a window at an address, with a browser's settings.

    Afterwards no window may have met an error of the page's script or of its content policy."""
    contexts: list[BrowserContext] = []
    tables: list[Table] = []

    def open_at(url: str, pace: str = "off", **settings: object) -> Table:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **settings})
        context.set_default_timeout(WAIT_MS)
        # Before any script of the page: what a person would choose in the settings.
        context.add_init_script(
            f"try {{ localStorage.setItem('persian-rummy:pace', '\"{pace}\"') }} catch {{}}"
        )
        contexts.append(context)
        tables.append(Table(context.new_page()))
        tables[-1].go(url)
        return tables[-1]

    yield open_at
    faults = [fault for table in tables for fault in table.faults]
    for context in contexts:
        context.close()
    assert [] == faults
