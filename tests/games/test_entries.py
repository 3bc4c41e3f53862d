"""Log entries in short: they read back the same, and are short."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import orjson
import pytest

from service.games.entries import read_entry, write_entry
from service.games.hosting import abandon_game
from service.games.model import game_to_state
from service.games.ports import Commit, CommitResult
from service.games.seats import replace_token, seat_bot, take_back
from service.store.memory import MemoryStore
from tests.games.tables import APP, open_table

PLAYED = {
    "version": 7,
    "at": "2026-11-30T13:07:00.074Z",
    "type": "played",
    "deal": 1,
    "seat": 2,
    "by": "bot",
}


def text_of(document: dict[str, Any]) -> bytes:
    """Return a document as JSON: equal texts have their fields in the same order."""
    return orjson.dumps(document)


class Recorder(MemoryStore):
    """A store that remembers what it was given."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self.given: list[dict[str, Any]] = []

    def commit(self, commit: Commit) -> CommitResult:
        """Remember the entry and go on."""
        if commit.entry is not None:
            self.given.append(commit.entry)
        return super().commit(commit)


@pytest.mark.parametrize("seed", range(3))
def test_every_entry_of_a_game_reads_back_the_same(seed: int) -> None:
    rng = random.Random(seed)
    table = open_table(seed=f"entries {seed}")
    recorder = Recorder()
    recorder.commit(Commit(table.game_id, 0, "playing", game_to_state(table.game)))
    table.store = recorder
    table.house = replace(table.house, store=recorder)

    table.play_randomly(rng, 60 + 1000 * seed)
    if not seed:
        for change in (seat_bot, take_back, replace_token):
            change(table.house, APP, table.game_id, 1)
        abandon_game(table.house, APP, table.game_id)

    log = table.store.read_log(table.game_id, 0, 10_000)
    assert len(log) == table.version > 60
    assert list(map(text_of, log)) == list(map(text_of, recorder.given))


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"action": {"type": "draw_stock"}, "drawn": "7H"}, b"2b1 mx3a8j8q S7H"),
        ({"action": {"type": "pass"}}, b"2b1 mx3a8j8q P"),
        ({"action": {"type": "discard", "card": "KD"}}, b"2b1 mx3a8j8q DKD"),
        (
            {"action": {"type": "lay_off", "cards": ["3S", "7S"], "meld": "m12"}},
            b"2b1 mx3a8j8q L3S7S@m12",
        ),
        (
            {"action": {"type": "pass"}, "deal_score": {"went_out": None}},
            b'2b1 mx3a8j8q P {"deal_score":{"went_out":null}}',
        ),
    ],
)
def test_an_action_is_kept_in_words(more: dict[str, Any], kept: bytes) -> None:
    entry = {**PLAYED, **more}

    assert kept == write_entry(entry)
    assert text_of(entry) == text_of(read_entry(7, kept))


@pytest.mark.parametrize(
    "entry",
    [
        {"version": 1},
        {"version": 3, "at": PLAYED["at"], "type": "joined", "seat": 2, "by": "human", "name": "Ö"},
        {**PLAYED, "by": "somebody new", "action": {"type": "pass"}},
        {**PLAYED, "at": "2026-11-30T13:07:00.074123Z", "action": {"type": "pass"}},
        {**PLAYED, "at": "2026-11-30T14:07:00.074+01:00", "action": {"type": "pass"}},
        {**dict(reversed(PLAYED.items())), "action": {"type": "pass"}},
    ],
)
def test_any_other_entry_is_kept_as_json(entry: dict[str, Any]) -> None:
    kept = write_entry(entry)

    assert kept.startswith(b"{")
    assert read_entry(entry["version"], kept) == entry
