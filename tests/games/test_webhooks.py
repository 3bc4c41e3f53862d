"""Telling others of games: what is told, to whom, once; retries, and the list of deliveries."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from service.games.access import AppCaller
from service.games.advice import HINT
from service.games.changing import ASK_JOB, OVERDUE_JOB
from service.games.clocks import deadline_s
from service.games.errors import GameNotFound, InvalidRequest, NotAllowed, WebhookNotFound
from service.games.externals import call_house_bot, question_for
from service.games.hooks import ANNOUNCE_JOB, EVENTS, HINT_NEWS_JOB, SEND_JOB, call_hint_announcer
from service.games.hosting import abandon_game, join_game, rematch
from service.games.house import rfc3339
from service.games.seats import seat_bot
from service.games.sweeping import sweep_clocks, sweep_webhooks
from service.games.webhooks import (
    DELIVERY,
    LEASE_S,
    PAUSES_S,
    announce,
    announce_hint,
    drop_webhook,
    due_deliveries,
    letter_of,
    list_deliveries,
    note_attempt,
    put_off,
    read_webhook,
    set_webhook,
)
from service.rules.cards import CARD_NAMES
from tests.games.tables import APP, OTHER_APP, Table, open_table
from tests.receivers import SECRET

URL = "https://example.org/rummy"
HOOK = {"url": URL, "secret": SECRET}


def hooked_table(players: str = "hhhh", **more: Any) -> Table:
    """Return a game with a webhook of its own."""
    return open_table(players, **{"webhook": HOOK, **more})


def deliveries(table: Table) -> list[dict[str, Any]]:
    """Return all deliveries as they are stored, in the order in which they were made."""
    count = table.store.count_tasks(table.game_id, DELIVERY)
    found = [table.store.load_task(table.game_id, DELIVERY, f"d{n}") for n in range(1, count + 1)]
    return [document for document in found if document is not None]


def told(table: Table) -> list[tuple[str, int | None]]:
    """Return type and version of all that is told."""
    return [
        (
            document["event"],
            document["data"].get("version", document["data"].get("event", {}).get("version")),
        )
        for document in deliveries(table)
    ]


# What is told.


def test_each_action_and_each_turn_is_told() -> None:
    """The first turn too, at version 0; in the order of the log."""
    table = hooked_table()
    first = table.turn
    announce(table.house, table.game_id)
    table.play({"type": "draw_stock"})
    table.play(next(a for a in table.legal_actions() if a["type"] == "discard"))
    announce(table.house, table.game_id)

    assert told(table) == [
        ("turn.started", 0),
        ("action.played", 1),
        ("action.played", 2),
        ("turn.started", 2),
    ]
    started = [d["data"] for d in deliveries(table) if d["event"] == "turn.started"]
    assert [data["seat"] for data in started] == [first, (first + 1) % 4]
    assert {data["player"] for data in started} == {"human"}


def test_what_is_told_twice_is_made_once() -> None:
    """Also when the note of how far was lost."""
    table = hooked_table()
    table.play_randomly(random.Random(1), 20)
    made = announce(table.house, table.game_id)
    assert announce(table.house, table.game_id) == []
    table.store.set_announced(table.game_id, 5)

    assert announce(table.house, table.game_id) == []
    assert len(deliveries(table)) == len(made)


def test_a_whole_game_is_told_to_its_end_and_shows_no_hand() -> None:
    """No card that one does not know who sees no hand: none drawn, none held."""
    table = hooked_table(deals=1)
    rng = random.Random(2)
    unseen: list[tuple[int, set[str]]] = []
    while table.game.status == "playing":
        table.play_randomly(rng, 1)
        held = {c for seat in range(4) for c in hidden_cards(table, seat)}
        unseen.append((table.version, held))
        announce(table.house, table.game_id)
        for document in deliveries(table)[-3:]:
            if table.game.status == "playing" and document["event"] != "game.finished":
                data = document["data"]
                assert data.get("event", {}).get("card") is None
    *_, last = deliveries(table)

    assert last["event"] == "game.finished"
    assert last["data"]["game"]["viewer"] is None
    assert last["data"]["game"]["status"] == "finished"
    played = [d["data"]["event"]["version"] for d in deliveries(table) if "event" in d["data"]]
    assert played == list(range(1, table.version + 1))
    turns = [d["data"] for d in deliveries(table) if d["event"] == "turn.started"]
    assert [turn["seat"] for turn in turns] == [
        (turns[0]["seat"] + number) % 4 for number in range(len(turns))
    ]


def hidden_cards(table: Table, seat: int) -> list[str]:
    hand = table.game.match.deal.hands[seat]
    return [name for card, name in enumerate(CARD_NAMES) if hand >> card & 1]


def test_games_that_differ_in_hidden_cards_only_are_told_alike() -> None:
    """Two seeds, no card seen yet but the one turned up: but for ids and times the same bytes."""

    def first_words(seed: str) -> str:
        table = hooked_table(seed=seed)
        while table.turn != 0:
            table = hooked_table(seed=f"{seed}+")
            seed += "+"
        table.play({"type": "draw_stock"})
        announce(table.house, table.game_id)
        words = json.dumps([d["data"] for d in deliveries(table)])
        return words.replace(table.game_id, "ID")

    words = {first_words(seed) for seed in ("a", "b", "c", "d")}
    without_times = {w.replace(w[w.find('"at"') : w.find('"at"') + 32], "") for w in words}

    assert len(without_times) == 1


def test_an_abandoned_game_is_told_as_its_end() -> None:
    table = hooked_table()
    abandon_game(table.house, APP, table.game_id)
    announce(table.house, table.game_id)

    assert told(table)[-1][0] == "game.finished"
    assert deliveries(table)[-1]["data"]["game"]["status"] == "abandoned"


def test_the_first_turn_of_a_game_that_waited_for_players_is_told() -> None:
    table = hooked_table("hhho")
    announce(table.house, table.game_id)
    join_game(table.house, table.game_id, 3, "Di")
    announce(table.house, table.game_id)

    assert told(table) == [("turn.started", 1)]


def test_only_what_is_wanted_is_told() -> None:
    table = hooked_table(webhook={**HOOK, "events": ["game.finished"]})
    table.play_randomly(random.Random(1), 4)
    abandon_game(table.house, APP, table.game_id)
    announce(table.house, table.game_id)

    assert [event for event, _ in told(table)] == ["game.finished"]


def test_a_hint_is_told_without_what_it_says() -> None:
    """It is a seat's own: its cards are in it."""
    table = hooked_table()
    hint = {
        "id": "h1",
        "game_id": table.game_id,
        "seat": 2,
        "version": 7,
        "status": "done",
        "best": {"type": "discard", "card": "KD"},
    }
    call_hint_announcer(table.house, hint)
    job = table.queue.waiting[-1]
    announce_hint(table.house, **job.arguments)
    again = announce_hint(table.house, **job.arguments)

    assert (job.queue, job.job) == ("webhooks", HINT_NEWS_JOB)
    (delivery,) = deliveries(table)
    assert again == []
    assert delivery["event"] == "hint.finished"
    assert "KD" not in json.dumps(delivery)
    assert HINT == "hint"


