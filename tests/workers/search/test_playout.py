"""The quick player: legal, and the same whether it goes in bulk or action by action."""

import pytest

from service.rules.deal import DRAW, OVER, play
from service.rules.view import view_deal
from tests.workers.search.positions import positions, random_deal
from workers.bots.players import RuleOfThumbBot, first_action
from workers.search.playout import (
    BY_THUMB,
    LAST_STOCK,
    LEARNT,
    QuickPlayer,
    apply_step,
    choose_step,
    draw_style,
    learnt_player,
    mixed_player,
    play_out,
    play_turn,
    play_turns,
    thumb_player,
)
from workers.search.rng import below, new_rng
from workers.search.thumb import DEFAULT_WEIGHTS, W_NOISE
from workers.search.world import margin_of, world_of_deal


def test_a_playout_is_what_legal_actions_one_by_one_give():
    bot = RuleOfThumbBot()
    for deal in positions(80):
        worlds = world_of_deal(deal)

        play_out(worlds[0], thumb_player(), new_rng("any"))
        while deal.phase != OVER:
            play(deal, deal.turn, bot.decide(view_deal(deal, deal.turn), "any").action)

        assert worlds[0].went_out == deal.went_out
        assert margin_of(worlds[0]) == deal.score.total[0] - deal.score.total[1]


@pytest.mark.parametrize(
    "player",
    [thumb_player(), learnt_player(), mixed_player()],
    ids=["thumb", "learnt", "mixed"],
)
def test_each_step_is_made_of_legal_actions(player: QuickPlayer) -> None:
    """Many melds at once are the same as one after another, which the rules check."""
    rng = new_rng("steps")
    tabled = 0
    for deal in positions(60):
        world = world_of_deal(deal)[0]
        style = draw_style(player, rng)
        while deal.phase != OVER:
            seat = deal.turn
            if deal.phase == DRAW:
                style = draw_style(player, rng)
            step, cards = choose_step(world, player, style, rng)
            apply_step(world, step, cards)
            went = deal.hands[seat] & int(cards)
            while True:
                action = first_action(int(step), int(cards), view_deal(deal, seat))
                tabled += deal.phase != DRAW
                play(deal, seat, action)
                cards &= ~action.cards
                if cards & went == 0 or deal.phase == OVER:
                    break

            assert list(world.hands) == deal.hands
            assert list(world.laid) == deal.laid
            assert (world.turn, world.phase, world.due) == (deal.turn, deal.phase, deal.due)
        assert margin_of(world) == deal.score.total[0] - deal.score.total[1]
    assert tabled > 500


def test_a_mixed_player_plays_each_turn_by_one_of_the_two() -> None:
    """Half of the turns by either, and no turn partly by the one and partly by the other."""
    went = [0, 0]
    told_apart = 0
    for number, deal in enumerate(positions(120)):
        if deal.phase != DRAW:
            continue
        for seed in range(4):
            rng = new_rng("mixed", number, seed)
            mixed, learnt, by_thumb = (world_of_deal(deal)[0] for _ in range(3))
            after = rng.copy()
            style = BY_THUMB if below(after, 2) else LEARNT

            play_turn(mixed, mixed_player(), rng)
            play_turn(learnt, learnt_player(), after.copy())
            play_turn(by_thumb, thumb_player(), after)

            assert mixed.tobytes() == (learnt if style == LEARNT else by_thumb).tobytes()
            went[style] += 1
            told_apart += learnt.tobytes() != by_thumb.tobytes()
    assert min(went) > 0.4 * sum(went)
    assert told_apart > sum(went) / 4


def test_noise_changes_playouts_and_their_seed_repeats_them():
    deal = positions(1)[0]
    margins = []

    for seed in ("a", "b", "c", "a"):
        worlds = world_of_deal(deal)
        weights = DEFAULT_WEIGHTS.copy()
        weights[W_NOISE] = 128
        play_out(worlds[0], thumb_player(weights), new_rng(seed))
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

        play_turns(world, turns, mixed_player(), new_rng("same"))

        for _ in range(turns + (by_turns.phase != DRAW)):
            if by_turns.phase != OVER:
                play_turn(by_turns, mixed_player(), rng)
        while by_turns.phase != OVER and by_turns.stock_count <= LAST_STOCK:
            play_turn(by_turns, mixed_player(), rng)
        assert world.tobytes() == by_turns.tobytes()
        ended += world.phase == OVER
        cut += world.phase == DRAW
    assert min(cut, ended) > 5
