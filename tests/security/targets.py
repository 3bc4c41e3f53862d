"""What the fuzzer feeds: functions of bytes that fail when something of ours is wrong.

Each takes any bytes. It returns a word that says how far they came, so that a test can see that the
corpus gets past the first check, and raises for what no input may cause."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache

import orjson
from flask import Flask
from marshmallow import ValidationError

from service.api.reading import read_json
from service.api.request_errors import RequestError
from service.api.schemas.positions import PositionRequest
from service.config import Settings
from service.games.access import LOCAL_APP
from service.rules.cards import mask_of
from service.rules.deal import find_faults
from service.rules.notation import read_game, replay, write_game
from service.rules.positions import find_view_faults
from service.rules.view import unseen_cards, view_from_json, view_to_json
from service.rules.violations import RulesError
from tests.api.client import memory_app
from tests.games import tables

POSITION = PositionRequest()


def notation(data: bytes) -> str:
    """A game as text: what is read can be written and reads back the same; what the rules let be
    played leaves a deal that can be.
    """
    try:
        record = read_game(data.decode("utf-8", "surrogatepass"))
    except (UnicodeDecodeError, RulesError):
        return "refused"
    assert read_game(write_game(record)) == record
    try:
        deals = replay(record)
    except RulesError:
        return "read"
    for deal in deals:
        assert find_faults(deal) == []
    return "played" if deals and record.deals[0].actions else "read"


def positions(data: bytes) -> str:
    """A body for advice on a position: refused by its shape or with its faults named, or else one
    that can be thought about and is shown again as it was sent.
    """
    try:
        body = POSITION.load(read_json(data))
    except (RequestError, ValidationError):
        return "refused"
    position = body.get("position") or body["positions"][0]
    position.pop("deadline", None)
    faults = find_view_faults(position)
    assert all(field and text for field, text in faults)
    if faults:
        return "impossible"
    view = view_from_json(position)
    assert view_from_json(orjson.loads(orjson.dumps(view_to_json(view)))) == view
    unseen = unseen_cards(view)
    assert not unseen & view.hand
    assert not unseen & mask_of(view.pile)
    held = sum(view.hand_counts) - view.hand.bit_count()
    known = sum(mask.bit_count() for mask in view.known) - view.known[view.seat].bit_count()
    assert unseen.bit_count() == view.stock_count + held - known
    return "possible"


def bodies(data: bytes) -> str:
    """Any body: what our reader of JSON takes the strict one takes too, and to the same value."""
    try:
        value = read_json(data)
    except RequestError:
        return "refused"
    assert json.loads(data.decode()) == value
    return "read"


def resumption(data: bytes) -> str:
    """`Last-Event-ID` of a finished game's stream: 422, or what came later, without gap or
    repeat.
    """
    app, path, version = _finished()
    # What a header can be: gunicorn refuses line breaks and NUL.
    given = data.translate(None, b"\r\n\0").decode("latin-1")
    with app.test_client() as client:
        environ = {"HTTP_LAST_EVENT_ID": given}
        with client.get(path, environ_overrides=environ) as answer:
            if answer.status_code == 422:
                assert answer.json is not None
                assert "Last-Event-ID" in answer.json["errors"][0]["field"]
                return "refused"
            assert answer.status_code == 200, answer.get_data()
            lines = answer.get_data().split(b"\n")
    ids = [int(line[4:]) for line in lines if line.startswith(b"id: ")]
    # A version that is not there yet nobody has seen: then, too, the whole view comes first.
    if not given.strip(" \t") or int(given) > version:
        assert ids == [version]
        return "whole"
    assert ids == list(range(int(given) + 1, version + 1))
    return "resumed"


@cache
def _finished() -> tuple[Flask, str, int]:
    """Return an app with one finished game, the path of its stream, and its last version."""
    played = tables.open_table(seed="fuzz", deals=1)
    played.play_randomly(random.Random(3), 5_000)
    game, log = played.game, played.store.read_log(played.game_id, 0, 10_000)
    # The app that needs no credentials.
    game.app = LOCAL_APP
    store = tables.table_at(game, log, {}).store
    app = memory_app(store=store, settings=Settings())
    return app, f"/games/{game.id}/events", game.version


TARGETS: dict[str, Callable[[bytes], str]] = {
    target.__name__: target for target in (notation, positions, bodies, resumption)
}
"""By name; the folder of a target's corpus has the same."""
