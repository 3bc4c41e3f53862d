"""The learnt choices: what they look at, how likely each is, and how they are learnt."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.rules.cards import cards_in
from service.rules.deal import DRAW, MELD
from tests.workers.search.positions import permuted, positions
from workers.learning import compare
from workers.policy_learning import (
    LAMBDA,
    MOST_TURNS,
    UNIT,
    add_gradient,
    gradient_of_deals,
    learn_from_deal,
    learn_policy,
    new_record,
    no_weights,
    player_of,
    save_policy,
)
from workers.search import policy as policies
from workers.search.playout import BY_THUMB, LEARNT, choose_step, learnt_player, mixed_player
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
from workers.search.world import deal_world, margin_of, new_worlds, world_of_deal


@pytest.mark.parametrize("style", [LEARNT, BY_THUMB], ids=["learnt", "thumb"])
def test_a_choice_does_not_hang_on_cards_that_nobody_has_shown(style: int) -> None:
    player = mixed_player()
    steps = set()
    for number, deal in enumerate(positions(60)):
        world = world_of_deal(deal)[0]
        twin = world_of_deal(permuted(deal, deal.turn, number))[0]
        assert world.tobytes() != twin.tobytes()

        for seed in range(5):
            chosen = choose_step(world, player, style, new_rng(seed))
            assert chosen == choose_step(twin, player, style, new_rng(seed))
            steps.add(int(chosen[0]))
    assert len(steps) > 3


def test_every_place_of_the_tables_exists() -> None:
    """Whatever a hand, the pile and the table look like, each entry is in its own table and the
    state in its own rows.
    """
    player = learnt_player()
    policy = player.policy
    rng = new_rng("places")
    deck = np.arange(56)
    bounds = [*policies.THROW_STARTS, ENTRY_COUNTS[THROW_CHOICE]]
    found: list[set[int]] = [set() for _ in range(7)]
    floating = 0
    for number in range(600):
        world = new_worlds(1)[0]
        for place in range(55, 0, -1):
            other = below(rng, place + 1)
            deck[place], deck[other] = deck[other], deck[place]
        cut = sorted(below(rng, 57) for _ in range(7))
        parts = [deck[a:b] for a, b in zip([0, *cut], [*cut, 56], strict=True)]
        for seat in range(4):
            world.hands[seat] = sum(1 << int(card) for card in parts[seat])
            world.known[seat] = int(world.hands[seat]) & int(world.hands[seat]) >> below(rng, 3)
        world.pile_count, world.stock_count = len(parts[4]), min(len(parts[5]), 27)
        world.pile[: len(parts[4])] = parts[4]
        laid = [int(card) for card in parts[6]]
        world.table_runs = sum(1 << card for card in laid if card < 52 and card % 2)
        world.table_sets = sum(1 << card for card in laid if card >= 52 or card % 2 == 0)
        world.turn, world.due, world.went_out = number % 4, -1, -1
        for phase in (DRAW, MELD):
            world.phase = phase
            if phase == DRAW or world.hands[world.turn]:
                choose_step(world, player, LEARNT, rng)
                floating += not world.hands[world.turn]
            assert 0 <= policy.steps[0] < STOCK_STEPS
            assert STOCK_STEPS <= policy.steps[1] < STOCK_STEPS + 8 <= policy.steps[2]
            assert policy.steps[2] < STOCK_STEPS + 12 <= policy.steps[3] < policies.STATE_STEPS
        for choice in range(3):
            first = choice * policies.MOST_CANDIDATES
            rows = min(int(policy.listed[choice]), policies.MOST_CANDIDATES)
            entries = policy.entries[first : first + rows, : TABLE_COUNTS[choice]]
            if choice == THROW_CHOICE:
                for table in range(7):
                    found[table] |= set(map(int, entries[:, table]))
            elif rows:
                assert 0 <= entries.min()
                assert entries.max() < ENTRY_COUNTS[choice]
    for table, entries in enumerate(found):
        assert bounds[table] <= min(entries)
        assert max(entries) < bounds[table + 1]
        assert len(entries) > (bounds[table + 1] - bounds[table]) / 3
    assert floating > 5


def test_the_steps_of_a_state() -> None:
    world = new_worlds(1)[0]
    steps = np.full(4, -1)
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
    world.hands[0] = 0  # floating
    write_steps(world, steps)
    assert steps[1] == STOCK_STEPS


def test_candidates_are_as_likely_as_their_ratings_say() -> None:
    """Throws by chance against the softmax of the ratings."""
    assert abs(CHANCES.mean() / LOGIT - 0.5772) < 0.01
    assert CHANCES.std() / LOGIT == pytest.approx(np.pi / 6**0.5, abs=0.01)
    deal = next(
        deal
        for deal in positions(40)
        if deal.phase == MELD and deal.hands[deal.turn].bit_count() > 5
    )
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
    assert 0.05 < expected.max() < 0.9


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
    mixed, likely = np.zeros(used, np.int64), np.zeros(16)

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
    kernel(entries, counts, steps, 4, 1, 2.0, table, weights, tables, mixed, likely, to_table, to)

    for array, slope, place in (
        (table, to_table, (2, entries[1, 0])),
        (weights, to, (11, 0)),
        (weights, to, (22, used - 1)),
    ):
        array[place] += LOGIT // 512
        higher = log_likelihood()
        array[place] -= LOGIT // 256
        difference = 256 * (higher - log_likelihood())
        array[place] += LOGIT // 512
        assert slope[place] == pytest.approx(2 * difference, abs=0.01)
        assert abs(difference) > 0.02
    assert not to_table[3:].any()
    assert not to_table[:2].any()


def test_entropy_is_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an advantage the gradient is that of the entropy, and the entropy is returned."""
    entries, counts, *_ = new_record()
    table = np.zeros((STOCK_STEPS, ENTRY_COUNTS[HOLD_CHOICE]), np.int64)
    weights = np.zeros((policies.STATE_STEPS, COUNT_COUNTS[HOLD_CHOICE]), np.int64)
    table[2, :3] = LOGIT // 2, 0, -LOGIT
    monkeypatch.setattr("workers.policy_learning.ENTROPY", 0.5)
    kernel = getattr(add_gradient, "py_func", add_gradient)
    steps, rows = np.array([2, 11, 18, 22]), entries[0]
    rows[:3, 0] = range(3)
    room = np.zeros(weights.shape[1], np.int64), np.zeros(16)
    of = rows, counts[0], steps, 3, 1, 0.0, table, weights, 1, *room

    def entropy() -> float:
        to_table, to = np.zeros(table.shape), np.zeros(weights.shape)
        return float(kernel(*of, to_table, to))

    slopes = np.zeros(table.shape)
    kernel(*of, slopes, np.zeros(weights.shape))
    for place in range(3):
        table[2, place] += LOGIT // 512
        higher = entropy()
        table[2, place] -= LOGIT // 256
        difference = 256 * (higher - entropy())
        table[2, place] += LOGIT // 512
        assert slopes[2, place] == pytest.approx(0.5 * difference, abs=0.001)
    likely = np.exp([0.5, 0, -1]) / np.exp([0.5, 0, -1]).sum()
    assert entropy() == pytest.approx(-(likely * np.log(likely)).sum())


