"""The jobs of the queue `webhooks`, with receivers on this machine: told, tried again, asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson
import pytest
import redis as redis_py

from service.games.advice import HINT
from service.games.changing import load_game
from service.games.hosting import GameOrder, SeatOrder, abandon_game, create_game
from service.games.house import House
from service.games.sweeping import sweep_clocks, sweep_webhooks
from service.games.webhooks import DELIVERY, announce
from tests.receivers import SECRET, Answer, Posted, Receiver, receiving
from tests.workers.tables import APP, log_of, make_game, play, play_until_turn_of, turn_of
from tests.workers.test_main import quiet_logs, work_off
from workers import jobs, webhooks
from workers.house import house

Json = dict[str, Any]
__all__ = ["quiet_logs"]


@pytest.fixture
def here(redis: redis_py.Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Return the workers' House, which may post to this machine."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("PERSIAN_RUMMY_WEBHOOK_ADDRESSES", "any")
    monkeypatch.setattr(webhooks, "pauses", webhooks.Pauses())
    house.cache_clear()
    yield house()
    webhooks.wait_for_threads()
    house.cache_clear()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Run a receiver for one test."""
    with receiving() as running:
        yield running


def hooked_game(here: House, receiver: Receiver, **more: Any) -> str:
    """Make a game of four people whose webhook is at the receiver."""
    hook = {"url": receiver.url(), "secret": SECRET, **more}
    return make_game(here, *["human"] * 4, webhook=hook)


def deliver(redis: redis_py.Redis) -> None:
    """Run what is on the queue, and wait until all that was begun has ended."""
    work_off(redis, "webhooks")
    webhooks.wait_for_threads()


def delivery(here: House, game_id: str, number: int = 1) -> Json:
    found = here.store.load_task(game_id, DELIVERY, f"d{number}")
    assert found is not None
    return found


# Telling.


def test_a_receiver_is_told_what_happens(
    here: House, redis: redis_py.Redis, receiver: Receiver
) -> None:
    """Signed, each message once, in the order of the log as far as they were begun."""
    game_id = hooked_game(here, receiver)
    play(here, game_id, {"type": "draw_stock"})
    abandon_game(here, APP, game_id)
    deliver(redis)

    assert (
        sorted(message["type"] for message in receiver.messages())
        == [
            "action.played",
            "game.finished",
            "turn.started",
        ]
        or len(receiver.got) == 2
    )
    for posted in receiver.got:
        posted.check_signature()
    assert len({posted.headers["webhook-id"] for posted in receiver.got}) == len(receiver.got)
    assert delivery(here, game_id)["status"] == "delivered"
    assert [attempt["status"] for attempt in delivery(here, game_id)["attempts"]] == [204]


def test_what_is_not_understood_is_sent_again(
    here: House, redis: redis_py.Redis, receiver: Receiver
) -> None:
    """Under the same id, when its time has come."""
    receiver.answer = lambda _posted: (500, {}, b"")
    game_id = hooked_game(here, receiver, events=["game.finished"])
    abandon_game(here, APP, game_id)
    deliver(redis)
    assert delivery(here, game_id)["status"] == "queued"
    assert sweep_webhooks(here) == 0
    receiver.answer = lambda _posted: (200, {}, b"")
    here.store.note_due("deliveries", f"{game_id}/d1", time.time())
    assert sweep_webhooks(here) == 1
    deliver(redis)

    assert delivery(here, game_id)["status"] == "delivered"
    assert len({posted.headers["webhook-id"] for posted in receiver.got}) == 1
    assert len(receiver.got) == 2


def test_a_receiver_that_asks_for_it_is_left_alone(
    here: House, redis: redis_py.Redis, receiver: Receiver
) -> None:
    """`Retry-After` holds for all that it would be told, though it be of another game."""
    receiver.answer = lambda _posted: (429, {"Retry-After": "120"}, b"")
    asked_at_s = time.time()
    first, second = (hooked_game(here, receiver, events=["game.finished"]) for _ in range(2))
    for game_id in (first, second):
        abandon_game(here, APP, game_id)
        deliver(redis)

    assert len(receiver.got) == 1
    assert [len(delivery(here, game_id)["attempts"]) for game_id in (first, second)] == [1, 0]
    for game_id in (first, second):
        told = delivery(here, game_id)
        next_at = datetime.fromisoformat(told["next_attempt_at"]).timestamp()
        assert told["status"] == "queued"
        assert asked_at_s + 119 < next_at


