"""The record of a finished game over HTTP: everything in the open, and nothing before the end."""

from __future__ import annotations

from typing import Any

import pytest

from service.rules.notation import read_game, replay, write_game
from service.store.app_keys import MemoryAppKeys
from tests.api.client import ApiClient, Table

NAMES = ["Ana | Bo", "Cy", "Di", "Eva"]


def people(*names: str) -> list[dict[str, Any]]:
    """Return the seats of a game of people."""
    return [{"player": "human", "name": name} for name in names]


def finished(api: ApiClient, **more: Any) -> Table:
    """Return a table whose game was played to its end."""
    table = Table(ApiClient(api.app, check_every=13), seed="record", **more)
    table.play_out()
    return table


def test_the_record_shows_all_cards_and_all_actions(any_api: ApiClient) -> None:
    """The seed, the packs, each action with the card drawn, the scores."""
    table = finished(any_api, deals=1, client_seed="mine", seats=people(*NAMES))
    game = table.view(0)
    record = any_api.get(f"{table.path}/record").json

    fairness = game["fairness"]
    assert record["fairness"] == fairness
    assert (fairness["seed"], fairness["client_seed"]) == ("record", "mine")
    (deal,) = record["deals"]
    assert len(set(deal["deck"])) == 56
    assert [entry["version"] for entry in deal["actions"]] == list(range(1, game["version"] + 1))
    for entry in deal["actions"]:
        assert (entry["card"] is not None) == (entry["action"]["type"] == "draw_stock")
    assert [deal["score"]] == game["deal_scores"]
    assert (record["scores"], record["winner"]) == (game["scores"], game["winner"])
    assert record["seats"] == game["seats"]


def test_the_text_is_the_same_game(api: ApiClient) -> None:
    """As a member and, by `Accept`, alone; the rules' own reader plays it to the same scores."""
    table = finished(api, seats=people(*NAMES))
    record = api.get(f"{table.path}/record").json
    text = api.get(f"{table.path}/record", headers={"Accept": "text/plain"})

    assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert text.raw.decode() == record["text"]
    game = read_game(record["text"])
    assert write_game(game) == record["text"]
    # A bar parts the names.
    assert game.players == ["Ana / Bo", *NAMES[1:]]
    totals = [list(deal.score.total) for deal in replay(game)]
    assert totals == [deal["score"]["total"] for deal in record["deals"]]


@pytest.mark.parametrize(
    ("accept", "is_text"),
    [
        (None, False),
        ("*/*", False),
        ("application/json", False),
        ("text/plain;q=0.1, application/json", False),
        ("text/*", True),
        ("text/plain, application/json;q=0.5", True),
        ("image/png", False),
        ("nonsense;;q=x", False),
    ],
)
def test_the_form_is_the_one_that_is_preferred(
    api: ApiClient, accept: str | None, is_text: bool
) -> None:
    """Nobody is refused for what they would rather have; caches are told that it matters."""
    table = finished(api, deals=1)
    headers = {} if accept is None else {"Accept": accept}
    answer = api.get(f"{table.path}/record", headers=headers)

    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain") is is_text
    assert "Accept" in answer.headers["Vary"]


def test_before_the_end_nothing_is_told(any_api: ApiClient) -> None:
    """409 for its app and its seats, in play, with seats open, and abandoned."""
    table = Table(any_api)
    table.play_on(20)
    opened = any_api.post("/games", {"seats": [{"player": "open"}] * 4}).json["game"]["id"]
    answers = [any_api.get(f"{table.path}/record", token=token) for token in table.tokens.values()]
    answers += [any_api.get(f"{table.path}/record"), any_api.get(f"/games/{opened}/record")]
    any_api.delete(table.path)
    answers.append(any_api.get(f"{table.path}/record", headers={"Accept": "text/plain"}))

    for answer in answers:
        assert answer.status == 409
        assert answer.json["type"] == "/docs/problems/game-not-finished"
        assert b"record" not in answer.raw.replace(b"/record", b"")


def test_those_who_had_a_seat_may_read_it_and_nobody_else(
    api: ApiClient, keys: MemoryAppKeys
) -> None:
    """Every seat's token; not another app, nor the token of another game."""
    table = finished(api, deals=1)
    other = Table(api)
    keys.create("other", "prk_other")

    for token in table.tokens.values():
        assert api.get(f"{table.path}/record", token=token).status == 200
    for token in ("prk_other", other.tokens[0]):
        assert api.get(f"{table.path}/record", token=token).status == 404
    assert api.get("/games/nothing/record").status == 404
    assert api.get(f"{table.path}/record?seat=0").status == 422
