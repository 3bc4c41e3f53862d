"""Learning the choices of `workers/search/policy.py`, by which the search's quick player plays half
of its turns, from deals of players who play by nothing else.

Policy gradient (Williams, "Simple statistical gradient-following algorithms for connectionist
reinforcement learning", Machine Learning 8, 1992): every seat plays by the policy as it is, chance
included; then each choice is made likelier the more its turn brought than was expected. What was
expected is the learnt value of the whole world at the start of each turn, which takes away most of
the luck: an advantage is the sum of the steps of that value from the turn on, each LAMBDA times the
one before (Schulman and others, "High-dimensional continuous control using generalized advantage
estimation", 2016). The value sees all hands; the choices do not.

A step of learning is the mean over all choices of some thousand deals. It begins with choices by
chance and needs nothing but the learnt value (`workers/search/value_net.py`), which in turn is
learnt from deals of quick players: the first value was learnt from rules of thumb."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from service.rules.deal import OVER
from workers.learning import Comparison, compare
from workers.search._compile import search_kernel
from workers.search.playout import LEARNT, QuickPlayer, apply_step, choose_step, thumb_player
from workers.search.policy import (
    COUNT_COUNTS,
    ENTRY_COUNTS,
    LOGIT,
    MOST_CANDIDATES,
    POLICY_FILE,
    STATE_STEPS,
    STOCK_STEPS,
    TABLE_COUNTS,
    WEIGHT_NAMES,
    mix,
    rating_of,
    with_room,
)
from workers.search.rng import new_rng
from workers.search.thumb import DEFAULT_WEIGHTS
from workers.search.value_net import load_net, net_value
from workers.search.world import deal_world, margin_of, new_worlds

LAMBDA = 0.85
"""How much of what a turn's choices are credited with comes from each later turn."""
UNIT = 50.0
"""Points of advantage that count as one: about its spread."""
ENTROPY = 0.002
"""How much keeping choices open is worth, units of advantage for one nat."""
RATE = 0.03
"""Of a step, in logits, at most: it rises over the first tenth of the steps, since draws and melds
else come to one answer before throws have any, and falls to a fiftieth in half a cosine."""
RISE = 0.1
MOMENT_DECAYS = 0.9, 0.99
PARTS_A_STEP = 4
"""A step's deals come in parts, each with random numbers of its own, so that a run gives the same
weights with any number of processes."""
AVERAGE = 0.02
"""What is kept is a running average of the weights, this much of it each step's."""
MOST_TURNS = 190
"""More than a deal has."""
MOST_CHOICES = 700
"""More than a deal has; later ones would be played and not learnt from."""
TEST_PAIRS = 2_000
_POINTS = (
    (2, 3, 4, 7, 9, 13, 20),
    (1, 3, 11, 14),
    (0, 4, 11, 12, 14),
)
"""Counts that are points, by choice: twenty of them weigh like one card."""

Weights = list[np.ndarray]
"""Tables and weights of counts of the three choices in the order of `Policy`, float64, in
logits."""


def no_weights() -> Weights:
    """Return weights by which all candidates are equally likely."""
    return [
        np.zeros(shape)
        for entries, counts in zip(ENTRY_COUNTS, COUNT_COUNTS, strict=True)
        for shape in ((STOCK_STEPS, entries), (STATE_STEPS, counts))
    ]


def _rates() -> Weights:
    rates = [np.ones_like(weights) for weights in no_weights()]
    for choice, places in enumerate(_POINTS):
        rates[2 * choice + 1][:, places] = 0.05
    return rates


def _in_whole_numbers(weights: Weights) -> tuple[np.ndarray, ...]:
    """Return the weights as the policy has them, in LOGITs."""
    return tuple(np.round(LOGIT * part).astype(np.int64) for part in weights)


def player_of(weights: Weights, heat: int = 1) -> QuickPlayer:
    """Return the quick player of such weights."""
    return QuickPlayer(LEARNT, DEFAULT_WEIGHTS, with_room(heat, _in_whole_numbers(weights)))


