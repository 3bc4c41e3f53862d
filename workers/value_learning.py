"""Learning what the rest of a deal is worth: the data, the fits and the figures that say how good
they are (`workers/search/value_net.py` uses the result).

Two stages, since playouts are cheap and good play is not. First, states from deals played by the
quick player to a turn chosen by chance, and from there several times to the end, each time with
another order of the stock; the average of the ends is the target. That has little noise, but tells
what a hand is worth to quick players. Then the fit goes on with deals that a search has played with
itself: what strong players make of a hand. High loose cards, for one, are worth more to them, and
many low ones less.

A deal of the second stage has one end, and most of that is luck. So what a turn is to say is not
the end itself but an average over what the net says of the later turns of the same deal, each a
step less weighty, and the end: the returns of TD(lambda) (Sutton, Machine Learning 3, 1988).

The fit is plain: squared error of the parts and of their sum, one hidden layer, Adam (Kingma and
Ba, ICLR 2015)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from service.rules.deal import OVER
from service.rules.view import SeatView
from workers.search._compile import search_kernel
from workers.search.determinize import determinize, unknown_counts, unseen_array
from workers.search.moves import MAX_MOVES, apply_move, list_moves
from workers.search.playout import mixed_player, play_out, play_turn, play_turns
from workers.search.rng import below, new_rng
from workers.search.value_net import (
    FEATURE_COUNT,
    MARGIN_OF_PARTS,
    PART_COUNT,
    PART_UNITS,
    WEIGHTS_FILE,
    load_net,
    net_value,
    write_features,
)
from workers.search.world import (
    add_parts,
    copy_world,
    deal_world,
    margin_of,
    new_worlds,
    template_of_view,
)
from workers.self_play import SelfPlay

LATEST_TURN = 44
"""Few deals last longer."""
TEST_SHARE = 0.1
BATCH = 1_024
SCALE_ROWS = 200_000
"""Enough to know an input's mean and spread; all would take as much room again."""
LEARNING_RATE = 2e-3
SMALLEST_SPREAD = 0.02
"""Inputs that hardly ever change count as if they changed by so much: standardized, a rare one
would be huge."""
REFINING_RATE = 5e-4
"""Of the second stage, which shall not forget the first."""
REFINING_EPOCHS = 4
REFINING_ROUNDS = 2
"""Times that the returns are reckoned anew with the net as it is then."""
TEACHER_ITERATIONS = 400
"""Of the search that plays the deals of the second stage: quick, and strong already."""
STRAYS = 20
"""Of 1,000 of its moves so many are random, so that there is something to learn from positions it
would avoid."""
DEALS_A_BATCH = 100
TRACE = 0.9
"""Lambda: how much of the weight of a turn the next turn has."""
MOMENT_DECAYS = 0.9, 0.999
_MARGIN_UNITS = (MARGIN_OF_PARTS * PART_UNITS / PART_UNITS[0]).astype(np.float32)
"""The margin, in hundreds of points, is the sum of the net's outputs, each times this."""


@search_kernel
def shuffle_stock(world, rng):  # type: ignore[no-untyped-def]
    """Put the cards of the stock in another order."""
    for place in range(world.stock_count - 1, 0, -1):
        other = below(rng, place + 1)
        world.stock[place], world.stock[other] = world.stock[other], world.stock[place]


@search_kernel
def make_states(playouts, deck, worlds, player, rng, inputs, parts, variances):  # type: ignore[no-untyped-def]
    """Fill a row for each state: its inputs (count, FEATURE_COUNT), the mean of the parts that
    `playouts` playouts bring from there (count, PART_COUNT), and the variance of their margins.

    `worlds` has room for two.
    """
    start, world = worlds[0], worlds[1]
    row = 0
    dealer = 0
    while row < len(parts):
        dealer = (dealer + 1) & 3
        deal_world(start, deck, dealer, rng)
        for _ in range(below(rng, LATEST_TURN)):
            if start.phase != OVER:
                play_turn(start, player, rng)
        if start.phase == OVER:
            continue
        write_features(start, inputs[row])
        team = start.turn & 1
        parts[row] = 0.0
        total = squares = 0.0
        for _ in range(playouts):
            copy_world(start, world)
            shuffle_stock(world, rng)
            play_out(world, player, rng)
            add_parts(world, team, start.laid[0], start.laid[1], parts[row])
            total += margin_of(world)
            squares += margin_of(world) ** 2
        for part in range(len(parts[row])):
            parts[row, part] /= playouts
        variances[row] = (squares - total * total / playouts) / (playouts - 1)
        row += 1


