"""Partner draw, dealers, two deals, the winner (R1, R4, R7, R31, R32)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import chain, cycle, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.cards import CARD_NAMES, SUITS, parse_card
from service.rules.deal import OVER, deal_cards
from service.rules.match import (
    DEALS,
    DrawRound,
    Match,
    Seating,
    draw_lowest,
    draw_rank,
    play_in_match,
    seat_as_given,
    seat_by_draw,
    start_match,
)
from service.rules.notation import read_action
from service.rules.score import DealScore
from service.rules.shuffle import shuffled_deck
from service.rules.violations import IllegalAction, Violation
from tests.rules.positions import cards
from tests.strategies import MOST_STEPS, choose, seeds

LOW_TO_HIGH = "A23456789TJQKX"
"""The order of ranks in the partner draw (R4)."""


def drawing(text: str) -> Callable[[], int]:
    """Return a source of exactly these cards."""
    return iter(cards(text)).__next__


def names(rounds: list[DrawRound]) -> list[dict[int, str]]:
    """Return rounds of the draw with names for cards."""
    return [{player: CARD_NAMES[card] for player, card in drawn.items()} for drawn in rounds]


def place_in_draw(card: int) -> int:
    """Return how low a card is in the draw, from the text of R4."""
    return LOW_TO_HIGH.index(CARD_NAMES[card][0])


# The partner draw.


def test_for_the_draw_aces_are_low_and_jokers_high() -> None:
    """R4: for this draw only; suits have no order."""
    for suit in SUITS:
        ranks = [draw_rank(parse_card(rank + suit)) for rank in LOW_TO_HIGH[:-1]]
        assert ranks == list(range(13))
    assert {draw_rank(parse_card(f"X{number}")) for number in range(1, 5)} == {13}


@pytest.mark.parametrize(
    ("drawn", "lowest"),
    [
        ("7H 3C KD 2S", [3, 1]),
        ("AH 2C KD 3S", [0, 1]),
        ("X1 X2 KD QD", [3, 2]),
        ("X1 KD KC X2", None),
        ("KD X1 AS X2", [2, 0]),
    ],
)
def test_the_two_lowest_are_partners_and_the_lowest_deals(
    drawn: str, lowest: list[int] | None
) -> None:
    """R4: without a tie where it matters one round is enough."""
    rounds: list[DrawRound] = []
    more = "" if lowest else " 5C 6C"

    found = draw_lowest(range(4), 2, drawing(drawn + more), rounds)

    assert found == (lowest or [1, 2])
    assert len(rounds) == (1 if lowest else 2)


def test_a_tie_for_the_lowest_is_drawn_again_by_those_tied() -> None:
    """R4: players 1 and 3 are partners already, but which of them deals?"""
    rounds: list[DrawRound] = []

    found = draw_lowest(range(4), 2, drawing("9H 2C KD 2S QC JC"), rounds)

    assert found == [3, 1]
    assert names(rounds) == [{0: "9H", 1: "2C", 2: "KD", 3: "2S"}, {1: "QC", 3: "JC"}]


def test_a_tie_for_the_second_lowest_is_drawn_again_by_those_tied() -> None:
    """R4: player 2 deals; of 0 and 3 the one who draws lower is the partner."""
    rounds: list[DrawRound] = []

    found = draw_lowest(range(4), 2, drawing("9H TC AD 9S KC 5C"), rounds)

    assert found == [2, 3]
    assert names(rounds)[1:] == [{0: "KC", 3: "5C"}]


def test_a_tie_that_does_not_matter_stands() -> None:
    """R4: the two highest are partners whichever is higher."""
    rounds: list[DrawRound] = []

    found = draw_lowest(range(4), 2, drawing("2H KC AD KS"), rounds)

    assert found == [2, 0]
    assert len(rounds) == 1


def test_three_tied_for_the_lowest_draw_again_and_two_of_them_once_more() -> None:
    """R4: the tie is broken as often as it takes; the fourth player draws once."""
    rounds: list[DrawRound] = []

    found = draw_lowest(range(4), 2, drawing("5C 5D 5H KS AC 8D 8H 3S TS"), rounds)

    assert found == [0, 1]
    assert names(rounds)[1:] == [{0: "AC", 1: "8D", 2: "8H"}, {1: "3S", 2: "TS"}]


def test_four_tied_draw_again_and_again() -> None:
    """R4: four equal cards twice over, then two pairs."""
    rounds: list[DrawRound] = []
    drawn = "5C 5D 5H 5S X1 X2 X3 X4 3C 9C 3D 9D 7C 6C"

    found = draw_lowest(range(4), 2, drawing(drawn), rounds)

    assert found == [2, 0]
    assert names(rounds)[3:] == [{0: "7C", 2: "6C"}]


def test_for_the_dealer_alone_only_a_tie_for_the_lowest_matters() -> None:
    """R4: with seats as given, second place is nobody's concern."""
    rounds: list[DrawRound] = []
    assert draw_lowest(range(4), 1, drawing("9H 3C 9D 9S"), rounds) == [1]

    assert draw_lowest(range(4), 1, drawing("3H 3C 9D 9S KC QC"), rounds) == [1]
    assert names(rounds)[-1] == {0: "KC", 1: "QC"}


