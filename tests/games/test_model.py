"""The stored form of a game: it reads back, and a form of another release is left untouched."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.games.access import AppCaller, caller_of_token
from service.games.errors import UnknownFormat
from service.games.hosting import abandon_game, join_game
from service.games.model import FORMAT, game_from_state, game_to_state
from service.games.playing import play_action, read_game
from service.games.ports import Commit
from service.games.representation import Viewer, game_to_json
from service.rules.deal import find_faults
from service.rules.legal import legal_actions
from service.rules.match import play_in_match
from tests.games.tables import APP, Table, open_table

SAMPLES = Path(__file__).parent / "samples"


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    steps=st.one_of(st.integers(0, 150), st.just(5000)),
    players=st.sampled_from(["hhhh", "hhho", "oooo"]),
)
def test_a_stored_game_reads_back_the_same(seed: int, steps: int, players: str) -> None:
    """At any point of play: views of all seats, legal actions, scores, settings."""
    table = open_table(players, seed=f"model {seed}", client_seed="mine", spectators=False)
    table.play_randomly(random.Random(seed), steps)
    game = table.game
    state = game_to_state(game)

    twin = game_from_state(game.id, game.version, orjson.loads(orjson.dumps(state)))

    assert game_to_state(twin) == state
    assert legal_actions(twin.match.deal) == legal_actions(game.match.deal)
    for seat in (None, 0, 1, 2, 3):
        viewer = Viewer(seat)
        assert game_to_json(twin, viewer) == game_to_json(game, viewer)
    assert (twin.seats, twin.spectators, twin.turn_version) == (
        game.seats,
        False,
        game.turn_version,
    )
    assert (twin.match.seed, twin.match.client_seed) == (game.match.seed, "mine")
    assert twin.match.scores == game.match.scores


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 150))
def test_a_game_goes_on_after_reading_as_it_would_have(seed: int, steps: int) -> None:
    """What a stored form might forget would show later."""
    whole = open_table(seed=f"on {seed}")
    whole.play_randomly(random.Random(seed), steps)
    game = whole.game
    deal = game.match.deal
    twin = game_from_state(game.id, game.version, json.loads(json.dumps(game_to_state(game))))

    for at in (deal, twin.match.deal):
        assert find_faults(at) == []
    rng = random.Random(seed)
    while not game.match.is_over:
        action = rng.choice(legal_actions(game.match.deal))
        seat = game.match.deal.turn
        assert play_in_match(game.match, seat, action) == play_in_match(twin.match, seat, action)
    assert twin.match.totals == game.match.totals


def test_a_stored_game_is_small() -> None:
    """It is written with each move."""
    table = open_table(seed="size")
    largest = 0
    rng = random.Random(1)
    while table.play_randomly(rng, 1):
        largest = max(largest, len(orjson.dumps(game_to_state(table.game))))

    assert largest < 4096


# A game kept from the first release of each format. Never write these files anew: a format that no
# longer reads them is another format, with a number of its own.


def sample(number: int) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((SAMPLES / f"format-{number}.json").read_text("utf-8"))
    return data


def stored_sample(number: int) -> Table:
    """Return a table whose store holds the sample."""
    kept = sample(number)
    table = Table(game_id=kept["game_id"], tokens=kept["tokens"])
    for version in range(kept["version"] + 1):
        entry = kept["log"][version - 1] if version else None
        table.store.commit(Commit(kept["game_id"], version, "playing", kept["state"], entry))
    return table


def test_there_is_a_sample_of_every_format() -> None:
    kept = {path.name for path in SAMPLES.iterdir()}

    assert kept == {f"format-{number}.json" for number in range(1, FORMAT + 1)}


def known_part(seen: Any, expected: Any) -> Any:
    """Return of a view what an earlier one has too: what later releases add is theirs."""
    if isinstance(expected, dict):
        return {name: known_part(seen[name], expected[name]) for name in expected}
    if isinstance(expected, list) and len(seen) == len(expected):
        return [known_part(*pair) for pair in zip(seen, expected, strict=True)]
    return seen


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_a_game_of_each_format_is_read_as_it_was(number: int) -> None:
    table = stored_sample(number)

    for seat, expected in sample(number)["views"].items():
        seen = read_game(table.house, AppCaller("app"), table.game_id, int(seat))
        assert known_part(seen, expected) == expected


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_a_game_of_each_format_is_played_to_its_end(number: int) -> None:
    table = stored_sample(number)

    table.play_randomly(random.Random(1), 5000)

    assert table.game.status == "finished"
    assert game_to_state(table.game)["format"] == FORMAT


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_tokens_of_each_format_still_open_their_seats(number: int) -> None:
    kept = sample(number)
    table = stored_sample(number)

    for seat, token in kept["tokens"].items():
        game = read_game(table.house, caller_of_token(token), table.game_id, None)
        assert game["viewer"] == int(seat)


# Formats of other releases.


@pytest.mark.parametrize("found", [0, FORMAT + 1, "1", None, [], {}])
def test_another_format_is_refused_and_left_untouched(found: object) -> None:
    table = open_table("hhho")
    strange = {"format": found, "state": ["of", "another", "release"]}
    table.store.commit(Commit(table.game_id, 1, "open", strange, {"version": 1}))
    uses: list[Callable[[], object]] = [
        lambda: read_game(table.house, APP, table.game_id, None),
        lambda: join_game(table.house, table.game_id, 3, None),
        lambda: abandon_game(table.house, APP, table.game_id),
        lambda: play_action(table.house, APP, table.game_id, 0, {"type": "draw_stock"}),
    ]

    for use in uses:
        with pytest.raises(UnknownFormat) as raised:
            use()
        assert raised.value.found == found

    loaded = table.store.load(table.game_id)
    assert loaded is not None
    assert (loaded.version, loaded.state) == (1, strange)


def test_a_state_without_a_format_is_refused() -> None:
    with pytest.raises(UnknownFormat):
        game_from_state("g", 0, {})
