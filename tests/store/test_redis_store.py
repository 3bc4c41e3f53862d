"""What only the store over Redis has to show: keys, times to live, a Redis that is away."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from service.embedded import RedisServer
from service.games.errors import StoreUnavailable
from service.games.ports import Answer, Commit, CommitResult, RequestKey
from service.store import keys
from service.store.connecting import connect
from service.store.redis_store import RedisStore, load_script
from tests.faults.proxies import Proxy, listen_at

SAMPLES = Path(__file__).parents[1] / "games" / "samples"
TIMEOUT_S = 0.3
KEY = RequestKey("name", "print")
QUEUED = {"status": "queued"}


def make_store(client: redis_py.Redis) -> RedisStore:
    return RedisStore(client, finished_ttl_s=700, idle_ttl_s=3000, idempotency_ttl_s=100)


@pytest.fixture
def store(redis: redis_py.Redis) -> RedisStore:
    """Return a store over an empty Redis."""
    return make_store(redis)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Run a server of the test's own, with its append-only file, which the test may kill."""
    server = RedisServer(tmp_path / "data")
    with server:
        yield server


def entry(version: int) -> dict[str, Any]:
    return {"version": version}


def make_game(store: RedisStore, versions: int = 1, game_id: str = "g") -> None:
    """Store a game at version `versions`."""
    store.commit(Commit(game_id, 0, "playing", {"format": 1}))
    for version in range(1, versions + 1):
        store.commit(Commit(game_id, version, "playing", {"format": 1}, entry(version)))


# Keys and times to live.


@pytest.mark.parametrize(
    ("status", "ttl_s"),
    [("open", 3000), ("playing", 3000), ("finished", 700), ("abandoned", 700)],
)
def test_a_game_lives_as_long_as_its_status_says(
    store: RedisStore, redis: redis_py.Redis, status: str, ttl_s: int
) -> None:
    store.commit(Commit("g", 0, "playing", {}))

    store.commit(Commit("g", 1, status, {}, entry(1), KEY, {"a": 1}))

    for key in (keys.state_key("g"), keys.log_key("g")):
        assert ttl_s - 5 < redis.ttl(key) <= ttl_s
    assert 95 < redis.ttl(keys.answer_key("g", KEY.name)) <= 100


def test_a_task_lives_as_long_as_asked_and_its_number_as_long_as_a_game(
    store: RedisStore, redis: redis_py.Redis
) -> None:
    store.new_task("g", "hint", QUEUED, 50, KEY)
    store.new_task("g", "move", QUEUED, 9000)

    assert 45 < redis.ttl(keys.task_key("g", "hint", "h1")) <= 50
    assert 2995 < redis.ttl(keys.task_counter_key("g", "hint")) <= 3000
    assert 8995 < redis.ttl(keys.task_counter_key("g", "move")) <= 9000
    assert 95 < redis.ttl(keys.answer_key("g", KEY.name)) <= 100


def test_a_saved_task_lives_anew_and_a_cancelled_one_as_before(
    store: RedisStore, redis: redis_py.Redis
) -> None:
    store.new_task("g", "hint", QUEUED, 50)
    key = keys.task_key("g", "hint", "h1")

    store.save_task("g", "hint", "h1", {"status": "running"}, 80)
    assert 75 < redis.ttl(key) <= 80

    store.cancel_task("g", "hint", "h1")
    assert 75 < redis.ttl(key) <= 80


def test_an_expired_task_was_there(store: RedisStore, redis: redis_py.Redis) -> None:
    store.new_task("g", "hint", QUEUED, 50)
    redis.pexpire(keys.task_key("g", "hint", "h1"), 1)
    time.sleep(0.05)

    assert store.load_task("g", "hint", "h1") is None
    assert store.was_task("g", "hint", "h1")


def test_every_key_is_in_the_table_and_but_for_six_each_has_a_time_to_live(
    store: RedisStore, redis: redis_py.Redis
) -> None:
    """The keys of apps and their limits, which this store does not write, apart."""
    store.index_game("app", "g", 1000)
    store.mark_waiting("g", 10)
    store.note_due("clock", "g", 10)
    store.set_announced("g", 1)
    store.set_webhook("app", {"url": "..."})
    store.note_job("app", "job", 10)
    make_game(store)
    store.commit(Commit("g", 2, "playing", {}, entry(2), KEY, {"a": 1}))
    store.new_task("g", "hint", QUEUED, 50, RequestKey("other", "print"))

    found = sorted(key.decode() for key in redis.scan_iter())

    table = re.findall(r"^\| `(prs:(?!appkey|limit)\S+)` ", keys.__doc__ or "", re.MULTILINE)
    fillings = {"{GAME}": "{g}", "{SCOPE}": "{g}", "{APP}": "{app}", "KIND": "hint", "ID": "h1"}
    fillings |= {"WHAT": "bots", "AGENDA": "clock", "STATUS": "playing", ":KEY": ":app"}
    expected = set()
    for key in table:
        for name, value in fillings.items():
            key = key.replace(name, value)
        expected |= {key.replace("NAME", name) for name in ("name", "other")}
    assert found == sorted(expected)
    assert [key for key in found if redis.ttl(key) == -1] == [
        "prs:agenda:clock",
        "prs:app:{app}:games",
        "prs:app:{app}:webhook",
        "prs:games:playing",
        "prs:metrics",
        "prs:waiting:bots",
    ]


