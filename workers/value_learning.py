"""Learning what the rest of a deal is worth: the data, the fits and the figures that say how good
they are (`workers/search/value_net.py` uses the result).

Two stages, since playouts are cheap and good play is not. First, states from deals played by the
rules of thumb to a turn chosen by chance, and from there several times to the end; the average of
the ends is the target. That has little noise, but tells what a hand is worth to players who play by
rules of thumb. Then the fit goes on with deals that a search has played with itself, one end each:
few and noisy, but what strong players make of a hand. High loose cards, for one, are worth more to
them, and many low ones less.

The fit is plain: squared error, one hidden layer, Adam (Kingma and Ba, ICLR 2015)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from service.rules.deal import DRAW, OVER
from service.rules.view import SeatView
from workers.bots.base import Decision
from workers.bots.players import RandomBot, SearchBot
from workers.learning import deal_world
from workers.quality import self_play
from workers.search._compile import search_kernel
from workers.search.determinize import determinize, unknown_counts, unseen_array
from workers.search.moves import MAX_MOVES, apply_move, list_moves
from workers.search.playout import DEFAULT_WEIGHTS, play_out, play_turn, play_turns
from workers.search.rng import below, new_rng
from workers.search.value_net import (
    FEATURE_COUNT,
    POINTS_A_UNIT,
    WEIGHTS_FILE,
    load_net,
    net_value,
    write_features,
)
from workers.search.world import (
    copy_world,
    margin_of,
    new_worlds,
    template_of_view,
    world_of_deal,
)

LATEST_TURN = 36
"""Deals seldom last longer."""
TEST_SHARE = 0.1
BATCH = 512
LEARNING_RATE = 2e-3
REFINING_RATE = 3e-4
"""Of the second stage, which shall not forget the first."""
REFINING_EPOCHS = 8
TEACHER = SearchBot(400)
"""Who plays the deals of the second stage: quick, and 50 points a deal above the rules of thumb."""
STRAY_SHARE = 0.02
"""Of its moves are random, so that there is something to learn from positions it would avoid."""
MOMENT_DECAYS = 0.9, 0.999


@search_kernel
def make_states(playouts, deck, worlds, weights, rng, inputs, targets, variances):  # type: ignore[no-untyped-def]
    """Fill a row for each state: its inputs (count, FEATURE_COUNT), the mean of what `playouts`
    playouts bring from there, for the team to move, in points, and their variance.

    `worlds` has room for two.
    """
    start, world = worlds[0], worlds[1]
    row = 0
    dealer = 0
    while row < len(targets):
        dealer = (dealer + 1) & 3
        deal_world(start, deck, dealer, rng)
        for _ in range(below(rng, LATEST_TURN)):
            if start.phase != OVER:
                play_turn(start, weights, rng)
        if start.phase == OVER:
            continue
        write_features(start, inputs[row])
        sign = 1 if start.turn & 1 == 0 else -1
        now = sign * (start.laid[0] - start.laid[1])
        total = squares = 0.0
        for _ in range(playouts):
            copy_world(start, world)
            play_out(world, weights, rng)
            gain = sign * margin_of(world) - now
            total += gain
            squares += gain * gain
        targets[row] = total / playouts
        variances[row] = (squares - total * total / playouts) / (playouts - 1)
        row += 1


@dataclass(frozen=True, slots=True)
class States:
    """Data to fit: see `make_states`."""

    inputs: np.ndarray
    targets: np.ndarray
    variances: np.ndarray
    playouts: int


def new_states(count: int, playouts: int, seed: str) -> States:
    """Return `count` states, each played to its end `playouts` times (two at least)."""
    states = States(np.zeros((count, FEATURE_COUNT)), np.zeros(count), np.zeros(count), playouts)
    make_states(
        playouts,
        np.arange(56),
        new_worlds(2),
        DEFAULT_WEIGHTS,
        new_rng("value", seed),
        states.inputs,
        states.targets,
        states.variances,
    )
    return states


def states_of_deal(number: int, seed: str) -> tuple[np.ndarray, np.ndarray]:
    """Let the teacher play deal `number`; return its starts of turns: inputs (turns, FEATURE_COUNT)
    and what the rest of the deal brought the team to move, points, (turns,).
    """
    stray = new_rng("stray", seed, number)
    rows: list[np.ndarray] = []
    signs: list[int] = []
    laid: list[int] = []

    def decide(view: SeatView, seed: str) -> Decision:
        is_stray = below(stray, 1_000) < 1_000 * STRAY_SHARE
        return (RandomBot() if is_stray else TEACHER).decide(view, seed)

    for deal, _view in self_play(f"{seed}-{number}", number % 4, decide):
        if deal.phase == DRAW:
            rows.append(np.zeros(FEATURE_COUNT))
            write_features(world_of_deal(deal)[0], rows[-1])
            signs.append(1 if deal.turn % 2 == 0 else -1)
            laid.append(deal.laid[0] - deal.laid[1])
    margin = int(margin_of(world_of_deal(deal)[0]))
    return np.array(rows), np.array(signs) * (margin - np.array(laid))


@dataclass(frozen=True, slots=True)
class Fit:
    """A net and how well it does on states not used for it."""

    weights: dict[str, np.ndarray]
    """w1 (FEATURE_COUNT, hidden), b1 (hidden,), w2 (hidden,), b2 (1,); float32."""
    explained: float
    """Part of the variance of the states' true values that the net explains."""
    error: float
    """Its standard error for one state, points, the noise of the targets taken away."""
    spread: float
    """Standard deviation of the true values, points."""


