"""The learnt value: even-handed, blind to the order of the stock, and as good as is claimed."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from service.rules.cards import cards_in, hand
from service.rules.deal import DRAW, Deal
from service.rules.melds import NO_MELD, meld_kind
from service.rules.view import view_deal
from tests.workers.search.positions import positions
from workers import value_learning
from workers.search.hands import completing_cards
from workers.search.playout import mixed_player, play_out, play_turns
from workers.search.rng import new_rng
from workers.search.search import Search, SearchSettings
from workers.search.value_net import (
    FEATURE_COUNT,
    MARGIN_OF_PARTS,
    PART_COUNT,
    REST_HAND,
    REST_LAID,
    REST_OUT,
    WEIGHTS_FILE,
    load_net,
    net_parts,
    net_value,
    points_in_fours,
    write_features,
)
from workers.search.world import add_parts, copy_world, margin_of, new_worlds, world_of_deal
from workers.value_learning import (
    TO_THE_END,
    Turns,
    fit_net,
    horizon_errors,
    join_turns,
    new_states,
    predict,
    predict_parts,
    refine_net,
    save_net,
    shuffle_stock,
    smooth_returns,
    turns_of_deals,
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


def package_weights() -> dict[str, np.ndarray]:
    with np.load(WEIGHTS_FILE) as file:
        return dict(file)


def test_the_net_of_the_package_expects_what_playouts_bring() -> None:
    """On states that it was not fitted to; it would not after a change of the inputs' meaning."""
    states = new_states(6_000, 4, "test")
    margins = states.parts @ MARGIN_OF_PARTS
    expected = predict(package_weights(), states.inputs)

    noise = states.variances.mean() / 4
    missed = float(np.mean((expected - margins) ** 2) - noise)
    assert 1 - missed / float(margins.var() - noise) > 0.5
    assert abs(np.mean(expected - margins)) < 5


def test_the_parts_expected_are_such_as_can_be() -> None:
    """On average over states; of a single one a small net may say a little too much or little."""
    states = new_states(3_000, 2, "parts")
    expected = predict_parts(package_weights(), states.inputs)

    assert np.abs(expected.mean(0) - states.parts.mean(0))[:REST_OUT].max() < 8
    assert np.abs(expected.mean(0) - states.parts.mean(0))[REST_OUT:].max() < 0.1
    assert (expected[:, [REST_LAID, REST_HAND]] > -10).mean() > 0.99
    assert (expected[:, REST_OUT] > -0.15).mean() > 0.99
    assert (expected[:, REST_OUT] < 1.15).mean() > 0.99


def test_the_kernel_and_the_fit_mean_the_same_net() -> None:
    net = load_net()
    for world in starts_of_turns(10):
        x = np.zeros((1, FEATURE_COUNT))
        write_features(world, x[0])
        sign = 1 if world.turn % 2 == 0 else -1
        laid = int(world.laid[0]) - int(world.laid[1])
        parts = np.zeros(PART_COUNT)
        net_parts(world, net, parts)

        assert parts == pytest.approx(predict_parts(package_weights(), x)[0], abs=0.05)
        value = net_value(world, net)
        assert value == pytest.approx(sign * predict(package_weights(), x)[0] + laid, abs=0.05)
        assert value == pytest.approx(sign * (parts @ MARGIN_OF_PARTS) + laid, abs=1e-6)


def test_the_parts_of_a_deal_that_is_over_add_up_to_its_margin() -> None:
    for world in starts_of_turns(12):
        team = int(world.turn) % 2
        before = world.laid.copy()
        play_out(world, mixed_player(), new_rng("parts", team))
        parts = np.zeros(PART_COUNT)

        add_parts(world, team, before[0], before[1], parts)

        lead = before[team] - before[1 - team]
        sign = 1 if team == 0 else -1
        assert lead + parts @ MARGIN_OF_PARTS == sign * margin_of(world)


def test_ranks_held_in_all_suits_are_found() -> None:
    assert points_in_fours(hand("9C 9D 9H 9S KC KD KH 2C")) == 36
    assert points_in_fours(hand("9C 9D 9H KC KD KH 2C")) == 0
    assert points_in_fours(hand("X1 X2 X3 X4 2C 2D 2H 2S")) == 88


def test_another_order_of_the_stock_has_the_same_cards() -> None:
    for world in starts_of_turns(6):
        before = world.stock[: world.stock_count].copy()

        shuffle_stock(world, new_rng("shuffle"))

        after = world.stock[: world.stock_count]
        assert sorted(before) == sorted(after)
        assert len(before) < 5 or (before != after).any()