def test_games_that_are_gone_leave_the_list_as_new_ones_come(
    store: RedisStore, redis: redis_py.Redis
) -> None:
    """Nobody reads the list; still it does not grow for ever."""
    day_ms = 86_400_000
    for number in range(400):
        store.index_game("app", f"g{number}", number * day_ms)

    assert redis.zcard(keys.app_games_key("app")) < 100


def test_a_game_being_made_and_a_game_that_lives_stay_on_the_list(store: RedisStore) -> None:
    day_ms = 86_400_000
    make_game(store, game_id="old")
    store.index_game("app", "old", 0)
    store.index_game("app", "young", 300 * day_ms)

    for number in range(200):
        store.index_game("app", f"g{number}", 300 * day_ms + number)

    listed = [game_id for _at, game_id in store.list_games("app", None, 1000)]
    assert len(listed) == 202
    assert {"old", "young"} <= set(listed)


def test_scripts_are_sent_again_to_a_redis_that_has_forgotten_them(
    store: RedisStore, redis: redis_py.Redis
) -> None:
    make_game(store)

    redis.script_flush()

    result = store.commit(Commit("g", 2, "playing", {}, entry(2)))
    assert result.is_done


def test_a_log_left_over_from_before_does_not_stop_a_new_game(
    store: RedisStore, redis: redis_py.Redis
) -> None:
    make_game(store, versions=3)
    redis.delete(keys.state_key("g"))

    make_game(store, versions=1)

    assert store.read_log("g", 0) == [entry(1)]


def test_waiting_longer_than_the_socket_waits_is_no_error(redis_url: str) -> None:
    with connect(redis_url, TIMEOUT_S) as client:
        store = make_store(client)
        began = time.monotonic()

        assert not store.wait_for_version("nobody's", 0, 3 * TIMEOUT_S)

        assert time.monotonic() - began >= 3 * TIMEOUT_S


# Redis is away, or cannot be used.


def uses(store: RedisStore) -> list[Callable[[], Any]]:
    """Return one use of each method."""
    return [
        store.ping,
        lambda: store.load("g"),
        lambda: store.load("g", KEY),
        lambda: store.commit(Commit("g", 9, "playing", {}, entry(9))),
        lambda: store.read_log("g", 0),
        lambda: store.wait_for_version("g", 5, 0.1),
        lambda: store.index_game("app", "g", 1),
        lambda: store.list_games("app", None, 5),
        lambda: store.forget_game("app", "g"),
        lambda: store.new_task("g", "hint", QUEUED, 60),
        lambda: store.save_task("g", "hint", "h1", QUEUED, 60),
        lambda: store.cancel_task("g", "hint", "h1"),
        lambda: store.drop_task("g", "hint", "h9", None),
        lambda: store.load_task("g", "hint", "h1"),
        lambda: store.was_task("g", "hint", "h1"),
        lambda: store.mark_waiting("g", 1),
        lambda: store.unmark_waiting("g", 1),
        lambda: store.waiting_games(1, 5),
        lambda: store.note_due("clock", "g", 1),
        lambda: store.put_off("clock", "g", 1),
        lambda: store.strike("clock", "g"),
        lambda: store.due("clock", 1, 5),
        lambda: store.count_tasks("g", "hint"),
        lambda: store.announced("g"),
        lambda: store.set_announced("g", 1),
        lambda: store.webhook("app"),
        lambda: store.set_webhook("app", None),
    ]


def test_without_redis_every_method_says_so_at_once_and_works_again_after_a_restart(
    server: RedisServer,
) -> None:
    with connect(server.url, TIMEOUT_S) as client:
        store = make_store(client)
        make_game(store)
        for use in uses(store):
            use()
        server.kill()

        for use in uses(store):
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                use()
            assert time.monotonic() - began < TIMEOUT_S + 0.5
        server.start()

        for use in uses(store):
            use()


