"""Seats over HTTP: taking, handing over, new tokens, looking on, the clock, rematches."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from service.config import Settings
from service.store.app_keys import MemoryAppKeys
from tests.api.client import ApiClient, Table, memory_app
from tests.api.streams import stream_of

TWO_OPEN = [{"player": "human"}, {"player": "open"}, {"player": "human"}, {"player": "open"}]
FOUR_OPEN = [{"player": "open"}] * 4


def test_an_open_seat_is_taken_once(any_api: ApiClient) -> None:
    """201 with a token, then 409; the token plays that seat."""
    made = any_api.post("/games", {"seats": TWO_OPEN})
    path = made.json["game"]["id"]
    first = any_api.post(f"/games/{path}/seats/1/join", {"name": "Bo"})
    second = any_api.post(f"/games/{path}/seats/1/join", {"name": "Cy"})

    assert made.json["game"]["status"] == "open"
    assert made.json["game"]["deal"] is None
    assert first.status == 201
    assert first.json["seat"] == 1
    assert first.json["game"]["seats"][1]["name"] == "Bo"
    assert any_api.get(f"/games/{path}", token=first.json["token"]).json["viewer"] == 1
    assert (second.status, second.json["type"]) == (409, "/docs/problems/seat-taken")


def test_the_game_begins_with_the_last_seat(api: ApiClient) -> None:
    """Nobody plays before; then the deal is there and the seat to move may."""
    made = api.post("/games", {"seats": TWO_OPEN}).json
    path = f"/games/{made['game']['id']}"
    early = api.post(f"{path}/actions?seat=0", {"type": "draw_stock"})
    api.post(f"{path}/seats/1/join", {})
    game = api.post(f"{path}/seats/3/join").json["game"]

    assert (early.status, early.json["type"]) == (409, "/docs/problems/seats-open")
    assert game["status"] == "playing"
    assert len(game["deal"]["hand"]) == 7


def test_a_join_may_come_without_a_body(api: ApiClient) -> None:
    """The name is optional, and so is the body; a body of another type is still refused."""
    game_id = api.post("/games", {"seats": FOUR_OPEN}).json["game"]["id"]
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    assert api.post(f"/games/{game_id}/seats/0/join").status == 201
    assert api.post(f"/games/{game_id}/seats/1/join", raw=b"name=Bo", headers=form).status == 415
    assert api.post(f"/games/{game_id}/seats/1/join", {"name": ""}).status == 422


def test_a_seat_is_one_of_four(api: ApiClient) -> None:
    """Other seats are not found; those of people and bots are taken."""
    game_id = api.post("/games", {"seats": TWO_OPEN}).json["game"]["id"]

    for seat in ("4", "-1", "x", "1.0"):
        assert api.post(f"/games/{game_id}/seats/{seat}/join", {}).status == 404
    assert api.post(f"/games/{game_id}/seats/0/join", {}).status == 409
    assert api.post("/games/nothing/seats/0/join", {}).status == 404


def test_a_repeated_join_gives_the_same_token(any_api: ApiClient) -> None:
    """Idempotency-Key: who lost the answer gets it again, and not a 409."""
    game_id = any_api.post("/games", {"seats": TWO_OPEN}).json["game"]["id"]
    path, headers = f"/games/{game_id}/seats/1/join", {"Idempotency-Key": "once"}
    first = any_api.post(path, {"name": "Bo"}, headers=headers)
    again = any_api.post(path, {"name": "Bo"}, headers=headers)

    assert again.raw == first.raw
    assert again.headers["Idempotent-Replayed"] == "true"


def test_forty_joins_give_four_tokens(redis_api: ApiClient) -> None:
    """Ten clients for each of four seats, all at once: four tokens, all different."""
    game_id = redis_api.post("/games", {"seats": FOUR_OPEN}).json["game"]["id"]

    def join(number: int) -> tuple[int, str | None]:
        answer = ApiClient(redis_api.app).post(f"/games/{game_id}/seats/{number % 4}/join", {})
        return answer.status, answer.json.get("token")

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(join, range(40)))

    assert Counter(status for status, _ in answers) == {201: 4, 409: 36}
    assert len({token for _, token in answers if token}) == 4
    assert redis_api.get(f"/games/{game_id}").json["status"] == "playing"


@pytest.mark.parametrize("auth", ["optional", "required"])
def test_foreign_credentials_take_no_seat(auth: str) -> None:
    """404 for another app and for a token of another game: the game is not told of."""
    keys = MemoryAppKeys()
    api = ApiClient(memory_app(keys=keys, settings=Settings(auth=auth)))  # type: ignore[arg-type]
    own, other = keys.create("own", "prk_own"), keys.create("other", "prk_other")
    made = api.post("/games", {"seats": TWO_OPEN}, token=own).json
    path = f"/games/{made['game']['id']}/seats/1/join"
    elsewhere = api.post("/games", {"seats": TWO_OPEN}, token=own).json["seat_tokens"]["0"]

    assert api.post(path, {}, token=other).status == 404
    assert api.post(path, {}, token=elsewhere).status == 404
    assert api.post(path, {}).status == (401 if auth == "required" else 201)
    assert api.post(path.replace("/1/", "/3/"), {}, token=own).status == 201


def test_a_table_helper_reads_its_turn(table: Table) -> None:
    """The helper of these tests knows whose turn it is."""
    assert table.turn == table.view(0)["deal"]["turn"]


def test_a_seat_is_handed_to_a_bot_and_taken_back(any_api: ApiClient) -> None:
    """By the owner's token or the app; the log and GAME say so, each with the next version."""
    table = Table(any_api)
    path = f"{table.path}/seats/2/bot"
    seated = any_api.send("PUT", path, {"level": "greedy"}, token=table.tokens[2])
    refused = table.play(2, {"type": "draw_stock"})
    back = any_api.delete(path)
    events = any_api.get(f"{table.path}/actions").json["actions"]

    assert (seated.status, seated.json["game"]["version"]) == (200, 1)
    assert seated.json["game"]["seats"][2]["stand_in"] == "human"
    assert (refused.status, refused.json["type"]) == (409, "/docs/problems/seat-away")
    assert back.status == 200
    assert back.json["game"]["seats"][2]["player"] == "human"
    assert [(event["type"], event["by"], event["version"]) for event in events] == [
        ("bot_seated", "human", 1),
        ("seat_returned", "app", 2),
    ]


