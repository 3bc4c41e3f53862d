"""Traces: one from a request through the queue to the end of its job, and nothing hidden in it."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rq import Queue
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from service import tracing
from service.app import create_app
from service.config import Settings
from service.games.house import House
from service.games.sweeping import sweep_webhooks
from service.jobqueue import RqQueue
from service.logs import configure_logs
from service.store.connecting import connect
from service.store.redis_store import load_script
from service.store.traced import tell_of
from tests.api.client import ONE_PERSON, ApiClient, Table, memory_app
from tests.e2e.harness import Service, free_port, make_table, wait_until
from tests.receivers import Receiver, receiving
from tests.workers.conftest import here as here
from tests.workers.conftest import warm_kernels as warm_kernels
from tests.workers.test_main import quiet_logs as quiet_logs
from tests.workers.test_main import work_off
from workers import webhooks
from workers.house import house

ROOT = Path(__file__).resolve().parents[1]
CARD = re.compile(r"(?<![A-Za-z0-9])([2-9TJQKA][SHDC]|X[1-4])(?![A-Za-z0-9])")
PARENT = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """Keep this process's spans in memory."""
    exporter = InMemorySpanExporter()
    tracing.trace_to(SimpleSpanProcessor(exporter), "tests")
    yield exporter
    tracing.stop_tracing()


@pytest.fixture
def api(spans: InMemorySpanExporter, here: House, redis_url: str) -> ApiClient:
    """Return a client of the service on the session's Redis, where the workers' House is too. Both
    are made when traces are wanted already.
    """
    return ApiClient(create_app(Settings(redis_url=redis_url, queue_redis_url=redis_url)))


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    """Return the ended spans of a name, in the order of their ends."""
    return [span for span in spans.get_finished_spans() if span.name == name]


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    return span.get_span_context().span_id


def traces_of(*spans: ReadableSpan) -> set[int]:
    return {span.get_span_context().trace_id for span in spans}


def test_a_request_and_its_job_share_a_trace(
    api: ApiClient, redis: redis_py.Redis, spans: InMemorySpanExporter
) -> None:
    """The request sends, the worker's span is the sending's child, on the other side of the
    queue."""
    table = Table(api)
    spans.clear()
    asked = table.api.post(
        f"{table.path}/hints",
        {"iterations": 100},
        token=table.tokens[table.turn],
        headers={"X-Request-Id": "asked"},
    )
    work_off(redis, "hints")

    (request,) = named(spans, "POST /games/{game_id}/hints")
    (sent,) = named(spans, "send hints")
    (worked,) = named(spans, "process hints")
    assert 202 == asked.status
    assert 1 == len(traces_of(request, sent, worked))
    assert (None, id_of(request), id_of(sent)) == tuple(map(parent_of, (request, sent, worked)))
    assert request.attributes == {
        "request_id": "asked",
        "http.request.method": "POST",
        "http.route": "/games/{game_id}/hints",
        "http.response.status_code": 202,
    }
    job = {
        "messaging.system": "rq",
        "messaging.destination.name": "hints",
        "messaging.message.id": f"hint-{table.id}-{asked.json['id']}",
        "code.function.name": "workers.jobs.give_hint",
    }
    assert sent.attributes == worked.attributes == job
    assert "persian-rummy-tests" == request.resource.attributes["service.name"]


def test_the_bots_turns_belong_to_the_trace_of_the_persons_action(
    api: ApiClient, redis: redis_py.Redis, spans: InMemorySpanExporter
) -> None:
    """One bot's job calls the next; what each thought is told with its level."""
    table = Table(api, seats=ONE_PERSON, seed="traced")
    work_off(redis, "bots")
    spans.clear()
    table.play(0, {"type": "draw_stock"})
    card = table.view(0)["deal"]["hand"][0]
    discarded = table.play(0, {"type": "discard", "card": card})
    work_off(redis, "bots")

    request = named(spans, "POST /games/{game_id}/actions")[-1]
    jobs = named(spans, "process bots")
    sent = named(spans, "send bots")
    thoughts = [span for span in named(spans, "decide") if span.attributes["level"] == "greedy"]
    assert 201 == discarded.status
    assert 3 == len(jobs) == len(sent)
    assert 1 == len(traces_of(request, *jobs, *sent, *thoughts))
    assert [id_of(span) for span in sent] == [parent_of(span) for span in jobs]
    assert [id_of(request), *map(id_of, jobs[:2])] == sorted(
        (parent_of(span) for span in sent), key=[id_of(request), *map(id_of, jobs)].index
    )
    assert {parent_of(span) for span in thoughts} == set(map(id_of, jobs))
    assert len(thoughts) >= 6


