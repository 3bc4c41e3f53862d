"""The learnt choices: what they look at, how likely each is, and how they are learnt."""

from pathlib import Path

import numpy as np
import pytest

from service.rules.cards import cards_in
from service.rules.deal import DRAW, OVER
from tests.workers.search.positions import permuted, positions
from workers.learning import compare
from workers.policy_learning import (
    add_gradient,
    gradient_of_deals,
    learn_policy,
    new_record,
    no_weights,
    player_of,
    save_policy,
)
from workers.search import policy as policies
from workers.search.playout import choose_step, learnt_player
from workers.search.policy import (
    CHANCES,
    COUNT_COUNTS,
    DRAW_CHOICE,
    ENTRY_COUNTS,
    HOLD_CHOICE,
    LOGIT,
    STOCK_STEPS,
    TABLE_COUNTS,
    THROW_CHOICE,
    learnt_throw,
    load_policy,
    write_steps,
)
from workers.search.rng import below, new_rng
from workers.search.world import new_worlds, world_of_deal


def test_a_choice_does_not_hang_on_cards_that_nobody_has_shown() -> None:
    player = learnt_player()
    steps = set()
    for number, deal in enumerate(positions(60)):
        world = world_of_deal(deal)[0]
        twin = world_of_deal(permuted(deal, deal.turn, number))[0]
        assert world.tobytes() != twin.tobytes()

        for seed in range(5):
            chosen = choose_step(world, player, new_rng(seed))
            assert chosen == choose_step(twin, player, new_rng(seed))
            steps.add(int(chosen[0]))
    assert len(steps) > 3


def test_every_place_of_the_tables_exists() -> None:
    """Whatever a hand looks like, its entries are in the tables and the state in its rows."""
    player = learnt_player()
    policy = player.policy
    rng = new_rng("places")
    decks = np.arange(56)
    most = np.zeros(3, np.int64)
    for number in range(400):
        world = new_worlds(1)[0]
        for place in range(55, 0, -1):
            other = below(rng, place + 1)
            decks[place], decks[other] = decks[other], decks[place]
        cut = sorted(1 + below(rng, 54) for _ in range(6))
        parts = [decks[a:b] for a, b in zip([0, *cut], [*cut, 56], strict=True)]
        for seat in range(4):
            world.hands[seat] = sum(1 << int(card) for card in parts[seat])
            world.known[seat] = int(world.hands[seat]) & int(world.hands[seat]) >> below(rng, 3)
        world.pile_count, world.stock_count = len(parts[4]), min(len(parts[5]), 27)
        world.pile[: len(parts[4])] = parts[4]
        world.turn, world.due, world.went_out = number % 4, -1, -1
        for phase in (DRAW, DRAW + 1):
            world.phase = phase
            if world.hands[world.turn]:
                choose_step(world, player, rng)
        for choice in range(3):
            rows = min(int(policy.listed[choice]), policies.MOST_CANDIDATES)
            first = choice * policies.MOST_CANDIDATES
            entries = policy.entries[first : first + rows, : TABLE_COUNTS[choice]]
            if rows:
                assert entries.min() >= 0
                most[choice] = max(most[choice], entries.max())
        assert policy.steps[0] < STOCK_STEPS <= policy.steps[1:].min()
        assert policy.steps.max() < policies.STATE_STEPS
    assert (most < np.array(ENTRY_COUNTS)).all()
    assert most[THROW_CHOICE] > 300


def test_the_steps_of_a_state() -> None:
    world = new_worlds(1)[0]
    steps = np.zeros(4, np.int64)
    found = []
    for stock in range(28):
        world.stock_count = stock
        world.hands[0], world.hands[1], world.hands[2] = 0b1, 0b11110, 0b1100000
        world.hands[3] = 0b111110000000
        write_steps(world, steps)
        found.append(int(steps[0]))

    assert found[:6] == [0, 1, 1, 2, 2, 3]
    assert found == sorted(found)
    assert set(found) == set(range(STOCK_STEPS))
    assert steps[1:].tolist() == [STOCK_STEPS, STOCK_STEPS + 8 + 2, STOCK_STEPS + 12 + 1]