def test_a_handover_without_a_body_takes_the_usual_bot(api: ApiClient, table: Table) -> None:
    answer = api.send("PUT", f"{table.path}/seats/1/bot")

    assert answer.json["game"]["seats"][1]["level"] == "expert"


def test_what_a_handover_refuses(api: ApiClient, table: Table) -> None:
    """Another's seat, a level that is none, unknown fields, an old version, a seat of nobody."""
    path = f"{table.path}/seats/1/bot"
    put = [
        (api.send("PUT", path, {}, token=table.tokens[0]), 403),
        (api.send("PUT", path, {"level": "god"}), 422),
        (api.send("PUT", path, {"level": None}), 422),
        (api.send("PUT", path, {"bot": "greedy"}), 422),
        (api.send("PUT", path, []), 422),
        (api.send("PUT", path, raw=b"{", headers={"Content-Type": "application/json"}), 400),
        (api.send("PUT", path, raw=b"x", headers={"Content-Type": "text/plain"}), 415),
        (api.send("PUT", path, {}, headers={"If-Match": '"7"'}), 412),
        (api.send("PUT", path, {}, headers={"If-Match": "seven"}), 422),
        (api.send("PUT", f"{table.path}/seats/4/bot", {}), 404),
        (api.send("PUT", "/games/nothing/seats/1/bot", {}), 404),
        (api.delete(f"{table.path}/seats/4/bot"), 404),
        (api.delete(path), 409),
        (api.delete(path, token=table.tokens[0]), 403),
        (api.delete(path, headers={"If-Match": '"7"'}), 412),
    ]

    assert [answer.status for answer, _ in put] == [status for _, status in put]
    assert api.get(table.path).json["version"] == 0


def test_a_token_is_replaced(any_api: ApiClient) -> None:
    """201 with the new one; the old one is worth nothing, and its streams end."""
    table = Table(any_api)
    old = table.tokens[1]
    with stream_of(any_api.app, f"{table.path}/events", old) as stream:
        next(stream)
        answer = any_api.post(f"{table.path}/seats/1/token", token=old)
        told = [event.data["type"] for event in stream]

    assert (answer.status, answer.json["seat"]) == (201, 1)
    assert any_api.get(table.path, token=old).status == 401
    assert any_api.get(table.path, token=answer.json["token"]).json["viewer"] == 1
    assert told == ["token_replaced"]
    assert any_api.post(f"{table.path}/seats/1/token", token=table.tokens[0]).status == 403
    assert any_api.post(f"{table.path}/seats/1/token", token=old).status == 401


