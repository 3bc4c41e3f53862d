"""What every store of games does: the one over Redis, of one server or of a cluster, and the one in
memory pass the same tests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import redis as redis_py

from service.games.access import AppCaller, hash_secret
from service.games.changing import load_game
from service.games.errors import SeatTaken
from service.games.hosting import GameOrder, SeatOrder, create_game, join_game
from service.games.house import House
from service.games.ports import (
    Answer,
    Commit,
    CommitResult,
    GameStore,
    Loaded,
    RequestKey,
    WatchEnded,
)
from service.store.memory import MemoryQueue, MemoryStore
from service.store.redis_store import RedisStore

STATE: dict[str, Any] = {"format": 1, "hand": 2**55 + 1, "names": ["Ana", "Ö\u2028"], "none": None}
KEY = RequestKey("name-of-the-key", "print-1")
DONE = CommitResult(is_done=True)
STALE = CommitResult(is_done=False)
Result = TypeVar("Result")


@pytest.fixture(params=["memory", "redis", "cluster"])
def store(request: pytest.FixtureRequest) -> GameStore:
    """Return an empty store of each kind in turn."""
    if request.param == "memory":
        return MemoryStore(finished_ttl_s=60, idle_ttl_s=600, idempotency_ttl_s=300)
    client: redis_py.Redis = request.getfixturevalue(request.param)
    return RedisStore(client, finished_ttl_s=60, idle_ttl_s=600, idempotency_ttl_s=300)


def change(version: int, *, game_id: str = "g", by: str = "", **more: Any) -> Commit:
    """Return a commit of `version`; `by` tells changes of one version apart."""
    entry = {"version": version, "by": by} if version else None
    return Commit(game_id, version, "playing", {**STATE, "by": by}, entry, **more)


def at_once(count: int, work: Callable[[int], Result]) -> list[Result]:
    """Run `work` in `count` threads that set out together; return what they return."""
    start = threading.Barrier(count)

    def run(number: int) -> Result:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


# Games.


def test_a_game_that_nobody_made_is_not_there(store: GameStore) -> None:
    assert store.load("g") is None
    assert store.read_log("g", 0) == []


def test_a_committed_state_is_loaded_as_it_was(store: GameStore) -> None:
    assert store.commit(Commit("g", 0, "playing", STATE)) == DONE

    assert store.load("g") == Loaded(0, STATE)


def test_what_a_caller_does_to_a_loaded_state_changes_nothing_stored(store: GameStore) -> None:
    store.commit(Commit("g", 0, "playing", STATE))
    loaded = store.load("g")
    assert loaded is not None

    loaded.state["names"].append("Bo")

    assert store.load("g") == Loaded(0, STATE)


def test_version_0_creates_a_game_only_once(store: GameStore) -> None:
    store.commit(change(0, by="first"))

    assert store.commit(change(0, by="second")) == STALE

    loaded = store.load("g")
    assert loaded is not None
    assert loaded.state["by"] == "first"


def test_a_later_version_creates_no_game(store: GameStore) -> None:
    assert store.commit(change(1)) == STALE

    assert store.load("g") is None
    assert store.read_log("g", 0) == []


@pytest.mark.parametrize("version", [0, 2, 4, 5, 30])
def test_a_commit_of_another_version_than_the_next_writes_nothing(
    store: GameStore, version: int
) -> None:
    for number in range(3):
        store.commit(change(number))
    log = store.read_log("g", 0)

    assert store.commit(change(version, by="late", key=KEY, answer={"a": 1})) == STALE

    assert store.load("g", KEY) == Loaded(2, {**STATE, "by": ""})
    assert store.read_log("g", 0) == log


def test_versions_past_nine_follow_each_other(store: GameStore) -> None:
    assert [store.commit(change(version)) for version in range(120)] == [DONE] * 120

    assert [entry["version"] for entry in store.read_log("g", 0)] == list(range(1, 120))


def test_games_do_not_touch_each_other(store: GameStore) -> None:
    store.commit(change(0, game_id="a"))
    store.commit(change(0, game_id="b"))
    store.commit(change(1, game_id="b"))

    assert store.load("a") == Loaded(0, {**STATE, "by": ""})
    assert store.read_log("a", 0) == []


@pytest.mark.parametrize("contenders", [2, 40])
def test_of_commits_of_one_version_exactly_one_is_done(store: GameStore, contenders: int) -> None:
    store.commit(change(0))

    results = at_once(contenders, lambda number: store.commit(change(1, by=str(number))))

    assert results.count(DONE) == 1
    assert results.count(STALE) == contenders - 1
    loaded = store.load("g")
    assert loaded is not None
    assert loaded.version == 1
    assert loaded.state["by"] == str(results.index(DONE))
    assert store.read_log("g", 0) == [{"version": 1, "by": str(results.index(DONE))}]


def test_changes_that_are_judged_anew_after_a_lost_race_are_all_done(store: GameStore) -> None:
    """Twenty writers, one change each: twenty versions, and no writer's change is lost."""
    store.commit(change(0))

    def write(number: int) -> int:
        while True:
            loaded = store.load("g")
            assert loaded is not None
            if store.commit(change(loaded.version + 1, by=str(number))).is_done:
                return loaded.version + 1

    versions = at_once(20, write)

    assert sorted(versions) == list(range(1, 21))
    log = store.read_log("g", 0)
    assert [entry["version"] for entry in log] == list(range(1, 21))
    assert sorted(int(entry["by"]) for entry in log) == list(range(20))


