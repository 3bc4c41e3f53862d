"""The quick player: legal, and the same whether it goes in bulk or action by action."""

import numpy as np

from service.rules.deal import OVER, play
from service.rules.view import view_deal
from tests.workers.search.positions import positions
from workers.bots.players import GREEDY_WEIGHTS, RuleOfThumbBot
from workers.search.playout import DEFAULT_WEIGHTS, W_NOISE, play_out
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