def check_draw(rounds: list[DrawRound], found: list[int]) -> None:
    """Check a draw against R4: by each player's cards in turn, the lowest first and alone."""
    drawn = {
        player: [place_in_draw(cards[player]) for cards in rounds if player in cards]
        for player in range(4)
    }
    order = sorted(range(4), key=drawn.__getitem__)
    assert order[: len(found)] == found
    for lower, higher in pairwise(order[: len(found) + 1]):
        assert drawn[lower] < drawn[higher]
    assert set(rounds[0]) == {0, 1, 2, 3}
    for number, again in enumerate(rounds[1:], start=1):
        so_far = {
            tuple(place_in_draw(cards[player]) for cards in rounds[:number] if player in cards)
            for player in again
        }
        assert len(again) > 1
        assert len(so_far) == 1


few_ranks = st.sampled_from(cards("AC AD 2C 2D KH KS X1 X2"))


@given(st.lists(few_ranks, max_size=40), st.sampled_from([1, 2]))
def test_any_ties_are_broken_by_drawing(drawn: list[int], places: int) -> None:
    """R4: cards of four ranks, so that ties abound; then thirteen different ones for ever."""
    rounds: list[DrawRound] = []
    source: Iterator[int] = chain(drawn, cycle(range(13)))

    found = draw_lowest(range(4), places, source.__next__, rounds)

    assert len(set(found)) == places
    check_draw(rounds, found)


@given(seeds(), seeds())
def test_partners_sit_opposite_and_the_lowest_deals(seed: str, client_seed: str) -> None:
    """R1, R4: the two lowest at 0 and 2, the lowest at 0; the others keep their order."""
    seating = seat_by_draw(seed, client_seed)

    lowest, left, second, right = seating.players
    assert seating.dealer == 0
    assert left < right
    assert sorted(seating.players) == [0, 1, 2, 3]
    check_draw(list(seating.rounds), [lowest, second])


@given(seeds(), seeds())
def test_with_fixed_seats_the_lowest_deals(seed: str, client_seed: str) -> None:
    """R4: nobody moves, the draw is for the dealer only."""
    seating = seat_as_given(seed, client_seed)

    assert seating.players == (0, 1, 2, 3)
    check_draw(list(seating.rounds), [seating.dealer])


def test_every_player_deals_first_equally_often() -> None:
    """R4: a tie is not decided by the place in the list; 4,000 fixed seeds."""
    for seat in (seat_as_given, seat_by_draw):
        dealers = [0, 0, 0, 0]
        for number in range(4000):
            seating: Seating = seat(f"fair-{number}")
            dealers[seating.players[seating.dealer]] += 1

        # Four standard deviations of a count with chance a quarter.
        assert all(abs(count - 1000) < 110 for count in dealers)


def test_the_draw_uses_other_cards_than_the_deals() -> None:
    """R4, R5: the cards drawn, which all see, tell nothing of the hands."""
    drawn = seat_by_draw("a seed").rounds[0]

    deck = shuffled_deck("a seed", "draw-1")
    assert list(drawn.values()) == deck[:4]
    assert deck[:4] != shuffled_deck("a seed", "deal-1")[:4]


