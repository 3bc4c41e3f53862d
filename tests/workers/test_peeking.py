"""R33: hints and bots answer alike whatever lies where their seat cannot see.

`answers` gives a game's stored state many times over with the unseen cards dealt anew (the stock
and what is not known of the other hands), asks each time, and returns the different answers: one
for whoever does not peek. The bots planted below show that it would catch one who does.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
import redis as redis_py
from rq.job import Job

from service.games.advice import HINT, ask_hint, read_task
from service.games.changing import load_game
from service.games.house import House
from service.games.model import Game, game_to_state
from service.games.ports import Commit
from service.rules.cards import cards_in, mask_of
from service.rules.deal import SEATS
from service.rules.notation import action_to_json
from service.rules.view import view_match, view_to_json
from tests.workers.tables import APP, four_people, view_of
from workers import jobs
from workers.bots.registry import BOTS

Json = dict[str, Any]
Ask = Callable[[House, str], bytes]

TIMES = 6
NOT_SAME_TWICE = ("created_at", "finished_at", "seconds", "id", "game_id")


def deal_unseen_anew(game: Game, rng: random.Random) -> None:
    """Mix the cards that the seat to move cannot place; all that it sees stays as it is."""
    deal = game.match.deal
    before = view_to_json(view_match(game.match, deal.turn))
    others = [seat for seat in range(SEATS) if seat != deal.turn]
    hidden = {seat: list(cards_in(deal.hands[seat] & ~deal.known[seat])) for seat in others}
    pool = [card for cards in hidden.values() for card in cards] + deal.stock[: deal.stock_count]
    rng.shuffle(pool)
    for seat in others:
        dealt = [pool.pop() for _ in hidden[seat]]
        deal.hands[seat] = deal.known[seat] | mask_of(dealt)
    deal.stock[: deal.stock_count] = pool
    assert before == view_to_json(view_match(game.match, deal.turn))


def answers(here: House, game_id: str, ask: Ask) -> set[bytes]:
    """Return the different answers of `ask` over the ways in which the unseen cards may lie."""
    game = load_game(here, game_id)
    found = set()
    for number in range(TIMES):
        if number:
            deal_unseen_anew(game, random.Random(number))
        copy_id = "samegame"
        here.store._client.delete(f"prs:{{{copy_id}}}:state", f"prs:{{{copy_id}}}:log")
        here.store.commit(Commit(copy_id, 0, game.status, game_to_state(game)))
        found.add(ask(here, copy_id))
    return found


def plain(document: Json) -> bytes:
    """Return a document as bytes, without what is new each time."""
    kept = {name: value for name, value in document.items() if name not in NOT_SAME_TWICE}
    kept["search"] = {k: v for k, v in document["search"].items() if k not in NOT_SAME_TWICE}
    return json.dumps(kept).encode()


@pytest.mark.parametrize("steps", [0, 1, 17, 46])
def test_a_hint_is_the_same_however_the_unseen_cards_lie(
    here: House, redis: redis_py.Redis, steps: int
) -> None:
    """Asked for and worked out as it is for a client, byte for byte."""

    def ask(here: House, game_id: str) -> bytes:
        asked = ask_hint(here, APP, game_id, None, {"iterations": 1_000, "seed": 1}).body
        job = Job.fetch(f"hint-{game_id}-{asked['id']}", connection=redis, serializer="json")
        jobs.give_hint(**job.kwargs)
        return plain(read_task(here, APP, game_id, HINT, asked["id"]))

    assert 1 == len(answers(here, four_people(here, seed="peek", steps=steps), ask))


@pytest.mark.parametrize("level", BOTS)
@pytest.mark.parametrize("steps", [0, 17, 46])
def test_a_bot_plays_the_same_however_the_unseen_cards_lie(
    here: House, level: str, steps: int
) -> None:
    def ask(here: House, game_id: str) -> bytes:
        version = load_game(here, game_id).version
        event = jobs.play_step(here, game_id, version, view_of(here, game_id), level, "bot")
        assert event is not None
        return json.dumps(event["action"]).encode()

    assert 1 == len(answers(here, four_people(here, seed="peek", steps=steps), ask))


def top_of_stock(game: Game) -> bytes:
    """Peek at the card to be drawn next."""
    deal = game.match.deal
    return str(deal.stock[deal.stock_count - 1]).encode()


def next_players_hand(game: Game) -> bytes:
    """Peek into a hand."""
    deal = game.match.deal
    return str(deal.hands[(deal.turn + 1) % SEATS]).encode()


def seed_and_cards(game: Game) -> bytes:
    """Make the choice depend on all of the state, as a search of the true deal would."""
    return json.dumps(game_to_state(game)["deal"]["stock"]).encode()


@pytest.mark.parametrize("peek", [top_of_stock, next_players_hand, seed_and_cards])
def test_a_bot_that_peeks_is_caught(here: House, peek: Callable[[Game], bytes]) -> None:
    """Planted here: it is handed the game because the game is at hand."""
    game_id = four_people(here, seed="peek", steps=17)

    assert 1 < len(answers(here, game_id, lambda here, copy: peek(load_game(here, copy))))


def test_a_bot_that_plays_by_a_peek_now_and_then_is_caught(here: House) -> None:
    """It plays as the level does, but draws only what it likes."""

    def ask(here: House, game_id: str) -> bytes:
        game = load_game(here, game_id)
        deal = game.match.deal
        if deal.stock[deal.stock_count - 1] % 2:
            return b'{"type": "take_discards"}'
        decision = BOTS["greedy"].decide(view_of(here, game_id), "seed")
        return json.dumps(action_to_json(decision.action)).encode()

    assert 1 < len(answers(here, four_people(here, seed="peek"), ask))
