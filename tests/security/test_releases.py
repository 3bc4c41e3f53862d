"""A game that a later release has written: refused, and left as it is, by whatever touches games.

Samples of all formats that were are read in `tests/games/test_model.py` and
`tests/store/test_redis_store.py`; here is the one that does not exist yet. While two releases run
beside each other the later one must still find what it has noted of its games."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from service.games.errors import UnknownFormat
from service.games.model import FORMAT
from service.games.ports import CLOCK, NEWS, Commit
from service.games.sweeping import UNREADABLE_S, sweep_bots, sweep_clocks, sweep_webhooks
from service.games.webhooks import announce
from tests.games.tables import Table, open_table
from tests.security.world import REQUESTS, World, operations

OF_A_GAME = [name for name in REQUESTS if "{game_id}" in operations()[name.partition(" ")[0]][1]]


@pytest.mark.parametrize("name", OF_A_GAME)
def test_every_request_for_a_game_of_a_later_release_is_put_off(name: str) -> None:
    """503 with when to come again, for its app, its seats and who looks on; nothing is changed."""
    world = World(REQUESTS[name])
    loaded = world.store.load(world.game_id)
    assert loaded is not None
    state = {**loaded.state, "format": FORMAT + 1, "deal": {"of": ["a", "later", "release"]}}
    version = loaded.version + 1
    world.store.commit(Commit(world.game_id, version, "playing", state, {"version": version}))
    world.settle()
    for caller in ("app", "own-seat", "spectator"):
        if not world.has(caller):
            continue
        answer = world.ask(name, caller)
        if answer.status == 403:
            # Nobody looks at the game for who may not ask at all.
            assert caller != "app"
        else:
            assert (answer.status, answer.json["type"]) == (503, "/docs/problems/unknown-format")
            assert 0 < int(answer.headers["Retry-After"]) <= 60
        assert world.is_untouched()


def later_game() -> Table:
    """Return a house with a game of a later release, noted for all that sweeps look for."""
    table = open_table("bbbb")
    table.queue.lose_all()
    state = {"format": FORMAT + 1}
    table.store.commit(Commit(table.game_id, 1, "playing", state, {"version": 1}))
    now_s = table.clock.now_s - 60
    table.store.mark_waiting(table.game_id, now_s)
    table.store.mark_waiting(table.game_id, now_s, NEWS)
    table.store.note_due(CLOCK, table.game_id, now_s)
    return table


@pytest.mark.parametrize(
    "sweep",
    [lambda table: sweep_bots(table.house, 2), lambda table: sweep_clocks(table.house)],
    ids=["bots", "clocks"],
)
def test_a_sweep_leaves_it_and_its_note(sweep: Callable[[Table], list[str]]) -> None:
    """The note is looked at again after a minute, by whoever can read the game by then."""
    table = later_game()

    assert sweep(table) == []
    assert table.queue.waiting == []
    until_s = table.clock.now_s + UNREADABLE_S + 1
    assert table.store.waiting_games(until_s, 10) == [table.game_id]
    assert table.store.due(CLOCK, until_s, 10) == [table.game_id]
    assert sweep(table) == []
    loaded = table.store.load(table.game_id)
    assert loaded is not None
    assert (loaded.version, loaded.state) == (1, {"format": FORMAT + 1})


def test_its_news_are_left_to_who_can_read_them() -> None:
    table = later_game()
    sweep_webhooks(table.house)

    with pytest.raises(UnknownFormat):
        announce(table.house, table.game_id)
    assert table.store.announced(table.game_id) is None
    assert table.store.waiting_games(table.clock.now_s, 10, NEWS) == [table.game_id]