def test_what_redis_is_asked_for_an_action_is_told(
    api: ApiClient, spans: InMemorySpanExporter
) -> None:
    """Commands and scripts by their names, inside the request's span; not their keys."""
    table = Table(api, seats=ONE_PERSON, seed="traced")
    table.play(0, {"type": "draw_stock"})
    spans.clear()
    card = table.view(0)["deal"]["hand"][0]
    spans.clear()
    discarded = table.play(0, {"type": "discard", "card": card}, headers={"Idempotency-Key": "k"})

    (request,) = named(spans, "POST /games/{game_id}/actions")
    (sent,) = named(spans, "send bots")
    (committed,) = named(spans, "EVALSHA commit")
    asked = [span for span in spans.get_finished_spans() if span.kind.name == "CLIENT"]
    assert 201 == discarded.status
    assert {
        "db.system.name": "redis",
        "db.operation.name": "EVALSHA",
        "db.stored_procedure.name": "commit",
    } == committed.attributes
    loaded = named(spans, "PIPELINE")[0]
    assert ("HMGET HMGET", 2) == tuple(
        loaded.attributes[name] for name in ("db.query.summary", "db.operation.batch.size")
    )
    assert {id_of(request), id_of(sent)} == {parent_of(span) for span in asked}
    assert "LLEN" in {span.name for span in asked if parent_of(span) == id_of(sent)}
    text = "\n".join(span.to_json() for span in asked)
    assert "prs:" not in text
    assert table.id not in text


