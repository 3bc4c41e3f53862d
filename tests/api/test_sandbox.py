"""The sandbox over HTTP: everything with a test key, nothing with any other."""

from __future__ import annotations

from typing import Any

import pytest

from service.rules.cards import CARD_NAMES
from service.store.app_keys import MemoryAppKeys
from service.store.memory import MemoryStore
from tests.api.client import ApiClient, Table

Json = dict[str, Any]
TEST, LIVE = "prk_test", "prk_live"
SEATS = [{"player": "human"}] * 4
DECK = list(reversed(CARD_NAMES))


@pytest.fixture(autouse=True)
def both_keys(keys: MemoryAppKeys) -> None:
    """Make a test key and a live one of the same app."""
    keys.create("club", TEST, is_test=True)
    keys.create("club", LIVE)


def make(api: ApiClient, key: str | None = TEST, **more: Any) -> Any:
    """Ask for a game of four people."""
    return api.post("/games", {"seats": SEATS, **more}, token=key)


def test_a_tester_chooses_the_deal(api: ApiClient) -> None:
    """All hands and the stock: the pack as it is dealt, and who deals."""
    made = make(api, sandbox={"decks": [DECK], "dealer": 3}).json
    game, tokens = made["game"], made["seat_tokens"]
    path = f"/games/{game['id']}"

    assert (game["sandbox"], game["deal"]["dealer"]) == (True, 3)
    assert game["deal"]["discard_pile"] == [DECK[28]]
    for seat in range(4):
        hand = api.get(path, token=tokens[str(seat)]).json["deal"]["hand"]
        assert sorted(hand) == sorted(DECK[seat:28:4])
    drawn = api.post(f"{path}/actions", {"type": "draw_stock"}, token=tokens["0"]).json
    assert drawn["action"]["card"] == DECK[29]


def test_the_record_says_that_the_cards_were_chosen(api: ApiClient) -> None:
    """With the packs as they were, so that nobody takes it for a fair one."""
    made = make(api, deals=1, sandbox={"decks": [DECK]}).json
    table = Table.__new__(Table)
    table.api, table.id, table.path = api, made["game"]["id"], f"/games/{made['game']['id']}"
    table.tokens = {int(seat): token for seat, token in made["seat_tokens"].items()}
    table.play_out()
    record = api.get(f"{table.path}/record", token=TEST).json

    assert record["sandbox"]
    assert record["deals"][0]["deck"] == DECK


@pytest.mark.parametrize("key", [LIVE, None])
@pytest.mark.parametrize("wish", [{"decks": [DECK]}, {"dealer": 1}, {}])
def test_no_other_key_chooses_cards(api: ApiClient, key: str | None, wish: Json) -> None:
    """403, and no game is made."""
    answer = make(api, key, sandbox=wish)

    assert (answer.status, answer.json["type"]) == (403, "/docs/problems/not-allowed")
    assert api.get("/games", token=key).json["games"] == []


@pytest.mark.parametrize(
    "wish",
    [
        {"decks": [DECK[:-1]]},
        {"decks": [[*DECK, "2C"]]},
        {"decks": [[*DECK[:-1], DECK[0]]]},
        {"decks": [[*DECK[:-1], "1C"]]},
        {"decks": [DECK] * 11},
        {"decks": DECK},
        {"decks": None},
        {"dealer": 4},
        {"dealer": "0"},
        {"hands": [[], [], [], []]},
        [],
        True,
    ],
)
def test_a_pack_that_is_none_is_refused(api: ApiClient, wish: Any) -> None:
    """422 with the member at fault."""
    answer = make(api, sandbox=wish)

    assert answer.status == 422
    assert all(error["field"].startswith("sandbox") for error in answer.json["errors"])


def test_a_tester_moves_the_clock(api: ApiClient, store: MemoryStore) -> None:
    """The deadline comes nearer, and the game is put before the sweep."""
    game = make(api, turn_seconds=600).json["game"]
    moved = api.post("/sandbox/clock", {"game_id": game["id"], "seconds": 601}, token=TEST)

    assert moved.status == 200
    assert moved.headers["ETag"] == '"1"'
    assert moved.json["action"]["type"] == "clock_moved"
    assert moved.json["game"]["deal"]["deadline"] < game["deal"]["deadline"]
    assert store.due("clock", 10**10, 10) == [game["id"]]


