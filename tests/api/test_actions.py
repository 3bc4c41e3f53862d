"""Playing over HTTP: legal actions, playing, judging, the log, safe retries."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from service.store.memory import MemoryStore
from tests.api.client import NOTHING, ONE_PERSON, ApiClient, Table


def test_an_action_is_played(any_api: ApiClient) -> None:
    """201: the event, and the game after it, which has the next version."""
    table = Table(any_api)
    seat = table.turn
    answer = table.play(seat, {"type": "draw_stock"}, headers={"If-Match": '"0"'})

    assert answer.status == 201
    assert answer.headers["ETag"] == '"1"'
    event, game = answer.json["action"], answer.json["game"]
    assert (event["version"], event["type"], event["seat"]) == (1, "played", seat)
    assert event["action"] == {"type": "draw_stock"}
    assert event["card"] in game["deal"]["hand"]
    assert game["viewer"] == seat
    assert game["version"] == 1


def test_each_legal_action_is_accepted_as_it_is(api: ApiClient) -> None:
    """For a token and, with `seat` in each, for an app."""
    for number in range(3):
        table = Table(api, seed=f"legal-{number}")
        for _ in range(30):
            seat = table.turn
            actions = table.legal(seat)
            named = api.get(f"{table.path}/legal-actions").json
            assert named["actions"] == [{**action, "seat": seat} for action in actions]
            for action in actions:
                judged = table.play_dry(seat, action)
                assert judged.status == 200, (action, judged.raw)
                assert judged.json["action"] == action
            for action in named["actions"]:
                assert api.post(f"{table.path}/actions?dry_run=true", action).status == 200
            table.play(seat, actions[-1])


def test_a_dry_run_changes_nothing(api: ApiClient, store: MemoryStore, table: Table) -> None:
    """?dry_run=true judges: 200 or the refusal that playing would get."""
    before = store.load(table.id)
    seat = table.turn
    accepted = table.play_dry(seat, {"type": "draw_stock"})
    refused = table.play_dry(seat, {"type": "pass"})
    stale = table.play_dry(seat, {"type": "draw_stock"}, headers={"If-Match": '"7"'})

    assert accepted.json["dry_run"] is True
    assert accepted.json["game"]["version"] == 0
    assert (refused.status, refused.json["rule"]) == (409, "R24")
    assert stale.status == 412
    assert store.load(table.id) == before


def test_the_rules_refuse_with_rule_and_legal_actions(
    api: ApiClient, store: MemoryStore, table: Table
) -> None:
    """409: the rule's id, a sentence, what is legal instead; and nothing has changed."""
    before = store.load(table.id)
    seat = table.turn
    answer = table.play(seat, {"type": "discard", "card": table.view(seat)["deal"]["hand"][0]})

    assert answer.status == 409
    assert answer.json["type"] == "/docs/problems/rules-refuse"
    assert answer.json["rule"] == "R8"
    assert answer.json["legal_actions"] == table.legal(seat)
    assert answer.json["detail"] == "Draw first, from the stock or from the discard pile."
    assert store.load(table.id) == before


def test_out_of_turn_is_refused_without_a_list(table: Table) -> None:
    """R6: another seat's turn; its legal actions are not told."""
    other = (table.turn + 1) % 4
    answer = table.play(other, {"type": "draw_stock"})

    assert (answer.status, answer.json["rule"]) == (409, "R6")
    assert answer.json["legal_actions"] == []