def test_what_a_webhook_is_told_is_of_the_trace_of_what_happened(
    spans: InMemorySpanExporter,
    redis: redis_py.Redis,
    redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In another thread, and told there in the log too; tried again, it points to that trace. The
    receiver is not told of it, nor the trace of the receiver.
    """
    monkeypatch.setenv("PERSIAN_RUMMY_WEBHOOK_ADDRESSES", "any")
    monkeypatch.setenv("REDIS_URL", redis_url)
    house.cache_clear()
    settings = Settings(redis_url=redis_url, queue_redis_url=redis_url, webhook_addresses="any")
    with receiving() as receiver, capture_logs(processors=[merge_contextvars]) as lines:
        receiver.answer = lambda _posted: (500, {}, b"")
        hook = {"url": receiver.url("/canary"), "events": ["game.finished"]}
        table = Table(ApiClient(create_app(settings)), webhook=hook)
        work_off(redis, "webhooks")
        table.api.delete(table.path)
        work_off(redis, "webhooks")
        webhooks.wait_for_threads()
        receiver.answer = lambda _posted: (204, {}, b"")
        house().store.note_due("deliveries", f"{table.id}/d1", 1.0)
        sweep_webhooks(house())
        work_off(redis, "webhooks")
        webhooks.wait_for_threads()
    house.cache_clear()

    (abandoned,) = named(spans, "DELETE /games/{game_id}")
    first, again = named(spans, "POST")
    threads = {id_of(span): span for span in named(spans, "post")}
    jobs = {id_of(span): span for span in named(spans, "process webhooks")}
    began = [jobs[parent_of(threads[parent_of(span)])] for span in (first, again)]
    assert traces_of(abandoned) == traces_of(began[0], first)
    assert () == first.links
    assert traces_of(began[1]) == traces_of(again) != traces_of(first)
    (link,) = again.links
    assert {link.context.trace_id} == traces_of(abandoned)
    assert [500, 204] == [span.attributes["http.response.status_code"] for span in (first, again)]
    assert [False, True] == [span.status.is_unset for span in (first, again)]
    told = [line["trace_id"] for line in lines if line["event"] == "delivery_tried"]
    assert told == [f"{trace_id:032x}" for span in (first, again) for trace_id in traces_of(span)]
    assert all("traceparent" not in posted.headers for posted in receiver.got)
    text = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "canary" not in text
    assert str(receiver.port) not in text


def test_what_redis_is_asked_outside_of_a_request_or_job_is_not_told(
    api: ApiClient, here: House, redis: redis_py.Redis, spans: InMemorySpanExporter
) -> None:
    """A worker asks for jobs day and night."""
    here.store.ping()
    here.queue.depths()
    work_off(redis, "hints")

    assert () == spans.get_finished_spans()


def test_an_error_of_redis_is_told_by_its_kind(
    api: ApiClient, redis: redis_py.Redis, redis_url: str, spans: InMemorySpanExporter
) -> None:
    """But that a script is not there yet is none."""
    redis.set("text", "canary")
    redis.script_flush()
    with connect(redis_url, 2.0) as client, tracing.span("around"):
        script = load_script(client, "unmark_waiting")
        script(keys=["waiting"], args=["game", 1])
        with pytest.raises(redis_py.ResponseError, match="WRONGTYPE"):
            client.lpush("text", "canary")
        with pytest.raises(redis_py.ResponseError, match="WRONGTYPE"):
            client.pipeline(transaction=False).get("text").lpush("text", "canary").execute()

    told = {
        span.name: (span.attributes or {}).get("error.type") for span in spans.get_finished_spans()
    }
    assert {
        "EVALSHA unmark_waiting": None,
        "SCRIPT LOAD": None,
        "LPUSH": "ResponseError",
        "PIPELINE": "ResponseError",
        "around": None,
    } == told
    assert "canary" not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_a_client_made_without_traces_has_nothing_put_on_it(
    redis_url: str, redis: redis_py.Redis
) -> None:
    """And with them, once."""
    with connect(redis_url, 2.0) as plain:
        assert not {"execute_command", "pipeline"} & vars(plain).keys()
    tracing.trace_to(SimpleSpanProcessor(InMemorySpanExporter()), "tests")
    try:
        with connect(redis_url, 2.0) as traced:
            first = vars(traced)["execute_command"]
            assert first is vars(tell_of(traced))["execute_command"]
            assert traced.ping()
    finally:
        tracing.stop_tracing()


def test_the_lines_of_a_trace_name_it(
    api: ApiClient,
    redis: redis_py.Redis,
    spans: InMemorySpanExporter,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The API's line and the worker's, in the log: from there to the trace, and back."""
    table = Table(api)
    root = logging.getLogger()
    handlers = list(root.handlers)
    configure_logs("info", "json")
    try:
        api.post(f"{table.path}/hints", {"iterations": 100}, token=table.tokens[table.turn])
        work_off(redis, "hints")
    finally:
        root.handlers[:] = handlers

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[0] == "{"]
    told = {line["message"]: line["trace_id"] for line in lines if "trace_id" in line}
    (trace_id,) = traces_of(named(spans, "process hints")[-1])
    assert f"{trace_id:032x}" == told["request"] == told["hint_given"]


def test_a_callers_trace_is_gone_on_with_and_nothing_else_of_it(
    api: ApiClient, redis: redis_py.Redis, spans: InMemorySpanExporter
) -> None:
    """`traceparent` names the parent; `tracestate` and `baggage` go nowhere."""
    table = Table(api)
    headers = {"traceparent": PARENT, "tracestate": "free=text", "baggage": "free=text"}
    asked = table.api.post(
        f"{table.path}/hints", {}, token=table.tokens[table.turn], headers=headers
    )

    (request,) = named(spans, "POST /games/{game_id}/hints")
    (job,) = Queue("hints", connection=redis, serializer="json").get_jobs()
    assert 202 == asked.status
    assert int("0123456789abcdef", 16) == parent_of(request)
    assert {"request_id", "traceparent"} == job.meta.keys()
    assert job.meta["traceparent"].startswith("00-0123456789abcdef0123456789abcdef-")