def test_a_game_survives_the_death_of_redis(server: RedisServer) -> None:
    with connect(server.url, TIMEOUT_S) as client:
        store = make_store(client)
        make_game(store, versions=5)
        store.mark_waiting("g", 10)
        before = store.load("g"), store.read_log("g", 0), store.waiting_games(99, 9)

        server.kill()
        server.start()

        assert (store.load("g"), store.read_log("g", 0), store.waiting_games(99, 9)) == before
        assert store.commit(Commit("g", 6, "playing", {}, entry(6))).is_done


def test_waiting_readers_are_told_when_redis_dies(server: RedisServer) -> None:
    with connect(server.url, TIMEOUT_S) as client:
        store = make_store(client)
        make_game(store)
        raised: list[BaseException] = []

        def wait() -> None:
            try:
                store.wait_for_version("g", 1, 30)
            except StoreUnavailable as error:
                raised.append(error)

        reader = threading.Thread(target=wait)
        reader.start()
        time.sleep(0.2)
        server.kill()
        reader.join(5)

        assert len(raised) == 1


def test_a_redis_that_hangs_holds_a_caller_up_for_the_time_limit_only(server: RedisServer) -> None:
    with connect(server.url, TIMEOUT_S) as client:
        store = make_store(client)
        make_game(store)
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        try:
            uses: list[Callable[[], object]] = [lambda: store.load("g"), store.ping]
            for use in uses:
                began = time.monotonic()
                with pytest.raises(StoreUnavailable):
                    use()
                # A connection made anew waits once more: to be greeted.
                assert time.monotonic() - began < 2 * TIMEOUT_S + 0.5
        finally:
            server.process.send_signal(signal.SIGCONT)

        loaded = store.load("g")
        assert loaded is not None
        assert loaded.version == 1


def test_a_redis_that_was_never_there_is_away(tmp_path: Path) -> None:
    with (
        connect(f"unix://{tmp_path}/none.sock", TIMEOUT_S) as client,
        pytest.raises(StoreUnavailable),
    ):
        make_store(client).load("g")


def test_a_redis_without_memory_takes_no_commit_and_loses_nothing(server: RedisServer) -> None:
    with connect(server.url, TIMEOUT_S) as client:
        store = make_store(client)
        make_game(store)
        client.config_set("maxmemory", "1")

        with pytest.raises(StoreUnavailable):
            store.commit(Commit("g", 2, "playing", {"format": 1}, entry(2), KEY, {"a": 1}))
        with pytest.raises(StoreUnavailable):
            store.new_task("g", "hint", QUEUED, 60)

        loaded = store.load("g", KEY)
        assert loaded is not None
        assert (loaded.version, loaded.answer) == (1, None)
        client.config_set("maxmemory", "0")
        assert store.commit(Commit("g", 2, "playing", {}, entry(2))).is_done


def test_a_redis_that_became_a_replica_takes_no_commit(server: RedisServer) -> None:
    with connect(server.url, TIMEOUT_S) as client:
        store = make_store(client)
        make_game(store)
        client.replicaof("127.0.0.1", 1)
        client.config_set("replica-serve-stale-data", "yes")

        with pytest.raises(StoreUnavailable):
            store.commit(Commit("g", 2, "playing", {}, entry(2)))

        client.replicaof("NO", "ONE")
        assert store.commit(Commit("g", 2, "playing", {}, entry(2))).is_done


def test_an_error_of_our_own_is_not_hidden(store: RedisStore, redis: redis_py.Redis) -> None:
    """A key of another type is a fault of the program and no outage."""
    redis.set(keys.state_key("g"), "no hash")

    with pytest.raises(redis_py.ResponseError, match="WRONGTYPE"):
        store.load("g")


class Cutter(Proxy):
    """A proxy in front of a Redis that can lose an answer: the request arrives, the line breaks."""

    def __init__(self, upstream: Path, path: Path) -> None:
        """Listen at `path` for clients of the server at `upstream`."""
        self.is_cutting = False
        self.path = path
        super().__init__(upstream, listen_at(path))

    def pass_answer(self, data: bytes, client: socket.socket, is_held: threading.Event) -> None:
        """Break the line in place of the next answer, if told to."""
        if self.is_cutting:
            self.is_cutting = False
            client.shutdown(socket.SHUT_RDWR)
            raise OSError("the line breaks here")
        super().pass_answer(data, client, is_held)


