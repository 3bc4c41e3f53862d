"""kill -9 of the API's process between a request and its answer; two hundred clients at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from service.embedded import RedisServer
from service.store.redis_store import load_script
from tests.api.streams import served
from tests.e2e.harness import Answer, Player, Table, free_port, make_table
from tests.faults.history import NO_ANSWER
from tests.faults.proxies import Holder

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
PEOPLE = ("human", "human", "human", "human")
CLIENTS = 200


@dataclass
class Api:
    """One gunicorn process with one worker, behind a Redis that can hold an answer back."""

    player: Player
    holder: Holder
    redis: redis_py.Redis
    master: int

    def die_in(
        self, script: str, method: str, path: str, body: Any, *, is_done: bool, **headers: str
    ) -> None:
        """Send a request and kill the worker at that script, which was done or was not."""
        # Loaded before: else the answer that is held would be that Redis does not know it.
        sha = self.redis.script_load(load_script(self.redis, script).script)
        self.holder.hold(sha, is_done_first=is_done)
        outcome: list[Any] = []

        def send() -> None:
            try:
                outcome.append(self.player.ask(method, path, body, **headers))
            except NO_ANSWER as error:
                outcome.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        assert self.holder.has_held.wait(10)
        for pid in Path(f"/proc/{self.master}/task/{self.master}/children").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        thread.join()
        assert not isinstance(outcome[0], Answer), outcome


@pytest.fixture(scope="module")
def api(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Run the API for the tests of this file."""
    port = free_port()
    holder = Holder(redis_server.socket_path, tmp_path_factory.mktemp("hold") / "held.sock")
    settings = {"PERSIAN_RUMMY_REDIS_TIMEOUT_S": "5", "PERSIAN_RUMMY_MAX_WAIT_S": "0"}
    with (
        redis_py.Redis.from_url(redis_server.url) as client,
        served(holder.url, port, **settings) as process,
    ):
        client.flushall()
        yield Api(Player(f"http://127.0.0.1:{port}"), holder, client, process.pid)
    holder.close()


@pytest.fixture
def table(api: Api) -> Table:
    """Return a new game of four people."""
    return make_table(api.player, f"between {time.monotonic_ns()}", *PEOPLE)


@pytest.mark.parametrize("is_done", [True, False])
def test_an_action_whose_answer_died_is_answered_as_the_first_time(
    api: Api, table: Table, is_done: bool
) -> None:
    """Sent again with its key: what was done is told again, what was not is done now; once."""
    path = f"{table.path}/actions"
    body = {"type": "draw_stock", "seat": (table.made["seating"]["dealer"] + 1) % 4}
    headers = {"Idempotency_Key": "the-same", "If_Match": '"0"'}

    api.die_in("commit", "POST", path, body, is_done=is_done, **headers)
    answers = [api.player.ask("POST", path, body, **headers) for _ in range(2)]

    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].body == answers[1].body
    replays = ["idempotent-replayed" in answer.headers for answer in answers]
    assert replays == [is_done, True]
    (event,) = api.player.log(table.id)
    assert event["version"] == answers[0].body["action"]["version"]
    stale = api.player.ask("POST", path, body, If_Match='"0"')
    assert stale.status == 412


@pytest.mark.parametrize("is_done", [True, False])
def test_a_creation_whose_answer_died_gives_one_game_and_its_tokens(
    api: Api, is_done: bool
) -> None:
    """The tokens are shown again to who knows the key: they work, and no second game is there."""
    before = len(api.player.must(200, "GET", "/games?limit=100")["games"])
    order = {"seats": [{"player": "human"}] * 4}
    headers = {"Idempotency_Key": f"creation {is_done}".replace(" ", "-")}

    api.die_in("commit", "POST", "/games", order, is_done=is_done, **headers)
    made = api.player.must(201, "POST", "/games", order, **headers)

    assert made == api.player.must(201, "POST", "/games", order, **headers)
    assert len(api.player.must(200, "GET", "/games?limit=100")["games"]) == before + 1
    for seat, token in made["seat_tokens"].items():
        holder = Player(api.player.base_url, token)
        game = holder.must(200, "GET", f"/games/{made['game']['id']}")
        assert (game["viewer"], len(game["deal"]["hand"])) == (int(seat), 7)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_join_whose_answer_died_gives_the_seat_once(api: Api, is_done: bool) -> None:
    """Who asked gets the token by the retry; nobody else gets the seat."""
    seats = [{"player": "open"}, *[{"player": "human"}] * 3]
    game = api.player.must(201, "POST", "/games", {"seats": seats})["game"]
    path, headers = f"/games/{game['id']}/seats/0/join", {"Idempotency_Key": "my-seat"}

    api.die_in("commit", "POST", path, {"name": "Ana"}, is_done=is_done, **headers)
    joined = api.player.must(201, "POST", path, {"name": "Ana"}, **headers)

    assert joined == api.player.must(201, "POST", path, {"name": "Ana"}, **headers)
    assert api.player.ask("POST", path, {"name": "Bea"}).status == 409


def test_a_hint_whose_answer_died_is_one_hint_and_does_not_hang(api: Api, table: Table) -> None:
    """The same hint again; killed before its job was queued, it says failed after a while."""
    path, headers = f"{table.path}/hints", {"Idempotency_Key": "my-hint"}
    body = {"iterations": 10}

    api.die_in("new_task", "POST", path, body, is_done=True, **headers)
    asked = api.player.must(202, "POST", path, body, **headers)

    assert asked["id"] == "h1"
    assert asked["status"] in ("queued", "running")
    deadline = time.monotonic() + 20
    while (hint := api.player.must(200, "GET", f"{path}/h1"))["status"] != "failed":
        assert time.monotonic() < deadline, hint
        time.sleep(0.2)


def test_of_two_hundred_clients_one_plays_each_version(api: Api, table: Table) -> None:
    """Each looks and plays for the seat to move: one 201 a version, and 412 for all the others."""
    ready = threading.Barrier(CLIENTS)

    def play(_: int) -> Answer:
        game = api.player.must(200, "GET", f"{table.path}/legal-actions")
        ready.wait(60)
        action = game["actions"][0]
        return api.player.ask("POST", f"{table.path}/actions", action, If_Match='"0"')

    began = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as threads:
        answers = list(threads.map(play, range(CLIENTS)))

    statuses = Counter(answer.status for answer in answers)
    print(f"\n{dict(statuses)} in {time.monotonic() - began:.1f} s")
    assert statuses == {201: 1, 412: CLIENTS - 1}
    for answer in answers:
        game = answer.body["game"]
        assert game["version"] == 1
    assert len(api.player.log(table.id)) == 1


def test_two_hundred_clients_who_name_no_version_play_one_after_the_other(
    api: Api, table: Table
) -> None:
    """Without If-Match each is judged anew after a lost race: 201 with a version of its own, or
    409 when the rules refuse it by then."""
    ready = threading.Barrier(CLIENTS)

    def play(number: int) -> Answer:
        seat = number % 4
        ready.wait(60)
        body = {"type": "draw_stock", "seat": seat}
        return api.player.ask("POST", f"{table.path}/actions", body)

    with ThreadPoolExecutor(CLIENTS) as threads:
        answers = list(threads.map(play, range(CLIENTS)))

    versions = [answer.body["action"]["version"] for answer in answers if answer.status == 201]
    assert versions == [1]
    assert {answer.status for answer in answers} == {201, 409}
    assert [event["version"] for event in api.player.log(table.id)] == [1]