def test_no_other_key_moves_a_clock(api: ApiClient) -> None:
    """403 for a live key, a seat's token and the local app; 404 for a live game."""
    test = make(api, turn_seconds=60).json
    live = make(api, LIVE, turn_seconds=60).json
    body = {"game_id": test["game"]["id"], "seconds": 10}

    for key in (LIVE, test["seat_tokens"]["0"], None):
        assert api.post("/sandbox/clock", body, token=key).status == 403
    reached = api.post("/sandbox/clock", {**body, "game_id": live["game"]["id"]}, token=TEST)
    assert reached.status == 404
    for game, key in ((test, TEST), (live, LIVE)):
        assert api.get(f"/games/{game['game']['id']}", token=key).json["version"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"game_id": "x"},
        {"seconds": 5},
        {"game_id": "x", "seconds": 0},
        {"game_id": "x", "seconds": -5},
        {"game_id": "x", "seconds": 10**7},
        {"game_id": "x", "seconds": 1.5},
        {"game_id": "x", "seconds": "5"},
        {"game_id": 5, "seconds": 5},
        {"game_id": "", "seconds": 5},
        {"game_id": "x", "seconds": 5, "to": "now"},
        [],
    ],
)
def test_a_malformed_wish_for_the_clock_is_refused(api: ApiClient, body: Any) -> None:
    """422."""
    assert api.post("/sandbox/clock", body, token=TEST).status == 422


def test_a_clock_that_does_not_run_is_not_moved(api: ApiClient) -> None:
    """409, and 404 for a game that never was."""
    game = make(api).json["game"]

    clock = {"game_id": game["id"], "seconds": 5}
    assert api.post("/sandbox/clock", clock, token=TEST).status == 409
    clock["game_id"] = "nothing"
    assert api.post("/sandbox/clock", clock, token=TEST).status == 404


@pytest.mark.parametrize("status", [409, 429, 503])
def test_a_tester_forces_a_problem(api: ApiClient, status: int) -> None:
    """With what such a problem always has; and nothing is done."""
    made = make(api).json
    path = f"/games/{made['game']['id']}"
    forced = api.post(
        f"{path}/actions",
        {"type": "draw_stock", "seat": made["game"]["deal"]["turn"]},
        token=TEST,
        headers={"Sandbox-Force": str(status)},
    )

    assert forced.status == status
    assert "Sandbox-Force" in forced.json["detail"]
    if status != 409:
        assert int(forced.headers["Retry-After"]) >= 1
    assert api.get(path, token=TEST).json["version"] == 0


@pytest.mark.parametrize("wanted", ["409", "429", "503", "500", "x"])
def test_nobody_else_forces_a_problem(api: ApiClient, wanted: str) -> None:
    """403 for a live key, the local app and a seat's token, whatever is wished for."""
    token = make(api).json["seat_tokens"]["0"]
    before = len(api.get("/games", token=LIVE).json["games"])

    for key in (LIVE, None, token):
        forced = make(api, key)
        refused = api.post("/games", {"seats": SEATS}, token=key, headers={"Sandbox-Force": wanted})
        assert (refused.status, refused.json["type"]) == (403, "/docs/problems/not-allowed")
        before += forced.status == 201 and key == LIVE
    assert len(api.get("/games", token=LIVE).json["games"]) == before


@pytest.mark.parametrize("wanted", ["500", "404", "", "503 ", "soon", "5030"])
def test_what_is_never_answered_is_not_forced(api: ApiClient, wanted: str) -> None:
    """422; and a 409 where the path has none."""
    headers = {"Sandbox-Force": wanted}
    if wanted != "503 ":
        assert api.get("/games", token=TEST, headers=headers).status == 422
    assert api.get("/games", token=TEST, headers={"Sandbox-Force": "409"}).status == 422


def test_where_nobody_is_asked_who_calls_nothing_is_forced(api: ApiClient) -> None:
    """Health and rules are what they are."""
    assert api.get("/healthz", headers={"Sandbox-Force": "503"}).status == 200
    assert api.get("/rules", token=TEST, headers={"Sandbox-Force": "503"}).status == 200