@pytest.mark.parametrize("traceparent", ["", "x", "00-0-0-01", PARENT.replace("1", "g"), "é" * 55])
def test_a_header_that_is_no_trace_begins_one(
    spans: InMemorySpanExporter, traceparent: str
) -> None:
    with memory_app().test_client() as client:
        client.get("/healthz", headers={"traceparent": traceparent})
        client.get("/healthz")

    first, second = named(spans, "GET /healthz")
    assert None is parent_of(first) is parent_of(second)
    assert 2 == len(traces_of(first, second))


@pytest.mark.parametrize("meta", [{"traceparent": 7}, {"traceparent": ["x"]}, {"traceparent": {}}])
def test_whatever_a_jobs_meta_says_the_job_is_run(
    here: House, redis: redis_py.Redis, spans: InMemorySpanExporter, meta: dict[str, Any]
) -> None:
    """Whoever writes to Redis could write anything there."""
    queue = Queue("hints", connection=redis, serializer="json")
    arguments = {"scope": "none", "task_id": "h1", "view": {}, "budget": {}}
    queue.enqueue_call("workers.jobs.give_hint", kwargs=arguments, meta=meta)

    work_off(redis, "hints")

    (worked,) = named(spans, "process hints")
    assert None is parent_of(worked)
    assert worked.status.is_ok or worked.status.is_unset


def test_nothing_hidden_is_in_a_trace(
    api: ApiClient, redis: redis_py.Redis, spans: InMemorySpanExporter
) -> None:
    """No seed, token, key or card: of a game, a hint, a refusal, a job whose error quotes its
    arguments, and of requests that carry secrets where none belong."""
    table = Table(api, seats=ONE_PERSON, seed="canary-of-the-deck")
    token = table.tokens[0]
    work_off(redis, "bots")
    table.play(0, {"type": "draw_stock"})
    table.play(0, {"type": "meld", "cards": ["7H", "8H", "9H"]})
    table.play(0, {"type": "discard", "card": table.view(0)["deal"]["hand"][0]})
    work_off(redis, "bots")
    api.post(f"{table.path}/hints?seat=0", {"iterations": 200, "seed": "canary-of-a-hint"})
    work_off(redis, "hints")
    with api.app.test_client() as client:
        client.get(f"/games/{token}", headers={"X-Request-Id": token[:64], "User-Agent": token})
        client.get(f"/{token}?token={token}", headers={"tracestate": f"t={token[:40]}"})
        client.open("/games", method="PRS")
    queue = Queue("hints", connection=redis, serializer="json")
    queue.enqueue_call("workers.jobs.give_hint", kwargs={"canary-of-a-hand": ["7H"]})
    work_off(redis, "hints")

    everything = spans.get_finished_spans()
    failed = [span for span in everything if not span.status.is_ok and not span.status.is_unset]
    text = "\n".join(span.to_json() for span in everything)
    assert len(everything) > 30
    assert ["process hints"] == [span.name for span in failed]
    assert all(not span.events for span in everything)
    assert "canary" not in text
    assert token.rpartition("_")[2] not in text
    assert CARD.search(text) is None


OFF = """
import sys
from service.app import create_app
from service.config import Settings
from service.tracing import start_tracing
settings = Settings.from_env()
start_tracing(settings.otlp_endpoint, "api")
client = create_app(settings).test_client()
made = client.post("/games", json={"seats": [{"player": "human"}] * 4}).json["game"]
asked = client.post(f"/games/{made['id']}/hints?seat={made['deal']['turn']}", json={})
assert asked.status_code == 202, asked.data
import workers.main, workers.jobs
# redis-py loads the library's part for metrics where it is installed, as it is for the tests.
parts = ("opentelemetry.sdk.trace", "opentelemetry.exporter")
print(sorted(name for name in sys.modules if name.startswith(parts)))
"""


