"""A game as a stream of events: over stores in memory, over Redis, and over HTTP."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis as redis_py
from flask import Flask

from service.app import create_app
from service.config import Settings
from service.embedded import RedisServer
from tests.api.client import ApiClient, Table, memory_app
from tests.api.streams import Event, served, stream_at, stream_of
from tests.e2e.harness import free_port


@pytest.fixture(params=["memory", "redis"])
def any_table(request: pytest.FixtureRequest) -> Table:
    """Return a game of four people over each store in turn."""
    app: Flask = request.getfixturevalue("app" if request.param == "memory" else "redis_app")
    return Table(ApiClient(app))


def path_of(table: Table) -> str:
    return f"{table.path}/events"


def test_a_stream_begins_with_the_game_and_goes_on_with_each_version(any_table: Table) -> None:
    """`game` with the whole view, then an `action` a version; ids are versions."""
    table = any_table
    with stream_of(table.api.app, path_of(table)) as stream:
        first = next(stream)
        table.play_on(6)
        told = [next(stream) for _ in range(6)]

    assert (first.kind, first.id) == ("game", 0)
    assert first.data["version"] == 0
    assert first.data["viewer"] is None
    assert [(event.kind, event.id) for event in told] == [("action", n) for n in range(1, 7)]
    log = table.api.get(f"{table.path}/actions").json["actions"]
    assert [event.data for event in told] == log


def test_a_card_drawn_is_told_to_who_drew_it(any_table: Table) -> None:
    """R33: a stream shows what `getGame` and `listActions` show the same caller."""
    table = any_table
    drawer = table.turn
    other = (drawer + 1) % 4
    streams = {}
    with (
        stream_of(table.api.app, path_of(table), table.tokens[drawer]) as streams["drawer"],
        stream_of(table.api.app, path_of(table), table.tokens[other]) as streams["other"],
        stream_of(table.api.app, f"{path_of(table)}?seat={drawer}") as streams["app, for it"],
        stream_of(table.api.app, path_of(table)) as streams["app"],
    ):
        games = {name: next(stream).data for name, stream in streams.items()}
        table.play(drawer, {"type": "draw_stock"})
        told = {name: next(stream).data for name, stream in streams.items()}

    assert {name for name, event in told.items() if event["card"]} == {"drawer", "app, for it"}
    assert {name for name, game in games.items() if game["deal"]["hand"]} == {
        "drawer",
        "other",
        "app, for it",
    }
    assert games["other"]["deal"]["hand"] == table.view(other)["deal"]["hand"]


@pytest.mark.parametrize("by", ["header", "query"])
def test_a_stream_is_taken_up_without_gap_and_without_repeat(any_table: Table, by: str) -> None:
    """After `Last-Event-ID` come the versions past it, and no `game`."""
    table = any_table
    table.play_on(5)
    path = path_of(table) + ("?last_event_id=2" if by == "query" else "")
    headers = {"Last-Event-ID": "2"} if by == "header" else {}
    with stream_of(table.api.app, path, headers=headers) as stream:
        told = [next(stream) for _ in range(4)]
        table.play_on(1)
        told.append(next(stream))

    assert [event.kind for event in told] == [":", "action", "action", "action", "action"]
    assert [event.id for event in told] == [None, 3, 4, 5, 6]


def test_the_header_wins_over_the_query(table: Table) -> None:
    """A browser comes again with the address it first had, and with the header."""
    table.play_on(4)
    path = f"{path_of(table)}?last_event_id=0"
    with stream_of(table.api.app, path, headers={"Last-Event-ID": "3"}) as stream:
        told = [next(stream), next(stream)]

    assert [event.id for event in told] == [None, 4]


def test_a_version_that_is_not_there_yet_begins_anew(table: Table) -> None:
    """It was another game's, or the store lost some seconds: the whole view comes again."""
    table.play_on(1)
    with stream_of(table.api.app, path_of(table), headers={"Last-Event-ID": "7"}) as stream:
        first = next(stream)

    assert (first.kind, first.id) == ("game", 1)


def test_the_end_is_told_and_the_stream_closed(any_table: Table) -> None:
    """`game_finished` is last; it has the game and no id of its own."""
    table = any_table
    with stream_of(table.api.app, path_of(table)) as stream:
        next(stream)
        table.play_on(1)
        table.api.delete(table.path)
        told = list(stream)

    assert [(event.kind, event.id) for event in told] == [
        ("action", 1),
        ("action", 2),
        ("game_finished", None),
    ]
    assert told[-1].data["status"] == "abandoned"
    for headers, kinds in (
        ({}, ["game", "game_finished"]),
        ({"Last-Event-ID": "1"}, [":", "action", "game_finished"]),
        ({"Last-Event-ID": "2"}, [":", "game_finished"]),
    ):
        with stream_of(table.api.app, path_of(table), headers=headers) as stream:
            assert [event.kind for event in stream] == kinds


def test_a_whole_game_is_told_to_its_end(redis_api: ApiClient) -> None:
    """Played out by somebody else while four seats and the app listen: all hear the same."""
    table = Table(redis_api, deals=1)
    app = redis_api.app

    def listen(token: str | None) -> list[Event]:
        with stream_of(app, path_of(table), token) as stream:
            return list(stream)

    with ThreadPoolExecutor(9) as threads:
        heard = [
            threads.submit(listen, token) for token in [None, *table.tokens.values()] for _ in "ab"
        ][:9]
        while table.api.get(table.path).json["status"] == "playing":
            table.play_on(1)
        streams = [stream.result(30) for stream in heard]

    version = table.api.get(table.path).json["version"]
    for stream in streams:
        begun = stream[0].id
        assert begun is not None
        assert [event.id for event in stream[1:-1]] == list(range(begun + 1, version + 1))
        assert stream[-1].kind == "game_finished"
        assert stream[-1].data["fairness"]["seed"] == "table"


