"""The tree: bounds and availability as in the paper, the same numbers compiled and not."""

import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from service.rules.deal import MELD
from service.rules.view import view_deal, view_to_json
from tests.workers.search.positions import permuted, positions
from workers.search import ismcts
from workers.search import search as search_module
from workers.search.ismcts import LOGS, add_node, best_child, log_of, new_tree, run_iterations
from workers.search.moves import CODE_COUNT, DISCARD, DRAW_STOCK, LAY_ON_SET
from workers.search.playout import LAST_STOCK
from workers.search.search import CHUNK, DEFAULT_SETTINGS, Search


def marked(*codes: int) -> np.ndarray:
    marks = np.zeros(CODE_COUNT, np.int64)
    marks[list(codes)] = 1
    return marks


def tree_of(*children: tuple[int, int, int, float]) -> np.ndarray:
    """Return a tree whose root has children of (code, visits, available, total)."""
    nodes = new_tree(10)
    for number, (code, visits, available, total) in enumerate(children, start=1):
        add_node(nodes, number, 0, code)
        nodes[number].visits, nodes[number].available, nodes[number].total = (
            visits,
            available,
            total,
        )
    return nodes


def test_the_bound_uses_how_often_a_move_was_available():
    """Cowling, Powley, Whitehouse 2012, section IV: log of the move's availability."""
    nodes = tree_of((7, 4, 9, 40.0), (8, 4, 999, 40.0))

    child = best_child(nodes, 0, 1.0, marked(7, 8), 1, 5.0)

    by_hand = {1: 10 + 5 * math.sqrt(math.log(10) / 4), 2: 10 + 5 * math.sqrt(math.log(1000) / 4)}
    assert by_hand[2] > by_hand[1]
    assert child == 2
    assert (nodes[1].available, nodes[2].available) == (10, 1000)


def test_a_move_that_is_not_legal_in_this_world_is_neither_chosen_nor_counted():
    nodes = tree_of((7, 4, 9, 4000.0), (8, 4, 9, 40.0))

    child = best_child(nodes, 0, 1.0, marked(8), 1, 5.0)

    assert child == 2
    assert (nodes[1].available, nodes[2].available) == (9, 10)


def test_the_other_team_looks_for_the_lowest_value():
    nodes = tree_of((7, 4, 9, 400.0), (8, 4, 9, -400.0))

    assert best_child(nodes, 0, 1.0, marked(7, 8), 1, 1.0) == 1
    assert best_child(nodes, 0, -1.0, marked(7, 8), 1, 1.0) == 2


@pytest.mark.parametrize("count", [1, 2, 3, 100, 4095, 4096, 5000, 123_456, 10**7])
def test_logarithms_come_from_a_table(count):
    assert log_of(count) == pytest.approx(math.log(count), abs=2**-11)


def test_the_table_of_logarithms_is_on_a_grid():
    """A grid far coarser than any library's error, so that all machines agree."""
    scaled = LOGS * 2**32

    assert np.array_equal(scaled, np.round(scaled))


def visits(search: Search) -> list[tuple[int, int, float]]:
    return [(move.code, move.visits, move.mean) for move in search.ranking()]


def test_chunks_do_not_matter():
    view = view_deal(positions(1)[0], positions(1)[0].turn)
    whole, parts = Search(view, "s", 3000), Search(view, "s", 3000)

    whole.run(3000)
    for size in (1, 999, 2000):
        parts.run(size)

    assert visits(whole) == visits(parts)


def test_hidden_cards_change_nothing():
    """Bit-equal visits and samples under any permutation of what the seat does not know."""
    for number, deal in enumerate(positions(12)):
        found = set()
        for twin in (deal, permuted(deal, deal.turn, number), permuted(deal, deal.turn, -number)):
            search = Search(view_deal(twin, twin.turn), "s", 400)
            search.run(400)
            samples = search.sample([move.code for move in search.ranking()[:3]], 50)
            found.add(json.dumps([visits(search), [s.sums.tolist() for s in samples]]))

        assert len(found) == 1


def test_every_visit_of_the_root_is_a_childs():
    for deal in positions(10):
        search = Search(view_deal(deal, deal.turn), "count", 500)
        search.run(500)

        assert sum(move.visits for move in search.ranking()) == 500


def test_what_is_good_for_the_movers_team_is_tried_most():
    """For either team: the first move's average is above that of all iterations."""
    teams = set()
    for deal in positions(10):
        search = Search(view_deal(deal, deal.turn), "teams", 500)
        search.run(500)
        first, *others = search.ranking()

        total = sum(move.visits * move.mean for move in (first, *others))
        assert not others or first.mean > total / 500
        teams.add((deal.turn % 2, bool(others)))
    assert {(0, True), (1, True)} <= teams