def test_forty_joins_of_four_seats_give_four_tokens(store: GameStore) -> None:
    """The same through the use cases, which judge a request without a version anew: whoever joins
    gets a seat or is told that it is taken."""
    secrets = iter(range(1000))
    house = House(store, MemoryQueue(), time.time, lambda _size: f"secret-{next(secrets):09}")
    seats = tuple(SeatOrder("open") for _ in range(4))
    game_id = create_game(house, AppCaller("app"), GameOrder(seats)).body["game"]["id"]

    def join(number: int) -> str | None:
        try:
            return str(join_game(house, game_id, number % 4, None).body["token"])
        except SeatTaken:
            return None

    tokens = [token for token in at_once(40, join) if token]

    assert len(tokens) == len(set(tokens)) == 4
    game = load_game(house, game_id)
    assert (game.status, game.version) == ("playing", 4)
    assert {holder.token_hash for holder in game.seats} == set(map(hash_secret, tokens))
    assert sorted(entry["seat"] for entry in store.read_log(game_id, 0)) == [0, 1, 2, 3]


# Requests with a key.


def test_a_known_key_gives_the_first_answer_and_writes_nothing(store: GameStore) -> None:
    store.commit(change(0))
    store.commit(change(1, by="first", key=KEY, answer={"text": "first"}))
    first = Answer("print-1", {"text": "first"})

    again = store.commit(change(2, by="again", key=KEY, answer={"text": "again"}))

    assert again == CommitResult(is_done=False, answer=first)
    assert store.load("g", KEY) == Loaded(1, {**STATE, "by": "first"}, first)
    assert len(store.read_log("g", 0)) == 1


def test_the_first_fingerprint_is_told_to_a_request_that_is_another_one(store: GameStore) -> None:
    store.commit(change(0))
    store.commit(change(1, key=KEY, answer={"text": "first"}))
    other = RequestKey(KEY.name, "print-2")

    result = store.commit(change(2, key=other, answer={"text": "other"}))

    assert result.answer == Answer("print-1", {"text": "first"})


def test_only_the_secret_that_sealed_an_answer_opens_it(store: GameStore) -> None:
    """Another one is told that the key is known, as for another request; no word of the answer."""
    mine = replace(KEY, secret=b"mine")
    store.commit(change(0, key=mine, answer={"text": "made"}))

    for other in (replace(KEY, secret=b"yours"), KEY):
        assert store.commit(change(0, key=other, answer={"text": "x"})).answer == Answer("", {})
        loaded = store.load("g", other)
        assert loaded is not None
        assert loaded.answer == Answer("", {})
    loaded = store.load("g", mine)
    assert loaded is not None
    assert loaded.answer == Answer("print-1", {"text": "made"})