def test_candidates_are_as_likely_as_their_ratings_say() -> None:
    """Throws by chance against the softmax of the ratings."""
    assert abs(CHANCES.mean() / LOGIT - 0.5772) < 0.01
    assert CHANCES.std() / LOGIT == pytest.approx(np.pi / 6**0.5, abs=0.01)
    deal = next(deal for deal in positions(40) if deal.phase != DRAW and deal.phase != OVER)
    world = world_of_deal(deal)[0]
    hot, cold = load_policy(), load_policy(heat=0)
    held = list(cards_in(deal.hands[deal.turn]))
    learnt_throw(world, cold, new_rng("any"))
    ratings = np.array([_rating(cold, row) for row in range(len(held))]) / LOGIT
    expected = np.exp(ratings - ratings.max()) / np.exp(ratings - ratings.max()).sum()

    rng = new_rng("likely")
    thrown = [int(learnt_throw(world, hot, rng)) for _ in range(20_000)]

    shares = np.array([thrown.count(card) for card in held]) / len(thrown)
    assert np.abs(shares - expected).max() < 0.015
    assert 0.05 < expected.max()


def _rating(policy: policies.Policy, row: int) -> int:
    table = policy.throw_tables[policy.steps[0]]
    at = THROW_CHOICE * policies.MOST_CANDIDATES + row
    entries = policy.entries[at, : TABLE_COUNTS[THROW_CHOICE]]
    counts = policy.counts[at, : COUNT_COUNTS[THROW_CHOICE]]
    weights = sum(policy.throw_counts[step] for step in policy.steps)
    return int(table[entries].sum() + (counts * weights).sum())


@pytest.mark.parametrize("choice", [DRAW_CHOICE, HOLD_CHOICE, THROW_CHOICE])
def test_a_gradient_is_the_slope_of_the_log_likelihood(
    choice: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against differences, in a made-up choice of four candidates."""
    draw = np.random.default_rng(choice)
    entries, counts, *_ = new_record()
    tables, used = TABLE_COUNTS[choice], COUNT_COUNTS[choice]
    entries = draw.integers(0, ENTRY_COUNTS[choice], entries[0].shape)
    counts = draw.integers(0, 5, counts[0].shape)
    steps = np.array([2, 11, 18, 22])
    table = draw.integers(-900, 900, (STOCK_STEPS, ENTRY_COUNTS[choice]))
    weights = draw.integers(-90, 90, (policies.STATE_STEPS, used))
    likely = np.zeros(16)

    def log_likelihood() -> float:
        ratings = [
            table[2, entries[row, :tables]].sum()
            + (weights[steps].sum(axis=0) * counts[row, :used]).sum()
            for row in range(4)
        ]
        logits = np.array(ratings) / LOGIT
        return float(logits[1] - np.log(np.exp(logits).sum()))

    to_table, to = np.zeros(table.shape), np.zeros(weights.shape)
    monkeypatch.setattr("workers.policy_learning.ENTROPY", 0.0)
    kernel = getattr(add_gradient, "py_func", add_gradient)
    kernel(entries, counts, steps, 4, 1, 2.0, table, weights, tables, likely, to_table, to)

    for array, slope, place in (
        (table, to_table, (2, entries[1, 0])),
        (weights, to, (11, 0)),
        (weights, to, (22, used - 1)),
    ):
        before = log_likelihood()
        array[place] += LOGIT // 64
        assert slope[place] == pytest.approx(2 * 64 * (log_likelihood() - before), abs=0.2)
        array[place] -= LOGIT // 64
    assert not to_table[3:].any()
    assert not to_table[:2].any()


def test_the_same_seed_gives_the_same_gradients() -> None:
    first, again, other = (gradient_of_deals(no_weights(), 5, seed) for seed in ("a", "a", "b"))

    assert all((one == two).all() for one, two in zip(first[0], again[0], strict=True))
    assert any((one != two).any() for one, two in zip(first[0], other[0], strict=True))
    assert (first[1] == again[1]).all()
    assert first[1][:, 0].min() > 10


def test_learning_makes_better_choices(tmp_path: Path) -> None:
    """A few steps against choices by chance; and what is written is what is read."""
    *_, last = learn_policy(12, 400, 1, "test")

    found = compare(player_of(last.weights), player_of(no_weights()), 200, "learnt")
    assert found.margin > 3 * found.error
    save_policy(last.weights, tmp_path / "policy.npz")
    read, written = load_policy(path=tmp_path / "policy.npz"), player_of(last.weights).policy
    assert all((one == two).all() for one, two in zip(read[1:7], written[1:7], strict=True))


def test_the_package_has_weights_for_every_place() -> None:
    policy = load_policy()

    shapes = [part.shape for part in policy[1:7]]
    assert shapes == [part.shape for part in no_weights()]
    assert all(np.abs(part).max() > LOGIT // 4 for part in policy[1:7])
