"""Finding games whose bot is to move and that nobody plays (after a lost job, a flushed queue, a
killed worker), and turns that are over their deadline.

A game is marked before the commit that makes it wait, so none is missed; a mark too many costs one
look. Two sweeps at once are harmless: a job's id is made of game, turn and seat, and the queue
takes it once."""

from service.games.changing import enqueue_bot_turn, enqueue_overdue_turn, load_game
from service.games.clocks import deadline_s, turn_seconds
from service.games.errors import GameNotFound, UnknownFormat
from service.games.house import House

BATCH = 200
UNREADABLE_S = 60
"""When a game of another release is looked at again: a process that can read it may come first."""


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


def sweep_clocks(house: House) -> list[str]:
    """Let bots finish the turns that are over their deadline; return the ids of those games.

    A note may be too early, never too late, so each is held against the game itself: put off until
    its deadline or, while a bot is to move, for as long as a person's turn lasts at least. Raises
    QueueFull or StoreUnavailable: the caller sweeps again later."""
    called = []
    now_s = house.clock()
    for game_id in house.store.due_games(now_s, BATCH):
        try:
            game = load_game(house, game_id)
        except GameNotFound:
            house.store.drop_deadline(game_id)
            continue
        except UnknownFormat:
            house.store.put_off_deadline(game_id, now_s + UNREADABLE_S)
            continue
        seconds, due_s = turn_seconds(game), deadline_s(game)
        if game.is_over or seconds is None:
            house.store.drop_deadline(game_id)
        elif due_s is None:
            house.store.put_off_deadline(game_id, now_s + seconds)
        elif due_s > now_s:
            house.store.put_off_deadline(game_id, due_s)
        elif enqueue_overdue_turn(house, game, game.match.deal.turn):
            called.append(game_id)
    return called