# Two deals and the winner.


def play_out(match: Match, seed: int) -> None:
    """Play a match to its end."""
    rng = random.Random(seed)
    for _ in range(2 * MOST_STEPS):
        if match.is_over:
            return
        play_in_match(match, match.deal.turn, choose(rng, match.deal, {}))
    raise AssertionError("a match does not end")


@given(seeds(), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_a_game_is_two_deals_with_the_left_neighbour_dealing_the_second(
    seed: str, dealer: int, choices: int
) -> None:
    """R7, R31, R32: totals are sums, the higher wins, and nothing is played after the end."""
    match = start_match(seed, dealer, "client")
    dealers = []
    rng = random.Random(choices)

    while not match.is_over:
        dealers.append(match.deal.dealer)
        play_in_match(match, match.deal.turn, choose(rng, match.deal, {}))

    assert sorted(set(dealers), key=dealers.index) == [dealer, (dealer + 1) % 4]
    assert len(match.scores) == DEALS == match.number
    for team in (0, 1):
        assert match.totals[team] == sum(score.total[team] for score in match.scores)
    ours, theirs = match.totals
    assert match.winner == (None if ours == theirs else 0 if ours > theirs else 1)
    with pytest.raises(IllegalAction) as refused:
        play_in_match(match, match.deal.turn, read_action("S"))
    assert refused.value.violation == Violation.DEAL_OVER
    assert len(match.scores) == 2


def test_each_deal_has_a_pack_of_its_own() -> None:
    """R5, R7: from the seed and the number of the deal."""
    match = start_match("a seed", 2, "client")
    assert match.deal == deal_cards(shuffled_deck("a seed", "deal-1", "client"), 2)

    rng = random.Random(3)
    while match.number == 1:
        play_in_match(match, match.deal.turn, choose(rng, match.deal, {}))

    assert match.deal == deal_cards(shuffled_deck("a seed", "deal-2", "client"), 3)


def test_the_end_of_a_deal_returns_its_score_once() -> None:
    """R26 to R30: None while the deal goes on."""
    match = start_match("a seed", 0, deals=1)
    rng = random.Random(5)
    scores = []

    while not match.is_over:
        assert match.winner is None
        scores.append(play_in_match(match, match.deal.turn, choose(rng, match.deal, {})))

    assert scores[:-1] == [None] * (len(scores) - 1)
    assert scores[-1] == match.scores[0] == match.deal.score
    assert match.deal.phase == OVER


@pytest.mark.parametrize(
    ("totals", "winner"),
    [(((10, 0), (0, 9)), 0), (((10, 0), (0, 11)), 1), (((10, -5), (-15, 0)), None)],
)
def test_the_higher_total_wins_and_equal_totals_are_a_draw(
    totals: tuple[tuple[int, int], tuple[int, int]], winner: int | None
) -> None:
    """R32: also of negative totals."""
    match = start_match("a seed", 0)

    match.scores = [DealScore(laid, (0, 0), (0, 0), None) for laid in totals]

    assert match.is_over
    assert match.winner == winner


def test_nobody_has_won_before_the_last_deal() -> None:
    """R32: a lead after one deal is no victory."""
    match = start_match("a seed", 0)

    match.scores = [DealScore((100, 0), (25, 0), (0, -60), 0)]

    assert match.totals == (125, -60)
    assert (match.is_over, match.winner) == (False, None)


def test_a_refusal_leaves_the_match_as_it_was() -> None:
    """Always true: a refused action changes nothing."""
    match = start_match("a seed", 0)
    before = match.deal.copy()

    with pytest.raises(IllegalAction):
        play_in_match(match, match.deal.turn, read_action("P"))

    assert match.deal == before
    assert (match.number, match.scores) == (1, [])


def test_many_matches_end() -> None:
    """Always true: every deal ends, and so does every game."""
    for seed in range(30):
        match = start_match(f"match-{seed}", seed % 4)

        play_out(match, seed)

        assert match.is_over
