"""Making, listing, reading and ending games over HTTP."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import FOUR_PEOPLE, ONE_PERSON, ApiClient, Table


def test_a_game_of_four_people_is_made_with_four_tokens(any_api: ApiClient) -> None:
    """POST /games: 201, where it is, the game and a token for each human seat."""
    answer = any_api.post("/games", {"seats": FOUR_PEOPLE})

    assert answer.status == 201
    game = answer.json["game"]
    assert answer.headers["Location"] == f"/games/{game['id']}"
    assert answer.headers["ETag"] == '"0"'
    assert sorted(answer.json["seat_tokens"]) == ["0", "1", "2", "3"]
    assert all(token.startswith("prs_") for token in answer.json["seat_tokens"].values())
    assert game["viewer"] is None
    assert game["deal"]["hand"] == []
    assert game["fairness"]["seed"] is None


def test_seats_are_given_as_asked(api: ApiClient, queue: MemoryQueue) -> None:
    """A bot has its level and a name; only people get tokens; a bot to move is called."""
    answer = api.post("/games", {"seats": ONE_PERSON, "seed": "bots"})

    seats = answer.json["game"]["seats"]
    assert [seat["player"] for seat in seats] == ["human", "bot", "bot", "bot"]
    assert seats[0]["name"] == "Ana"
    assert seats[1]["level"] == "greedy"
    assert list(answer.json["seat_tokens"]) == ["0"]
    is_bot = seats[answer.json["game"]["deal"]["turn"]]["player"] == "bot"
    assert [job.queue for job in queue.waiting] == (["bots"] if is_bot else [])


def test_the_partner_draw_reports_its_cards(api: ApiClient) -> None:
    """R4: who drew which card, and where each player of the request sits now."""
    names = ["Ana", "Bo", "Cy", "Di"]
    seats = [{"player": "human", "name": name} for name in names]
    game = api.post("/games", {"seats": seats, "seating": "draw", "seed": "r4"}).json["game"]

    seating = game["seating"]
    assert seating["mode"] == "draw"
    assert sorted(seating["order"]) == [0, 1, 2, 3]
    assert [names[place] for place in seating["order"]] == [s["name"] for s in game["seats"]]
    assert {drawn["player"] for drawn in seating["draws"][0]} == {0, 1, 2, 3}


def test_the_same_seed_deals_the_same_cards(api: ApiClient) -> None:
    """A seed settles all cards; a client's seed changes them."""
    tables = [Table(api, seed="same"), Table(api, seed="same")]
    other = Table(api, seed="same", client_seed="mine")

    hands = [table.view(2)["deal"]["hand"] for table in tables]
    assert hands[0] == hands[1] != other.view(2)["deal"]["hand"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "seats"),
        ({"seats": FOUR_PEOPLE[:3]}, "seats"),
        ({"seats": [*FOUR_PEOPLE, {"player": "human"}]}, "seats"),
        ({"seats": [{"player": "human"}, {"player": "alien"}, *FOUR_PEOPLE[:2]]}, "seats.1.player"),
        ({"seats": [{"player": "bot", "level": "god"}, *FOUR_PEOPLE[:3]]}, "seats.0.level"),
        ({"seats": [{"player": "human", "level": "expert"}, *FOUR_PEOPLE[:3]]}, "seats.0.level"),
        ({"seats": [{"player": "human", "name": ""}, *FOUR_PEOPLE[:3]]}, "seats.0.name"),
        ({"seats": [{"player": "human", "name": " "}, *FOUR_PEOPLE[:3]]}, "seats.0.name"),
        ({"seats": [{"player": "human", "name": "a\n"}, *FOUR_PEOPLE[:3]]}, "seats.0.name"),
        ({"seats": [{"player": "human", "name": "a\u0000"}, *FOUR_PEOPLE[:3]]}, "seats.0.name"),
        ({"seats": [{"player": "human", "name": "a" * 41}, *FOUR_PEOPLE[:3]]}, "seats.0.name"),
        ({"seats": [{"player": "human", "name": 7}, *FOUR_PEOPLE[:3]]}, "seats.0.name"),
        ({"seats": [None, *FOUR_PEOPLE[:3]]}, "seats.0"),
        ({"seats": [{}, *FOUR_PEOPLE[:3]]}, "seats.0.player"),
        ({"seats": [{"player": ["human"]}, *FOUR_PEOPLE[:3]]}, "seats.0.player"),
        ({"seats": "four"}, "seats"),
        ({"seats": FOUR_PEOPLE, "seating": "random"}, "seating"),
        ({"seats": FOUR_PEOPLE, "seed": ""}, "seed"),
        ({"seats": FOUR_PEOPLE, "seed": "s" * 201}, "seed"),
        ({"seats": FOUR_PEOPLE, "seed": 7}, "seed"),
        ({"seats": FOUR_PEOPLE, "client_seed": "s" * 201}, "client_seed"),
        ({"seats": FOUR_PEOPLE, "deals": 0}, "deals"),
        ({"seats": FOUR_PEOPLE, "deals": 11}, "deals"),
        ({"seats": FOUR_PEOPLE, "deals": 1.5}, "deals"),
        ({"seats": FOUR_PEOPLE, "deals": True}, "deals"),
        ({"seats": FOUR_PEOPLE, "deals": "2"}, "deals"),
        ({"seats": FOUR_PEOPLE, "spectators": 1}, "spectators"),
        ({"seats": FOUR_PEOPLE, "turn_seconds": 4}, "turn_seconds"),
        ({"seats": FOUR_PEOPLE, "turn_seconds": 86401}, "turn_seconds"),
        ({"seats": FOUR_PEOPLE, "turn_seconds": 7.5}, "turn_seconds"),
        ({"seats": FOUR_PEOPLE, "turn_seconds": "60"}, "turn_seconds"),
        ({"seats": FOUR_PEOPLE, "turn_seconds": None}, "turn_seconds"),
        ({"seats": FOUR_PEOPLE, "timeout_level": "greedy"}, "timeout_level"),
        ({"seats": FOUR_PEOPLE, "turn_seconds": 60, "timeout_level": "god"}, "timeout_level"),
        ({"seats": FOUR_PEOPLE, "id": "mine"}, "id"),
        ([], "body"),
        ("text", "body"),
        (None, "body"),
    ],
)
def test_a_malformed_game_is_refused_field_by_field(
    api: ApiClient, store: MemoryStore, body: Any, field: str
) -> None:
    """422 names the field at fault, and no game is made."""
    answer = api.post("/games", body)

    assert answer.status == 422
    assert field in [error["field"] for error in answer.json["errors"]]
    assert store.list_games("local", None, 10) == []