def predict(weights: dict[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """Return the values of states for the team to move, points; shape (count,)."""
    hidden = np.maximum(inputs.astype(np.float32) @ weights["w1"] + weights["b1"], 0)
    values: np.ndarray = POINTS_A_UNIT * (hidden @ weights["w2"] + weights["b2"][0])
    return values


Scale = tuple[np.ndarray, np.ndarray]
"""Mean and standard deviation of each input, (FEATURE_COUNT,)."""


def _scale_of(inputs: np.ndarray) -> Scale:
    """Return what standardizes the inputs; those that never change are left as they are."""
    mean, spread = inputs.mean(0), inputs.std(0)
    fixed = spread == 0
    mean[fixed], spread[fixed] = 0, 1
    return mean, spread


def fit_net(states: States, hidden: int, epochs: int, seed: int) -> Iterator[tuple[int, Fit]]:
    """Fit a net; yield the epoch, from 1, with the net as it is then."""
    train = int(len(states.targets) * (1 - TEST_SHARE))
    scale = _scale_of(states.inputs[:train])
    parameters = _first_parameters(np.random.default_rng(seed), FEATURE_COUNT, hidden)
    fitting = _fitting(
        parameters, states.inputs[:train], states.targets[:train], scale, epochs, LEARNING_RATE
    )
    for epoch, weights in fitting:
        yield epoch, _judged(weights, states, train)


def refine_net(
    weights: dict[str, np.ndarray], inputs: np.ndarray, targets: np.ndarray, epochs: int
) -> Iterator[tuple[int, dict[str, np.ndarray], float, float]]:
    """Go on fitting a net with the states of whole deals, in the deals' order; yield the epoch,
    from 1, the net as it is then, and the mean squared errors on the last deals, which are not
    learnt from, before all and now, points squared.
    """
    train = int(len(targets) * (1 - TEST_SHARE))
    scale = _scale_of(inputs[:train])
    before = _squared_error(weights, inputs[train:], targets[train:])
    fitting = _fitting(
        _unfolded(weights, *scale), inputs[:train], targets[:train], scale, epochs, REFINING_RATE
    )
    for epoch, refined in fitting:
        yield epoch, refined, before, _squared_error(refined, inputs[train:], targets[train:])


def _squared_error(
    weights: dict[str, np.ndarray], inputs: np.ndarray, targets: np.ndarray
) -> float:
    return float(np.mean((predict(weights, inputs) - targets) ** 2))


def _fitting(
    parameters: list[np.ndarray],
    inputs: np.ndarray,
    targets: np.ndarray,
    scale: Scale,
    epochs: int,
    first_rate: float,
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Fit `parameters`, for standardized inputs, in place; yield the epoch, from 1, with the
    weights as they are then.
    """
    mean, spread = scale
    standard = ((inputs - mean) / spread).astype(np.float32)
    units = (targets / POINTS_A_UNIT).astype(np.float32)
    rng = np.random.default_rng(len(targets))
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
    step = 0
    for epoch in range(epochs):
        rate = first_rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        for rows in np.array_split(rng.permutation(len(units)), max(len(units) // BATCH, 1)):
            step += 1
            gradients = _gradients(parameters, standard[rows], units[rows])
            _adam_step(parameters, gradients, moments, rate, step)
        yield epoch + 1, _folded(parameters, mean, spread)


def _first_parameters(rng: np.random.Generator, inputs: int, hidden: int) -> list[np.ndarray]:
    w1 = rng.normal(0, inputs**-0.5, (inputs, hidden))
    w2 = rng.normal(0, hidden**-0.5, hidden)
    return [p.astype(np.float32) for p in (w1, np.zeros(hidden), w2, np.zeros(1))]


def _gradients(
    parameters: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray
) -> list[np.ndarray]:
    """Return the gradients of the mean squared error by back-propagation."""
    w1, b1, w2, b2 = parameters
    before = inputs @ w1 + b1
    after = np.maximum(before, 0)
    slope = 2 * (after @ w2 + b2[0] - targets) / len(targets)
    back = np.outer(slope, w2) * (before > 0)
    return [inputs.T @ back, back.sum(0), after.T @ slope, np.array([slope.sum()])]


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


def _folded(
    parameters: list[np.ndarray], mean: np.ndarray, spread: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the weights for inputs as they come, not standardized."""
    w1, b1, w2, b2 = parameters
    raw = w1 / spread[:, None]
    folded = {"w1": raw, "b1": b1 - mean @ raw, "w2": w2, "b2": b2}
    return {name: values.astype(np.float32) for name, values in folded.items()}


def _unfolded(
    weights: dict[str, np.ndarray], mean: np.ndarray, spread: np.ndarray
) -> list[np.ndarray]:
    """Return the parameters for standardized inputs: the inverse of `_folded`."""
    w1, b1 = weights["w1"] * spread[:, None], weights["b1"] + mean @ weights["w1"]
    return [p.astype(np.float32) for p in (w1, b1, weights["w2"], weights["b2"])]


def _judged(weights: dict[str, np.ndarray], states: States, train: int) -> Fit:
    targets = states.targets[train:]
    missed = _squared_error(weights, states.inputs[train:], targets)
    noise = float(states.variances[train:].mean()) / states.playouts
    true_variance = float(targets.var()) - noise
    error = max(missed - noise, 0.0)
    return Fit(weights, 1 - error / true_variance, error**0.5, true_variance**0.5)


def save_net(weights: dict[str, np.ndarray], path: Path = WEIGHTS_FILE) -> None:
    """Write the weights where the search reads them."""
    with path.open("wb") as file:
        np.savez(file, **weights)  # type: ignore[arg-type]


@search_kernel
def sample_horizons(  # type: ignore[no-untyped-def]
    template, unseen, counts, codes, horizons, samples, worlds, weights, net, rng, sums
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
                play_turns(world, horizons[column], weights, rng)
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
        DEFAULT_WEIGHTS,
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