def test_silence_is_broken_by_comments() -> None:
    """A proxy that sees nothing for a minute would cut the connection."""
    assert Settings().keep_alive_s == 15
    table = Table(ApiClient(memory_app(settings=Settings(keep_alive_s=0.05))))
    with stream_of(table.api.app, path_of(table)) as stream:
        kinds = [next(stream).kind for _ in range(3)]

    assert kinds == ["game", ":", ":"]


def test_a_stream_does_not_last_for_ever() -> None:
    """It ends after its time, without a word; the client takes it up again."""
    table = Table(ApiClient(memory_app(settings=Settings(max_stream_s=0.2))))
    with stream_of(table.api.app, path_of(table)) as stream:
        assert [event.kind for event in stream] == ["game", ":"]


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "1 2", "9999999999", '"3"', "3;"])
def test_an_event_id_that_is_none_is_refused(table: Table, given: str) -> None:
    """422, by header and by query alike; `seat` and unknown names as everywhere."""
    by_header = table.api.get(path_of(table), headers={"Last-Event-ID": given})
    by_query = table.api.send("GET", f"{path_of(table)}?last_event_id={given.replace(' ', '+')}")

    assert (by_header.status, by_header.json["errors"][0]["field"]) == (422, "Last-Event-ID")
    assert (by_query.status, by_query.json["errors"][0]["field"]) == (422, "last_event_id")


def test_who_may_not_look_gets_no_stream(api: ApiClient, table: Table) -> None:
    """The same answers as `getGame` gives."""
    path = path_of(table)
    other = Table(api)

    assert api.get(path, token=other.tokens[0]).status == 404
    assert api.get(f"{path}?seat=1", token=table.tokens[0]).status == 403
    assert api.get(f"{path}?seat=4").status == 422
    assert api.get(f"{path}?sea=1").status == 422
    assert api.get("/games/nothing/events").status == 404
    assert api.get(path, token=table.tokens[0] + "x").status == 401


def test_a_stream_outlives_redis(tmp_path: Path) -> None:
    """Comments while Redis is away; then what was played meanwhile, without gap."""
    with RedisServer(tmp_path / "redis") as server:
        settings = Settings(redis_url=server.url, queue_redis_url=server.url, redis_timeout_s=0.5)
        table = Table(ApiClient(create_app(settings)))
        table.play_on(2)
        with stream_of(table.api.app, path_of(table)) as stream:
            assert next(stream).id == 2
            server.stop()
            assert next(stream).kind == ":"
            server.start()
            table.play_on(3)
            told: list[Event] = []
            while len(told) < 3:
                event = next(stream)
                told += [event] if event.kind != ":" else []

    assert [event.id for event in told] == [3, 4, 5]


def test_many_streams_share_one_connection_to_redis(
    redis_app: Flask, redis: redis_py.Redis
) -> None:
    """Forty streams of four games: one reader, besides the connections of requests."""
    earlier = {client["id"] for client in redis.client_list()}
    tables = [Table(ApiClient(redis_app)) for _ in range(4)]
    told: list[int | None] = []
    began = threading.Barrier(41)

    def listen(table: Table) -> None:
        with stream_of(redis_app, path_of(table)) as stream:
            next(stream)
            began.wait(20)
            told.append(next(stream).id)

    with ThreadPoolExecutor(40) as threads:
        for number in range(40):
            threads.submit(listen, tables[number % 4])
        began.wait(20)
        time.sleep(0.3)
        new = [client for client in redis.client_list() if client["id"] not in earlier]
        readers = [client for client in new if int(client["sub"]) > 0]
        for table in tables:
            table.play_on(1)

    assert len(readers) == 1
    assert int(readers[0]["sub"]) == 5
    assert told == [1] * 40


@pytest.mark.e2e
def test_streams_end_when_the_service_is_told_to_stop(redis: object, redis_url: str) -> None:
    """Under gunicorn, within a second or two; the client goes on where it was, elsewhere."""
    port = free_port()
    with served(redis_url, port) as process, ExitStack() as opened:
        api = ApiClient(create_app(Settings(redis_url=redis_url, queue_redis_url=redis_url)))
        table = Table(api)
        streams = [opened.enter_context(stream_at(port, path_of(table))) for _ in range(20)]
        assert {next(stream).id for stream in streams} == {0}
        table.play_on(1)
        assert {next(stream).id for stream in streams} == {1}
        asked_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        rest = [list(stream) for stream in streams]
        ended_s = time.monotonic() - asked_at
        # A client that keeps its connection open is given up after gunicorn's `keepalive`.
        opened.close()
        process.wait(20)
        stopped_s = time.monotonic() - asked_at
    table.play_on(1)
    with served(redis_url, port), stream_at(port, path_of(table), Last_Event_ID="1") as stream:
        told = [next(stream), next(stream)]

    print(f"\nstreams ended after {ended_s:.2f} s, the process after {stopped_s:.2f} s")
    assert rest == [[]] * 20
    assert ended_s < 2
    assert stopped_s < 5
    assert [event.id for event in told] == [None, 2]