@pytest.mark.parametrize("member", ["seed", "client_seed", "name"])
def test_half_a_surrogate_pair_is_refused(api: ApiClient, member: str) -> None:
    """Text that UTF-8 cannot hold can be neither hashed nor stored nor sent back."""
    seat = '{"player":"human"}'
    first = '{"player":"human","name":"\\ud800"}' if member == "name" else seat
    more = "" if member == "name" else f',"{member}":"\\ud800"'
    raw = f'{{"seats":[{first},{seat},{seat},{seat}]{more}}}'.encode()

    answer = api.post("/games", raw=raw, headers={"Content-Type": "application/json"})

    assert answer.status == 422
    assert answer.json["errors"][0]["field"].endswith(member)


def test_a_strange_field_name_is_shown_as_it_can_be(api: ApiClient) -> None:
    """An unknown field is named in the refusal even if UTF-8 cannot hold its name."""
    answer = api.post("/games", raw=b'{"\\ud800":1}', headers={"Content-Type": "application/json"})

    assert answer.status == 422
    assert "\\ud800" in [error["field"] for error in answer.json["errors"]]


def test_a_repeated_creation_answers_the_same(any_api: ApiClient) -> None:
    """Idempotency-Key: same key and body, same game and tokens, and it says so."""
    body = {"seats": FOUR_PEOPLE}
    first = any_api.post("/games", body, headers={"Idempotency-Key": "k1"})
    again = any_api.post("/games", body, headers={"Idempotency-Key": "k1"})
    other = any_api.post("/games", body, headers={"Idempotency-Key": "k2"})

    assert (first.status, again.status) == (201, 201)
    assert again.raw == first.raw
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["Location"] == first.headers["Location"]
    assert "Idempotent-Replayed" not in first.headers
    assert other.json["game"]["id"] != first.json["game"]["id"]


def test_a_key_is_for_one_request(any_api: ApiClient) -> None:
    """Idempotency-Key: another body under the same key is refused."""
    headers = {"Idempotency-Key": "k"}
    any_api.post("/games", {"seats": FOUR_PEOPLE}, headers=headers)
    answer = any_api.post("/games", {"seats": FOUR_PEOPLE, "deals": 1}, headers=headers)

    assert answer.status == 422
    assert answer.json["type"] == "/docs/problems/key-reused"


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "k" * 256])
def test_a_key_of_another_shape_is_refused(api: ApiClient, key: str) -> None:
    """Idempotency-Key: 1 to 255 visible ASCII characters."""
    answer = api.post("/games", {"seats": FOUR_PEOPLE}, headers={"Idempotency-Key": key})

    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == "Idempotency-Key"


def test_games_are_listed_page_by_page(any_api: ApiClient) -> None:
    """Newest first, each once, with a link to what follows, until there is none."""
    made = [any_api.post("/games", {"seats": FOUR_PEOPLE}).json["game"]["id"] for _ in range(5)]
    found, path = [], "/games?limit=2"
    while path is not None:
        answer = any_api.get(path)
        found += [game["id"] for game in answer.json["games"]]
        path = answer.json["next"]
        assert (path is not None) == ("Link" in answer.headers)

    assert sorted(found) == sorted(made)