@pytest.mark.parametrize(
    ("action", "rule"),
    [
        ({"type": "meld", "cards": []}, None),
        ({"type": "meld", "cards": ["JS", "JS", "JS"]}, "R2"),
        ({"type": "meld", "cards": ["X1", "X1", "X1"]}, "R2"),
        ({"type": "lay_off", "cards": ["JS"], "meld": "m1"}, None),
        ({"type": "lay_off", "cards": ["JS"], "meld": "m0"}, None),
        ({"type": "lay_off", "cards": ["JS"], "meld": "x"}, None),
        ({"type": "take_discards", "card": "X4"}, "R8"),
        ({"type": "draw_stock"}, "R8"),
        ({"type": "pass"}, "R8"),
    ],
)
def test_what_breaks_a_rule_is_left_to_the_rules(
    table: Table, action: dict[str, Any], rule: str | None
) -> None:
    """409 with a rule, not 422: the shape is right."""
    seat = table.turn
    table.play(seat, {"type": "draw_stock"})
    answer = table.play(seat, action)

    assert answer.status == 409
    assert answer.json["rule"] == rule or (rule is None and answer.json["rule"].startswith("R"))
    assert table.view(seat)["version"] == 1


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({}, "type"),
        ({"type": "cheat"}, "type"),
        ({"type": None}, "type"),
        ({"type": ["pass"]}, "type"),
        ({"type": "draw_stock", "card": "7H"}, "card"),
        ({"type": "pass", "seat": 4}, "seat"),
        ({"type": "pass", "seat": "1"}, "seat"),
        ({"type": "pass", "seat": True}, "seat"),
        ({"type": "pass", "seat": None}, "seat"),
        ({"type": "discard"}, "card"),
        ({"type": "discard", "card": "7h"}, "card"),
        ({"type": "discard", "card": "10H"}, "card"),
        ({"type": "discard", "card": "X5"}, "card"),
        ({"type": "discard", "card": "7H\n"}, "card"),
        ({"type": "discard", "card": 7}, "card"),
        ({"type": "discard", "card": None}, "card"),
        ({"type": "discard", "card": ["7H"]}, "card"),
        ({"type": "discard", "cards": ["7H"]}, "cards"),
        ({"type": "meld"}, "cards"),
        ({"type": "meld", "cards": "7H7D7S"}, "cards"),
        ({"type": "meld", "cards": {"0": "7H"}}, "cards"),
        ({"type": "meld", "cards": ["7H", "7D", None]}, "cards.2"),
        ({"type": "meld", "cards": ["7H", "7D", "7Z"]}, "cards.2"),
        ({"type": "meld", "cards": ["7H"] * 57}, "cards"),
        ({"type": "lay_off", "cards": ["7H"]}, "meld"),
        ({"type": "lay_off", "cards": ["7H"], "meld": 3}, "meld"),
        ({"type": "lay_off", "cards": ["7H"], "meld": ""}, "meld"),
        ({"type": "lay_off", "cards": ["7H"], "meld": "m" * 9}, "meld"),
        ([{"type": "pass"}], "body"),
        ("pass", "body"),
        (7, "body"),
        (None, "body"),
    ],
)
def test_a_malformed_action_is_refused_field_by_field(
    store: MemoryStore, table: Table, action: Any, field: str
) -> None:
    """422 names the field at fault, and nothing changes."""
    before = store.load(table.id)
    answer = table.play(table.turn, action)

    assert answer.status == 422
    assert field in [error["field"] for error in answer.json["errors"]]
    assert store.load(table.id) == before


@pytest.mark.parametrize(
    "query", ["dry_run=1", "dry_run=True", "dry-run=true", "seat=4", "seat=+1"]
)
def test_a_malformed_query_never_plays(table: Table, query: str) -> None:
    """422: a dry run that is misspelt must not play."""
    seat = table.turn
    token = table.tokens[seat]
    answer = table.api.post(f"{table.path}/actions?{query}", {"type": "draw_stock"}, token=token)

    assert answer.status == 422
    assert table.view(seat)["version"] == 0


def test_a_stale_version_gets_the_fresh_game(any_api: ApiClient) -> None:
    """412: the game as it is now, for this viewer, and its ETag; nothing is played."""
    table = Table(any_api)
    seat = table.turn
    table.play(seat, {"type": "draw_stock"})
    answer = table.play(seat, {"type": "draw_stock"}, headers={"If-Match": '"0"'})

    assert answer.status == 412
    assert answer.headers["ETag"] == '"1"'
    assert answer.json["game"] == table.view(seat)


