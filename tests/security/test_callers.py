"""Every operation asked by everybody: who is let in, who is told what, and what changes.

The table is the claim. Its rows are the document's operations (one without a row fails), its
columns are those of `CALLERS`. A star stands where something was changed or put on a queue, so that
a refusal without one has left everything as it was; `-` where there is no such caller. What another
app or another game's token is told of a game is what it is told of one that does not exist."""

from __future__ import annotations

import re

import pytest

from tests.api.client import ApiClient, memory_app
from tests.security.world import CALLERS, OTHER, OWN, REQUESTS, World, operations, world_for

TABLE = """
operation                none unkn revo othr  app test  own  nbr game spec  old
createGame                401  401  401 201* 201* 201*  403  403  403  403  403
listGames                 401  401  401  200  200  200  403  403  403  403  403
getGame                   401  401  401  404  200  404  200  200  404  200  401
getGame ?seat=1           401  401  401  404  200  404  200  403  404  403  401
abandonGame               401  401  401  404 200*  404  403  403  404  403  401
rematch                   401  401  401  404 201*  404  403  403  404  403    -
joinSeat                  401  401  401  404 201*  404    - 201*  404  403    -
replaceSeatToken          401  401  401  404 201*  404 201*  403  404  403  401
seatBot                   401  401  401  404 200*  404 200*  403  404  403  401
takeSeatBack              401  401  401  404 200*  404 200*  403  404  403  401
listLegalActions          401  401  401  404  200  404  200  200  404  403  401
listLegalActions ?seat=1  401  401  401  404  200  404  200  403  404  403  401
playAction                401  401  401  404 201*  404 201*  403  404  403  401
playAction ?dry_run=true  401  401  401  404  200  404  200  403  404  403  401
listActions               401  401  401  404  200  404  200  200  404  200  401
listActions ?seat=1       401  401  401  404  200  404  200  403  404  403  401
streamEvents              401  401  401  404  200  404  200  200  404  200    -
streamEvents ?seat=1      401  401  401  404  200  404  200  403  404  403    -
askHint                   401  401  401  404 202*  404 202*  403  404  403  401
getHint                   401  401  401  404  200  404  200  403  404  403  401
cancelHint                401  401  401  404 200*  404 200*  403  404  403  401
askBotMove                401  401  401  404 202*  404 202*  403  404  403  401
getBotMove                401  401  401  404  200  404  200  403  404  403  401
askPositionHint           401  401  401 202* 202* 202*  403  403  403  403  403
getPositionHint           401  401  401  404  200  404  403  403  403  403  403
cancelPositionHint        401  401  401  404 200*  404  403  403  403  403  403
getRecord                 401  401  401  404  200  404  200  200  404  200    -
getRecordPicture          401  401  401  404  200  404  200  200  404  200    -
createMatch               401  401  401 201* 201* 201*  403  403  403  403  403
getMatch                  401  401  401  404  200  404  404  404  404  404  404
askReview                 401  401  401  404 202*  404 202* 202*  404 202*    -
getReview                 401  401  401  404  200  404  200  200  404  200    -
cancelReview              401  401  401  404 200*  404 200* 200*  404  403    -
setWebhook                401  401  401 201* 201* 201*  403  403  403  403  403
getWebhook                401  401  401  404  200  404  403  403  403  403  403
dropWebhook               401  401  401  404 204*  404  403  403  403  403  403
listDeliveries            401  401  401  404  200  404  403  403  404  403  401
listQueues                 401  401  401  503  503  403  403  403  403  403  403
getQueue                   401  401  401  503  503  403  403  403  403  403  403
requeueJob                 401  401  401  503  503  403  403  403  403  403  403
moveClock                 401  401  401  403  403 200*  403  403  403  403  403
listBots                  200  200  200  200  200  200  200  200  200  200  200
getRules                  200  200  200  200  200  200  200  200  200  200  200
getHealth                 200  200  200  200  200  200  200  200  200  200  200
getReadiness              200  200  200  200  200  200  200  200  200  200  200
getMetrics                200  200  200  200  200  200  200  200  200  200  200
"""
"""A token names its game, so where there is none in the path nobody looks whether it is right: 403
for all. An app that is not the game's asks for its own webhook, positions and matches, and has
none. A test key is the same app's, and reaches the sandbox alone. Every live key with the scope
`admin` is an operator's (503: there is no Redis here)."""

