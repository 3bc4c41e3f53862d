"""Health, readiness, counters, docs and rules over HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import redis as redis_py

from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import ApiClient, Table


def test_the_process_is_healthy_without_its_parts(
    api: ApiClient, store: MemoryStore, queue: MemoryQueue
) -> None:
    """/healthz tells of the process only: restarting it would not bring Redis back."""
    store.is_away = queue.is_away = True

    assert api.get("/healthz").json == {"status": "ok"}


@pytest.mark.parametrize("part", ["store", "queue"])
def test_readiness_names_what_is_away(
    api: ApiClient, store: MemoryStore, queue: MemoryQueue, part: str
) -> None:
    """/readyz: 503 with the part's name, and 200 again when it is back."""
    parts = {"store": store, "queue": queue}
    assert api.get("/readyz").json["dependencies"] == {"store": "ok", "queue": "ok"}
    parts[part].is_away = True
    answer = api.get("/readyz")
    parts[part].is_away = False

    assert answer.status == 503
    assert answer.json["dependencies"][part] == "away"
    assert part in answer.json["detail"]
    assert answer.headers["Retry-After"]
    assert api.get("/readyz").status == 200


def test_playing_goes_on_while_the_queue_is_away(table: Table, queue: MemoryQueue) -> None:
    """A person's action needs no queue; a hint is refused with 503 and can be asked again."""
    queue.is_away = True
    token = table.tokens[table.turn]
    hint = table.api.post(f"{table.path}/hints", {}, token=token)

    assert hint.status == 503
    assert hint.headers["Retry-After"]
    assert table.play(table.turn, {"type": "draw_stock"}).status == 201


def test_requests_are_counted(table: Table) -> None:
    """/metrics: by method, route and status, with the route as documented; refusals by rule."""
    table.play(table.turn, {"type": "pass"})
    table.api.get("/nothing/of/the/kind")
    table.api.send("BREW", "/games")
    text = table.api.get("/metrics").raw.decode()

    name = "persian_rummy_http_requests_total"
    actions = 'method="POST",route="/games/{game_id}/actions",status="409"'
    assert f"{name}{{{actions}}} 1.0" in text
    assert f'{name}{{method="GET",route="unmatched",status="404"}} 1.0' in text
    assert f'{name}{{method="other",route="unmatched",status="405"}} 1.0' in text
    assert 'persian_rummy_refusals_total{rule="R24"} 1.0' in text
    assert re.search(r"http_request_seconds_bucket\{le=\"0.01\",method=\"POST\"", text)
    assert table.id not in text


def test_the_docs_load_nothing_from_outside(api: ApiClient) -> None:
    """Each file that the page names is served here; its inline script has the policy's nonce."""
    page = api.get("/docs")
    policy = page.headers["Content-Security-Policy"]
    nonce = re.search(r"'nonce-([^']+)'", policy)
    assert nonce is not None
    found = _Page()
    found.feed(page.raw.decode())

    assert found.urls
    for url in found.urls:
        assert url.startswith("/")
        answer = api.get(url)
        assert answer.status == 200
        assert len(answer.raw) > 100
    assert found.inline_nonces == [nonce[1]]
    assert "default-src 'none'" in policy
    assert nonce[1] not in api.get("/docs").headers["Content-Security-Policy"]


class _Page(HTMLParser):
    """What a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.inline_nonces: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.urls += [url for url in (given.get("src"), given.get("href")) if url]
        if tag == "script" and "src" not in given:
            self.inline_nonces.append(given.get("nonce"))


def test_only_the_pages_own_files_are_served(api: ApiClient) -> None:
    """404 for other files of the package, and for ways out of its folder."""
    for name in ("swagger-ui.js", "VERSION", "..%2f__init__.py", "%2e%2e/__init__.py"):
        assert api.get(f"/docs/assets/{name}").status == 404


def test_the_document_is_served_with_a_tag(api: ApiClient) -> None:
    """/openapi.json: JSON, and 304 to who has it already."""
    answer = api.get("/openapi.json")
    again = api.get("/openapi.json", headers={"If-None-Match": answer.headers["ETag"]})

    assert answer.json["openapi"].startswith("3.1")
    assert again.status == 304


def test_the_rules_are_told_whole(api: ApiClient) -> None:
    """GET /rules: R1 to R33 in order, each with a section and a text."""
    answer = api.get("/rules")

    assert answer.headers["Content-Language"] == answer.json["language"] == "en"
    assert [rule["id"] for rule in answer.json["rules"]] == [f"R{n}" for n in range(1, 34)]
    assert all(rule["text"].endswith(".") for rule in answer.json["rules"])
    assert api.get("/rules", headers={"Accept-Language": ";;,"}).status == 200


SCRAPE = """
import sys
from tests.api.client import memory_app
client = memory_app().test_client()
for _ in range(int(sys.argv[1])):
    client.get("/healthz")
print(client.get("/metrics").get_data(as_text=True))
"""


def test_processes_count_together(tmp_path: Path) -> None:
    """PROMETHEUS_MULTIPROC_DIR: each of several processes answers /metrics for all."""
    env = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for requests in ("2", "3"):
        command = [sys.executable, "-c", SCRAPE, requests]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)

    labels = 'method="GET",route="/healthz",status="200"'
    assert f"persian_rummy_http_requests_total{{{labels}}} 5.0" in run.stdout


SCRAPE_REDIS = """
from service.app import create_app
app = create_app()
for _ in range(2):
    text = app.test_client().get("/metrics").get_data(as_text=True)
print(text)
"""


@pytest.mark.parametrize("is_shared", [False, True])
def test_what_lies_in_redis_is_told_once_whatever_the_processes(
    redis: redis_py.Redis, redis_url: str, tmp_path: Path, is_shared: bool
) -> None:
    """/metrics: the queues' figures are those of the one Redis, not added up over processes."""
    redis.rpush("rq:queue:bots", "a", "b", "c")
    env = {**os.environ, "REDIS_URL": redis_url}
    if is_shared:
        env["PROMETHEUS_MULTIPROC_DIR"] = str(tmp_path)
    for _ in range(2):
        command = [sys.executable, "-c", SCRAPE_REDIS]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)

    assert run.stdout.count('persian_rummy_jobs_queued{queue="bots"} 3.0') == 1
    assert run.stdout.count('persian_rummy_workers{queue="reviews"} 0.0') == 1
    assert "persian_rummy_games_waiting_for_bot 0.0" in run.stdout
