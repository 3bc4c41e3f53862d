"""The table in a browser that has nothing of it yet: paint, layout shift, bytes, on loopback.

Beside it, in the same rounds, plain text of the same service without script and style: what a first
paint costs here at least."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from service.embedded import RedisServer
from tests.api.streams import served
from tests.bench.figures import show, show_command
from tests.e2e.harness import Player, free_port, make_table
from tests.web.conftest import FLAGS, NAMES_ON_PATH

pytestmark = [pytest.mark.bench, pytest.mark.browser]

VISITS = 8
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "is_mobile": True,
    "has_touch": True,
}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
MEASURE = """async () => {
    const read = (type) => new Promise((resolve) => {
        const found = [];
        new PerformanceObserver((list) => found.push(...list.getEntries()))
            .observe({ type, buffered: true });
        setTimeout(() => resolve(found), 300);
    });
    const [paints, largest, shifts, loaded, pages] = await Promise.all(
        ['paint', 'largest-contentful-paint', 'layout-shift', 'resource', 'navigation'].map(read));
    const fetched = [...pages, ...loaded].filter((one) => !one.name.endsWith('/events'));
    const sum = (entries, field) => entries.reduce((total, one) => total + one[field], 0);
    return {
        paint: paints.find((one) => one.name === 'first-contentful-paint').startTime,
        largest: largest.at(-1).startTime,
        shift: sum(shifts, 'value'),
        sent: sum(fetched, 'transferSize') / 1000,
        unpacked: sum(fetched, 'decodedBodySize') / 1000,
        requests: fetched.length,
    };
}"""
PAINT = (("first paint", "paint", "ms"),)
FIGURES = (
    *PAINT,
    ("largest contentful paint", "largest", "ms"),
    ("layout shift", "shift", ""),
    ("sent", "sent", "kB"),
    ("unpacked", "unpacked", "kB"),
    ("requests", "requests", ""),
)
FLOOR = "/rules"
IS_THERE = "#welcome h2, #hand [data-card], body > pre"
"""The first page, a game, and the plain text, once they are drawn."""


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the API as one process."""
    port = free_port()
    folder: Path = tmp_path_factory.mktemp("redis")
    with RedisServer(folder) as server, served(server.url, port):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run Chromium."""
    found = next(filter(None, map(shutil.which, NAMES_ON_PATH)), None)
    if found is None:
        pytest.skip("no Chromium on PATH: install the package chromium")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield running
        running.close()


def visit(browser: Browser, url: str, settings: dict[str, Any]) -> dict[str, float]:
    """Open an address in a browser that has kept nothing, and measure when it lies still."""
    context = browser.new_context(**settings)
    page = context.new_page()
    page.goto(url)
    page.locator(IS_THERE).first.wait_for()
    page.wait_for_timeout(500)
    figures: dict[str, float] = page.evaluate(MEASURE)
    context.close()
    return figures


def test_the_page_in_a_browser(base_url: str, browser: Browser) -> None:
    """The first page and a game, on a wide screen and on a phone."""
    table = make_table(Player(base_url), "page", *["human"] * 4)
    game = f"/#game={table.id}&seat=0&token={table.players[0].token}"
    visits = {
        ("the floor", FLOOR, PAINT): WIDE,
        ("the first page, wide", "/", FIGURES): WIDE,
        ("the first page, phone", "/", FIGURES): PHONE,
        ("a game, wide", game, FIGURES): WIDE,
        ("a game, phone", game, FIGURES): PHONE,
    }
    show_command("page_in_a_browser")

    rounds = [
        [visit(browser, base_url + address, screen) for (_, address, _), screen in visits.items()]
        for _ in range(VISITS)
    ]

    for place, (name, _, figures) in enumerate(visits):
        for what, field, unit in figures:
            show(f"{name}: {what}", [one[place][field] for one in rounds], unit)
    assert max(one["shift"] for each in rounds for one in each) < 0.01
