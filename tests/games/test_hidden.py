"""R33: what a viewer is sent does not depend on the cards that the viewer cannot see.

The unseen cards of a stored game (other hands but for the cards known to be there, and the stock)
are exchanged at will; every representation, refusal and job made for the viewer must then be the
same, byte for byte."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.games.access import Caller
from service.games.advice import ask_bot_move, ask_hint
from service.games.errors import ActionRefused, GamesError, StaleVersion
from service.games.model import Game, game_from_state, game_to_state
from service.games.playing import (
    judge_action,
    list_legal_actions,
    play_action,
    read_game,
    read_log,
)
from service.games.representation import Viewer, game_to_json
from service.rules.cards import CARD_NAMES, cards_in, mask_of
from service.rules.deal import SEATS, find_faults
from service.rules.notation import action_from_json
from service.rules.view import unseen_cards, view_match, view_to_json
from tests.games.tables import APP, Table, every_action, open_table, table_at

LONGEST = 120
"""Actions before the look; a random game takes some 200."""


def exchange_unseen(game: Game, viewer: int | None, rng: random.Random) -> Game:
    """Return the game with the cards that the viewer cannot see dealt anew to the same places."""
    twin = game_from_state(game.id, game.version, game_to_state(game))
    deal = twin.match.deal
    unseen = list(cards_in(unseen_cards(view_match(game.match, viewer))))
    rng.shuffle(unseen)
    for seat in range(SEATS):
        if seat != viewer:
            kept = deal.known[seat]
            missing = (deal.hands[seat] & ~kept).bit_count()
            deal.hands[seat] = kept | mask_of(unseen.pop() for _ in range(missing))
    deal.stock[: deal.stock_count] = [unseen.pop() for _ in range(deal.stock_count)]
    assert unseen == []
    assert find_faults(deal) == []
    return twin


def exchange_drawn(
    log: list[dict[str, Any]], viewer: int | None, rng: random.Random
) -> list[dict[str, Any]]:
    """Return the log with other cards drawn by the others."""
    return [
        {**entry, "drawn": rng.choice(CARD_NAMES)}
        if "drawn" in entry and entry["seat"] != viewer
        else entry
        for entry in log
    ]


def told(error: GamesError) -> dict[str, Any]:
    """Return all that an error tells a client."""
    parts: dict[str, Any] = {"type": type(error).__name__, "text": str(error)}
    if isinstance(error, ActionRefused):
        parts |= {"violation": int(error.violation), "seat": error.seat}
        parts["legal_actions"] = error.legal_actions
    if isinstance(error, StaleVersion):
        parts["game"] = error.game
    return parts


def everything_sent(
    table: Table, caller: Caller, seat: int | None, tried: list[dict[str, Any]]
) -> bytes:
    """Return as bytes all that the caller can be sent without changing the game, and the jobs that
    the caller can cause.
    """
    house, game_id = table.house, table.game_id
    sent: list[Any] = [
        read_game(house, caller, game_id, seat),
        read_log(house, caller, game_id, seat, 0, 10_000),
        list_legal_actions(house, caller, game_id, seat),
    ]
    asks: list[Any] = [
        lambda: ask_hint(house, caller, game_id, seat, {"iterations": 5}).body,
        lambda: ask_bot_move(house, caller, game_id, seat, "greedy").body,
        lambda: play_action(
            house, caller, game_id, seat, {"type": "draw_stock"}, expected_version=10**6
        ),
        *(
            lambda action=action: judge_action(house, caller, game_id, seat, action, None).game
            for action in tried
        ),
    ]
    for ask in asks:
        try:
            sent.append(ask())
        except GamesError as error:
            sent.append(told(error))
    sent.append([job.arguments for job in table.queue.waiting])
    return orjson.dumps(sent)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, LONGEST), st.integers(0, SEATS - 1), st.randoms())
def test_a_seat_is_sent_nothing_that_depends_on_cards_it_cannot_see(
    seed: int, steps: int, viewer: int, rng: random.Random
) -> None:
    """The holder of a token, and the app that names that seat."""
    table = open_table(seed=f"hidden {seed}")
    table.play_randomly(random.Random(seed), steps)
    game, log = table.game, table.store.read_log(table.game_id, 0, 10_000)
    twin = table_at(
        exchange_unseen(game, viewer, rng), exchange_drawn(log, viewer, rng), table.tokens
    )
    original = table_at(game, log, table.tokens)
    # What the viewer can name: anything, so also what is legal in either game.
    tried = rng.sample(every_action(game) + every_action(twin.game), 40)

    for caller, seat in ((table.seat(viewer), None), (APP, viewer)):
        original.clock.now_s = twin.clock.now_s
        assert everything_sent(original, caller, seat, tried) == everything_sent(
            twin, caller, seat, tried
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, LONGEST), st.randoms())
def test_who_names_no_seat_is_sent_nothing_of_any_hand(
    seed: int, steps: int, rng: random.Random
) -> None:
    played = open_table(seed=f"looker-on {seed}")
    played.play_randomly(random.Random(seed), steps)
    game, log = played.game, played.store.read_log(played.game_id, 0, 10_000)
    twin = table_at(exchange_unseen(game, None, rng), exchange_drawn(log, None, rng), {})
    original = table_at(game, log, {})

    sent = [
        orjson.dumps(
            [
                read_game(at.house, APP, game.id, None),
                read_log(at.house, APP, game.id, None, 0, 10_000),
            ]
        )
        for at in (original, twin)
    ]
    assert sent[0] == sent[1]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, LONGEST), st.randoms())
def test_the_answer_to_an_action_depends_on_seen_cards_and_the_card_drawn_alone(
    seed: int, steps: int, rng: random.Random
) -> None:
    table = open_table(seed=f"answer {seed}")
    table.play_randomly(random.Random(seed), steps)
    game, log = table.game, table.store.read_log(table.game_id, 0, 10_000)
    turn = table.turn
    action = rng.choice(table.legal_actions())
    holder = table.seat(turn)
    changed = exchange_unseen(game, turn, rng)
    if action["type"] == "draw_stock":
        give_the_same_top(changed, game)
    twin = table_at(changed, log, table.tokens)
    original = table_at(game, log, table.tokens)
    original.clock.now_s = twin.clock.now_s

    bodies = [play_action(at.house, holder, game.id, None, action).body for at in (original, twin)]

    if "deal_score" not in bodies[0]["action"]:
        assert orjson.dumps(bodies[0]) == orjson.dumps(bodies[1])


def give_the_same_top(changed: Game, game: Game) -> None:
    """Exchange two unseen cards so that the next card of the stock is the same in both games."""
    deal, top = changed.match.deal, game.match.deal.stock_cards[0]
    other = deal.stock_cards[0]
    last = deal.stock_count - 1
    for seat in range(SEATS):
        if deal.hands[seat] >> top & 1:
            deal.hands[seat] ^= 1 << top | 1 << other
            deal.stock[last] = top
            return
    place = deal.stock.index(top)
    deal.stock[place], deal.stock[last] = other, top


# Plain cases.


def test_a_drawn_card_is_shown_to_who_drew_it_alone() -> None:
    table = open_table()
    turn = table.turn
    top = CARD_NAMES[table.game.match.deal.stock_cards[0]]

    body = table.play({"type": "draw_stock"})

    assert body["action"]["card"] == top
    for seat in range(SEATS):
        (event,) = read_log(table.house, table.seat(seat), table.game_id, None, 0, 9)
        assert event["card"] == (top if seat == turn else None)
        assert "drawn" not in event
    (event,) = read_log(table.house, APP, table.game_id, None, 0, 9)
    assert event["card"] is None


def test_taken_cards_are_known_to_all_until_they_leave_the_hand() -> None:
    """R33, R10: everybody saw them taken."""
    for number in range(60):
        table = open_table(seed=f"takes {number}")
        rng = random.Random(number)
        for _ in range(60):
            actions = table.legal_actions()
            takes = [action for action in actions if action["type"] == "take_discards"]
            turn = table.turn
            pile = read_game(table.house, APP, table.game_id, None)["deal"]["discard_pile"]
            action = takes[0] if takes else rng.choice(actions)
            table.play(action)
            if takes:
                break
        if takes and len(pile[pile.index(takes[0]["card"]) :]) > 1:
            break

    taken = pile[pile.index(takes[0]["card"]) :]
    for seat in range(SEATS):
        deal = read_game(table.house, table.seat(seat), table.game_id, None)["deal"]
        assert set(taken) <= set(deal["known_cards"][turn])
        assert deal["due"] == takes[0]["card"]


@pytest.mark.parametrize("steps", [0, 40, 5000])
def test_nothing_of_the_stored_form_is_sent(steps: int) -> None:
    """No token's hash, no seed before the end, no order of the stock."""
    table = open_table(seed="the-secret-seed")
    table.play_randomly(random.Random(1), steps)
    game = table.game
    is_over = game.status == "finished"

    callers: list[Caller] = [APP, *map(table.seat, range(SEATS))]
    for caller in callers:
        text = orjson.dumps(
            [
                read_game(table.house, caller, table.game_id, None),
                read_log(table.house, caller, table.game_id, None, 0, 10_000),
            ]
        ).decode()
        assert not any(str(holder.token_hash) in text for holder in game.seats)
        assert ("the-secret-seed" in text) == is_over
        assert '"stock"' not in text


def test_a_view_for_nobody_has_no_hand_and_no_legal_actions() -> None:
    table = open_table()

    game = game_to_json(table.game, Viewer(None))

    assert (game["deal"]["hand"], game["legal_actions"]) == ([], [])
    assert view_to_json(view_match(table.game.match, None))["hand"] == []


def test_a_bots_job_names_its_game_and_holds_no_card() -> None:
    for number in range(9):
        table = open_table("bbbb", seed=str(number))
        (job,) = table.queue.waiting
        assert job.arguments.keys() == {"game_id", "seat", "version"}


def test_an_action_logged_reads_back() -> None:
    table = open_table(seed="log")
    table.play_randomly(random.Random(1), 50)

    for entry in table.store.read_log(table.game_id, 0, 99):
        assert action_from_json(entry["action"]) is not None