@pytest.mark.parametrize("given", ["0", "abc", '"abc"', '""', '"-1"', '"0", "1"', '"1e3"', ""])
def test_a_malformed_if_match_is_refused(table: Table, given: str) -> None:
    """422: a condition that cannot be read must not be ignored."""
    seat = table.turn
    answer = table.play(seat, {"type": "draw_stock"}, headers={"If-Match": given})

    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == "If-Match"


@pytest.mark.parametrize("given", ["*", '"0"', 'W/"0"', ' "0" '])
def test_an_if_match_is_read_in_each_of_its_forms(table: Table, given: str) -> None:
    """Any version, this one, and this one as a compressing proxy weakens it."""
    answer = table.play(table.turn, {"type": "draw_stock"}, headers={"If-Match": given})

    assert answer.status == 201


def test_four_clients_with_one_version(redis_api: ApiClient) -> None:
    """One 201; the other three get 412 with the game as it is now."""
    for number in range(5):
        table = Table(redis_api, seed=f"race-{number}")
        seat = table.turn

        def play(_: int, table: Table = table, seat: int = seat) -> tuple[int, Any]:
            answer = ApiClient(redis_api.app).post(
                f"{table.path}/actions",
                {"type": "draw_stock"},
                token=table.tokens[seat],
                headers={"If-Match": '"0"'},
            )
            return answer.status, answer.json

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(play, range(4)))

        assert Counter(status for status, _ in answers) == {201: 1, 412: 3}
        assert [body["game"]["version"] for _, body in answers] == [1] * 4
        assert len(table.view(seat)["deal"]["hand"]) == 8


def test_a_repeated_action_is_played_once(any_api: ApiClient) -> None:
    """Idempotency-Key: the first answer again, even when the version has gone stale meanwhile."""
    table = Table(any_api)
    seat = table.turn
    headers = {"Idempotency-Key": "draw", "If-Match": '"0"'}
    first = table.play(seat, {"type": "draw_stock"}, headers=headers)
    table.play(seat, table.legal(seat)[-1])
    again = table.play(seat, {"type": "draw_stock"}, headers=headers)
    other = table.play(seat, {"type": "pass"}, headers=headers)

    assert (first.status, again.status) == (201, 201)
    assert again.raw == first.raw
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["ETag"] == '"1"'
    assert (other.status, other.json["type"]) == (422, "/docs/problems/key-reused")


def test_a_key_belongs_to_its_caller(table: Table) -> None:
    """Idempotency-Key: another seat with the same text is another key."""
    headers = {"Idempotency-Key": "k"}
    seat = table.turn
    table.play(seat, {"type": "draw_stock"}, headers=headers)
    table.play(seat, table.legal(seat)[-1])
    answer = table.play((seat + 1) % 4, {"type": "draw_stock"}, headers=headers)

    assert answer.status == 201
    assert "Idempotent-Replayed" not in answer.headers
    assert answer.json["game"]["viewer"] == (seat + 1) % 4


def test_a_refusal_is_not_kept_under_its_key(table: Table) -> None:
    """Idempotency-Key: what was refused may be tried again."""
    headers = {"Idempotency-Key": "k"}
    seat = table.turn
    action = {"type": "discard", "card": table.view(seat)["deal"]["hand"][0]}
    refused = table.play(seat, action, headers=headers)
    table.play(seat, {"type": "draw_stock"})
    accepted = table.play(seat, action, headers=headers)

    assert (refused.status, accepted.status) == (409, 201)