def test_pauses_end_and_are_kept_apart() -> None:
    pauses = webhooks.Pauses()
    pauses.note("app", "http://one.example/a", time.monotonic() + 60)
    pauses.note("app", "http://two.example/", time.monotonic() - 1)

    assert pauses.left_s("app", "http://ONE.example/b") > 0
    assert pauses.left_s("app", "http://one.example:81/") == 0
    assert pauses.left_s("app", "http://two.example/") == 0


def test_an_address_that_is_not_public_gets_nothing(
    here: House, redis: redis_py.Redis, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that was taken when the setting let it: the sending looks again."""
    game_id = hooked_game(here, receiver, events=["game.finished"])
    abandon_game(here, APP, game_id)
    monkeypatch.setenv("PERSIAN_RUMMY_WEBHOOK_ADDRESSES", "public")
    house.cache_clear()
    deliver(redis)

    assert receiver.got == []
    (attempt,) = delivery(here, game_id)["attempts"]
    assert (attempt["status"], attempt["error"]) == (None, "address not allowed")


def test_a_game_that_ends_while_its_news_are_read_is_told_as_ended(
    here: House, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the game and that at its log."""
    game_id = hooked_game(here, receiver, events=["game.finished"])
    read_log = here.store.read_log
    ended: list[str] = []

    def read_after_the_end(*args: Any) -> Any:
        if not ended:
            ended.append(game_id)
            abandon_game(here, APP, game_id)
        return read_log(*args)

    monkeypatch.setattr(here.store, "read_log", read_after_the_end)

    assert len(announce(here, game_id)) == 1


def test_a_slow_receiver_slows_nobody(
    here: House, redis: redis_py.Redis, receiver: Receiver
) -> None:
    """Twenty messages for one who answers none of them until another has had his."""
    go_on = threading.Event()

    def slowly(_posted: Posted) -> Answer:
        go_on.wait(60)
        return 204, {}, b""

    receiver.answer = slowly
    slow = [hooked_game(here, receiver, events=["game.finished"]) for _ in range(20)]
    with receiving() as quick:
        prompt = hooked_game(here, quick, events=["game.finished"])
        for game_id in (*slow, prompt):
            abandon_game(here, APP, game_id)
        work_off(redis, "webhooks")
        quick.await_messages(1, timeout_s=60)
        begun = len(receiver.got)
        go_on.set()
        webhooks.wait_for_threads()

    assert begun <= webhooks.MOST_AT_ONCE
    assert delivery(here, prompt)["status"] == "delivered"
    assert {delivery(here, game_id)["status"] for game_id in slow} <= {"queued", "delivered"}


def test_threads_take_no_more_than_they_can() -> None:
    """One thread, one for the receiver, one that waits: the rest is refused and comes later."""
    threads = webhooks.Threads(size=1, at_once=1, backlog=1)
    go_on = threading.Event()
    done: list[int] = []

    def slowly() -> None:
        go_on.wait(5)
        done.append(1)

    taken = [
        threads.run("app", "http://one.example/a", slowly),
        threads.run("app", "http://ONE.example/b", lambda: done.append(2)),
        threads.run("app", "http://one.example/c", lambda: done.append(3)),
        threads.run("app", "http://other.example/", lambda: done.append(4)),
    ]
    go_on.set()
    threads.wait()

    assert taken == [True, True, False, False]
    assert done == [1, 2]


def test_a_hint_that_ended_is_told(here: House, redis: redis_py.Redis, receiver: Receiver) -> None:
    """That it is there, not what it says."""
    game_id = hooked_game(here, receiver, events=["hint.finished"])
    document = {"status": "done", "game_id": game_id, "seat": 0, "version": 0}
    here.store.new_task(game_id, HINT, document, 60)
    jobs.tell_of_hint(here, {"id": "h1", **document})
    deliver(redis)

    (message,) = receiver.messages()
    assert message["data"] == {
        "game_id": game_id,
        "version": 0,
        "hint_id": "h1",
        "seat": 0,
        "status": "done",
    }


def test_jobs_for_games_that_are_gone_do_nothing(here: House, redis: redis_py.Redis) -> None:
    assert webhooks.announce_news("nothing") == {"made": 0}
    assert webhooks.announce_hint("nothing", "h1", 0, 0, "done") == {"made": 0}
    assert webhooks.send_delivery("nothing", "d1") == {"begun": False}
    assert webhooks.ask_external("nothing", 0, 0) == {"begun": False}


# Asking.


def external_game(here: House, receiver: Receiver, **more: Any) -> str:
    """Make a game whose seat 1 is played by the receiver, which is to move."""
    outside = SeatOrder("external", url=receiver.url("/seat"), secret=SECRET, level="novice")
    people = [SeatOrder("human")] * 3
    order = GameOrder((people[0], outside, *people[1:]), seed="outside", **more)
    game_id: str = create_game(here, APP, order).body["game"]["id"]
    play_until_turn_of(here, game_id, 1)
    return game_id


def first_legal(posted: Posted) -> Answer:
    """Answer with the last legal action that is asked for."""
    return 200, {}, orjson.dumps(posted.message["data"]["legal_actions"][-1])


def test_an_external_seat_plays_its_turn(
    here: House, redis: redis_py.Redis, receiver: Receiver
) -> None:
    """Asked for action after action; the log says who played."""
    receiver.answer = first_legal
    game_id = external_game(here, receiver)
    before = load_game(here, game_id).version
    deliver(redis)
    played = log_of(here, game_id)[before:]

    assert turn_of(here, game_id) == 2
    assert {entry["by"] for entry in played} == {"external"}
    assert played[-1]["action"]["type"] == "discard"
    for posted, entry in zip(receiver.got, played, strict=True):
        posted.check_signature()
        assert posted.message["type"] == "action.wanted"
        assert posted.message["data"]["version"] == entry["version"] - 1


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, b"no JSON"),
        (200, {}, b"[]"),
        (200, {}, b"{}"),
        (200, {}, b'{"type":"discard","card":"ZZ"}'),
        (200, {}, b'{"type":"meld","cards":["4S","4D","4H"]}'),
        (200, {}, b'{"type":"discard","card":"KD"}'),
        (204, {}, b""),
        (302, {"Location": "/other"}, b'{"type":"draw_stock"}'),
        (500, {}, b'{"type":"draw_stock"}'),
    ],
)
def test_on_an_answer_that_is_none_a_house_bot_plays(
    here: House, redis: redis_py.Redis, receiver: Receiver, answer: Answer
) -> None:
    """At once, the whole rest of the turn, marked as a bot's."""
    receiver.answer = lambda _posted: answer
    game_id = external_game(here, receiver)
    before = load_game(here, game_id).version
    deliver(redis)
    work_off(redis, "bots")
    played = log_of(here, game_id)[before:]

    assert turn_of(here, game_id) == 2
    assert {entry["by"] for entry in played} == {"bot"}
    assert len(receiver.got) == 1


def test_past_the_deadline_the_clock_plays(
    here: House, redis: redis_py.Redis, receiver: Receiver
) -> None:
    """Nobody was there to ask; the sweep finds the turn, the answer that comes later is dropped."""
    game_id = external_game(here, receiver, turn_seconds=1)
    turn_version = load_game(here, game_id).turn_version
    time.sleep(1.1)
    assert sweep_clocks(here) == [game_id]
    work_off(redis, "bots")
    receiver.answer = first_legal

    assert webhooks.ask_external(game_id, 1, turn_version) == {"begun": False}
    assert turn_of(here, game_id) == 2
    assert log_of(here, game_id)[-1]["by"] == "clock"
    assert receiver.got == []