def children(nodes: np.ndarray, parent: int) -> list[int]:
    found = []
    child = int(nodes[parent].first_child)
    while child:
        found.append(child)
        child = int(nodes[child].next_sibling)
    return found


def test_the_tree_has_the_movers_moves_alone() -> None:
    """What is thrown in it after a draw from the stock is of the hand or may have been drawn: never
    a card that another is known to hold.
    """
    thrown = set()
    held = 0
    for deal in positions(120):
        others = sum(int(deal.known[seat]) for seat in range(4) if seat != deal.turn)
        if deal.phase != MELD or not others or deal.stock_count < 8:
            continue
        search = Search(view_deal(deal, deal.turn), "own", 1_500)
        search.run(1_500)
        nodes = search._arrays["nodes"]
        later = [
            int(nodes[last].code) - DISCARD
            for first in children(nodes, 0)
            if DISCARD <= nodes[first].code < LAY_ON_SET
            for draw in children(nodes, first)
            if nodes[draw].code == DRAW_STOCK
            for last in children(nodes, draw)
            if DISCARD <= nodes[last].code < LAY_ON_SET
        ]
        assert not [card for card in later if others >> card & 1]
        thrown.update(later)
        held += 1
        if held == 4:
            break
    assert held == 4
    assert len(thrown) > 30


def test_late_in_the_deal_the_bounds_are_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a round before the net is not asked any more."""
    asked: dict[int, float] = {}

    def descend(*given: Any) -> tuple[int, int]:
        """Note the exploration; go nowhere."""
        _nodes, used, world, _scratch, exploration, _player, _rng = given
        asked[int(world.stock_count)] = exploration
        return used, 1

    monkeypatch.setattr(ismcts, "descend", descend)
    monkeypatch.setattr(search_module, "run_iterations", ismcts.run_iterations.py_func)
    for deal in positions(60):
        Search(view_deal(deal, deal.turn), "a", 1).run(1)

    late = {stock: wide for stock, wide in asked.items() if stock <= LAST_STOCK + 4}
    assert len(late) > 3
    assert set(late.values()) == {2 * DEFAULT_SETTINGS.exploration}
    assert {wide for stock, wide in asked.items() if stock not in late} == {
        DEFAULT_SETTINGS.exploration
    }


def test_a_full_tree_goes_on_counting():
    deal = positions(1)[0]
    search = Search(view_deal(deal, deal.turn), "full", 20)

    search.run(200)

    assert sum(move.visits for move in search.ranking()) == 200


_INTERPRETED = """
import json, sys
from service.rules.deal import NO_CARD
from service.rules.view import view_from_json
from workers.search.moves import DRAW_STOCK
from workers.search.search import Search
found = []
for view, iterations in json.load(sys.stdin):
    search = Search(view_from_json(view), "twice", iterations)
    search.run(iterations)
    samples = search.sample([move.code for move in search.ranking()[:2]], 20)
    if DRAW_STOCK in search.moves():
        card = int(min(search._arrays["unseen"]))
        samples += search.sample([DRAW_STOCK, DRAW_STOCK], 20, [NO_CARD, card])
    ranking = [[m.code, m.visits, m.mean] for m in search.ranking()]
    found.append(ranking + [s.sums.tolist() for s in samples])
print(json.dumps(found))
"""


def run_in_process(work: list[object], **env: str) -> object:
    import os

    done = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", _INTERPRETED],
        input=json.dumps(work),
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_interpreted_and_compiled_searches_agree_to_the_bit():
    """2,000 iterations late in a deal, shorter ones at every stage, in two processes."""
    late = min(positions(60), key=lambda deal: deal.stock_count)
    work: list[object] = [(view_to_json(view_deal(late, late.turn)), 2000)]
    work += [(view_to_json(view_deal(deal, deal.turn)), 60) for deal in positions(8)]

    compiled = run_in_process(work)
    interpreted = run_in_process(work, NUMBA_DISABLE_JIT="1")

    assert interpreted == compiled


def test_a_long_search_lets_other_threads_run_between_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker's sign of life is given by another thread, and a kernel holds up all others."""
    deal = positions(1)[0]
    calls: list[int] = []

    def counted(*given: Any) -> int:
        calls.append(given[5])
        return int(run_iterations(*given))

    monkeypatch.setattr("workers.search.search.run_iterations", counted)
    search = Search(view_deal(deal, deal.turn), "chunks", 3_500)

    search.run(3_500)

    assert search.iterations == sum(calls) == 3_500
    assert max(calls) <= CHUNK
