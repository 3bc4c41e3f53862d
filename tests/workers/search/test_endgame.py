"""The end of a deal, against plain minimax over the rules' own list of legal actions."""

from collections.abc import Iterator

import pytest

from service.rules.deal import OVER, Action, Deal, deal_cards, play
from service.rules.legal import legal_actions
from service.rules.shuffle import shuffled_deck
from service.rules.view import view_deal
from tests.workers.search.positions import permuted
from workers.bots.players import RuleOfThumbBot
from workers.search.endgame import MOST_WORLDS, count_worlds, possible_hands, solve_endgame
from workers.search.moves import action_of_move

WANTED = 200
MOST_STEPS = 250


class TooLarge(Exception):
    """The brute force would take too long here."""


def brute_force(deal: Deal, steps: list[int]) -> int:
    """Return team 0's margin under best play, every legal action tried at every step."""
    if deal.phase == OVER:
        team_0, team_1 = deal.score.total
        return team_0 - team_1
    values = []
    for action in legal_actions(deal):
        steps[0] += 1
        if steps[0] > MOST_STEPS:
            raise TooLarge
        twin = deal.copy()
        play(twin, twin.turn, action)
        values.append(brute_force(twin, steps))
    return max(values) if deal.turn % 2 == 0 else min(values)


def endgames() -> Iterator[Deal]:
    """Yield positions with the stock empty, one world and a choice, from quick deals."""
    bot = RuleOfThumbBot()
    for number in range(5000):
        deal = deal_cards(shuffled_deck(f"endgame-{number}", "deal-1"), number % 4)
        while deal.phase != OVER:
            view = view_deal(deal, deal.turn)
            if deal.stock_count == 0 and len(legal_actions(deal)) > 1 and count_worlds(view) == 1:
                yield deal.copy()
            play(deal, deal.turn, bot.decide(view, f"{number}").action)


def values_by_action(deal: Deal) -> dict[Action, int]:
    """Return the value of every legal action for the mover's team."""
    sign = 1 if deal.turn % 2 == 0 else -1
    values = {}
    for action in legal_actions(deal):
        twin = deal.copy()
        play(twin, twin.turn, action)
        values[action] = sign * brute_force(twin, [0])
    return values


@pytest.mark.slow
def test_solved_moves_have_the_value_of_brute_force():
    """Two hundred positions whose worlds can be enumerated; no move's value is off at all."""
    compared = moves = 0
    for deal in endgames():
        try:
            values = values_by_action(deal)
        except TooLarge:
            continue
        view = view_deal(deal, deal.turn)
        solution = solve_endgame(view)
        assert solution is not None, "what brute force can do, the solver can"
        for code, value in solution.values.items():
            assert value == pytest.approx(values[action_of_move(code, view)], abs=0.01)
        assert max(solution.values.values()) == pytest.approx(max(values.values()), abs=0.01)
        moves += len(solution.values)
        compared += 1
        if compared == WANTED:
            break

    assert compared == WANTED
    print(f"{compared} positions, {moves} moves compared")


def few_worlds() -> Iterator[Deal]:
    bot = RuleOfThumbBot()
    for number in range(2000):
        deal = deal_cards(shuffled_deck(f"worlds-{number}", "deal-1"), number % 4)
        while deal.phase != OVER:
            view = view_deal(deal, deal.turn)
            if deal.stock_count == 0 and 1 < count_worlds(view) <= MOST_WORLDS:
                yield deal.copy()
            play(deal, deal.turn, bot.decide(view, f"{number}").action)


def test_all_possible_worlds_are_counted_once_and_the_real_one_is_among_them():
    for deal, _ in zip(few_worlds(), range(30), strict=False):
        view = view_deal(deal, deal.turn)

        hands = list(possible_hands(view))

        assert len(hands) == len(set(hands)) == count_worlds(view)
        assert tuple(deal.hands) in hands


def test_the_solution_does_not_know_who_holds_what():
    for number, (deal, _) in enumerate(zip(few_worlds(), range(30), strict=False)):
        twin = permuted(deal, deal.turn, number)

        assert solve_endgame(view_deal(deal, deal.turn)) == solve_endgame(
            view_deal(twin, twin.turn)
        )


def test_with_cards_in_the_stock_nothing_is_solved():
    deal = deal_cards(shuffled_deck("stock", "deal-1"), 0)

    assert solve_endgame(view_deal(deal, deal.turn)) is None