# Who is told.


def test_the_app_and_the_game_have_each_a_webhook() -> None:
    table = hooked_table(webhook={**HOOK, "events": ["action.played"]})
    set_webhook(table.house, APP, URL + "/app", None, None)
    table.play({"type": "draw_stock"})
    announce(table.house, table.game_id)

    assert [(d["scope"], d["event"]) for d in deliveries(table)] == [
        ("game", "action.played"),
        ("app", "action.played"),
    ]


def test_an_apps_webhook_is_told_what_happens_from_then_on() -> None:
    table = open_table("hhhh")
    table.play_randomly(random.Random(1), 5)
    set_webhook(table.house, APP, URL, SECRET, ["action.played"])
    table.play_randomly(random.Random(1), 1)
    announce(table.house, table.game_id)

    assert told(table) == [("action.played", 6)]


def test_a_game_without_a_webhook_calls_nobody() -> None:
    table = open_table("hhhh")
    set_webhook(table.house, OTHER_APP, URL, None, None)
    table.play_randomly(random.Random(1), 5)

    assert table.queue.waiting == []
    assert table.store.waiting_games(table.clock(), 9, "news") == []


def test_news_are_noted_before_and_called_for_after_each_change() -> None:
    table = hooked_table()
    (job,) = table.queue.waiting

    assert (job.queue, job.job, job.job_id) == ("webhooks", ANNOUNCE_JOB, f"news-{table.game_id}-0")
    assert table.store.waiting_games(table.clock(), 9, "news") == [table.game_id]


