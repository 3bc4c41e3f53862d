"""The learnt value: even-handed, blind to the order of the stock, and as good as is claimed."""

from itertools import combinations

import numpy as np
import pytest

from service.rules.cards import cards_in
from service.rules.deal import DRAW, Deal
from service.rules.melds import NO_MELD, meld_kind
from service.rules.view import view_deal
from tests.workers.search.positions import positions
from workers.search.playout import DEFAULT_WEIGHTS, play_out, play_turns
from workers.search.rng import new_rng
from workers.search.search import Search, SearchSettings
from workers.search.value_net import (
    FEATURE_COUNT,
    completing_cards,
    load_net,
    net_value,
    write_features,
)
from workers.search.world import copy_world, margin_of, new_worlds, world_of_deal
from workers.value_learning import (
    TO_THE_END,
    fit_net,
    horizon_errors,
    new_states,
    predict,
    refine_net,
    save_net,
    states_of_deal,
)


def starting_deals(count: int) -> list[Deal]:
    """Return deals at the start of a turn, at any stage."""
    found = [deal for deal in positions(4 * count) if deal.phase == DRAW][:count]
    assert len(found) == count
    return found


def starts_of_turns(count: int) -> list[np.void]:
    return [world_of_deal(deal)[0] for deal in starting_deals(count)]


def test_cards_that_complete_a_meld_are_those_that_make_one_of_three() -> None:
    for deal in positions(30):
        held = int(deal.hands[deal.turn])
        expected = {
            card
            for card in set(range(56)) - set(cards_in(held))
            for pair in combinations(cards_in(held), 2)
            if meld_kind(1 << card | 1 << pair[0] | 1 << pair[1]) != NO_MELD
        }

        assert expected == set(cards_in(int(completing_cards(held))))


def test_the_same_world_with_the_teams_exchanged_has_the_opposite_value() -> None:
    net = load_net()
    for world in starts_of_turns(12):
        turned = new_worlds(1)[0]
        copy_world(world, turned)
        turned.hands[:] = np.roll(world.hands, 1)
        turned.known[:] = np.roll(world.known, 1)
        turned.laid[:] = world.laid[::-1]
        turned.turn = (world.turn + 1) % 4

        assert net_value(world, net) == -net_value(turned, net)


def test_the_order_of_the_stock_does_not_matter() -> None:
    net = load_net()
    for world in starts_of_turns(12):
        before = net_value(world, net)
        world.stock[: world.stock_count] = world.stock[: world.stock_count][::-1].copy()

        assert before == net_value(world, net)


def test_inputs_are_small_numbers() -> None:
    """None is left from another world, and none would drown the others."""
    x = np.full(FEATURE_COUNT, np.nan)
    for world in starts_of_turns(20):
        write_features(world, x)

        assert np.isfinite(x).all()
        assert (x >= 0).all()
        assert x.max() <= 12


def test_the_net_of_the_package_expects_what_playouts_bring() -> None:
    """On states that it was not fitted to; it would not after a change of the inputs' meaning."""
    states = new_states(6_000, 4, "test")
    w1, b1, w2, b2, _x, _hidden = load_net()
    expected = predict({"w1": w1, "b1": b1, "w2": w2, "b2": b2}, states.inputs)

    missed = float(np.mean((expected - states.targets) ** 2) - states.variances.mean() / 4)
    explained = 1 - missed / float(states.targets.var() - states.variances.mean() / 4)
    assert explained > 0.4
    assert abs(np.mean(expected - states.targets)) < 4


def test_the_kernel_and_the_fit_mean_the_same_net() -> None:
    net = load_net()
    for world in starts_of_turns(10):
        x = np.zeros((1, FEATURE_COUNT))
        write_features(world, x[0])
        value = predict(dict(zip(("w1", "b1", "w2", "b2"), net, strict=False)), x)[0]
        sign = 1 if world.turn % 2 == 0 else -1
        laid = int(world.laid[0]) - int(world.laid[1])

        assert net_value(world, net) == pytest.approx(sign * value + laid, abs=0.05)


def test_learning_finds_what_can_be_known(tmp_path) -> None:
    """A small fit on few states explains a good part already, and more with each epoch."""
    states = new_states(15_000, 2, "learning")

    fits = [fit for _epoch, fit in fit_net(states, 16, 4, seed=1)]

    assert fits[-1].explained > 0.25
    assert fits[-1].explained > fits[0].explained
    save_net(fits[-1].weights, tmp_path / "net.npz")
    with np.load(tmp_path / "net.npz") as file:
        assert {"w1", "b1", "w2", "b2"} == set(file)


def test_a_playout_of_few_turns_is_the_beginning_of_a_long_one() -> None:
    for world in starts_of_turns(8):
        whole, parts = new_worlds(2)
        copy_world(world, whole)
        copy_world(world, parts)
        first, second = new_rng("same"), new_rng("same")

        play_out(whole, DEFAULT_WEIGHTS, first)
        for _ in range(60):
            play_turns(parts, 3, DEFAULT_WEIGHTS, second)

        assert margin_of(whole) == margin_of(parts)


def test_beyond_the_end_of_the_deal_the_net_is_not_asked() -> None:
    """With a horizon further than any deal lasts, its weights change nothing."""
    settings = SearchSettings(horizon=400)
    for deal in positions(4):
        view = view_deal(deal, deal.turn)
        plain, spoilt = (Search(view, "far", 300, settings) for _ in range(2))
        spoilt._net = (*(np.full_like(part, np.nan) for part in spoilt._net),)

        plain.run(300)
        spoilt.run(300)

        assert plain.ranking() == spoilt.ranking()


def test_asked_early_the_net_is_less_exact_and_less_noisy() -> None:
    """What the choice of the search's horizon rests on."""
    horizons = (0, 8, TO_THE_END)
    found = [
        horizon_errors(view_deal(deal, deal.turn), horizons, 400, str(number))
        for number, deal in enumerate(starting_deals(12))
    ]

    errors, variances = np.mean(found, axis=0)
    assert errors[0] > errors[1]
    assert errors[2] == 0
    assert variances[0] < variances[1] < variances[2]


def test_deals_of_strong_play_are_told_from_the_team_to_move() -> None:
    """What is left to win at each start of a turn, and in the end what was won."""
    inputs, gains = states_of_deal(3, "strong")
    again, gains_again = states_of_deal(3, "strong")

    assert inputs.shape == (len(gains), FEATURE_COUNT)
    assert len(gains) >= 4
    assert (inputs == again).all()
    assert (gains == gains_again).all()
    assert gains[0] == -gains[1]


def test_refining_goes_on_from_the_net_it_is_given() -> None:
    """With targets that are off by what an input says, it learns just that."""
    states = new_states(8_000, 2, "refining")
    *_, (_epoch, fit) = fit_net(states, 16, 2, seed=1)
    off = predict(fit.weights, states.inputs) + 60 * states.inputs[:, 0]

    *_, (epoch, _weights, before, now) = refine_net(fit.weights, states.inputs, off, 8)

    assert epoch == 8
    assert now < before / 2
