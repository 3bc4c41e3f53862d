"""Matches: the same cards at two tables, nothing told before both are over, the compared score."""

from __future__ import annotations

import random
from typing import Any

import pytest

from service.games.access import Caller, caller_of_token
from service.games.changing import load_game
from service.games.errors import (
    GameNotFinished,
    KeyReused,
    MatchNotFound,
    NotAllowed,
    NotAuthenticated,
)
from service.games.hosting import GameOrder, SeatOrder, abandon_game
from service.games.matches import create_match, read_match
from service.games.playing import list_legal_actions, play_action, read_game
from service.games.ports import RequestKey
from service.games.records import read_record
from service.games.reviews import ask_review
from service.rules.cards import names_of
from tests.games.tables import APP, OTHER_APP, Table, order

Json = dict[str, Any]
KEY = RequestKey("name", "print-1")
NAMES = ["Ana", "Bo", "Cy", "Di"]


def people(**more: Any) -> GameOrder:
    """Return an order of four people."""
    return GameOrder(tuple(SeatOrder("human", name) for name in NAMES), **more)


class Pair:
    """A house with one match in it."""

    def __init__(self, ordered: GameOrder | None = None, key: RequestKey | None = None) -> None:
        """Make the match."""
        self.table = Table()
        self.house = self.table.house
        self.made = create_match(self.house, APP, ordered or people(seed="match"), key).body
        self.id: str = self.made["match"]["id"]
        self.games: list[str] = [table["game_id"] for table in self.made["match"]["tables"]]

    def token(self, number: int, seat: int) -> Caller:
        """Return the holder of a seat at a table."""
        return caller_of_token(self.made["tables"][number]["seat_tokens"][str(seat)])

    def play_out(self, number: int, seed: int = 1) -> None:
        """Play a table to its end, at random."""
        rng, game_id = random.Random(seed), self.games[number]
        while load_game(self.house, game_id).status == "playing":
            turn = load_game(self.house, game_id).match.deal.turn
            actions = list_legal_actions(self.house, APP, game_id, turn)["actions"]
            data = {k: v for k, v in rng.choice(actions).items() if k != "seat"}
            play_action(self.house, APP, game_id, turn, data)

    def read(self, caller: Caller = APP) -> Json:
        """Return MATCH."""
        return read_match(self.house, caller, self.id)


def test_each_team_gets_the_others_cards() -> None:
    """Hand by hand: each player sits where the neighbour sat, and the dealer stays."""
    pair = Pair()
    first, second = (load_game(pair.house, game_id) for game_id in pair.games)

    assert first.match.deal.hands == second.match.deal.hands
    assert first.match.deal.stock_cards == second.match.deal.stock_cards
    assert first.match.first_dealer == second.match.first_dealer
    assert [holder.name for holder in first.seats] == NAMES
    assert [holder.name for holder in second.seats] == ["Di", "Ana", "Bo", "Cy"]
    assert pair.made["match"]["teams"] == [
        {"team": 0, "players": ["Ana", "Cy"]},
        {"team": 1, "players": ["Bo", "Di"]},
    ]
    assert [table["teams"] for table in pair.made["match"]["tables"]] == [[0, 1], [1, 0]]


def test_the_compared_score_is_the_sum_over_both_tables() -> None:
    """By the teams of the match, in all and deal by deal."""
    pair = Pair()
    pair.play_out(0, seed=1)
    pair.play_out(1, seed=2)
    found = pair.read()

    first, second = (load_game(pair.house, game_id).match.totals for game_id in pair.games)
    points = [first[0] + second[1], first[1] + second[0]]
    result = found["result"]
    assert (found["status"], result["points"]) == ("finished", points)
    assert result["margin"] == points[0] - points[1]
    assert sum(deal["margin"] for deal in result["deals"]) == result["margin"]
    assert len(result["deals"]) == 2
    assert result["winner"] == (0 if points[0] > points[1] else 1)
    assert [table["scores"] for table in found["tables"]] == [list(first), list(second)]


def test_equal_play_at_both_tables_is_a_draw() -> None:
    """The same actions with the same cards: what is left of luck is nothing."""
    pair = Pair()
    pair.play_out(0, seed=5)
    pair.play_out(1, seed=5)

    assert pair.read()["result"]["margin"] == 0
    assert pair.read()["result"]["winner"] is None


