"""Finding games whose bot is to move and that nobody plays (after a lost job, a flushed queue, a
killed worker), turns that are over their deadline, and webhooks that are to be sent.

A game is marked before the commit that makes it wait, so none is missed; a mark too many costs one
look. Two sweeps at once are harmless: a job's id is made of game, turn and seat, and the queue
takes it once."""

from service.games.changing import enqueue_bot_turn, enqueue_overdue_turn, load_game
from service.games.clocks import deadline_s, shortest_turn_s
from service.games.errors import GameNotFound, UnknownFormat
from service.games.hooks import SEND_JOB, WEBHOOK_QUEUE, call_announcer
from service.games.house import House
from service.games.jumps import Jump, is_touched, renew_turn
from service.games.ports import CLOCK
from service.games.webhooks import due_deliveries, sweep_news

BATCH = 200
UNREADABLE_S = 60
"""When a game of another release is looked at again: a process that can read it may come first, and
must still find it noted.
"""


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
        except GameNotFound:
            house.store.unmark_waiting(game_id, until_s)
            continue
        except UnknownFormat:
            house.store.mark_waiting(game_id, until_s + UNREADABLE_S)
            continue
        seat = game.bot_to_move
        if seat is None:
            house.store.unmark_waiting(game_id, until_s)
        elif enqueue_bot_turn(house, game, seat):
            called.append(game_id)
    return called


def sweep_clocks(house: House, jump: Jump | None = None) -> list[str]:
    """Let bots finish the turns that are over their deadline; return the ids of those games. Turns
    that a jump of the clock has touched, `jump` being the last one known, get their time anew.

    A note may be too early, never too late, so each is held against the game itself: put off until
    its deadline or, while nobody is timed, for as long as a turn
    lasts at least. Raises
    QueueFull or StoreUnavailable: the caller sweeps again later."""
    called = []
    now_s = house.clock()
    for game_id in house.store.due(CLOCK, now_s, BATCH):
        try:
            game = load_game(house, game_id)
        except GameNotFound:
            house.store.strike(CLOCK, game_id)
            continue
        except UnknownFormat:
            house.store.put_off(CLOCK, game_id, now_s + UNREADABLE_S)
            continue
        seconds, due_s = shortest_turn_s(game), deadline_s(game)
        if game.is_over or seconds is None:
            house.store.strike(CLOCK, game_id)
        elif is_touched(game, jump, now_s):
            renew_turn(house, game)
        elif due_s is None:
            house.store.put_off(CLOCK, game_id, now_s + seconds)
        elif due_s > now_s:
            house.store.put_off(CLOCK, game_id, due_s)
        elif enqueue_overdue_turn(house, game, game.match.deal.turn):
            called.append(game_id)
    return called


def sweep_webhooks(house: House) -> int:
    """Call for the games of which not all has been told, and for the deliveries that are to be
    tried again; return how many. Raises QueueFull or StoreUnavailable, as the others.
    """
    called = sum(call_announcer(house, game_id, version) for game_id, version in sweep_news(house))
    for game_id, delivery_id in due_deliveries(house):
        arguments = {"game_id": game_id, "delivery_id": delivery_id}
        job_id = f"send-{game_id}-{delivery_id}"
        called += house.queue.enqueue(WEBHOOK_QUEUE, SEND_JOB, job_id, arguments)
    return called
