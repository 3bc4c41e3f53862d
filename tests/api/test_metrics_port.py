"""`/metrics` on a port of its own, told by real processes of all of them."""

from __future__ import annotations

import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.config import Settings
from tests.api.client import memory_app
from tests.api.streams import served
from tests.e2e.harness import free_port

REQUESTS = 40
MOST_REQUESTS = 100 * REQUESTS


def ask(port: int, path: str, host: str = "") -> tuple[int, str]:
    """Return status and body, over a new connection, which any process may take."""
    headers = {"Host": host} if host else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_each_port_serves_its_own_and_tells_of_all_processes(
    redis_url: str, tmp_path: Path
) -> None:
    """Whatever the Host header says; what one process has counted the other tells too."""
    port, metrics_port = free_port(), free_port()
    env = {
        "WEB_CONCURRENCY": "2",
        "PERSIAN_RUMMY_METRICS_PORT": str(metrics_port),
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path),
    }
    with served(redis_url, port, **env):
        hosts = {"": 404, f"127.0.0.1:{metrics_port}": 404}
        assert hosts == {host: ask(port, "/metrics", host)[0] for host in hosts}
        paths = ("/healthz", "/games", "/docs", "/metrics/")
        assert {404} == {ask(metrics_port, path, f"127.0.0.1:{port}")[0] for path in paths}
        asked = 0
        while asked < REQUESTS or (asked < MOST_REQUESTS and len(counters_in(tmp_path)) < 2):
            # At once, so that one process alone does not take them all.
            with ThreadPoolExecutor(REQUESTS) as pool:
                answers = pool.map(lambda _: ask(port, "/bots")[0], range(REQUESTS))
                assert {200} == set(answers)
            asked += REQUESTS

        status, text = ask(metrics_port, "/metrics")

    assert 200 == status
    counted = 'persian_rummy_http_requests_total{method="GET",route="/bots",status="200"}'
    assert f"{counted} {asked}.0" in text
    assert 2 == len(counters_in(tmp_path))


def counters_in(folder: Path) -> list[Path]:
    """Return the files that processes count in, one each."""
    return list(folder.glob("counter_*.db"))


@pytest.mark.parametrize(("port", "status"), [(0, 200), (80, 200), (9090, 404)])
def test_metrics_are_beside_the_api_unless_they_have_a_port(port: int, status: int) -> None:
    """The client of this test comes in by port 80."""
    client = memory_app(settings=Settings(metrics_port=port)).test_client()

    assert status == client.get("/metrics").status_code
    assert (404 if port == 80 else 200) == client.get("/healthz").status_code