def test_one_key_at_once_plays_once(redis_api: ApiClient) -> None:
    """Idempotency-Key: twenty equal requests at the same time get one answer."""
    table = Table(redis_api)
    seat = table.turn

    def play(_: int) -> bytes:
        answer = ApiClient(redis_api.app).post(
            f"{table.path}/actions",
            {"type": "draw_stock"},
            token=table.tokens[seat],
            headers={"Idempotency-Key": "same"},
        )
        assert answer.status == 201
        return answer.raw

    with ThreadPoolExecutor(10) as pool:
        answers = set(pool.map(play, range(20)))

    assert len(answers) == 1
    assert table.view(seat)["version"] == 1


def test_an_app_names_the_seat_that_it_plays(api: ApiClient) -> None:
    """With several human seats the app must name one, in body or query, and not two."""
    table = Table(api)
    seat, path = table.turn, f"{table.path}/actions"
    unnamed = api.post(path, {"type": "draw_stock"})
    two = api.post(f"{path}?seat={seat}", {"type": "draw_stock", "seat": (seat + 1) % 4})
    named = api.post(f"{path}?seat={seat}", {"type": "draw_stock", "seat": seat})

    assert (unnamed.status, unnamed.json["type"]) == (422, "/docs/problems/seat-unnamed")
    assert two.status == 422
    assert named.status == 201
    assert all(action["seat"] == seat for action in named.json["game"]["legal_actions"])


def test_an_app_with_one_person_need_not_name_it(api: ApiClient) -> None:
    """One human seat: there is no doubt whose action it is."""
    for number in range(20):
        game = api.post("/games", {"seats": ONE_PERSON, "seed": f"n{number}"}).json["game"]
        if game["deal"]["turn"] == 0:
            break
    answer = api.post(f"/games/{game['id']}/actions", {"type": "draw_stock"})
    bot = api.post(f"/games/{game['id']}/actions", {"type": "draw_stock", "seat": 1})

    assert answer.status == 201
    assert answer.json["action"]["seat"] == 0
    assert (bot.status, bot.json["type"]) == (403, "/docs/problems/not-your-seat")


def test_a_token_plays_its_own_seat_only(table: Table) -> None:
    """403 for naming another seat; naming the own one is no fault."""
    seat = table.turn
    other = (seat + 1) % 4
    assert table.play(seat, {"type": "draw_stock", "seat": other}).status == 403
    assert table.play(other, {"type": "draw_stock", "seat": seat}).status == 403
    assert table.play(seat, {"type": "draw_stock", "seat": seat}).status == 201


def test_the_log_has_every_version(any_api: ApiClient) -> None:
    """No gaps; `since` and `limit` cut it; the drawn card is told to its owner only (R33)."""
    table = Table(any_api)
    seat = table.turn
    drawn = table.play(seat, {"type": "draw_stock"}).json["action"]["card"]
    table.play(seat, table.legal(seat)[-1])
    table.play_on(2)
    path = f"{table.path}/actions"

    own = any_api.get(path, token=table.tokens[seat]).json["actions"]
    other = any_api.get(path, token=table.tokens[(seat + 2) % 4]).json["actions"]
    assert [event["version"] for event in own] == [1, 2, 3, 4]
    assert own[0]["card"] == drawn
    assert other[0]["card"] is None
    assert any_api.get(f"{path}?seat={seat}").json["actions"] == own
    assert any_api.get(f"{path}?since=2", token=table.tokens[seat]).json["actions"] == own[2:]
    assert (
        any_api.get(f"{path}?since=1&limit=2", token=table.tokens[seat]).json["actions"]
        == (own[1:3])
    )
    assert any_api.get(f"{path}?since=99").json["actions"] == []
    assert any_api.get(f"{path}?limit=0").status == 422


def test_an_empty_body_plays_nothing(table: Table) -> None:
    """400: with or without a content type, nobody's move is played."""
    seat = table.turn
    for headers in ({}, {"Content-Type": "application/json"}):
        for raw in (None, b"", b"  \n"):
            answer = table.play(seat, NOTHING, raw=raw, headers=headers)  # type: ignore[arg-type]
            assert answer.status == 400 if not raw or headers else answer.status in (400, 415)

    assert table.view(seat)["version"] == 0
