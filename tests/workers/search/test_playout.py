"""The quick player: legal, and the same whether it goes in bulk or action by action."""

import numpy as np
import pytest

from service.rules.deal import DRAW, OVER, play
from service.rules.view import view_deal
from tests.workers.search.positions import positions, random_deal
from workers.bots.players import GREEDY_WEIGHTS, RuleOfThumbBot
from workers.search.playout import (
    DEFAULT_WEIGHTS,
    LAST_STOCK,
    W_NOISE,
    play_out,
    play_turn,
    play_turns,
)
from workers.search.rng import new_rng
from workers.search.world import margin_of, world_of_deal


def test_a_playout_is_what_legal_actions_one_by_one_give():
    """Every bulk step of the playout is checked against the rules, action by action."""
    weights = np.array(GREEDY_WEIGHTS, dtype=np.int64)
    bot = RuleOfThumbBot(GREEDY_WEIGHTS)
    for deal in positions(80):
        worlds = world_of_deal(deal)

        play_out(worlds[0], weights, new_rng("any"))
        while deal.phase != OVER:
            play(deal, deal.turn, bot.decide(view_deal(deal, deal.turn), "any").action)

        assert worlds[0].went_out == deal.went_out
        assert margin_of(worlds[0]) == deal.score.total[0] - deal.score.total[1]


def test_noise_changes_playouts_and_their_seed_repeats_them():
    deal = positions(1)[0]
    margins = []

    for seed in ("a", "b", "c", "a"):
        worlds = world_of_deal(deal)
        weights = DEFAULT_WEIGHTS.copy()
        weights[W_NOISE] = 128
        play_out(worlds[0], weights, new_rng(seed))
        margins.append(worlds.tobytes())

    assert margins[0] == margins[3]
    assert len(set(margins)) > 1


@pytest.mark.parametrize("turns", [0, 2, 5])
def test_a_playout_is_cut_only_while_there_is_stock(turns: int) -> None:
    """After the turn in hand and so many more; or else it has gone on to the end."""
    cut = ended = 0
    late = [
        deal.copy()
        for seed in range(4)
        for deal in random_deal(seed)
        if deal.stock_count <= LAST_STOCK
    ]
    for deal in positions(30) + late:
        world, by_turns = world_of_deal(deal)[0], world_of_deal(deal)[0]
        rng = new_rng("same")

        play_turns(world, turns, DEFAULT_WEIGHTS, new_rng("same"))

        for _ in range(turns + (by_turns.phase != DRAW)):
            if by_turns.phase != OVER:
                play_turn(by_turns, DEFAULT_WEIGHTS, rng)
        while by_turns.phase != OVER and by_turns.stock_count <= LAST_STOCK:
            play_turn(by_turns, DEFAULT_WEIGHTS, rng)
        assert world.tobytes() == by_turns.tobytes()
        ended += world.phase == OVER
        cut += world.phase == DRAW
    assert min(cut, ended) > 5