def test_without_an_endpoint_the_library_is_not_loaded(
    redis: redis_py.Redis, redis_url: str
) -> None:
    """Neither to answer, nor to put a job on the queue, nor in a worker; the job's meta is bare."""
    env = {**os.environ, "REDIS_URL": redis_url}
    run = subprocess.run(
        [sys.executable, "-c", OFF], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )

    (job,) = Queue("hints", connection=redis, serializer="json").get_jobs()
    assert "[]" == run.stdout.splitlines()[-1]
    assert {"request_id"} == job.meta.keys()


MISSING = """
import sys
sys.modules["opentelemetry"] = None
from service.cli import main
main(["run", "--port", sys.argv[1]])
"""


def test_an_endpoint_without_the_library_stops_the_start_with_a_sentence() -> None:
    """It says what to install; no process is started."""
    env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    command = [sys.executable, "-c", MISSING, str(free_port())]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)

    assert 1 == run.returncode
    assert "the extra `traces` is not installed" in run.stderr
    assert "Traceback" not in run.stderr + run.stdout


def test_where_tracing_is_off_there_is_no_span_and_errors_pass() -> None:
    def fail() -> None:
        with tracing.span("name") as off:
            raise KeyError(off)

    with pytest.raises(KeyError, match="None"):
        fail()

    assert tracing.begin_span("name") is None
    assert {} == tracing.carry()


def test_spans_of_threads_are_apart(redis: redis_py.Redis, spans: InMemorySpanExporter) -> None:
    """What another thread does meanwhile is no child of this one's span."""
    queue = RqQueue(redis, max_queued_jobs=9, job_timeout_s=9)
    arguments = ("bots", "tests.queued_jobs.add", "job", {"a": 1, "b": 2})
    with tracing.span("mine") as mine:
        other = threading.Thread(target=queue.enqueue, args=arguments)
        other.start()
        other.join()

    (sent,) = named(spans, "send bots")
    assert mine is not None
    assert None is parent_of(sent)


def told(receiver: Receiver) -> list[tuple[str, dict[str, Any]]]:
    """Return service and span of all that a collector has been sent."""
    found = []
    for posted in receiver.got:
        assert "/v1/traces" == posted.path
        for batch in posted.message["resourceSpans"]:
            attributes = batch["resource"]["attributes"]
            (service,) = [
                each["value"]["stringValue"] for each in attributes if each["key"] == "service.name"
            ]
            for scope in batch["scopeSpans"]:
                found += [(service, span) for span in scope["spans"]]
    return found


@pytest.mark.e2e
def test_real_processes_send_their_spans_to_the_collector(tmp_path: Path) -> None:
    """gunicorn's workers under gevent, and the queues' workers: one trace from the action to the
    bots' turns."""
    with receiving() as receiver:
        receiver.answer = lambda _posted: (200, {"Content-Type": "application/json"}, b"{}")
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url(""), "OTEL_BSP_SCHEDULE_DELAY": "100"}
        service = Service(tmp_path, env)
        try:
            service.start()
            table = make_table(service.app, "traced", "human", *["greedy"] * 3)
            person = table.players[0]
            game = person.await_turn(table.id, 0)
            person.must(201, "POST", f"{table.path}/actions", {"type": "draw_stock"})
            hand = person.must(200, "GET", table.path)["deal"]["hand"]
            person.must(
                201,
                "POST",
                f"{table.path}/actions",
                {"type": "discard", "card": hand[0]},
                traceparent=PARENT,
            )
            person.await_turn(table.id, 0)

            def ours() -> list[str]:
                spans = [s for s in told(receiver) if s[1]["traceId"] == PARENT.split("-")[1]]
                return sorted(f"{where}: {span['name']}" for where, span in spans)

            wait_until(lambda: ours().count("persian-rummy-bots: process bots") >= 3, 20, "spans")
        finally:
            service.end()
    assert "playing" == game["status"]
    assert 1 == ours().count("persian-rummy-api: POST /games/{game_id}/actions")
    assert 1 == ours().count("persian-rummy-api: send bots")
    assert ours().count("persian-rummy-bots: send bots") >= 2