def test_a_choice_is_credited_with_what_its_turn_and_later_ones_brought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sum of the value's steps, each less weighty, for the mover's team."""
    values: list[float] = []
    credits: list[float] = []

    def value(world: np.void, _net: object) -> float:
        values.append(float(len(values) * 37 % 50 - 20))
        return values[-1]

    def gradient(*given: Any) -> float:
        credits.append(given[5])
        return 0.0

    monkeypatch.setattr("workers.policy_learning.net_value", value)
    monkeypatch.setattr("workers.policy_learning.add_gradient", gradient)
    kernel = getattr(learn_from_deal, "py_func", learn_from_deal)
    deal, record = new_worlds(1)[0], new_record()
    deal_world(deal, np.arange(56), 1, new_rng("credit"))
    zeros = [np.zeros_like(part) for part in no_weights()]
    totals = np.zeros((3, 2))
    room = np.zeros(MOST_TURNS + 1), np.zeros(16)

    kernel(deal, learnt_player(), (), new_rng("credit"), record, *room, zeros, totals)

    values.append(float(margin_of(deal)))
    turns, seats = record[3][: len(credits), 3], record[3][: len(credits), 4]
    assert totals[:, 0].sum() == len(credits) > 30
    assert set(seats) == set(range(4))
    for credit, turn, seat in zip(credits, turns, seats, strict=True):
        steps = [b - a for a, b in pairwise(values[turn:])]
        expected = sum(LAMBDA**later * step for later, step in enumerate(steps))
        assert credit == pytest.approx((-1) ** seat * expected / UNIT)


def test_processes_change_nothing() -> None:
    one, two = (next(learn_policy(1, 8, processes, "any")) for processes in (1, 2))

    assert all((a == b).all() for a, b in zip(one.weights, two.weights, strict=True))
    assert any(part.any() for part in one.weights)


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
