"""The table as it lay at the end of a finished game, all hands open: what a picture of it shows."""

from typing import Any

from service.games.access import Caller, viewer_for
from service.games.changing import load_game
from service.games.house import House
from service.games.records import check_open_to_all
from service.games.representation import Viewer, game_to_json
from service.rules.cards import names_of


def read_final_table(house: House, caller: Caller, game_id: str) -> dict[str, Any]:
    """Return GAME of a finished game as who looks on sees it, with `hands`: the cards that were
    left, by seat.

    For whom and from when on the game's record is open (`records.py`), with the same errors."""
    game = load_game(house, game_id)
    viewer_for(game, caller, None)
    check_open_to_all(house, game)
    hands = [names_of(mask) for mask in game.match.deal.hands]
    return {**game_to_json(game, Viewer(None)), "hands": hands}