@pytest.fixture
def cutter(redis: redis_py.Redis, redis_server: RedisServer, tmp_path: Path) -> Iterator[Cutter]:
    """Return a proxy in front of the session's Redis, which is empty."""
    cutter = Cutter(redis_server.socket_path, tmp_path / "cut.sock")
    yield cutter
    cutter.close()


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("key", [None, KEY])
def test_a_commit_whose_answer_got_lost_is_done_once_and_reported_as_done(
    cutter: Cutter, store: RedisStore, version: int, key: RequestKey | None
) -> None:
    """The client sends it again; what it then finds written it has written itself."""
    with connect(f"unix://{cutter.path}", 2.0) as client:
        cut_store = make_store(client)
        cut_store.ping()
        make_game(store, game_id="warms the script up")
        if version:
            store.commit(Commit("g", 0, "playing", {}))
        cutter.is_cutting = True

        commit = Commit("g", version, "playing", {}, entry(version) if version else None, key, {})
        result = cut_store.commit(commit)

        assert not cutter.is_cutting
        assert result == CommitResult(is_done=True)
        loaded = store.load("g")
        assert loaded is not None
        assert loaded.version == version
        assert store.read_log("g", 0) == ([entry(1)] if version else [])


def test_a_commit_repeated_after_another_one_is_still_reported_as_done(
    redis: redis_py.Redis, store: RedisStore
) -> None:
    make_game(store, versions=1)
    script = load_script(redis, "commit")
    script_keys = [keys.state_key("g"), keys.log_key("g")]
    arguments: list[str | int | bytes] = [2, "{}", 60, b"commit", b"{}", '{"version":2}']
    script(keys=script_keys, args=arguments)
    store.commit(Commit("g", 3, "playing", {}, entry(3)))

    again = script(keys=script_keys, args=arguments)

    assert again == [b"done"]
    assert [item["version"] for item in store.read_log("g", 0)] == [1, 2, 3]


# What earlier releases have written.


def test_a_log_that_was_a_stream_is_read_and_goes_on_as_a_list(
    redis: redis_py.Redis, store: RedisStore
) -> None:
    """So it was beside states of format 1."""
    kept = json.loads((SAMPLES / "format-1.json").read_text("utf-8"))
    log, version = kept["log"], kept["version"]
    redis.hset("prs:{g}:state", mapping={"v": version, "s": json.dumps(kept["state"]), "c": "0"})
    for item in log:
        fields: dict[Any, Any] = {"e": json.dumps(item), "c": os.urandom(9)}
        redis.xadd("prs:{g}:log", fields, f"{item['version']}-0")
    loaded = store.load("g")
    assert loaded is not None
    assert (loaded.version, loaded.state) == (version, kept["state"])
    assert store.read_log("g", 0) == log
    assert store.read_log("g", 140, 5) == log[140:145]
    assert store.read_log("g", version) == []

    assert not store.commit(Commit("g", version, "playing", {}, entry(version))).is_done
    assert store.read_log("g", 0) == log
    assert store.commit(Commit("g", version + 1, "playing", {}, entry(version + 1))).is_done

    assert store.read_log("g", 0) == [*log, entry(version + 1)]
    assert redis.type("prs:{g}:log") == b"list"
    assert redis.ttl("prs:{g}:log") > 2990


def test_an_answer_that_was_kept_as_it_is_is_replayed(
    redis: redis_py.Redis, store: RedisStore
) -> None:
    make_game(store)
    redis.hset("prs:{g}:idem:name", mapping={"f": KEY.fingerprint, "b": '{"a":1}'})

    loaded = store.load("g", KEY)

    assert loaded is not None
    assert loaded.answer == Answer(KEY.fingerprint, {"a": 1})


def test_a_log_that_has_lost_entries_takes_no_more(
    redis: redis_py.Redis, store: RedisStore
) -> None:
    """The place of an entry is its version: what comes after a hole would be told wrong."""
    make_game(store, versions=3)
    redis.delete(keys.log_key("g"))

    with pytest.raises(redis_py.ResponseError, match="not as long as its version"):
        store.commit(Commit("g", 4, "playing", {}, entry(4)))

    loaded = store.load("g")
    assert loaded is not None
    assert loaded.version == 3


def test_a_stored_game_is_small(redis: redis_py.Redis, store: RedisStore) -> None:
    """The aim is 8 kB at the end of a deal; here a whole game of two deals is below it."""
    kept = json.loads((SAMPLES / "format-2.json").read_text("utf-8"))
    for version in range(191):
        entry = {**kept["log"][version % 150 - 1], "version": version} if version else None
        store.commit(Commit("g", version, "playing", kept["state"], entry))

    used = sum(redis.memory_usage(key, samples=0) or 0 for key in redis.scan_iter("prs:{g}:*"))

    assert used < 8000