def test_a_lost_job_loses_no_news() -> None:
    """The sweep calls again what was not told, and forgets what was."""
    table = hooked_table()
    table.play({"type": "draw_stock"})
    table.queue.lose_all()
    assert sweep_webhooks(table.house) == 0
    table.clock.now_s += 10
    assert sweep_webhooks(table.house) == 1
    table.queue.lose_all()
    for delivery_id in announce(table.house, table.game_id):
        note_attempt(table.house, table.game_id, delivery_id, 204, None, 1)
    assert sweep_webhooks(table.house) == 0

    assert table.store.waiting_games(table.clock() + 99, 9, "news") == []


def test_a_queue_that_is_away_holds_up_no_action() -> None:
    table = hooked_table()
    table.queue.is_away = True
    table.play({"type": "draw_stock"})

    assert table.version == 1


def test_an_app_sets_reads_and_drops_its_webhook() -> None:
    table = open_table("hhhh")
    with pytest.raises(WebhookNotFound):
        read_webhook(table.house, APP)
    made, is_new = set_webhook(table.house, APP, URL, None, None)
    assert is_new
    assert made["secret"].startswith("whsec_")
    again, is_new = set_webhook(table.house, APP, URL, SECRET.removeprefix("whsec_"), None)
    assert not is_new
    assert "secret" not in again
    assert read_webhook(table.house, APP) == {
        "url": URL,
        "events": list(EVENTS),
        "created_at": again["created_at"],
    }
    stored = table.store.webhook("app")
    assert stored is not None
    assert stored["secret"] == SECRET
    drop_webhook(table.house, APP)
    with pytest.raises(WebhookNotFound):
        drop_webhook(table.house, APP)
    for use in (read_webhook, drop_webhook):
        with pytest.raises(NotAllowed):
            use(table.house, table.seat(0))
    with pytest.raises(NotAllowed):
        set_webhook(table.house, table.seat(0), URL, None, None)


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "short", "whsec_" + "A" * 28, "whsec_" + "A" * 100, "whsec_" + "?" * 32],
)
def test_a_secret_that_is_none_is_refused_and_not_repeated(secret: str) -> None:
    table = open_table("hhhh")
    with pytest.raises(InvalidRequest) as caught:
        set_webhook(table.house, APP, URL, secret, None)

    assert caught.value.field == "secret"
    assert len(secret) < 8 or secret not in str(caught.value)


def test_an_address_that_is_not_public_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        hooked_table(webhook={"url": "http://127.0.0.1/"})

    assert caught.value.field == "webhook.url"


# Deliveries.


def one_delivery() -> tuple[Table, str]:
    """Return a table and its only delivery."""
    table = hooked_table(webhook={**HOOK, "events": ["action.played"]})
    table.play({"type": "draw_stock"})
    (delivery_id,) = announce(table.house, table.game_id)
    return table, delivery_id


def test_a_letter_says_what_happened_and_keeps_its_id() -> None:
    table, delivery_id = one_delivery()
    first = letter_of(table.house, table.game_id, delivery_id)
    note_attempt(table.house, table.game_id, delivery_id, 500, None, 12.345)
    again = letter_of(table.house, table.game_id, delivery_id)

    assert first is not None
    assert first == again
    assert (first.url, first.secret, first.id) == (URL, SECRET, f"{table.game_id}.d1")
    assert first.body["type"] == "action.played"
    assert first.body["data"]["event"]["version"] == 1
    assert first.body["timestamp"] == first.body["data"]["event"]["at"]


@pytest.mark.parametrize("status", [200, 202, 204, 299])
def test_an_answer_of_2xx_ends_a_delivery(status: int) -> None:
    table, delivery_id = one_delivery()
    note_attempt(table.house, table.game_id, delivery_id, status, None, 1)
    (document,) = deliveries(table)

    assert document["status"] == "delivered"
    assert letter_of(table.house, table.game_id, delivery_id) is None
    assert table.store.due("deliveries", table.clock() + 10**6, 9) == []


