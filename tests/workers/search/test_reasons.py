"""Each fact that a reason states holds of the very samples: they are played again one by one and
looked at from outside, by what lies where after each step.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from service.rules.deal import DRAW, OVER
from service.rules.notation import action_to_json
from service.rules.score import points
from service.rules.view import view_deal, view_to_json
from tests.workers.search.positions import positions
from workers.search import evaluate
from workers.search.determinize import determinize
from workers.search.evaluate import child_by_code, follow_tree
from workers.search.moves import DISCARD, LAY_ON_SET, action_of_move, apply_move
from workers.search.playout import play_turn
from workers.search.reasons import reason_for
from workers.search.rng import new_rng
from workers.search.search import ENGINE, Search
from workers.search.values import LARGEST_MARGIN, win_chances
from workers.search.world import copy_world, margin_of, new_worlds

ITERATIONS, SAMPLES, SHOWN = 1_500, 40, 3


@dataclass(frozen=True)
class Snapshot:
    """What lies where after a step."""

    turn: int
    phase: int
    pile: tuple[int, ...]
    hands: tuple[int, ...]
    laid: int


def snapshot(world) -> Snapshot:
    pile = tuple(int(card) for card in world.pile[: world.pile_count])
    hands = tuple(int(hand) for hand in world.hands)
    return Snapshot(int(world.turn), int(world.phase), pile, hands, int(sum(world.laid)))


def play_on(search: Search, code: int, world, rng) -> Iterator[Snapshot]:
    """Play one sample to its end as `search.sample` does; yield what is seen after each step."""
    arrays = search._arrays
    yield snapshot(world)
    apply_move(world, code)
    node = child_by_code(arrays["nodes"], 0, code)
    yield snapshot(world)
    while world.phase != OVER:
        node = follow_tree(arrays["nodes"], node, world, search._scratch)
        if node == 0:
            play_turn(world, arrays["weights"], rng)
        yield snapshot(world)


def next_player_takes(seat: int, thrown: int, seen: list[Snapshot]) -> bool:
    """Tell whether a card that was thrown is gone from the pile after the next player's turn."""
    follower = (seat + 1) % 4
    during = [place for place, step in enumerate(seen) if step.turn == follower]
    if not during or thrown not in seen[during[0]].pile:
        return False
    after = next(
        (place for place in range(during[0], len(seen)) if seen[place].turn != follower),
        len(seen) - 1,
    )
    return thrown not in seen[after].pile


def who_goes_out(before: Snapshot, after: Snapshot) -> int | None:
    """Return the seat that ends the deal by laying its last card; a hand may also be empty because
    the last card was thrown, and then the deal goes on.
    """
    is_out = after.phase == OVER and after.laid > before.laid and not after.hands[before.turn]
    return before.turn if is_out else None


def comes_round(seat: int, seen: list[Snapshot]) -> bool:
    """Tell whether the seat has another turn."""
    left = False
    for step in seen:
        left = left or step.turn != seat
        if left and step.turn == seat and step.phase == DRAW:
            return True
    return False