@dataclass(frozen=True, slots=True)
class States:
    """Data to fit: see `make_states`."""

    inputs: np.ndarray
    parts: np.ndarray
    variances: np.ndarray
    playouts: int


def new_states(count: int, playouts: int, seed: str) -> States:
    """Return `count` states, each played to its end `playouts` times (two at least)."""
    states = States(
        np.zeros((count, FEATURE_COUNT), np.float32),
        np.zeros((count, PART_COUNT), np.float32),
        np.zeros(count),
        playouts,
    )
    make_states(
        playouts,
        np.arange(56),
        new_worlds(2),
        mixed_player(),
        new_rng("value", seed),
        states.inputs,
        states.parts,
        states.variances,
    )
    return states


@dataclass(frozen=True, slots=True)
class Turns:
    """Starts of turns of whole deals, in their order."""

    inputs: np.ndarray
    """Shape (turns, FEATURE_COUNT)."""
    parts: np.ndarray
    """What the rest of the deal brought, for the team to move: shape (turns, PART_COUNT)."""
    is_last: np.ndarray
    """Whether no later turn of its deal follows: shape (turns,), bool."""

    def __len__(self) -> int:
        return len(self.is_last)

    def part(self, rows: slice) -> "Turns":
        """Return some of the turns."""
        return Turns(self.inputs[rows], self.parts[rows], self.is_last[rows])


def join_turns(batches: Sequence[Turns]) -> Turns:
    """Return the turns of all batches together."""
    return Turns(
        np.concatenate([batch.inputs for batch in batches]),
        np.concatenate([batch.parts for batch in batches]),
        np.concatenate([batch.is_last for batch in batches]),
    )


def turns_of_deals(number: int, seed: str) -> Turns:
    """Let the search play batch `number` of DEALS_A_BATCH deals; return their starts of turns."""
    self_play = SelfPlay(TEACHER_ITERATIONS, STRAYS, f"{seed}-{number}")
    return join_turns([_turns_of_deal(self_play, dealer % 4) for dealer in range(DEALS_A_BATCH)])


def _turns_of_deal(self_play: SelfPlay, dealer: int) -> Turns:
    starts, end = self_play.play(dealer)
    turns = Turns(
        np.zeros((len(starts), FEATURE_COUNT), np.float32),
        np.zeros((len(starts), PART_COUNT), np.float32),
        np.arange(len(starts)) == len(starts) - 1,
    )
    for start, inputs, parts in zip(starts, turns.inputs, turns.parts, strict=True):
        write_features(start, inputs)
        add_parts(end, start.turn & 1, start.laid[0], start.laid[1], parts)
    return turns


@search_kernel
def smooth_returns(parts, is_last, expected, trace, returns):  # type: ignore[no-untyped-def]
    """Write TD(lambda) returns: `parts` moved towards what is `expected` of the later turns.

    All but `is_last` have shape (turns, PART_COUNT); the even and odd parts are the two teams',
    which change places from turn to turn.
    """
    for turn in range(len(parts) - 1, -1, -1):
        for part in range(len(parts[turn])):
            returns[turn, part] = parts[turn, part]
            if not is_last[turn]:
                after, theirs = turn + 1, part ^ 1
                returns[turn, part] += (1 - trace) * (
                    expected[after, theirs] - parts[after, theirs]
                )
                returns[turn, part] += trace * (returns[after, theirs] - parts[after, theirs])


Weights = dict[str, np.ndarray]
"""w1 (FEATURE_COUNT, hidden), b1 (hidden,), w2 (hidden, PART_COUNT), b2 (PART_COUNT,); float32."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A net and how well it does on states not used for it."""

    weights: Weights
    explained: float
    """Part of the variance of the states' true margins that the net explains."""
    error: float
    """Its standard error for one state, points, the noise of the targets taken away."""
    spread: float
    """Standard deviation of the true margins, points."""


def predict_parts(weights: Weights, inputs: np.ndarray) -> np.ndarray:
    """Return the parts of the rest, for the team to move; shape (count, PART_COUNT)."""
    hidden = np.maximum(inputs.astype(np.float32, copy=False) @ weights["w1"] + weights["b1"], 0)
    parts: np.ndarray = PART_UNITS * (hidden @ weights["w2"] + weights["b2"])
    return parts


def predict(weights: Weights, inputs: np.ndarray) -> np.ndarray:
    """Return the margins of the rest, for the team to move, points; shape (count,)."""
    margins: np.ndarray = predict_parts(weights, inputs) @ MARGIN_OF_PARTS
    return margins


