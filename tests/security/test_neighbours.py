"""What one app, or one player, can take from the others: their webhooks' threads, their quota of
hints, the room in the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from service.config import Settings
from service.games.advice import HINT, MOST_OF_A_GAME
from service.games.hosting import MOST_LOOKED_AT
from service.games.limits import LEAST_SHARE, PARTS_OF_QUOTA
from service.games.model import game_to_state
from service.games.ports import Commit, Loaded, RequestKey
from service.games.seats import MOST_CHANGES
from service.store.app_keys import MemoryAppKeys
from service.store.memory import MemoryQueue, MemoryStore
from tests.api.client import FOUR_PEOPLE, ApiClient, memory_app
from tests.games.tables import open_table
from workers.webhooks import Pauses, Threads

KEY, OTHER = "prk_club", "prk_other"


def keyed(store: MemoryStore, **settings: int) -> ApiClient:
    """Return a client of a service that wants keys, on a store."""
    keys = MemoryAppKeys()
    keys.create("club", KEY)
    keys.create("other", OTHER)
    app = memory_app(
        store=store, queue=MemoryQueue(), keys=keys, settings=Settings(auth="required", **settings)
    )
    return ApiClient(app, check_every=50)


# Threads that post and ask.


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """Return what slow receivers wait for."""
    event = threading.Event()
    yield event
    event.set()


def test_of_two_apps_at_one_host_the_slow_one_holds_up_itself_alone(
    go_on: threading.Event,
) -> None:
    """A host may be a service for everybody, and its addresses be of people who know nothing of
    each other."""
    threads, told = Threads(size=8, at_once=2, backlog=1), threading.Event()
    url = "https://hooks.example/a"
    taken = [threads.run("slow", url, lambda: go_on.wait(30)) for _ in range(4)]

    assert taken == [True, True, True, False]
    assert threads.run("prompt", "https://hooks.example/b", told.set)
    assert told.wait(10)
    go_on.set()
    threads.wait()


def test_no_app_has_more_than_half_of_the_threads(go_on: threading.Event) -> None:
    """Though it name a new host each time, or a new port."""
    threads, told = Threads(size=8, at_once=4), threading.Event()
    hosts = [f"https://{name}.example:{port}/" for port in (443, 8443) for name in "abcd"]
    taken = [threads.run("greedy", host, lambda: go_on.wait(30)) for host in hosts]

    assert taken == [True] * 4 + [False] * 4
    assert threads.run("other", "https://a.example/", told.set)
    assert told.wait(10)
    go_on.set()
    threads.wait()


def test_a_pause_that_one_apps_receiver_asks_for_is_that_apps() -> None:
    """Else whoever has an address at a host could silence all that go there, for an hour."""
    pauses = Pauses()
    pauses.note("one", "https://hooks.example/a", time.monotonic() + 3600)

    assert pauses.left_s("one", "https://hooks.example/b") > 0
    assert pauses.left_s("other", "https://hooks.example/b") == 0


# Games of an app.


class Counting(MemoryStore):
    """A store that counts how often a game is read."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = 0

    def load(self, game_id: str, key: RequestKey | None = None) -> Loaded | None:
        """Count, and load."""
        self.loads += 1
        return super().load(game_id, key)


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_a_page_of_a_rare_status_does_not_read_all_games(limit: int) -> None:
    """It ends after so many, found or not, and the next one goes on; all are found in the end."""
    store, count = Counting(), 2 * MOST_LOOKED_AT + 10
    state = game_to_state(open_table().game) | {"app": "club"}
    for number in range(count):
        status = "abandoned" if number in (0, 3, count - 1) else "playing"
        store.commit(Commit(f"g{number}", 0, status, {**state, "status": status}))
        store.index_game("club", f"g{number}", 1_700_000_000_000 + number)
    api = keyed(store)
    path: str | None = f"/games?status=abandoned&limit={limit}"
    found, pages = [], 0
    while path:
        store.loads = 0
        page = api.get(path, token=KEY).json
        assert store.loads <= MOST_LOOKED_AT + limit
        found += [game["id"] for game in page["games"]]
        path, pages = page["next"], pages + 1

    assert found == [f"g{count - 1}", "g3", "g0"]
    assert pages >= 3


# What a seat's token can use up.


def test_tokens_of_one_game_have_a_part_of_their_keys_quota() -> None:
    """What they have under way at most leaves the app's other games their hints; the app itself is
    not held to a part."""
    api = keyed(MemoryStore(), max_hints=10 * PARTS_OF_QUOTA // 2)
    games = [api.post("/games", {"seats": FOUR_PEOPLE}, token=KEY).json for _ in range(2)]
    share = max(10 // 2, LEAST_SHARE)
    statuses = []
    for made, token in ((games[0], None), (games[1], None), (games[0], KEY)):
        turn = made["game"]["deal"]["turn"]
        asker = token or made["seat_tokens"][str(turn)]
        path = f"/games/{made['game']['id']}/hints"
        answers = [api.post(path, {"seat": turn}, token=asker) for _ in range(share + 1)]
        statuses.append([answer.status for answer in answers])
        assert answers[-1].status == 202 or answers[-1].headers["RateLimit-Policy"] == (
            f'"queued-hints";q={share}'
        )

    assert statuses == [[202] * share + [429]] * 2 + [[202] * (share + 1)]


def test_tokens_ask_for_so_many_hints_of_a_game_and_no_more() -> None:
    """Each is kept for a day; the next one leaves nothing. The app goes on."""
    store = MemoryStore()
    api = keyed(store)
    made = api.post("/games", {"seats": FOUR_PEOPLE}, token=KEY).json
    turn, game_id = made["game"]["deal"]["turn"], made["game"]["id"]
    for _ in range(MOST_OF_A_GAME):
        store.new_task(game_id, HINT, {"status": "done"}, 60)
    path, token = f"/games/{game_id}/hints", made["seat_tokens"][str(turn)]
    headers = {"Idempotency-Key": "one-too-many"}
    refused = [api.post(path, {}, token=token, headers=headers) for _ in range(2)]

    assert [answer.status for answer in refused] == [409, 409]
    assert store.load_task(game_id, HINT, f"h{MOST_OF_A_GAME + 1}") is None
    assert api.post(path, {"seat": turn}, token=KEY).status == 202


def test_an_owner_changes_a_seat_so_often_and_no_more() -> None:
    """Each change is kept and told; a token is not to fill the store, nor a webhook. The app, which
    may have to take the seat away, is not held to that."""
    store = MemoryStore()
    api = keyed(store)
    made = api.post("/games", {"seats": FOUR_PEOPLE}, token=KEY).json
    token, path = made["seat_tokens"]["1"], f"/games/{made['game']['id']}/seats/1"
    statuses = []
    for _ in range(MOST_CHANGES // 2):
        statuses.append(api.send("PUT", f"{path}/bot", {"level": "greedy"}, token=token).status)
        statuses.append(api.delete(f"{path}/bot", token=token).status)
    refused = [
        api.send("PUT", f"{path}/bot", {"level": "greedy"}, token=token),
        api.post(f"{path}/token", token=token),
    ]

    assert set(statuses) == {200}
    assert [answer.status for answer in refused] == [409, 409]
    assert api.post(f"{path}/token", token=made["seat_tokens"]["2"]).status == 403
    assert api.post(f"{path}/token", token=KEY).status == 201
    assert store.load(made["game"]["id"]).version == MOST_CHANGES + 1  # type: ignore[union-attr]
