"""The record of a finished game: all cards, all actions, the seed, and the game as text.

It is made from the stored log and from the seed; nothing of it is told before the end (R33).
`openapi/examples/verify_record.py` checks one without any of this code."""

from contextlib import suppress
from typing import Any

from service.games.access import Caller, viewer_for
from service.games.changing import load_game
from service.games.errors import GameNotFinished, GameNotFound
from service.games.house import House
from service.games.model import Game
from service.games.representation import Viewer, game_to_json, score_to_json
from service.rules.cards import CARD_NAMES
from service.rules.match import dealer_of
from service.rules.notation import DealRecord, GameRecord, action_from_json, write_game
from service.sentences import Sentence

LOG_PAGE = 1000


def read_record(house: House, caller: Caller, game_id: str) -> dict[str, Any]:
    """Return the record of a game to its app, to whoever has a seat in it or looks on.

    Raises GameNotFinished before the end, and for a game that was abandoned."""
    game = load_game(house, game_id)
    viewer_for(game, caller, None)
    check_open_to_all(house, game)
    return record_to_json(game, read_whole_log(house, game_id))


def check_open_to_all(house: House, game: Game) -> None:
    """Raise GameNotFinished while a card of the game is hidden from somebody who plays: in it, or
    at the other table of its match.
    """
    if game.status != "finished":
        raise GameNotFinished
    for table in tables_of(house, game):
        if not table.is_over:
            raise GameNotFinished(Sentence("The other table of the match is still played."))


def tables_of(house: House, game: Game) -> list[Game]:
    """Return the tables of the game's match that are still kept, in order; none without a match."""
    found = []
    for game_id in (game.match_id or "").split("-") if game.match_id else ():
        with suppress(GameNotFound):
            found.append(load_game(house, game_id))
    return found


def read_whole_log(house: House, game_id: str) -> list[dict[str, Any]]:
    """Return all log entries as they are stored, hidden cards included."""
    log: list[dict[str, Any]] = []
    while page := house.store.read_log(game_id, len(log), LOG_PAGE):
        log += page
    return log


def record_to_json(game: Game, log: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record of a finished game."""
    view = game_to_json(game, Viewer(None))
    played = [entry for entry in log if entry["type"] == "played"]
    return {
        **{name: view[name] for name in ("id", "created_at", "seats", "seating")},
        "fairness": {**view["fairness"], "seed": game.match.seed},
        "sandbox": game.is_sandbox,
        "deals": [
            _deal_to_json(game, number, [entry for entry in played if entry["deal"] == number])
            for number in range(1, game.match.deals + 1)
        ],
        "scores": view["scores"],
        "winner": view["winner"],
        "text": write_game(game_record(game, played)),
    }


def _deal_to_json(game: Game, number: int, entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "number": number,
        "dealer": dealer_of(game.match.first_dealer, number),
        "deck": [CARD_NAMES[card] for card in game.match.deck(number)],
        "actions": [
            {
                **{name: entry[name] for name in ("version", "at", "seat", "by", "action")},
                "card": entry.get("drawn"),
            }
            for entry in entries
        ],
        "score": score_to_json(game.match.scores[number - 1]),
    }


def game_record(game: Game, played: list[dict[str, Any]]) -> GameRecord:
    """Return the game as the rules' notation has it; `played` are its entries of that type."""
    record = GameRecord(
        game.match.first_dealer,
        # A bar parts the names in text.
        [holder.name.replace("|", "/").strip() for holder in game.seats],
        [DealRecord(game.match.deck(number + 1)) for number in range(game.match.deals)],
    )
    for entry in played:
        step = (entry["seat"], action_from_json(entry["action"]))
        record.deals[entry["deal"] - 1].actions.append(step)
    return record