Scale = tuple[np.ndarray, np.ndarray]
"""Mean and standard deviation of each input, (FEATURE_COUNT,)."""


def _scale_of(inputs: np.ndarray) -> Scale:
    """Return what standardizes the inputs, by the first of them."""
    first = inputs[:SCALE_ROWS].astype(np.float64)
    return first.mean(0), np.maximum(first.std(0), SMALLEST_SPREAD)


def fit_net(states: States, hidden: int, epochs: int, seed: int) -> Iterator[tuple[int, Fit]]:
    """Fit a net; yield the epoch, from 1, with the net as it is then."""
    train = int(len(states.parts) * (1 - TEST_SHARE))
    scale = _scale_of(states.inputs[:train])
    parameters = _first_parameters(np.random.default_rng(seed), FEATURE_COUNT, hidden)
    fitting = _fitting(
        parameters, states.inputs[:train], states.parts[:train], scale, epochs, LEARNING_RATE
    )
    for epoch, weights in fitting:
        yield epoch, _judged(weights, states, train)


def refine_net(weights: Weights, turns: Turns) -> Iterator[tuple[int, Weights, float, float]]:
    """Go on fitting a net with turns of whole deals; yield the epoch, from 1, the net as it is
    then, and the mean squared errors of the margin on the last deals, which are not learnt from,
    before all and now, points squared.
    """
    last_turns = np.flatnonzero(turns.is_last)
    train = int(last_turns[int(len(last_turns) * (1 - TEST_SHARE)) - 1]) + 1
    learnt, test = turns.part(slice(train)), turns.part(slice(train, None))
    scale = _scale_of(learnt.inputs)
    before = _squared_error(weights, test.inputs, test.parts)
    for done in range(REFINING_ROUNDS):
        returns = np.zeros_like(learnt.parts)
        smooth_returns(
            learnt.parts, learnt.is_last, predict_parts(weights, learnt.inputs), TRACE, returns
        )
        fitting = _fitting(
            _unfolded(weights, *scale),
            learnt.inputs,
            returns,
            scale,
            REFINING_EPOCHS,
            REFINING_RATE,
        )
        for epoch, refined in fitting:
            weights = refined
            now = _squared_error(weights, test.inputs, test.parts)
            yield done * REFINING_EPOCHS + epoch, weights, before, now


def _squared_error(weights: Weights, inputs: np.ndarray, parts: np.ndarray) -> float:
    return float(np.mean((predict(weights, inputs) - parts @ MARGIN_OF_PARTS) ** 2))