def test_learning_finds_what_can_be_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small fit on few states explains a good part already, and more with each epoch."""
    monkeypatch.setattr(value_learning, "BATCH", 128)
    states = new_states(15_000, 2, "learning")

    fits = [fit for _epoch, fit in fit_net(states, 16, 6, seed=1)]

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

        play_out(whole, mixed_player(), first)
        for _ in range(60):
            play_turns(parts, 3, mixed_player(), second)

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


def test_deals_of_strong_play_are_told_from_the_team_to_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is left to win at each start of a turn, and in the end what was won."""
    monkeypatch.setattr(value_learning, "DEALS_A_BATCH", 3)
    turns, again = turns_of_deals(3, "strong"), turns_of_deals(3, "strong")

    assert turns.inputs.shape == (len(turns), FEATURE_COUNT)
    assert turns.parts.shape == (len(turns), PART_COUNT)
    assert turns.is_last.sum() == 3
    assert turns.is_last[-1]
    assert (turns.inputs == again.inputs).all()
    assert (turns.parts == again.parts).all()
    gains = turns.parts @ MARGIN_OF_PARTS
    assert gains[0] == -gains[1]
    left = turns.parts[:, REST_LAID]
    inside = ~turns.is_last[:-1]
    theirs = turns.parts[1:, REST_LAID + 1]
    assert (left[:-1][inside] >= theirs[inside]).all()


def returns_by_definition(gains: np.ndarray, expected: np.ndarray, trace: float) -> np.ndarray:
    """TD(lambda) of one deal told by one team, as a weighted sum of n-step returns."""
    found = np.zeros_like(gains)
    for turn in range(len(gains)):
        weight = 1.0
        for later in range(turn + 1, len(gains)):
            n_steps = gains[turn] - gains[later] + expected[later]
            found[turn] += (1 - trace) * weight * n_steps
            weight *= trace
        found[turn] += weight * gains[turn]
    return found


@pytest.mark.parametrize("trace", [0.0, 0.7, 1.0])
def test_returns_are_averages_over_what_is_expected_later(trace: float) -> None:
    rng = np.random.default_rng(5)
    lengths = (1, 4, 6)
    deals = [rng.normal(0, 50, (2, length, PART_COUNT)) for length in lengths]
    swap = [1, 0, 3, 2, 5, 4]
    parts, expected = (np.concatenate([deal[i] for deal in deals]) for i in (0, 1))
    is_last = np.concatenate([np.arange(n) == n - 1 for n in lengths])
    returns = np.zeros_like(parts)

    smooth_returns(parts, is_last, expected, trace, returns)

    at = 0
    for gains, values in deals:
        swapped = np.arange(len(gains))[:, None] % 2 == 1
        right = returns_by_definition(
            np.where(swapped, gains[:, swap], gains),
            np.where(swapped, values[:, swap], values),
            trace,
        )
        right = np.where(swapped, right[:, swap], right)
        assert returns[at : at + len(gains)] == pytest.approx(right)
        at += len(gains)


def test_refining_goes_on_from_the_net_it_is_given() -> None:
    """With what an input says on top of what the net expected, it learns just that."""
    states = new_states(8_000, 2, "refining")
    *_, (_epoch, fit) = fit_net(states, 16, 2, seed=1)
    off = predict_parts(fit.weights, states.inputs)
    off[:, REST_LAID] += 60 * states.inputs[:, 0]
    turns = Turns(states.inputs, off, np.ones(len(off), bool))

    *_, (epoch, _weights, before, now) = refine_net(fit.weights, turns)

    assert epoch == value_learning.REFINING_ROUNDS * value_learning.REFINING_EPOCHS
    assert now < before / 2


def test_no_deal_is_learnt_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten deals of unlike length the last is left for the test, and no turn of the others."""
    lengths = [3, 5, 2, 7, 4, 1, 6, 2, 3, 9]
    is_last = np.concatenate([np.arange(n) == n - 1 for n in lengths])
    turns = Turns(np.zeros((len(is_last), 4)), np.zeros((len(is_last), PART_COUNT)), is_last)
    learnt = []
    monkeypatch.setattr(
        value_learning, "smooth_returns", lambda parts, last, *_: learnt.append(last.copy())
    )
    weights = {
        "w1": np.zeros((4, 2), np.float32),
        "b1": np.zeros(2, np.float32),
        "w2": np.zeros((2, PART_COUNT), np.float32),
        "b2": np.zeros(PART_COUNT, np.float32),
    }

    list(refine_net(weights, turns))

    assert len(learnt) == value_learning.REFINING_ROUNDS
    assert all((rows == is_last[:-9]).all() for rows in learnt)


def test_joined_turns_keep_their_order() -> None:
    first, second = (
        Turns(np.full((n, 2), n), np.full((n, PART_COUNT), n), np.arange(n) == n - 1)
        for n in (2, 3)
    )

    both = join_turns([first, second])

    assert len(both) == 5
    assert both.inputs[:, 0].tolist() == [2, 2, 3, 3, 3]
    assert both.part(slice(2, None)).is_last.tolist() == [False, False, True]
