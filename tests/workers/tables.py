"""Games for the tests of the jobs: made and played through the use cases, in any House."""

from __future__ import annotations

import random
from typing import Any

from service.games.access import AppCaller
from service.games.changing import load_game
from service.games.hosting import GameOrder, SeatOrder, create_game
from service.games.house import House
from service.games.model import Game
from service.games.playing import list_legal_actions, play_action
from service.rules.view import SeatView, view_match

Json = dict[str, Any]

APP = AppCaller("app")


def make_game(
    here: House, *players: str, seed: str = "workers", deals: int = 2, **more: Any
) -> str:
    """Make a game of four, each `human` or a bot's level; return its id."""
    seats = [
        SeatOrder("human") if player == "human" else SeatOrder("bot", level=player)
        for player in players
    ]
    order = GameOrder(tuple(seats), seed=seed, deals=deals, **more)
    game_id: str = create_game(here, APP, order).body["game"]["id"]
    return game_id


def four_people(here: House, seed: str = "workers", steps: int = 0) -> str:
    """Make a game of four people and play some actions in it; return its id."""
    game_id = make_game(here, "human", "human", "human", "human", seed=seed)
    play_randomly(here, game_id, random.Random(seed), steps)
    return game_id


def stored(here: House, game_id: str) -> Game:
    """Return the game as it is stored."""
    return load_game(here, game_id)


def turn_of(here: House, game_id: str) -> int:
    """Return the seat to move."""
    return stored(here, game_id).match.deal.turn


def view_of(here: House, game_id: str) -> SeatView:
    """Return what the seat to move may know."""
    match = stored(here, game_id).match
    return view_match(match, match.deal.turn)


def legal_actions(here: House, game_id: str) -> list[Json]:
    """Return what the person to move may play."""
    turn = turn_of(here, game_id)
    actions: list[Json] = list_legal_actions(here, APP, game_id, turn)["actions"]
    return actions


def play(here: House, game_id: str, action: Json) -> Json:
    """Play for the person to move; return the event."""
    data = {name: value for name, value in action.items() if name != "seat"}
    event: Json = play_action(here, APP, game_id, turn_of(here, game_id), data).body["action"]
    return event


def play_randomly(here: House, game_id: str, rng: random.Random, steps: int) -> None:
    """Play so many legal actions for the people to move, melds rather than discards."""
    for _ in range(steps):
        actions = legal_actions(here, game_id)
        tabled = [action for action in actions if action["type"] in ("meld", "lay_off")]
        play(here, game_id, rng.choice(tabled or actions))


def play_until_turn_of(here: House, game_id: str, seat: int) -> None:
    """Let the people draw and discard until it is the seat's turn."""
    while turn_of(here, game_id) != seat:
        actions = legal_actions(here, game_id)
        plain = [action for action in actions if action["type"] in ("draw_stock", "discard")]
        play(here, game_id, plain[0])


def log_of(here: House, game_id: str) -> list[Json]:
    """Return the stored log; its versions have no gap and no repetition."""
    log = here.store.read_log(game_id, 0)
    assert list(range(1, len(log) + 1)) == [entry["version"] for entry in log]
    return log