def test_games_are_listed_by_status(api: ApiClient) -> None:
    """?status= keeps the others out, on every page."""
    tables = [Table(api) for _ in range(4)]
    for table in tables[:2]:
        api.delete(table.path)

    playing = api.get("/games?status=playing").json["games"]
    page = api.get("/games?status=abandoned&limit=1").json
    rest = api.get(page["next"]).json

    assert {game["id"] for game in playing} == {table.id for table in tables[2:]}
    assert {game["id"] for game in page["games"] + rest["games"]} == {
        table.id for table in tables[:2]
    }


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=1_0", "status=new", "cursor=!", "page=2"]
)
def test_a_malformed_page_is_refused(api: ApiClient, query: str) -> None:
    """422 names the field of the query."""
    answer = api.get(f"/games?{query}")

    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == query.partition("=")[0]


def test_a_field_of_the_query_stands_once(api: ApiClient, table: Table) -> None:
    """?seat=1&seat=2 asks for two things."""
    assert api.get(f"{table.path}?seat=1&seat=2").status == 422


def test_a_game_is_read_through_its_viewers_eyes(any_api: ApiClient) -> None:
    """A token shows its own hand; an app sees the hand that it names, or none."""
    table = Table(any_api)

    own = table.view(1)
    named = any_api.get(f"{table.path}?seat=1").json
    nobody = any_api.get(table.path).json

    assert own["viewer"] == named["viewer"] == 1
    assert len(own["deal"]["hand"]) == 7
    assert own["deal"] == named["deal"]
    assert nobody["viewer"] is None
    assert nobody["deal"]["hand"] == []


def test_a_game_that_has_not_changed_is_not_sent_again(api: ApiClient, table: Table) -> None:
    """ETag and If-None-Match: 304 without a body, until the version changes."""
    first = api.get(table.path)
    unchanged = api.get(table.path, headers={"If-None-Match": first.headers["ETag"]})
    weak = api.get(table.path, headers={"If-None-Match": 'W/"7", W/"0"'})
    table.play_on(1)
    changed = api.get(table.path, headers={"If-None-Match": first.headers["ETag"]})

    assert first.headers["ETag"] == '"0"'
    assert (unchanged.status, unchanged.raw, unchanged.headers["ETag"]) == (304, b"", '"0"')
    assert weak.status == 304
    assert (changed.status, changed.headers["ETag"]) == (200, '"1"')


def test_an_unknown_game_is_not_found(api: ApiClient) -> None:
    """404 as a problem, for each way to name no game."""
    for game_id in ("nothing", "x" * 65, "%00", "%ff", "..", "{game_id}", "%7Bid%7D:state"):
        answer = api.get(f"/games/{game_id}")
        assert answer.status == 404, game_id


def test_a_long_poll_waits_for_the_next_version(any_api: ApiClient) -> None:
    """?since=&wait=: the answer comes when somebody has played, and tells of it."""
    table = Table(any_api)
    seat = table.turn
    player = threading.Timer(0.2, lambda: table.play(seat, {"type": "draw_stock"}))
    player.start()
    began = time.monotonic()

    answer = any_api.get(f"{table.path}?since=0&wait=20", token=table.tokens[seat])

    player.join()
    assert answer.json["version"] == 1
    assert 0.1 < time.monotonic() - began < 5


def test_a_long_poll_ends_with_its_time(api: ApiClient, table: Table) -> None:
    """?since=&wait=: with no news the game comes as it is; with old news at once."""
    table.play_on(1)
    began = time.monotonic()
    nothing_new = api.get(f"{table.path}?since=1&wait=1")
    waited_s = time.monotonic() - began
    at_once = api.get(f"{table.path}?since=0&wait=30")

    assert nothing_new.json["version"] == at_once.json["version"] == 1
    assert 0.9 < waited_s < 2
    assert api.get(f"{table.path}?wait=5").status == 422
    assert api.get(f"{table.path}?since=0&wait=31").status == 422
    assert api.get(f"{table.path}?since=-1").status == 422


def test_an_app_abandons_its_game(any_api: ApiClient) -> None:
    """DELETE: the game is over without a result; a token may not; twice is refused."""
    table = Table(any_api)
    forbidden = any_api.delete(table.path, token=table.tokens[0])
    answer = any_api.delete(table.path)
    again = any_api.delete(table.path)
    played = table.play(table.turn, {"type": "draw_stock"})

    assert forbidden.status == 403
    assert answer.status == 200
    assert answer.json["action"]["type"] == "abandoned"
    assert answer.json["game"]["status"] == "abandoned"
    assert answer.json["game"]["winner"] is None
    assert (again.status, again.json["type"]) == (409, "/docs/problems/game-over")
    assert played.status == 409


def test_reading_changes_nothing(api: ApiClient, store: MemoryStore, table: Table) -> None:
    """GET, HEAD and OPTIONS leave the stored game as it is."""
    table.play_on(3)
    before = store.load(table.id)
    token = table.tokens[table.turn]
    for path in ("", "/legal-actions", "/actions", "?seat=1", "/hints/h1", "/bot-moves/m1"):
        for credentials in (None, token):
            api.get(table.path + path, token=credentials)
        for method in ("HEAD", "OPTIONS"):
            api.app.test_client().open(table.path + path, method=method)

    assert store.load(table.id) == before
