"""The search's list of moves: legal, enough, and without the same thing twice."""

import numpy as np

from service.rules.deal import DISCARD, MELD, NO_CARD, OVER, Deal, play
from service.rules.legal import legal_actions
from service.rules.view import view_deal
from tests.workers.search.positions import positions, random_deal
from workers.search.moves import (
    MAX_MOVES,
    action_of_move,
    apply_move,
    is_reordered,
    list_moves,
)
from workers.search.world import margin_of, world_of_deal

Outcome = tuple[int, int, int, int, int, int, int]


def listed(deal: Deal) -> list[int]:
    out = np.zeros(MAX_MOVES, np.int64)
    return [int(code) for code in out[: list_moves(world_of_deal(deal)[0], out)]]


def test_every_move_is_a_legal_action_with_the_same_effect():
    for seed in range(25):
        for deal in random_deal(seed):
            view = view_deal(deal, deal.turn)
            for code in listed(deal):
                worlds = world_of_deal(deal)
                twin = deal.copy()

                apply_move(worlds[0], code)
                play(twin, twin.turn, action_of_move(code, view))

                assert worlds.tobytes() == world_of_deal(twin).tobytes() or same_state(worlds, twin)


def same_state(worlds: np.ndarray, deal: Deal) -> bool:
    """Compare field by field what is in use: places beyond the counts may hold anything."""
    world, other = worlds[0], world_of_deal(deal)[0]
    names = [n for n in world.dtype.names if n not in ("stock", "pile")]
    counted = (("stock", "stock_count"), ("pile", "pile_count"))
    return all(np.array_equal(world[n], other[n]) for n in names) and all(
        np.array_equal(world[n][: world[c]], other[n][: other[c]]) for n, c in counted
    )


def test_draws_are_those_of_the_rules():
    for seed in range(25):
        for deal in random_deal(seed):
            if deal.phase == MELD:
                continue
            view = view_deal(deal, deal.turn)

            moves = {action_of_move(code, view) for code in listed(deal)}

            assert moves == set(legal_actions(deal))


def outcome(deal: Deal) -> Outcome:
    """Return what matters of a deal after a turn, whatever its melds are called."""
    seat = (deal.turn + 3) % 4 if deal.phase != OVER else deal.turn
    return (
        deal.hands[seat],
        deal.table_sets,
        deal.table_runs,
        deal.laid[0],
        deal.laid[1],
        deal.went_out,
        deal.pile_count,
    )


def outcomes_by_rules(deal: Deal) -> set[Outcome]:
    """Return all ends of the turn that legal actions reach."""
    if deal.phase != MELD:
        return {outcome(deal)}
    found: set[Outcome] = set()
    for action in legal_actions(deal):
        twin = deal.copy()
        play(twin, twin.turn, action)
        found |= outcomes_by_rules(twin)
    return found


def outcomes_by_moves(
    deal: Deal, previous: int = -1, before: frozenset[int] = frozenset()
) -> set[Outcome]:
    """Return all ends of the turn that the search's moves reach, orders collapsed."""
    if deal.phase != MELD:
        return {outcome(deal)}
    found: set[Outcome] = set()
    view = view_deal(deal, deal.turn)
    moves = listed(deal)
    for code in moves:
        if code in before and is_reordered(code, previous):
            continue
        twin = deal.copy()
        play(twin, twin.turn, action_of_move(code, view))
        found |= outcomes_by_moves(twin, code, frozenset(moves))
    return found


def test_the_moves_reach_every_end_of_a_turn_that_the_rules_allow():
    """Short runs, lay-offs one by one and one order of melds lose no outcome, R11 included."""
    checked = due = melding = 0
    for seed in range(60):
        for deal in random_deal(seed):
            if deal.phase != MELD or deal.hands[deal.turn].bit_count() > 11:
                continue
            table_actions = [a for a in legal_actions(deal) if a.type != DISCARD]
            if not table_actions or len(table_actions) > 14:
                continue

            assert outcomes_by_moves(deal) == outcomes_by_rules(deal)

            checked += 1
            due += deal.due != NO_CARD
            melding += len(table_actions) > 2
        if checked > 150:
            break
    assert checked > 100
    assert due > 20
    assert melding > 8


def test_two_orders_of_the_same_melds_are_searched_once():
    """With three melds that do not touch, there is one path a subset, not one an order."""
    deal = positions(1)[0].copy()
    deal.phase, deal.due, deal.meld_count = MELD, NO_CARD, 0
    deal.table_sets = deal.table_runs = 0
    sets = [0b111 for _ in range(3)]
    deal.hands[deal.turn] = sum(
        (1 << rank | 1 << (13 + rank) | 1 << (26 + rank))
        for rank, _ in zip((0, 5, 10), sets, strict=True)
    ) | (1 << 52)

    def paths(now: Deal, previous: int, before: frozenset[int]) -> int:
        view = view_deal(now, now.turn)
        moves = [code for code in listed(now) if code >= 114]
        total = 1
        for code in moves:
            if code in before and is_reordered(code, previous):
                continue
            twin = now.copy()
            play(twin, twin.turn, action_of_move(code, view))
            total += paths(twin, code, frozenset(moves))
        return total

    assert paths(deal, -1, frozenset()) == 2**3


def test_a_worlds_margin_is_the_rules_score():
    for deal in positions(60):
        team_0, team_1 = deal.score.total

        assert margin_of(world_of_deal(deal)[0]) == team_0 - team_1