def test_a_key_that_creates_a_game_replays_its_answer(store: GameStore) -> None:
    store.commit(change(0, key=KEY, answer={"text": "made"}))

    result = store.commit(change(0, by="again", key=KEY, answer={"text": "again"}))

    assert result.answer == Answer("print-1", {"text": "made"})
    assert store.load("g") == Loaded(0, {**STATE, "by": ""})


def test_a_key_counts_in_its_game_only(store: GameStore) -> None:
    store.commit(change(0, game_id="a", key=KEY, answer={"text": "a"}))

    assert store.commit(change(0, game_id="b", key=KEY, answer={"text": "b"})) == DONE


def test_a_stale_commit_keeps_no_answer_for_its_key(store: GameStore) -> None:
    store.commit(change(0))
    store.commit(change(5, key=KEY, answer={"text": "never"}))

    assert store.commit(change(1, key=KEY, answer={"text": "now"})) == DONE


def test_of_one_request_sent_many_times_at_once_one_is_done(store: GameStore) -> None:
    store.commit(change(0))

    results = at_once(
        20, lambda number: store.commit(change(1, by=str(number), key=KEY, answer={"by": number}))
    )

    assert results.count(DONE) == 1
    answers = {result.answer.body["by"] for result in results if result.answer}
    assert answers == {results.index(DONE)}
    assert sum(result.answer is not None for result in results) == 19


# The log.


def test_the_log_is_read_from_a_version_on_in_order(store: GameStore) -> None:
    for version in range(6):
        store.commit(change(version))

    assert [entry["version"] for entry in store.read_log("g", 2)] == [3, 4, 5]
    assert [entry["version"] for entry in store.read_log("g", 0, limit=2)] == [1, 2]
    assert store.read_log("g", 5) == []


@pytest.mark.parametrize("since", [-1, -(2**70), 0])
def test_the_whole_log_is_read_from_before_its_beginning(store: GameStore, since: int) -> None:
    store.commit(change(0))
    store.commit(change(1))

    assert store.read_log("g", since) == [{"version": 1, "by": ""}]


@pytest.mark.parametrize("since", [7, 2**63, 2**64, 2**70])
def test_nothing_is_read_from_past_the_end(store: GameStore, since: int) -> None:
    store.commit(change(0))
    store.commit(change(1))

    assert store.read_log("g", since) == []
    assert not store.wait_for_version("g", since, 0)


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_reads_nothing(store: GameStore, limit: int) -> None:
    store.commit(change(0))
    store.commit(change(1))

    assert store.read_log("g", 0, limit=limit) == []


def test_waiting_ends_at_once_when_the_version_is_there(store: GameStore) -> None:
    store.commit(change(0))
    store.commit(change(1))
    began = time.monotonic()

    assert store.wait_for_version("g", 0, 5)

    assert time.monotonic() - began < 1


@pytest.mark.parametrize("timeout_s", [0.05, 0, -1])
def test_waiting_ends_when_the_time_is_up(store: GameStore, timeout_s: float) -> None:
    store.commit(change(0))
    began = time.monotonic()

    assert not store.wait_for_version("g", 0, timeout_s)

    assert time.monotonic() - began < 1


def test_waiting_ends_soon_after_a_commit(store: GameStore) -> None:
    store.commit(change(0))
    woken_at: list[float] = []

    def wait(number: int) -> bool:
        is_there = store.wait_for_version("g", 0, 10)
        woken_at.append(time.monotonic())
        return is_there

    with ThreadPoolExecutor(8) as threads:
        waits = [threads.submit(wait, number) for number in range(8)]
        time.sleep(0.1)
        committed_at = time.monotonic()
        store.commit(change(1))
        assert all(waiting.result() for waiting in waits)

    assert max(woken_at) - committed_at < 1


def test_a_reader_waits_for_a_version_to_come_and_not_for_one_that_came(store: GameStore) -> None:
    store.commit(change(0))
    store.commit(change(1))

    assert not store.wait_for_version("g", 1, 0.05)


