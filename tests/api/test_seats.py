"""Taking open seats over HTTP."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.config import Settings
from service.store.app_keys import MemoryAppKeys
from tests.api.client import ApiClient, Table, memory_app

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
