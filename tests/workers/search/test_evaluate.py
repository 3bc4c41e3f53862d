"""What is shown of a move: unbiased, with an interval that holds, in parts that add up."""

import math

import numpy as np
import pytest

from service.rules.view import view_deal
from tests.workers.search.positions import positions
from workers.search import evaluate
from workers.search.evaluate import MIN_TREE_VISITS, best_known, follow_tree
from workers.search.ismcts import add_node, new_scratch, new_tree
from workers.search.moves import CODE_COUNT, MAX_MOVES, PASS, list_moves
from workers.search.search import MoveSamples, Search
from workers.search.values import LARGEST_MARGIN, margin_values, win_chances
from workers.search.world import world_of_deal


def sampled(deal, iterations=600, samples=200, count=3) -> tuple[Search, list[MoveSamples]]:
    search = Search(view_deal(deal, deal.turn), "evaluate", iterations)
    search.run(iterations)
    codes = [move.code for move in search.ranking()[:count]]
    return search, search.sample(codes, samples)


def test_the_parts_add_up_to_the_margin():
    """The margin is linear: table, melds, bonus and hands, own less theirs, leave nothing over."""
    for deal in positions(20):
        search, samples = sampled(deal)
        team = deal.turn % 2
        table = search.view.laid[team] - search.view.laid[1 - team]
        for sample in samples:
            bonus = 25 * (sample.sums[evaluate.OUT] - sample.sums[evaluate.OUT_THEIRS])
            parts = sample.sums[evaluate.LAID] - sample.sums[evaluate.LAID_THEIRS] + bonus
            parts -= sample.sums[evaluate.HAND] - sample.sums[evaluate.HAND_THEIRS]

            assert parts + table * sample.samples == pytest.approx(sample.sums[evaluate.MARGIN])


def test_shares_are_shares():
    for deal in positions(20):
        for sample in sampled(deal)[1]:
            for column in (evaluate.WIN, evaluate.TAKEN, evaluate.SHORT):
                assert 0 <= sample.mean(column) <= 1


def test_the_tree_is_followed_by_average_and_not_by_visits():
    """What is legal in few worlds has few visits; too few say nothing; each team wants its own."""
    nodes = new_tree(10)
    children = ((7, 90, 20.0), (8, 12, 30.0), (9, MIN_TREE_VISITS - 1, 40.0), (10, 50, -5.0))
    for number, (code, visits, mean) in enumerate(children, start=1):
        add_node(nodes, number, 0, code)
        nodes[number].visits, nodes[number].total = visits, visits * mean
    legal = np.ones(CODE_COUNT, np.int64)

    assert best_known(nodes, 0, 1.0, legal, 1) == 2
    legal[8] = 0
    assert best_known(nodes, 0, 1.0, legal, 1) == 1
    assert best_known(nodes, 0, -1.0, legal, 1) == 4
    legal[[7, 10]] = 0
    assert best_known(nodes, 0, 1.0, legal, 1) == 0


def test_each_team_goes_down_the_tree_to_what_is_good_for_it():
    teams = set()
    for deal in positions(8):
        world = world_of_deal(deal)[0]
        moves = np.zeros(MAX_MOVES, np.int64)
        if list_moves(world, moves) < 2:
            continue
        nodes = new_tree(4)
        for number, (parent, code) in enumerate(((0, PASS), (1, moves[0]), (1, moves[1])), start=1):
            add_node(nodes, number, parent, code)
        nodes.visits[2:], nodes.total[2:] = 20, (400.0, -400.0)

        assert follow_tree(nodes, 1, world, new_scratch()) == (3 if deal.turn % 2 else 2)
        teams.add(deal.turn % 2)
    assert teams == {0, 1}


def test_sampling_learns_nothing():
    """The tree is the same afterwards, and the same samples come again."""
    deal = positions(1)[0]
    search, samples = sampled(deal)
    before = [(m.code, m.visits, m.mean) for m in search.ranking()]

    again = search.sample([s.code for s in samples], 200)

    assert before == [(m.code, m.visits, m.mean) for m in search.ranking()]
    assert [s.sums.tolist() for s in again] == [s.sums.tolist() for s in samples]


def test_sampling_in_steps_is_sampling_at_once():
    search, samples = sampled(positions(1)[0])
    steps = search.sampling([s.code for s in samples])
    for size in (1, 99, 100):
        steps.run(size)

    assert [s.sums.tolist() for s in steps.found()] == [s.sums.tolist() for s in samples]
    assert {200} == {s.samples for s in steps.found()}


def test_the_interval_holds_the_average_of_many_worlds():
    """Of 95 % intervals, enough hold the average of forty times as many worlds."""
    held = total = 0
    for deal in positions(60):
        search, (small,) = sampled(deal, count=1, samples=250)
        view = search.view
        large_search = Search(view, "evaluate", 600)
        large_search.run(600)
        large_search.seed = "other worlds"
        (large,) = large_search.sample([small.code], 10_000)
        gap = abs(small.mean(evaluate.MARGIN) - large.mean(evaluate.MARGIN))
        held += gap <= math.hypot(small.half_width, large.half_width)
        total += 1

    assert total == 60
    assert held >= 52  # fewer than 53 of 60 has a chance of 2 % at 95 %


def test_the_better_chance_to_win_belongs_to_the_better_score():
    deal = positions(1)[0]
    chances = [
        win_chances(view_deal(deal, deal.turn, number, 2, scores))
        for number, scores in ((1, (0, 0)), (2, (0, 0)), (2, (60, 0)), (2, (0, 60)))
    ]

    first, second, ahead, behind = (table[LARGEST_MARGIN + 10] for table in chances)

    assert 0.5 < first < 1
    assert second == 1
    assert {ahead, behind} == {0.0, 1.0}


@pytest.mark.parametrize("number", [1, 2])
def test_what_may_yet_change_makes_the_chance_to_win_less_sure(number):
    deal = positions(1)[0]
    view = view_deal(deal, deal.turn, number, 2, (0, 0))
    ended, expected = win_chances(view), win_chances(view, 100.0)
    middle = LARGEST_MARGIN

    assert expected[middle] == ended[middle] == 0.5
    assert np.all(ended[middle + 1 : middle + 200] > expected[middle + 1 : middle + 200])
    assert np.all(np.diff(expected[middle - 200 : middle + 200]) > 0)
    assert expected[middle + 100] == pytest.approx(0.841 if number == 2 else 0.739, abs=0.001)


def test_values_grow_with_the_margin():
    for deal in positions(5):
        for number, scores in ((1, (0, 0)), (2, (0, 0)), (2, (90, 0)), (2, (0, 90))):
            values = margin_values(view_deal(deal, deal.turn, number, 2, scores))

            assert np.all(np.diff(values) > 0)