@search_kernel
def keep_choices(policy, record, kept, turn, seat):  # type: ignore[no-untyped-def]
    """Add the choices that stand in the policy's room to `record`; return how many it has then.

    `record` is the tuple of arrays of `new_record`."""
    entries, counts, steps, choices = record
    for choice in range(3):
        listed = policy.listed[choice]
        policy.listed[choice] = 0
        if listed < 2 or listed > MOST_CANDIDATES or kept == len(choices):
            continue
        for row in range(listed):
            entries[kept, row] = policy.entries[choice * MOST_CANDIDATES + row]
            counts[kept, row] = policy.counts[choice * MOST_CANDIDATES + row]
        steps[kept] = policy.steps
        choices[kept, 0] = choice
        choices[kept, 1] = listed
        choices[kept, 2] = policy.taken[choice]
        choices[kept, 3] = turn
        choices[kept, 4] = seat
        kept += 1
    return kept


@search_kernel
def add_gradient(  # type: ignore[no-untyped-def]
    entries,
    counts,
    steps,
    listed,
    taken,
    advantage,
    table,
    weights,
    tables,
    mixed,
    likely,
    to_table,
    to,
):
    """Add a choice's gradient to that of its tables (`to_table`) and weights of counts (`to`);
    return the choice's entropy in nats.

    `table` and `weights` are the policy's, in LOGITs; `mixed` has room for the weights in this
    state, `likely` for the candidates."""
    used = weights.shape[1]
    mix(weights, steps, mixed)
    best = -1e300
    for row in range(listed):
        rating = rating_of(entries, counts, row, table[steps[0]], mixed, tables, used)
        likely[row] = rating / LOGIT
        best = max(best, likely[row])
    total = 0.0
    for row in range(listed):
        likely[row] = np.exp(likely[row] - best)
        total += likely[row]
    entropy = 0.0
    for row in range(listed):
        likely[row] /= total
        if likely[row] > 0:
            entropy -= likely[row] * np.log(likely[row])
    for row in range(listed):
        push = -advantage * likely[row]
        if row == taken:
            push += advantage
        if likely[row] > 0:
            push -= ENTROPY * likely[row] * (np.log(likely[row]) + entropy)
        for place in range(tables):
            to_table[steps[0], entries[row, place]] += push
        for place in range(used):
            if counts[row, place]:
                for step in range(4):
                    to[steps[step], place] += push * counts[row, place]
    return entropy


@search_kernel
def learn_from_deal(deal, player, net, rng, record, values, likely, gradient, totals):  # type: ignore[no-untyped-def]
    """Play a deal and add the gradients of its choices to `gradient` (six arrays, as in Policy);
    `totals` (3, 2) counts choices and sums their entropies.
    """
    policy = player.policy
    tables = policy.draw_tables, policy.hold_tables, policy.throw_tables
    weights = policy.draw_counts, policy.hold_counts, policy.throw_counts
    entries, counts, steps, choices = record
    kept = 0
    turn = 0
    for choice in range(3):
        policy.listed[choice] = 0
    while deal.phase != OVER and turn < MOST_TURNS:
        values[turn] = net_value(deal, net)
        seat = deal.turn
        while deal.phase != OVER and deal.turn == seat:
            step, cards = choose_step(deal, player, LEARNT, rng)
            kept = keep_choices(policy, record, kept, turn, seat)
            apply_step(deal, step, cards)
        turn += 1
    values[turn] = margin_of(deal)
    credit = 0.0
    for earlier in range(turn - 1, -1, -1):
        credit = values[earlier + 1] - values[earlier] + LAMBDA * credit
        values[earlier + 1] = credit
    for row in range(kept):
        choice, listed, taken = choices[row, 0], choices[row, 1], choices[row, 2]
        advantage = values[choices[row, 3] + 1] / UNIT
        if choices[row, 4] & 1:
            advantage = -advantage
        totals[choice, 0] += 1
        totals[choice, 1] += add_gradient(
            entries[row],
            counts[row],
            steps[row],
            listed,
            taken,
            advantage,
            tables[choice],
            weights[choice],
            TABLE_COUNTS[choice],
            policy.mixed,
            likely,
            gradient[2 * choice],
            gradient[2 * choice + 1],
        )


