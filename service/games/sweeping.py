"""Finding games whose bot is to move and that nobody plays: after a lost job, a flushed queue, a
killed worker.

A game is marked before the commit that makes it wait, so none is missed; a mark too many costs one
look. Two sweeps at once are harmless: a job's id is made of game, turn and seat, and the queue
takes it once."""

from service.games.changing import enqueue_bot_turn, load_game
from service.games.errors import GameNotFound, UnknownFormat
from service.games.house import House

BATCH = 200


def sweep_bots(house: House, waiting_s: float) -> list[str]:
    """Call the bots of games that have waited for `waiting_s` seconds without a job; return the ids
    of those games.

    Raises QueueFull or StoreUnavailable: the caller sweeps again later.
    """
    called = []
    until_s = house.clock() - waiting_s
    for game_id in house.store.waiting_games(until_s, BATCH):
        try:
            game = load_game(house, game_id)
        except (GameNotFound, UnknownFormat):
            house.store.unmark_waiting(game_id, until_s)
            continue
        seat = game.bot_to_move
        if seat is None:
            house.store.unmark_waiting(game_id, until_s)
        elif enqueue_bot_turn(house, game, seat):
            called.append(game_id)
    return called