def test_a_lost_new_token_is_had_again(any_api: ApiClient) -> None:
    """With the old token and the same key."""
    table = Table(any_api)
    path, headers = f"{table.path}/seats/1/token", {"Idempotency-Key": "once"}
    first = any_api.post(path, token=table.tokens[1], headers=headers)
    again = any_api.post(path, token=table.tokens[1], headers=headers)

    assert again.raw == first.raw
    assert again.headers["Idempotent-Replayed"] == "true"


def test_spectators_look_on_and_play_nothing(any_api: ApiClient) -> None:
    """No hand, no card drawn; 403 for whatever plays or changes; 404 in any other game."""
    made = any_api.post("/games", {"seats": [{"player": "human"}] * 4, "seed": "s"}).json
    token, path = made["spectator_token"], f"/games/{made['game']['id']}"
    game = any_api.get(path, token=token)
    any_api.post(f"{path}/actions?seat={game.json['deal']['turn']}", {"type": "draw_stock"})
    refused = [
        any_api.get(f"{path}/legal-actions", token=token),
        any_api.get(f"{path}?seat=0", token=token),
        any_api.post(f"{path}/actions", {"type": "draw_stock"}, token=token),
        any_api.post(f"{path}/actions?dry_run=true", {"type": "draw_stock"}, token=token),
        any_api.post(f"{path}/hints", {}, token=token),
        any_api.get(f"{path}/hints/h1", token=token),
        any_api.post(f"{path}/bot-moves", {}, token=token),
        any_api.send("PUT", f"{path}/seats/0/bot", {}, token=token),
        any_api.post(f"{path}/seats/0/token", token=token),
        any_api.delete(path, token=token),
        any_api.post(f"{path}/rematch", {}, token=token),
        any_api.get("/games", token=token),
        any_api.post("/games", {"seats": TWO_OPEN}, token=token),
    ]
    with stream_of(any_api.app, f"{path}/events?last_event_id=0", token) as stream:
        told = [next(stream), next(stream)][1]

    assert game.json["viewer"] is None
    assert game.json["deal"]["hand"] == []
    assert game.json["legal_actions"] == []
    assert {answer.status for answer in refused} == {403}
    assert told.data["card"] is None
    assert any_api.get(f"/games/{Table(any_api).id}", token=token).status == 404


def test_a_game_may_have_no_spectators(api: ApiClient) -> None:
    made = api.post("/games", {"seats": TWO_OPEN, "spectators": False}).json

    assert made["spectator_token"] is None
    assert made["game"]["spectators"] is False


def test_a_clock_is_shown_as_a_deadline(any_api: ApiClient) -> None:
    """In the view of the seat to move and of all others alike."""
    table = Table(any_api, turn_seconds=30)
    game = any_api.get(table.path).json
    created, due = (
        datetime.fromisoformat(at) for at in (game["created_at"], game["deal"]["deadline"])
    )

    assert game["turn_seconds"] == 30
    assert 29 < (due - created).total_seconds() < 32
    assert table.view(1)["deal"]["deadline"] == game["deal"]["deadline"]


def test_a_rematch_is_a_new_game_of_the_same_players(any_api: ApiClient) -> None:
    """After the end only, and with the app's key; once for a key."""
    table = Table(any_api)
    early = any_api.post(f"{table.path}/rematch", {})
    any_api.delete(table.path)
    headers = {"Idempotency-Key": "again"}
    made = any_api.post(f"{table.path}/rematch", {"client_seed": "ours"}, headers=headers)
    again = any_api.post(f"{table.path}/rematch", {"client_seed": "ours"}, headers=headers)

    assert (early.status, early.json["type"]) == (409, "/docs/problems/game-not-finished")
    assert made.status == 201
    assert made.headers["Location"] == f"/games/{made.json['game']['id']}"
    assert made.json["game"]["fairness"]["client_seed"] == "ours"
    assert set(made.json["seat_tokens"]) == {"0", "1", "2", "3"}
    assert again.raw == made.raw
    assert any_api.post(f"{table.path}/rematch", token=table.tokens[0]).status == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"seed": ""}, "seed"),
        ({"seed": "x" * 201}, "seed"),
        ({"client_seed": 5}, "client_seed"),
        ({"seats": []}, "seats"),
        ([], "body"),
    ],
)
def test_a_malformed_rematch_is_refused(
    api: ApiClient, table: Table, body: object, field: str
) -> None:
    api.delete(table.path)
    answer = api.post(f"{table.path}/rematch", body)

    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == field