def _fitting(
    parameters: list[np.ndarray],
    inputs: np.ndarray,
    parts: np.ndarray,
    scale: Scale,
    epochs: int,
    first_rate: float,
) -> Iterator[tuple[int, Weights]]:
    """Fit `parameters`, for standardized inputs, in place; yield the epoch, from 1, with the
    weights as they are then.
    """
    mean, spread = (values.astype(np.float32) for values in scale)
    units = (parts / PART_UNITS).astype(np.float32)
    rng = np.random.default_rng(len(units))
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
    batches = max(len(units) // BATCH, 1)
    step = 0
    for epoch in range(epochs):
        for rows in np.array_split(rng.permutation(len(units)), batches):
            rate = first_rate * 0.5 * (1 + np.cos(np.pi * step / (epochs * batches)))
            step += 1
            standard = (inputs[rows] - mean) / spread
            gradients = _gradients(parameters, standard, units[rows])
            _adam_step(parameters, gradients, moments, rate, step)
        yield epoch + 1, _folded(parameters, mean, spread)


def _first_parameters(rng: np.random.Generator, inputs: int, hidden: int) -> list[np.ndarray]:
    w1 = rng.normal(0, inputs**-0.5, (inputs, hidden))
    w2 = rng.normal(0, hidden**-0.5, (hidden, PART_COUNT))
    return [p.astype(np.float32) for p in (w1, np.zeros(hidden), w2, np.zeros(PART_COUNT))]


def _gradients(
    parameters: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray
) -> list[np.ndarray]:
    """Return the gradients of the mean squared errors of the parts and of the margin, added up, by
    back-propagation.
    """
    w1, b1, w2, b2 = parameters
    before = inputs @ w1 + b1
    after = np.maximum(before, 0)
    missed = after @ w2 + b2 - targets
    slope = (missed + np.outer(missed @ _MARGIN_UNITS, _MARGIN_UNITS)) * (2 / len(targets))
    back = (slope @ w2.T) * (before > 0)
    return [inputs.T @ back, back.sum(0), after.T @ slope, slope.sum(0)]


def _adam_step(
    parameters: list[np.ndarray],
    gradients: list[np.ndarray],
    moments: list[tuple[np.ndarray, np.ndarray]],
    rate: float,
    step: int,
) -> None:
    """Move `parameters` in place; `step` counts from 1."""
    first, second = MOMENT_DECAYS
    for parameter, gradient, (mean, square) in zip(parameters, gradients, moments, strict=True):
        mean += (1 - first) * (gradient - mean)
        square += (1 - second) * (gradient * gradient - square)
        scale = np.sqrt(square / (1 - second**step)) + 1e-8
        parameter -= (rate / (1 - first**step) * mean / scale).astype(np.float32)


def _folded(parameters: list[np.ndarray], mean: np.ndarray, spread: np.ndarray) -> Weights:
    """Return the weights for inputs as they come, not standardized."""
    w1, b1, w2, b2 = parameters
    raw = w1 / spread[:, None]
    folded = {"w1": raw, "b1": b1 - mean @ raw, "w2": w2, "b2": b2}
    return {name: values.astype(np.float32) for name, values in folded.items()}


def _unfolded(weights: Weights, mean: np.ndarray, spread: np.ndarray) -> list[np.ndarray]:
    """Return the parameters for standardized inputs: the inverse of `_folded`."""
    w1, b1 = weights["w1"] * spread[:, None], weights["b1"] + mean @ weights["w1"]
    return [p.astype(np.float32) for p in (w1, b1, weights["w2"], weights["b2"])]


def _judged(weights: Weights, states: States, train: int) -> Fit:
    margins = states.parts[train:] @ MARGIN_OF_PARTS
    missed = _squared_error(weights, states.inputs[train:], states.parts[train:])
    noise = float(states.variances[train:].mean()) / states.playouts
    true_variance = float(margins.var()) - noise
    error = max(missed - noise, 0.0)
    return Fit(weights, 1 - error / true_variance, error**0.5, true_variance**0.5)


def save_net(weights: Weights, path: Path = WEIGHTS_FILE) -> None:
    """Write the weights where the search reads them."""
    with path.open("wb") as file:
        np.savez(file, **weights)  # type: ignore[arg-type]


@search_kernel
def sample_horizons(  # type: ignore[no-untyped-def]
    template, unseen, counts, codes, horizons, samples, worlds, player, net, rng, sums
):
    """Add to `sums` (moves, horizons, 2) what each move brings and its square, by how many turns
    are played before the net is asked, each on the same `samples` worlds.
    """
    start, world = worlds[0], worlds[1]
    for _ in range(samples):
        determinize(template[0], unseen, counts, start, rng)
        for row in range(len(codes)):
            for column in range(len(horizons)):
                copy_world(start, world)
                apply_move(world, codes[row])
                play_turns(world, horizons[column], player, rng)
                value = net_value(world, net) if world.phase != OVER else float(margin_of(world))
                sums[row, column, 0] += value
                sums[row, column, 1] += value * value


TO_THE_END = 400
"""More turns than a deal has."""
COMPARED = 5
"""Moves of a decision that are compared: the best."""


def horizon_errors(
    view: SeatView, horizons: Sequence[int], samples: int, seed: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return, by horizon, the mean squared error in how the best moves of a decision differ,
    against playouts to the end and with the samples' own noise taken away, and the variance of one
    sample; points squared. The last of `horizons` is `TO_THE_END`.
    """
    template = template_of_view(view)
    room = np.zeros(MAX_MOVES, np.int64)
    codes = room[: list_moves(template[0], room)]
    sums = np.zeros((len(codes), len(horizons), 2))
    sample_horizons(
        template,
        unseen_array(view),
        unknown_counts(view),
        codes,
        np.array(horizons),
        samples,
        new_worlds(2),
        mixed_player(),
        load_net(),
        new_rng("horizons", seed),
        sums,
    )
    means = sums[:, :, 0] / samples
    variances = sums[:, :, 1] / samples - means**2
    sign = 1 if view.turn % 2 == 0 else -1
    best = np.argsort(-sign * means[:, -1])[:COMPARED]
    gaps = means[best] - means[best][:, -1:]
    noise = (variances[best] + variances[best][:, -1:]) / samples * (1 - 1 / len(best))
    errors = (gaps - gaps.mean(0)) ** 2 - noise
    errors[:, -1] = 0
    return errors.mean(0), variances[best].mean(0)