def test_a_watch_tells_each_entry_once_and_in_order(store: GameStore) -> None:
    """Of commits before it was made, while nobody looked, and while it waits."""
    store.commit(change(0))
    store.commit(change(1))
    with closing(store.watch("g")) as watch:
        told = watch.next(0, 1)
        store.commit(change(2))
        store.commit(change(3))
        while len(told) < 3:
            told += watch.next(len(told), 5)
        later = threading.Timer(0.1, store.commit, [change(4)])
        later.start()
        told += watch.next(3, 5)
        later.join()

        assert [entry["version"] for entry in told] == [1, 2, 3, 4]
        assert watch.next(4, 0.05) == []


def test_a_watch_that_is_far_behind_misses_nothing(store: GameStore) -> None:
    """More entries than any reader keeps in memory."""
    store.commit(change(0))
    with closing(store.watch("g")) as watch:
        assert watch.next(0, 0.05) == []
        for version in range(1, 201):
            store.commit(change(version))
        time.sleep(0.2)
        told = watch.next(3, 5)

    assert [entry["version"] for entry in told] == list(range(4, 201))


def test_each_of_a_crowd_is_told_of_each_entry(store: GameStore) -> None:
    """More than are woken at once; one entry after another, without waiting for anybody, though
    those who have heard all leave before the others have.
    """
    store.commit(change(0))
    heard: list[list[int]] = []

    def listen() -> None:
        told: list[int] = []
        with closing(store.watch("g")) as watch:
            while len(told) < 5 and (entries := watch.next(len(told), 100)):
                told += [entry["version"] for entry in entries]
        heard.append(told)

    crowd = [threading.Thread(target=listen, daemon=True) for _ in range(45)]
    for one in crowd:
        one.start()
    for version in range(1, 6):
        time.sleep(0.02)
        store.commit(change(version))
    deadline = time.monotonic() + 30
    for one in crowd:
        one.join(max(0, deadline - time.monotonic()))

    assert heard == [[1, 2, 3, 4, 5]] * len(crowd)


def test_watches_end_when_the_process_is_about_to(store: GameStore) -> None:
    """In who waits, and in who comes later; a long poll is answered as it is."""
    store.commit(change(0))
    raised: list[BaseException] = []

    def wait() -> None:
        with closing(store.watch("g")) as watch:
            try:
                watch.next(0, 20)
            except WatchEnded as error:
                raised.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.2)
    store.end_watches()
    waiter.join(5)

    assert len(raised) == 1
    with pytest.raises(WatchEnded):
        store.watch("g").next(0, 20)
    assert not store.wait_for_version("g", 0, 20)


# The list of an app's games.


def test_an_apps_games_are_listed_newest_first(store: GameStore) -> None:
    for number in range(3):
        store.index_game("app", f"g{number}", 1000 + number)
    store.index_game("other", "x", 1001)

    assert store.list_games("app", None, 10) == [(1002, "g2"), (1001, "g1"), (1000, "g0")]
    assert store.list_games("nobody", None, 10) == []