def test_a_delivery_is_tried_again_for_a_day() -> None:
    """With growing pauses; then it has failed."""
    table, delivery_id = one_delivery()
    began = table.clock()
    for number, pause_s in enumerate((*PAUSES_S, None)):
        status, why = (None, "timeout") if number % 2 else (503, None)
        note_attempt(table.house, table.game_id, delivery_id, status, why, 1)
        if pause_s is None:
            break
        table.clock.now_s += pause_s - 2
        assert due_deliveries(table.house) == []
        table.clock.now_s += 2
        assert due_deliveries(table.house) == [(table.game_id, delivery_id)]
    (document,) = deliveries(table)

    assert 86_000 < table.clock() - began < 87_000
    assert sum(PAUSES_S) == 86_400
    assert document["status"] == "failed"
    assert len(document["attempts"]) == len(PAUSES_S) + 1
    assert table.store.due("deliveries", table.clock() + 10**6, 9) == []


def test_a_receiver_gets_the_pause_that_it_asks_for() -> None:
    """Where it is longer than ours; the list of deliveries shows it."""
    table, delivery_id = one_delivery()
    note_attempt(table.house, table.game_id, delivery_id, 503, None, 1, 600.0)
    (document,) = deliveries(table)
    table.clock.now_s += 598
    assert due_deliveries(table.house) == []
    table.clock.now_s += 2
    assert due_deliveries(table.house) == [(table.game_id, delivery_id)]
    assert rfc3339(table.clock() - 2) < document["next_attempt_at"] <= table.house.now()

    note_attempt(table.house, table.game_id, delivery_id, 429, None, 1, 1.0)
    table.clock.now_s += PAUSES_S[1] - 2
    assert due_deliveries(table.house) == []


def test_no_pause_outlasts_the_day_of_a_delivery() -> None:
    """The last try is a day after the first, whatever is asked for."""
    table, delivery_id = one_delivery()
    for wanted_s in (80_000.0, 80_000.0):
        note_attempt(table.house, table.game_id, delivery_id, 503, None, 1, wanted_s)
        table.clock.now_s += 80_000
    assert due_deliveries(table.house) == [(table.game_id, delivery_id)]
    note_attempt(table.house, table.game_id, delivery_id, 503, None, 1, 60.0)
    (document,) = deliveries(table)

    assert (document["status"], len(document["attempts"])) == ("failed", 3)


def test_a_delivery_is_put_off_without_a_try() -> None:
    """One that has ended is not."""
    table, delivery_id = one_delivery()
    put_off(table.house, table.game_id, delivery_id, table.clock() + 300)
    (document,) = deliveries(table)
    table.clock.now_s += 298
    assert due_deliveries(table.house) == []
    assert document["attempts"] == []
    note_attempt(table.house, table.game_id, delivery_id, 204, None, 1)
    put_off(table.house, table.game_id, delivery_id, table.clock() + 300)

    assert deliveries(table)[0]["next_attempt_at"] is None


def test_410_says_that_nobody_is_there_any_more() -> None:
    table, delivery_id = one_delivery()
    note_attempt(table.house, table.game_id, delivery_id, 410, None, 1)

    assert deliveries(table)[0]["status"] == "failed"


def test_a_try_that_was_lost_with_its_worker_is_made_again() -> None:
    """After its lease; the sweep puts a job on the queue, once."""
    table, delivery_id = one_delivery()
    table.queue.lose_all()
    assert due_deliveries(table.house) == []
    table.clock.now_s += LEASE_S + 1
    table.store.set_announced(table.game_id, table.version)
    assert sweep_webhooks(table.house) == 1
    assert sweep_webhooks(table.house) == 0
    (job,) = table.queue.waiting

    assert job.job == SEND_JOB
    assert job.arguments == {"game_id": table.game_id, "delivery_id": delivery_id}


def test_what_a_dropped_webhook_did_not_get_fails() -> None:
    table = open_table("hhhh")
    set_webhook(table.house, APP, URL, None, ["action.played"])
    table.play({"type": "draw_stock"})
    (delivery_id,) = announce(table.house, table.game_id)
    drop_webhook(table.house, APP)

    assert letter_of(table.house, table.game_id, delivery_id) is None
    assert deliveries(table)[0]["status"] == "failed"
    assert table.store.due("deliveries", table.clock() + 10**6, 9) == []