def facts_of(search: Search, codes: list[int]) -> np.ndarray:
    """Return the sums of `search.sample(codes, SAMPLES)` as seen from outside."""
    view, arrays = search.view, search._arrays
    seat, team = view.turn, view.turn % 2
    wins = win_chances(view)
    rng = new_rng(search.seed, view_to_json(view), ENGINE, "fresh", search.iterations)
    unseen = np.sort(arrays["unseen"])
    start, world = new_worlds(2)
    found = np.zeros((len(codes), evaluate.COLUMN_COUNT))
    for _ in range(SAMPLES):
        determinize(arrays["template"][0], unseen, arrays["counts"], start, rng)
        margins = []
        for row, code in zip(found, codes, strict=True):
            copy_world(start, world)
            seen = list(play_on(search, code, world, rng))
            margins.append(int(margin_of(world)) * (1 - 2 * team))
            hands = [points(int(hand)) for hand in world.hands]
            row[evaluate.MARGIN] += margins[-1]
            row[evaluate.MARGIN_SQUARED] += margins[-1] ** 2
            row[evaluate.BEHIND] += (margins[-1] - margins[0]) ** 2
            row[evaluate.WIN] += wins[margins[-1] + LARGEST_MARGIN]
            row[evaluate.HAND] += hands[team] + hands[team + 2]
            row[evaluate.HAND_THEIRS] += hands[1 - team] + hands[3 - team]
            row[evaluate.LAID] += int(world.laid[team]) - view.laid[team]
            row[evaluate.LAID_THEIRS] += int(world.laid[1 - team]) - view.laid[1 - team]
            out = who_goes_out(*seen[-2:])
            if out is not None:
                row[evaluate.OUT if out % 2 == team else evaluate.OUT_THEIRS] += 1
            row[evaluate.SHORT] += not comes_round(seat, seen)
            if DISCARD <= code < LAY_ON_SET:
                row[evaluate.TAKEN] += next_player_takes(seat, code - DISCARD, seen)
    return found


def test_what_is_counted_is_what_happens_in_the_samples() -> None:
    """Every column, for the leading moves in every phase of the game."""
    for deal in positions(12, first_seed=300):
        search = Search(view_deal(deal, deal.turn), "reasons", ITERATIONS)
        search.run(ITERATIONS)
        codes = [move.code for move in search.ranking()[:SHOWN]]

        counted = np.array([sample.sums for sample in search.sample(codes, SAMPLES)])

        assert facts_of(search, codes) == pytest.approx(counted)


def test_a_reason_states_what_was_counted() -> None:
    """And what the action itself puts on the table."""
    stated = set()
    for deal in positions(24, first_seed=400):
        view = view_deal(deal, deal.turn)
        search = Search(view, "reasons", ITERATIONS)
        search.run(ITERATIONS)
        for sample in search.sample([move.code for move in search.ranking()[:SHOWN]], SAMPLES):
            action = action_of_move(sample.code, view)
            reason = reason_for(view, sample)
            values = reason["values"]
            stated.add(reason["code"])

            assert action_to_json(action)["type"] == reason["code"]
            is_tabling = reason["code"] in ("meld", "lay_off")
            assert (points(action.cards) if is_tabling else 0) == values["lays"]
            for name, column in (
                ("goes_out", evaluate.OUT),
                ("they_go_out", evaluate.OUT_THEIRS),
                ("ends_within_round", evaluate.SHORT),
                ("next_takes_it", evaluate.TAKEN),
                ("left_in_hand", evaluate.HAND),
            ):
                assert values[name] == pytest.approx(sample.sums[column] / SAMPLES, abs=0.051)
    assert {"draw_stock", "take_discards", "meld", "discard"} <= stated


@pytest.mark.parametrize(
    ("scores", "needs"), [((40, 90), 51), ((90, 40), -49), ((40, 40), 1)], ids=str
)
def test_in_the_last_deal_a_reason_states_what_the_team_needs(scores, needs) -> None:
    """The least margin that wins, and how often the samples have it."""
    deal = next(deal for deal in positions(40, first_seed=500) if deal.turn % 2 == 0)
    search = Search(view_deal(deal, deal.turn, 2, 2, scores), "needs", ITERATIONS)
    search.run(ITERATIONS)
    (sample,) = search.sample([search.ranking()[0].code], SAMPLES)

    values = reason_for(search.view, sample)["values"]

    assert needs == values["needs"]
    margins = np.arange(-LARGEST_MARGIN, LARGEST_MARGIN + 1)
    assert ((margins >= needs) == (win_chances(search.view) == 1)).all()
    assert values["wins"] == pytest.approx(sample.mean(evaluate.WIN), abs=0.006)
    first_deal = reason_for(view_deal(deal, deal.turn, 1, 2, (0, 0)), sample)["values"]
    assert "needs" not in first_deal
