"""Bad input gets a clear problem, changes nothing, and is answered at once."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import pytest
from werkzeug.test import EnvironBuilder

from service.store.memory import MemoryStore
from tests.api.client import FOUR_PEOPLE, ApiClient, Table

JSON = {"Content-Type": "application/json"}

NOT_JSON = {
    "nothing": b"",
    "blanks": b" \r\n\t",
    "cut off": b'{"type":"draw_stock"',
    "trailing comma": b'{"type":"draw_stock",}',
    "single quotes": b"{'type':'draw_stock'}",
    "a comment": b'{"type":"draw_stock"} // now',
    "two values": b'{"type":"draw_stock"}{"type":"draw_stock"}',
    "a form": b"type=draw_stock",
    "a name twice": b'{"type":"pass","type":"draw_stock"}',
    "a name twice, deeper": b'{"type":"draw_stock","x":[{"a":1,"a":1}]}',
    "NaN": b'{"type":"draw_stock","seat":NaN}',
    "Infinity": b'{"type":"draw_stock","seat":Infinity}',
    "minus Infinity": b'{"type":"draw_stock","seat":-Infinity}',
    "a float that overflows": b'{"type":"draw_stock","seat":1e999}',
    "an int of 5,000 digits": b'{"type":"draw_stock","seat":' + b"9" * 5000 + b"}",
    "no UTF-8": b'{"type":"draw_st\xffck"}',
    "UTF-16": '{"type":"draw_stock"}'.encode("utf-16"),
    "a control character": b'{"type":"draw\nstock"}',
    "a mark of byte order": b'\xef\xbb\xbf{"type":"draw_stock"}',
    "deep arrays": b"[" * 30_000,
    "deep objects": b'{"a":' * 10_000,
    "deep and closed": b"[" * 20_000 + b"]" * 20_000,
    "zeros": b"\x00" * 100,
}


STUCK_S = 2.0
"""Twenty times what is aimed at for a refusal; a body that is worked through again and again takes
longer.
"""


@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=list(NOT_JSON))
def test_what_is_no_json_is_refused(store: MemoryStore, table: Table, raw: bytes) -> None:
    """400 on every path that takes a body; nothing changes."""
    before = store.load(table.id)
    token = table.tokens[table.turn]
    # The first check of a problem reads the document, which is no work of the service.
    table.api.post("/games", raw=b"", headers=JSON)
    for path in ("actions", "hints", "bot-moves"):
        began = time.thread_time()
        answer = table.api.post(f"{table.path}/{path}", raw=raw, token=token, headers=JSON)
        assert answer.status == 400
        assert answer.json["type"] == "/docs/problems/not-json"
        # Processor time of this thread, and a collection of garbage may be part of it.
        assert time.thread_time() - began < STUCK_S
    assert table.api.post("/games", raw=raw, headers=JSON).status == 400

    assert store.load(table.id) == before


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/problem+json",
        "json",
        "",
    ],
)
def test_a_body_of_another_type_is_refused(table: Table, content_type: str | None) -> None:
    """415: JSON that is not said to be JSON may come from a page's form."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    answer = table.play_raw(b'{"type":"draw_stock"}', headers)

    assert answer.status == 415
    assert table.view(0)["version"] == 0


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/json;"]
)
def test_json_is_known_in_each_spelling(table: Table, content_type: str) -> None:
    """201: parameters and case do not matter."""
    assert table.play_raw(b'{"type":"draw_stock"}', {"Content-Type": content_type}).status == 201


def test_a_large_body_is_refused(store: MemoryStore, table: Table) -> None:
    """413 for a megabyte, of whatever; also on paths that take none the body is not read."""
    before = store.load(table.id)
    million = b'{"type":"draw_stock","x":"' + b"x" * 1_000_000 + b'"}'

    assert table.play_raw(million, JSON).status == 413
    assert table.play_raw(b" " * 1_000_000, JSON).status == 413
    assert table.api.post("/games", raw=million, headers=JSON).status == 413
    assert table.api.post(f"{table.path}/seats/0/join", raw=million, headers=JSON).status == 413
    keyed = JSON | {"Idempotency-Key": "k"}
    token_path = f"{table.path}/seats/0/token"
    assert table.api.post(token_path, raw=million, headers=keyed).status == 413
    assert table.api.send("GET", table.path, raw=million, headers=JSON).status == 200
    assert store.load(table.id) == before


def test_a_large_body_without_a_length_is_refused(table: Table) -> None:
    """413 also when the body comes in pieces."""
    status, body = play_stream(table, _Endless())

    assert b"/docs/problems/too-large" in body
    assert status.startswith("413")


def test_a_body_that_does_not_come_in_time_is_a_kind_of_problem(table: Table) -> None:
    """408, when the server waits for it no longer; nothing changes."""
    status, body = play_stream(table, _Late())

    assert b"/docs/problems/too-slow" in body
    assert status.startswith("408")
    assert table.view(0)["version"] == 0


def play_stream(table: Table, stream: Any) -> tuple[str, bytes]:
    """Play the action that is read from a stream; return the answer's status and body."""
    environ = EnvironBuilder(f"{table.path}/actions", method="POST", headers=JSON).get_environ()
    environ |= {
        "wsgi.input": stream,
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
    }
    status: list[str] = []
    with closing(table.api.app(environ, lambda line, _headers, _=None: status.append(line))) as raw:
        return status[0], b"".join(raw)


class _Endless:
    """A body that never ends."""

    def read(self, size: int = -1) -> bytes:
        return b" " * (size if size > 0 else 65536)


class _Late:
    """A body that is not waited for any longer."""

    def read(self, size: int = -1) -> bytes:
        raise TimeoutError


def test_many_unknown_fields_are_told_of_in_few(api: ApiClient) -> None:
    """422 lists a bounded number of faults, each with a bounded name."""
    body: dict[str, Any] = {f"x{n}": 1 for n in range(3000)}
    answer = api.post("/games", {"seats": FOUR_PEOPLE, **body})
    long_name = api.post("/games", {"seats": FOUR_PEOPLE, "n" * 50_000: 1})

    assert answer.status == long_name.status == 422
    assert len(answer.raw) < 5_000
    assert len(long_name.raw) < 5_000


@pytest.mark.parametrize(
    "path", ["/nothing", "/games/a/b/c", "/games//x", "/games//actions", "/%00", "/.env", "/docs/x"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH", "BREW"])
def test_what_is_not_there_is_a_problem(api: ApiClient, method: str, path: str) -> None:
    """404 or 405 as problem+json, never a page of HTML or a redirect to one."""
    answer = api.send(method, path)

    assert answer.status in (404, 405)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE"])
def test_a_method_that_is_not_there_names_those_that_are(api: ApiClient, method: str) -> None:
    """405 with Allow."""
    answer = api.send(method, "/games")

    assert answer.status == 405
    assert {"GET", "POST"} <= set(answer.headers["Allow"].replace(" ", "").split(","))


def test_a_request_has_an_id(api: ApiClient) -> None:
    """X-Request-Id: the caller's if it can be one, else a new one."""
    assert api.get("/healthz", headers={"X-Request-Id": "abc-1.2_3"}).headers["X-Request-Id"] == (
        "abc-1.2_3"
    )
    for strange in ("", "a b", "x" * 65, "<script>", 'a"b'):
        given = api.get("/healthz", headers={"X-Request-Id": strange}).headers["X-Request-Id"]
        assert given
        assert given != strange