EXPECTED = {
    name.strip(): dict(zip(CALLERS, cells.split(), strict=True))
    for name, cells in re.findall(r"(?m)^(\w+(?: \?\S+)?) +((?:[\d*-]+ *){11})$", TABLE)
}
PAGES = {
    "/",
    "/replay",
    "/static/<string(length=16):release>/<path:path>",
    "/docs",
    "/docs/guides",
    "/docs/guides/<name>",
    "/docs/assets/<name>",
    "/docs/problems",
    "/docs/problems/<slug>",
    "/openapi.json",
}
"""Routes besides the document's. They tell nothing of anybody, and ask nobody who calls."""


def world_of(name: str) -> World:
    """Return the world that a row's requests are made in."""
    request = REQUESTS[name]
    return world_for(request.world, request.needs)


def test_every_operation_has_a_row_and_every_row_its_request() -> None:
    assert {name.partition(" ")[0] for name in EXPECTED} == operations().keys()
    assert EXPECTED.keys() == REQUESTS.keys()


def test_every_route_is_in_the_document_or_a_page_that_all_may_see() -> None:
    """Also under another method: a route that nobody wrote down would be asked by nobody here."""
    documented = {(method, path) for method, path in operations().values()}
    for rule in memory_app().url_map.iter_rules():
        path = re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", r"{\1}", rule.rule)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            assert (method, path) in documented or (method == "GET" and rule.rule in PAGES)


@pytest.mark.parametrize("name", EXPECTED)
def test_each_caller_gets_what_the_table_says(name: str) -> None:
    world = world_of(name)
    world.put_back()
    told = {}
    for caller in CALLERS:
        if not world.has(caller):
            told[caller] = "-"
            continue
        answer = world.ask(name, caller)
        told[caller] = f"{answer.status}{'' if world.is_untouched() else '*'}"
        world.put_back()

    assert told == EXPECTED[name]


OF_A_GAME = [name for name in EXPECTED if "{game_id}" in operations()[name.partition(" ")[0]][1]]


@pytest.mark.parametrize("name", OF_A_GAME)
def test_a_strangers_game_looks_as_one_that_is_not_there(name: str) -> None:
    """To another app, and to a token of another game: the same bytes but for the path."""
    world = world_of(name)
    for caller in ("other-app", "other-game", "test-key"):
        world.put_back()
        there = world.ask(name, caller)
        if there.status < 400:
            continue
        kept, world.places = world.places, {**world.places, "game_id": "a" * len(world.game_id)}
        missing = world.ask(name, caller)
        world.places = kept

        assert there.raw == missing.raw.replace(b"a" * len(world.game_id), world.game_id.encode())
        ours, theirs = dict(there.headers), dict(missing.headers)
        for headers in (ours, theirs):
            del headers["X-Request-Id"], headers["RateLimit"]
        assert ours == theirs


def test_a_test_key_and_a_live_key_of_one_app_repeat_nothing_of_each_other() -> None:
    """The same Idempotency-Key makes a game for each."""
    world = world_for("playing", "")
    made = {
        world.api.post(
            "/games", REQUESTS["createGame"].body, token=key, headers={"Idempotency-Key": "k"}
        ).json["game"]["id"]
        for key in (OWN, world.tokens["test-key"], OTHER)
    }

    assert len(made) == 3


def test_pages_ask_nobody_who_calls() -> None:
    """And take no notice of what is shown to them."""
    api: ApiClient = world_for("playing", "").api
    for page in {rule.rule for rule in api.app.url_map.iter_rules()} & PAGES:
        if "<" not in page:
            shown = [api.get(page, token=token) for token in (None, "prk_unknown", OWN)]
            assert {answer.status for answer in shown} == {200}
            assert len({len(answer.raw) for answer in shown}) == 1