@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 7, 50])
def test_pages_of_the_list_have_no_gap_and_no_repeat(store: GameStore, page_size: int) -> None:
    """Also when many games were made in one millisecond."""
    games = [(1000 + number // 5, f"g{number:02}") for number in range(17)]
    for created_at_ms, game_id in games:
        store.index_game("app", game_id, created_at_ms)

    listed: list[tuple[int, str]] = []
    while page := store.list_games("app", listed[-1] if listed else None, page_size):
        assert len(page) <= page_size
        listed += page

    assert listed == sorted(games, reverse=True)


def test_a_cursor_of_a_game_that_is_gone_still_holds(store: GameStore) -> None:
    for number in range(5):
        store.index_game("app", f"g{number}", 1000)
    store.forget_game("app", "g3")

    assert store.list_games("app", (1000, "g3"), 10) == [(1000, "g2"), (1000, "g1"), (1000, "g0")]


def test_a_game_listed_twice_keeps_its_place(store: GameStore) -> None:
    store.index_game("app", "g", 1000)
    store.index_game("app", "g", 2000)

    assert store.list_games("app", None, 10) == [(1000, "g")]


def test_a_forgotten_game_is_listed_no_more(store: GameStore) -> None:
    store.index_game("app", "a", 1000)
    store.index_game("app", "b", 1001)

    store.forget_game("app", "a")
    store.forget_game("app", "never listed")

    assert store.list_games("app", None, 10) == [(1001, "b")]


# Tasks.

QUEUED = {"status": "queued", "seat": 2, "mask": 2**55 + 1}


def test_tasks_are_numbered_by_scope_and_kind(store: GameStore) -> None:
    given = [
        store.new_task(scope, kind, QUEUED, 60)[0]
        for scope, kind in [("g", "hint"), ("g", "hint"), ("g", "move"), ("positions", "hint")]
    ]

    assert given == ["h1", "h2", "m1", "h1"]


def test_a_task_is_loaded_with_its_id(store: GameStore) -> None:
    task_id, answer = store.new_task("g", "hint", QUEUED, 60)

    assert answer is None
    assert store.load_task("g", "hint", task_id) == {"id": "h1", **QUEUED}
    assert store.load_task("g", "move", task_id) is None
    assert store.load_task("other", "hint", task_id) is None


def test_ids_of_tasks_made_at_once_differ(store: GameStore) -> None:
    ids = at_once(20, lambda _number: store.new_task("g", "hint", QUEUED, 60)[0])

    assert len(set(ids)) == 20


def test_a_known_key_makes_no_second_task(store: GameStore) -> None:
    first, _ = store.new_task("g", "hint", QUEUED, 60, KEY)
    store.save_task("g", "hint", first, {"id": first, "status": "done"}, 60)

    again = store.new_task("g", "hint", {"status": "other"}, 60, RequestKey(KEY.name, "print-2"))

    assert again == ("h1", Answer("print-1", {"id": "h1", **QUEUED}))
    assert store.load_task("g", "hint", "h2") is None
    assert store.new_task("g", "hint", QUEUED, 60)[0] == "h2"


def test_the_answer_with_a_tasks_id_is_loaded_beside_the_game(store: GameStore) -> None:
    store.commit(change(0))
    store.new_task("g", "hint", QUEUED, 60, KEY)

    loaded = store.load("g", KEY)

    assert loaded is not None
    assert loaded.answer == Answer("print-1", {"id": "h1", **QUEUED})


def test_of_one_request_for_a_task_sent_many_times_one_makes_it(store: GameStore) -> None:
    results = at_once(20, lambda _number: store.new_task("g", "hint", QUEUED, 60, KEY))

    assert {task_id for task_id, _answer in results} == {"h1"}
    assert sum(answer is None for _id, answer in results) == 1


def test_a_task_is_replaced(store: GameStore) -> None:
    task_id, _ = store.new_task("g", "hint", QUEUED, 60)
    done = {"id": task_id, "status": "done", "progress": 1.0}

    assert store.save_task("g", "hint", task_id, done, 60)

    assert store.load_task("g", "hint", task_id) == done


def test_a_task_that_is_not_there_is_not_replaced(store: GameStore) -> None:
    assert not store.save_task("g", "hint", "h1", {"id": "h1", "status": "done"}, 60)

    assert store.load_task("g", "hint", "h1") is None


@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_task_under_way_is_cancelled_and_stays_so(store: GameStore, status: str) -> None:
    task_id, _ = store.new_task("g", "hint", {**QUEUED, "status": status}, 60)
    cancelled = {"id": "h1", **QUEUED, "status": "cancelled"}

    assert store.cancel_task("g", "hint", task_id) == cancelled
    assert not store.save_task("g", "hint", task_id, {"id": task_id, "status": "done"}, 60)

    assert store.load_task("g", "hint", task_id) == cancelled
    assert store.cancel_task("g", "hint", task_id) == cancelled


@pytest.mark.parametrize("status", ["done", "failed"])
def test_a_task_that_has_ended_is_not_cancelled(store: GameStore, status: str) -> None:
    task_id, _ = store.new_task("g", "hint", {**QUEUED, "status": status}, 60)

    assert store.cancel_task("g", "hint", task_id) == {"id": "h1", **QUEUED, "status": status}


def test_cancelling_what_is_not_there_gives_nothing(store: GameStore) -> None:
    assert store.cancel_task("g", "hint", "h1") is None


def test_a_task_cancelled_while_its_result_is_saved_is_one_or_the_other(store: GameStore) -> None:
    for _ in range(30):
        task_id, _answer = store.new_task("g", "hint", {**QUEUED, "status": "running"}, 60)
        done = {"id": task_id, "status": "done"}

        def act(number: int, task_id: str = task_id, done: dict[str, Any] = done) -> str:
            if number:
                return "saved" if store.save_task("g", "hint", task_id, done, 60) else "refused"
            document = store.cancel_task("g", "hint", task_id)
            assert document is not None
            return str(document["status"])

        cancelling, saving = at_once(2, act)

        assert (cancelling, saving) in [("cancelled", "refused"), ("done", "saved")]
        stored = store.load_task("g", "hint", task_id)
        assert stored is not None
        assert stored["status"] == cancelling


def test_a_dropped_task_leaves_its_key_free_and_its_number_used(store: GameStore) -> None:
    task_id, _ = store.new_task("g", "hint", QUEUED, 60, KEY)

    store.drop_task("g", "hint", task_id, KEY)

    assert store.load_task("g", "hint", task_id) is None
    assert store.was_task("g", "hint", task_id)
    assert store.new_task("g", "hint", QUEUED, 60, KEY) == ("h2", None)


def test_a_task_is_dropped_without_a_key(store: GameStore) -> None:
    task_id, _ = store.new_task("g", "hint", QUEUED, 60)

    store.drop_task("g", "hint", task_id, None)

    assert store.load_task("g", "hint", task_id) is None


def test_the_jobs_of_an_app_are_listed_until_they_are_forgotten(store: GameStore) -> None:
    assert store.jobs_of("app") == []
    for at_s, job_id in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (1.5, "a")):
        store.note_job("app", job_id, at_s)
    store.note_job("other", "d", 1.0)
    assert store.jobs_of("app") == ["a", "b", "c"]

    store.forget_jobs("app", [])
    store.forget_jobs("app", ["b", "x", "d"])

    assert store.jobs_of("app") == ["a", "c"]
    assert store.jobs_of("other") == ["d"]


def test_the_newest_task_that_is_still_there_is_found(store: GameStore) -> None:
    assert store.newest_task("g", "review") is None
    for number in range(1, 4):
        store.new_task("g", "review", QUEUED, 60)
        assert store.newest_task("g", "review") == f"r{number}"
    store.new_task("g", "hint", QUEUED, 60)

    store.drop_task("g", "review", "r3", None)
    assert store.newest_task("g", "review") == "r2"
    for task_id in ("r1", "r2"):
        store.drop_task("g", "review", task_id, None)
    assert store.newest_task("g", "review") is None
    assert store.newest_task("other", "review") is None


def test_an_id_that_was_given_out_is_told_from_one_that_never_was(store: GameStore) -> None:
    store.new_task("g", "hint", QUEUED, 60)
    store.new_task("g", "hint", QUEUED, 60)

    assert store.was_task("g", "hint", "h1")
    assert store.was_task("g", "hint", "h2")
    assert not store.was_task("g", "move", "m1")
    assert not store.was_task("other", "hint", "h1")


@pytest.mark.parametrize(
    "text", ["h3", "h0", "h01", "h-1", "h", "", "m1", "1", "h1 ", "h١", "h" + "9" * 400, "../h1"]
)
def test_a_text_that_names_no_task_was_never_given_out(store: GameStore, text: str) -> None:
    store.new_task("g", "hint", QUEUED, 60)

    assert not store.was_task("g", "hint", text)
    assert store.load_task("g", "hint", text) is None


# Games that wait for a bot.


def test_waiting_games_are_listed_the_longest_waiting_first(store: GameStore) -> None:
    for game_id, at_s in [("b", 20.5), ("a", 30.25), ("c", 10.0)]:
        store.mark_waiting(game_id, at_s)

    assert store.waiting_games(20.5, 10) == ["c", "b"]
    assert store.waiting_games(99, 10) == ["c", "b", "a"]
    assert store.waiting_games(99, 2) == ["c", "b"]
    assert store.waiting_games(9.9, 10) == []


def test_a_later_mark_replaces_the_one_before(store: GameStore) -> None:
    store.mark_waiting("g", 10)
    store.mark_waiting("g", 20)

    assert store.waiting_games(15, 10) == []
    assert store.waiting_games(20, 10) == ["g"]


def test_a_mark_is_taken_away_once_the_game_waits_no_more(store: GameStore) -> None:
    store.mark_waiting("g", 1_790_000_000.123456)
    store.mark_waiting("other", 10)

    store.unmark_waiting("g", 1_790_000_000.123456)
    store.unmark_waiting("never marked", 99)

    assert store.waiting_games(2e9, 10) == ["other"]


def test_a_mark_of_a_turn_that_began_meanwhile_stays(store: GameStore) -> None:
    store.mark_waiting("g", 20)

    store.unmark_waiting("g", 19.999)

    assert store.waiting_games(99, 10) == ["g"]


def test_the_store_answers(store: GameStore) -> None:
    store.ping()


# What is to be looked at later.


def test_a_place_is_due_when_its_time_has_come(store: GameStore) -> None:
    """Each agenda for itself."""
    store.note_due("clock", "late", 200.5)
    store.note_due("clock", "soon", 100.25)
    store.note_due("deliveries", "other", 1)

    assert store.due("clock", 100, 10) == []
    assert store.due("clock", 100.25, 10) == ["soon"]
    assert store.due("clock", 300, 10) == ["soon", "late"]
    assert store.due("clock", 300, 1) == ["soon"]


def test_what_was_noted_earlier_stays_until_it_is_put_off(store: GameStore) -> None:
    """One too early costs a look, one too late would stretch a turn."""
    store.note_due("clock", "g", 100)
    store.note_due("clock", "g", 150)
    assert store.due("clock", 100, 10) == ["g"]

    store.put_off("clock", "g", 150)
    store.put_off("clock", "g", 120)
    assert store.due("clock", 149, 10) == []

    store.note_due("clock", "g", 110)
    assert store.due("clock", 110, 10) == ["g"]


def test_what_is_struck_is_not_put_off(store: GameStore) -> None:
    store.note_due("clock", "g", 100)
    store.strike("clock", "g")
    store.put_off("clock", "g", 100)

    assert store.due("clock", 1000, 10) == []


def test_games_wait_for_different_things_apart(store: GameStore) -> None:
    store.mark_waiting("g", 1)
    store.mark_waiting("h", 2, "news")
    store.unmark_waiting("g", 5, "news")

    assert store.waiting_games(9, 9) == ["g"]
    assert store.waiting_games(9, 9, "news") == ["h"]


# Who is told of games.


def test_how_far_a_game_was_told_is_kept(store: GameStore) -> None:
    assert store.announced("g") is None
    store.set_announced("g", 3)
    store.set_announced("g", 5)

    assert store.announced("g") == 5
    assert store.announced("h") is None


def test_an_apps_webhook_is_kept_until_it_is_taken_away(store: GameStore) -> None:
    assert store.webhook("app") is None
    store.set_webhook("app", {"url": "1"})
    store.set_webhook("app", {"url": "2"})
    assert store.webhook("app") == {"url": "2"}
    assert store.has_webhook("app")
    assert not store.has_webhook("other")
    store.set_webhook("app", None)

    assert store.webhook("app") is None
    assert not store.has_webhook("app")


def test_tasks_are_counted_by_kind(store: GameStore) -> None:
    assert store.count_tasks("g", "delivery") == 0
    for _ in range(3):
        store.new_task("g", "delivery", {"status": "queued"}, 60)
    store.new_task("g", "hint", {"status": "queued"}, 60)

    assert store.count_tasks("g", "delivery") == 3
