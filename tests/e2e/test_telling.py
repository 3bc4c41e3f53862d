"""The whole service tells others of a game, asks a seat outside, and keeps the time."""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson
import pytest

from tests.e2e.harness import Service
from tests.receivers import SECRET, Answer, Posted, receiving

pytestmark = pytest.mark.e2e


def last_legal(posted: Posted) -> Answer:
    """Answer a question with the last legal action, news with thanks."""
    if posted.message["type"] != "action.wanted":
        return 204, {}, b""
    return 200, {}, orjson.dumps(posted.message["data"]["legal_actions"][-1])


def test_three_outside_play_with_one_who_stays_away(start_service: Callable[..., Service]) -> None:
    """Their answers are played; the one who never moves is played by the clock, then by a bot;
    the game ends, and all of it is told.
    """
    service = start_service(PERSIAN_RUMMY_WEBHOOK_ADDRESSES="any")
    with receiving() as receiver:
        receiver.answer = last_legal
        outside = {"player": "external", "url": receiver.url("/seat"), "secret": SECRET}
        order = {
            "seats": [{"player": "human"}, outside, outside, outside],
            "seed": "telling",
            "deals": 1,
            "turn_seconds": 5,
            "webhook": {"url": receiver.url("/hook"), "secret": SECRET},
        }
        made = service.app.must(201, "POST", "/games", order)["game"]
        game = made
        deadline = time.monotonic() + 300
        while game["status"] == "playing":
            assert time.monotonic() < deadline, game
            game = service.app.await_version(made["id"], game["version"] + 1)
        log = service.app.log(made["id"])
        while not receiver.messages("game.finished"):
            assert time.monotonic() < deadline, receiver.messages()[-1]
            time.sleep(0.1)
        time.sleep(1)
    played = [event for event in log if event["type"] == "played"]
    told = receiver.messages("action.played")

    assert game["status"] == "finished"
    assert {event["by"] for event in played if event["seat"] != 0} == {"external"}
    assert [event["by"] for event in log if event["type"] == "bot_seated"] == ["clock"]
    assert {"clock", "bot"} == {event["by"] for event in played if event["seat"] == 0}
    assert sorted(message["data"]["event"]["version"] for message in told) == [
        event["version"] for event in played
    ]
    assert all(message["data"]["event"]["card"] is None for message in told)
    for posted in receiver.got:
        posted.check_signature()