def test_deliveries_are_listed_newest_first_in_pages() -> None:
    """By the game's app only; without what was sent, and where to."""
    table = hooked_table(webhook={**HOOK, "events": ["action.played"]})
    table.play_randomly(random.Random(1), 7)
    announce(table.house, table.game_id)
    first, before = list_deliveries(table.house, APP, table.game_id, 5, None)
    rest, end = list_deliveries(table.house, APP, table.game_id, 5, before)

    assert [delivery["id"] for delivery in first + rest] == [f"d{n}" for n in range(7, 0, -1)]
    assert end is None
    assert set(first[0]) == {
        "id",
        "webhook_id",
        "event",
        "scope",
        "status",
        "created_at",
        "attempts",
        "next_attempt_at",
        "finished_at",
    }
    assert SECRET not in json.dumps(first)
    with pytest.raises(NotAllowed):
        list_deliveries(table.house, table.seat(0), table.game_id, 5, None)
    with pytest.raises(GameNotFound):
        list_deliveries(table.house, AppCaller("other"), table.game_id, 5, None)


# Seats played from outside.


def external_table(**more: Any) -> Table:
    """Return a game in which seat 1 is played from outside and is to move."""
    table = open_table("hehh", **more)
    table.play_until_turn_of(1)
    return table


def test_an_external_seat_is_called_when_its_turn_begins() -> None:
    table = external_table()
    job = table.queue.waiting[-1]

    assert (job.queue, job.job) == ("webhooks", ASK_JOB)
    assert job.arguments == {
        "game_id": table.game_id,
        "seat": 1,
        "turn_version": table.game.turn_version,
    }


def test_the_question_shows_what_the_seat_may_see() -> None:
    table = external_table()
    question = question_for(table.game, 1, "now")
    data = question.body["data"]

    assert (question.url, question.secret) == (URL, SECRET)
    assert question.body["type"] == "action.wanted"
    assert data["view"]["hand"] == sorted(hidden_cards(table, 1), key=CARD_NAMES.index) or len(
        data["view"]["hand"]
    ) == len(hidden_cards(table, 1))
    assert "seed" not in json.dumps(data)
    assert data["legal_actions"]
    others = {card for seat in (0, 2, 3) for card in hidden_cards(table, seat)}
    known = {card for cards in data["view"]["known_cards"] for card in cards}
    assert not (others - known) & set(data["view"]["hand"])


@pytest.mark.parametrize(("more", "turn_s"), [({}, 10), ({"turn_seconds": 60}, 60)])
def test_an_external_seat_always_has_a_deadline(more: dict[str, Any], turn_s: int) -> None:
    """Past it a house bot finishes the turn, whatever became of the question."""
    table = external_table(**more)
    due_s = deadline_s(table.game)
    assert due_s == pytest.approx(table.clock() + turn_s, abs=0.2)
    table.queue.lose_all()
    table.clock.now_s += turn_s + 1

    assert sweep_clocks(table.house) == [table.game_id]
    assert table.queue.waiting[-1].job == OVERDUE_JOB


def test_a_house_bot_is_called_for_a_bad_answer() -> None:
    table = external_table()
    call_house_bot(table.house, table.game, 1)
    job = table.queue.waiting[-1]

    assert (job.queue, job.job) == ("bots", OVERDUE_JOB)
    assert job.arguments["is_forced"] is True


def test_secrets_that_are_made_here_are_shown_at_creation_only() -> None:
    table = open_table("hehh", webhook={"url": URL}, external_secret=None)
    body = table.created

    assert body["webhook_secret"].startswith("whsec_")
    assert body["external_secrets"] == {"1": table.game.extra["external"]["1"]["secret"]}
    assert "whsec_" not in json.dumps(body["game"])
    assert hooked_table().created["webhook_secret"] is None


def test_a_rematch_has_the_same_webhook_and_external_seats() -> None:
    table = open_table("hehh", webhook=HOOK)
    abandon_game(table.house, APP, table.game_id)
    body = rematch(table.house, APP, table.game_id).body
    table.game_id = body["game"]["id"]

    assert body["game"]["seats"][1]["player"] == "external"
    assert table.game.extra["external"]["1"]["url"] == URL
    assert table.game.extra["webhook"]["url"] == URL
    assert (body["webhook_secret"], body["external_secrets"]) == (None, {})


def test_the_app_puts_a_bot_in_an_external_seat() -> None:
    table = external_table()
    seat_bot(table.house, APP, table.game_id, 1, "greedy")

    assert table.game.bot_to_move == 1
    assert deadline_s(table.game) is None