def test_nothing_of_the_cards_is_told_before_both_tables_are_over() -> None:
    """Neither the record, the review, the seed nor the scores of the table that is over."""
    pair = Pair()
    pair.play_out(0)
    game_id = pair.games[0]

    for caller in (APP, pair.token(0, 1)):
        with pytest.raises(GameNotFinished):
            read_record(pair.house, caller, game_id)
        with pytest.raises(GameNotFinished):
            ask_review(pair.house, caller, game_id, {})
        assert read_game(pair.house, caller, game_id, None)["fairness"]["seed"] is None
        found = pair.read(caller)
        assert (found["status"], found["result"]) == ("playing", None)
        assert found["fairness"]["seed"] is None
        assert [table["scores"] for table in found["tables"]] == [None, None]


def test_everything_is_told_when_both_are_over() -> None:
    """The seed in the match and in both records; GAME itself leaves it to them."""
    pair = Pair()
    pair.play_out(0)
    pair.play_out(1)

    assert pair.read()["fairness"]["seed"] == "match"
    records = [read_record(pair.house, APP, game_id) for game_id in pair.games]
    assert [record["fairness"]["seed"] for record in records] == ["match", "match"]
    assert records[0]["deals"][1]["deck"] == records[1]["deals"][1]["deck"]
    assert ask_review(pair.house, APP, pair.games[0], {}).body["status"] == "queued"


def test_a_table_that_is_abandoned_ends_the_match_without_a_result() -> None:
    """What was played at the other one may then be looked at."""
    pair = Pair()
    pair.play_out(0)
    abandon_game(pair.house, APP, pair.games[1])
    found = pair.read()

    assert (found["status"], found["result"]) == ("abandoned", None)
    assert read_record(pair.house, APP, pair.games[0])["id"] == pair.games[0]


def test_who_has_a_seat_reads_the_match_and_nobody_else() -> None:
    """At either table; a made-up token and another app are told nothing."""
    pair, other = Pair(), Pair()
    for number in (0, 1):
        for seat in range(4):
            assert pair.read(pair.token(number, seat))["id"] == pair.id
    for caller in (OTHER_APP, other.token(0, 0), other.token(1, 0)):
        with pytest.raises(MatchNotFound):
            pair.read(caller)
    with pytest.raises(NotAuthenticated):
        pair.read(caller_of_token(f"prs_{pair.games[1]}_made-up"))


@pytest.mark.parametrize("text", ["", "x", "a-b", "a-b-c", "-", "A-B", "{0}", "{0}-{0}", "{1}-{0}"])
def test_an_id_that_was_never_given_is_not_found(text: str) -> None:
    pair = Pair()

    with pytest.raises(MatchNotFound):
        read_match(pair.house, APP, text.format(*pair.games))


def test_the_same_request_makes_one_match() -> None:
    """With its tokens again; another request of that key is refused."""
    pair = Pair(key=KEY)
    again = create_match(pair.house, APP, people(seed="match"), KEY)

    assert (again.is_replayed, again.body) == (True, pair.made)
    with pytest.raises(KeyReused):
        create_match(pair.house, APP, people(), RequestKey(KEY.name, "print-2"))


def test_bots_of_both_tables_are_called() -> None:
    """And their games run apart."""
    pair = Pair(order("bbbb"))

    assert {job.arguments["game_id"] for job in pair.table.queue.waiting} == set(pair.games)


def test_the_seed_is_made_here_unless_it_is_given() -> None:
    """192 bits from the house's source; the same for both tables."""
    pair = Pair(people())
    seeds = {load_game(pair.house, game_id).match.seed for game_id in pair.games}

    assert len(seeds) == 1
    assert len(seeds.pop()) >= 24


def test_a_seats_token_makes_no_match() -> None:
    pair = Pair()

    with pytest.raises(NotAllowed):
        create_match(pair.house, pair.token(0, 0), people())


def test_a_hand_of_one_table_is_in_nothing_that_the_other_is_sent() -> None:
    """Though the cards are the same: a seat sees its own hand, which was the neighbour's."""
    pair = Pair()
    hands = load_game(pair.house, pair.games[0]).match.deal.hands
    for seat in range(4):
        shown = read_game(pair.house, pair.token(1, seat), pair.games[1], None)
        assert shown["deal"]["hand"] == names_of(hands[seat])
        match = str(pair.read(pair.token(1, seat)))
        assert not any(f"'{name}'" in match for name in names_of(hands[(seat + 1) % 4]))