def new_record() -> tuple[np.ndarray, ...]:
    """Return room for the choices of a deal: entries and counts of the candidates, the state's
    rows of weights, and choice, number of candidates, the one taken, turn and seat.
    """
    most = max(COUNT_COUNTS)
    return (
        np.zeros((MOST_CHOICES, MOST_CANDIDATES, max(TABLE_COUNTS)), np.int64),
        np.zeros((MOST_CHOICES, MOST_CANDIDATES, most), np.int64),
        np.zeros((MOST_CHOICES, 4), np.int64),
        np.zeros((MOST_CHOICES, 5), np.int64),
    )


def gradient_of_deals(weights: Weights, deals: int, seed: str) -> tuple[Weights, np.ndarray]:
    """Play `deals` by `weights`; return the sum of the gradients and, by choice, how many there
    were and the sum of their entropies, shape (3, 2).
    """
    rng = new_rng("policy", seed)
    player = player_of(weights)
    gradient = tuple(np.zeros_like(part) for part in weights)
    totals = np.zeros((3, 2))
    values, likely = np.zeros(MOST_TURNS + 1), np.zeros(MOST_CANDIDATES)
    deal, deck, net, record = new_worlds(1)[0], np.arange(56), load_net(), new_record()
    for number in range(deals):
        deal_world(deal, deck, number % 4, rng)
        learn_from_deal(deal, player, net, rng, record, values, likely, gradient, totals)
    return list(gradient), totals


def _one_part(work: tuple[Weights, int, str]) -> tuple[Weights, np.ndarray]:
    return gradient_of_deals(*work)


@dataclass(frozen=True, slots=True)
class Step:
    """How far the learning has come."""

    number: int
    weights: Weights
    entropies: np.ndarray
    """Mean entropy of a choice in nats: draw, hold, throw."""


def _rate_of(done: float) -> float:
    """Return the rate when so much of the learning is done, 0 to 1."""
    fallen = 0.02 + 0.98 * (0.5 + 0.5 * math.cos(math.pi * done))
    return RATE * fallen * min(1.0, done / RISE)


def learn_policy(steps: int, deals: int, processes: int, seed: str) -> Iterator[Step]:
    """Learn from nothing; yield after each step of `deals` deals."""
    weights, rates = no_weights(), _rates()
    means = [np.zeros_like(part) for part in weights]
    squares = [np.zeros_like(part) for part in weights]
    average = [part.copy() for part in weights]
    first, second = MOMENT_DECAYS
    with get_context("spawn").Pool(processes) as pool:
        for number in range(1, steps + 1):
            work = [
                (weights, -(-deals // PARTS_A_STEP), f"{seed}-{number}-{part}")
                for part in range(PARTS_A_STEP)
            ]
            found = pool.map(_one_part, work, chunksize=1)
            totals = np.sum([part for _gradient, part in found], axis=0)
            rate = _rate_of(number / steps)
            for place in range(len(weights)):
                slope = np.sum([gradient[place] for gradient, _totals in found], axis=0)
                slope /= totals[:, 0].sum()
                means[place] = first * means[place] + (1 - first) * slope
                squares[place] = second * squares[place] + (1 - second) * slope**2
                scale = np.sqrt(squares[place] / (1 - second**number)) + 1e-6
                weights[place] += rate * rates[place] * means[place] / (1 - first**number) / scale
                share = max(AVERAGE, 1 / number)
                average[place] += share * (weights[place] - average[place])
            yield Step(
                number,
                [part.copy() for part in average],
                totals[:, 1] / np.maximum(totals[:, 0], 1),
            )


def against_thumb(weights: Weights, pairs: int, seed: str) -> Comparison:
    """Play the best rated choices against the rules of thumb."""
    return compare(player_of(weights, heat=0), thumb_player(), pairs, seed)


def save_policy(weights: Weights, path: Path = POLICY_FILE) -> None:
    """Write the weights where the search reads them."""
    whole = [part.astype(np.int32) for part in _in_whole_numbers(weights)]
    with path.open("wb") as file:
        np.savez_compressed(file, **dict(zip(WEIGHT_NAMES, whole, strict=True)))  # type: ignore[arg-type]
