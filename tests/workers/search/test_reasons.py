"""Each fact that a reason states holds of the very samples: they are played again one by one and
looked at from outside, by what lies where after each step, and what the learnt value stands for is
added by hand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from service.rules.deal import DRAW, NO_CARD, OVER
from service.rules.notation import action_to_json
from service.rules.score import points
from service.rules.view import view_deal, view_to_json
from tests.workers.search.positions import positions
from workers.search import evaluate
from workers.search.determinize import determinize
from workers.search.evaluate import child_by_code, follow_tree
from workers.search.moves import DISCARD, DRAW_STOCK, LAY_ON_SET, action_of_move, apply_move
from workers.search.playout import LAST_STOCK, mixed_player, play_turn
from workers.search.reasons import reason_for
from workers.search.rng import new_rng
from workers.search.search import ENGINE, NET_SPREAD, MoveSamples, Search
from workers.search.value_net import load_net, net_parts, net_value
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
    """Play one sample as `search.sample` does; yield what is seen after each step.

    It ends with the deal, or at the start of a turn where there is stock, three turns of others
    have been and as many have begun beyond the tree as in the search."""
    arrays = search._arrays
    yield snapshot(world)
    apply_move(world, code)
    node = child_by_code(arrays["nodes"], 0, code)
    yield snapshot(world)
    begun = beyond = 0
    while world.phase != OVER:
        if world.phase == DRAW:
            has_stock = world.stock_count > LAST_STOCK
            if begun >= 3 and beyond >= search.settings.horizon and has_stock:
                return
            begun += 1
            beyond += node == 0
        is_own = world.turn == search.view.seat
        if is_own:
            node = follow_tree(arrays["nodes"], node, world, search._scratch)
        if not is_own or node == 0:
            play_turn(world, mixed_player(), rng)
        yield snapshot(world)


def outcome(search: Search, world, last: list[Snapshot]) -> np.ndarray:
    """Return points laid, points left in hand and times gone out, of the mover's team and the
    other, at the end of the deal or as the net expects them; shape (6,).
    """
    view = search.view
    team, other = view.turn % 2, 1 - view.turn % 2
    laid = np.array([world.laid[team] - view.laid[team], world.laid[other] - view.laid[other]])
    if world.phase == OVER:
        hands = [points(int(hand)) for hand in world.hands]
        out = who_goes_out(*last)
        outs = [out is not None and out % 2 == side for side in (team, other)]
        return np.array(
            [*laid, hands[team] + hands[team + 2], hands[other] + hands[other + 2], *outs]
        )
    parts = np.zeros(6)
    net_parts(world, load_net(), parts)
    own_first = parts if world.turn % 2 == team else parts[[1, 0, 3, 2, 5, 4]]
    own_first[:2] += laid
    return own_first


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


def exchange_top(world, card: int) -> None:
    """Let `card` and the stock's next one change places."""
    count = int(world.stock_count)
    stock = [int(other) for other in world.stock[:count]]
    top = stock[-1]
    swapped = {card: top, top: card}
    world.stock[:count] = [swapped.get(other, other) for other in stock]
    for seat in range(4):
        held = [other for other in range(56) if int(world.hands[seat]) >> other & 1]
        world.hands[seat] = sum(1 << swapped.get(other, other) for other in held)


def facts_of(search: Search, codes: list[int], tops: list[int] | None = None) -> np.ndarray:
    """Return the sums of `search.sample(codes, SAMPLES, tops)` as seen from outside."""
    view, arrays = search.view, search._arrays
    seat, team = view.turn, view.turn % 2
    rng = new_rng(search.seed, view_to_json(view), ENGINE, "fresh", search.iterations)
    unseen = np.sort(arrays["unseen"])
    start, world = new_worlds(2)
    found = np.zeros((len(codes), evaluate.COLUMN_COUNT))
    for _ in range(SAMPLES):
        determinize(arrays["template"][0], unseen, arrays["counts"], start, rng)
        margins = []
        for row, code, top in zip(found, codes, tops or [NO_CARD] * len(codes), strict=True):
            copy_world(start, world)
            if top != NO_CARD:
                exchange_top(world, top)
            seen = list(play_on(search, code, world, rng))
            parts = outcome(search, world, seen[-2:])
            is_over = world.phase == OVER
            ahead = margin_of(world) if is_over else net_value(world, load_net())
            margins.append(float(ahead) * (1 - 2 * team))
            wins = win_chances(view, 0.0 if is_over else NET_SPREAD)
            row[evaluate.MARGIN] += margins[-1]
            row[evaluate.MARGIN_SQUARED] += margins[-1] ** 2
            row[evaluate.BEHIND] += (margins[-1] - margins[0]) ** 2
            row[evaluate.WIN] += wins[round(margins[-1]) + LARGEST_MARGIN]
            row[evaluate.LAID : evaluate.OUT_THEIRS + 1] += parts
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


def test_a_draw_of_a_known_card_is_played_on_as_any_other() -> None:
    """Every column, beside the draw by chance, for a card that may be in a hand or in the stock."""
    draws = [deal for deal in positions(40, first_seed=300) if deal.phase == DRAW]
    draws = [deal for deal in draws if deal.stock_count > 0]
    for number, deal in enumerate(draws):
        search = Search(view_deal(deal, deal.turn), "draws", 1)
        unseen = sorted(int(card) for card in search._arrays["unseen"])
        codes, tops = [DRAW_STOCK] * 2, [NO_CARD, unseen[number % len(unseen)]]

        counted = np.array([sample.sums for sample in search.sample(codes, SAMPLES, tops)])

        assert facts_of(search, codes, tops) == pytest.approx(counted)
        assert counted[1, evaluate.BEHIND] > 0
    assert len(draws) > 5


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
            for name, column, most in (
                ("goes_out", evaluate.OUT, 1),
                ("they_go_out", evaluate.OUT_THEIRS, 1),
                ("ends_within_round", evaluate.SHORT, 1),
                ("next_takes_it", evaluate.TAKEN, 1),
                ("left_in_hand", evaluate.HAND, 500),
            ):
                mean = min(max(sample.sums[column] / SAMPLES, 0), most)
                assert values[name] == pytest.approx(mean, abs=0.051)
    assert {"draw_stock", "take_discards", "meld", "discard"} <= stated


def test_a_reason_states_no_chance_that_cannot_be() -> None:
    """Nor a hand of less than nothing, though what is learnt may say so."""
    view = view_deal(positions(1)[0], positions(1)[0].turn)
    sums = np.zeros(evaluate.COLUMN_COUNT)
    sums[[evaluate.OUT, evaluate.OUT_THEIRS, evaluate.HAND]] = -0.3, 10.4, -2
    values = reason_for(view, MoveSamples(DRAW_STOCK, 10, sums))["values"]

    assert (values["goes_out"], values["they_go_out"], values["left_in_hand"]) == (0, 1, 0)


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
