"""Whole games by four tokens against the independent referee: lists, views, refusals, scores.

The referee is told the cards as the players see them: hands from the four views at the start of a
deal, the upcard from the pile, each card from the stock when its drawer is shown it.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from tests.api.client import Answer, ApiClient, Table
from tests.oracle import (
    CARDS,
    RefereeDeal,
    Refused,
    action_key,
    in_display_order,
    meld_key,
    points,
)

SEATS = range(4)
CARD = re.compile(r"[2-9TJQKA][CDHS]|X[1-4]")


def referee_for(table: Table) -> RefereeDeal:
    """Return a referee for the deal that has just begun, told what the four players see."""
    deals = [table.view(seat)["deal"] for seat in SEATS]
    hands = [deal["hand"] for deal in deals]
    (upcard,) = deals[0]["discard_pile"]
    seen = {upcard, *(card for hand in hands for card in hand)}
    stock = [card for card in CARDS if card not in seen]
    assert len(stock) == 27
    return RefereeDeal(hands, stock, upcard, deals[0]["dealer"])


def play_both(table: Table, referee: RefereeDeal, seat: int, action: dict[str, Any]) -> Answer:
    """Play an action over the API, then let the referee play it; both must accept it."""
    answer = table.play(seat, action)
    assert answer.status == 201, answer.raw
    if action["type"] == "draw_stock":
        drawn = answer.json["action"]["card"]
        referee.stock.remove(drawn)
        referee.stock.insert(0, drawn)
    referee.play(seat, action)
    return answer


def check_views(table: Table, referee: RefereeDeal) -> None:
    """Compare what each of the four sees with what the referee lets it see."""
    for seat in SEATS:
        answer = table.api.get(table.path, token=table.tokens[seat])
        deal, expected = answer.json["deal"], referee.view(seat)
        for name in ("hand", "hand_counts", "known_cards", "discard_pile", "stock_count"):
            assert deal[name] == expected[name], name
        for name in ("turn", "phase", "due"):
            assert deal[name] == expected[name], name
        assert [meld_key(m) for m in deal["melds"]] == [meld_key(m) for m in expected["melds"]]
        assert deal["points"] == referee.score()["laid"]
        check_hidden(answer, referee, seat)


def check_hidden(answer: Answer, referee: RefereeDeal, seat: int) -> None:
    """Assert that no card stands in an answer to `seat` that it must not know (R33).

    The draw for the dealer is of another pack, and left out."""
    told = json.loads(answer.raw)
    for game in (told, told.get("game") or {}):
        game.pop("seating", None)
    hidden = set(referee.stock)
    for other in SEATS:
        if other != seat:
            hidden |= set(referee.hands[other]) - referee.known[other]
    told_cards = set(CARD.findall(json.dumps(told.get("deal") or told)))
    assert not told_cards & hidden
    assert not set(re.findall(r'"([2-9TJQKA][CDHS]|X[1-4])"', json.dumps(told))) & hidden


def check_legal(table: Table, referee: RefereeDeal) -> list[dict[str, Any]]:
    """Compare the lists of legal actions; return that of the seat to move."""
    expected = {action_key(action) for action in referee.legal_actions()}
    actions = table.legal(referee.turn)
    assert {action_key(action) for action in actions} == expected
    assert len(actions) == len(expected)
    for seat in SEATS:
        if seat != referee.turn:
            assert table.legal(seat) == []
    return actions


def some_actions(choose: random.Random, referee: RefereeDeal) -> list[dict[str, Any]]:
    """Return a few actions, most of which break a rule."""
    hand = referee.hands[referee.turn]
    card = choose.choice(CARDS)
    some = choose.sample(hand, min(len(hand), choose.choice([1, 2, 3, 3, 4])))
    doubled = [*some, some[0]] if some else ["7H", "7H", "7H"]
    meld = choose.choice([meld.id for meld in referee.melds] or ["m1"])
    suit = choose.choice("CDHS")
    return [
        {"type": "draw_stock"},
        {"type": "pass"},
        {"type": "discard", "card": card},
        {"type": "take_discards", "card": choose.choice([card, *referee.pile])},
        {"type": "meld", "cards": some},
        {"type": "meld", "cards": doubled},
        {"type": "meld", "cards": [f"A{suit}", f"2{suit}", f"3{suit}"]},
        {"type": "lay_off", "cards": some or [card], "meld": meld},
        {"type": "lay_off", "cards": [card], "meld": "m99"},
    ]


def check_refusals(
    table: Table, referee: RefereeDeal, choose: random.Random, legal: set[tuple[Any, ...]]
) -> int:
    """Try some actions; what the referee refuses must be refused by the same rule, without effect.

    Return how many were refused."""
    refused = 0
    for action in some_actions(choose, referee):
        seat = choose.choice([referee.turn, referee.turn, choose.randrange(4)])
        rule = referee.refusal(seat, action)
        answer = table.play_dry(seat, action) if rule is None else table.play(seat, action)
        assert answer.json.get("rule") == rule, (seat, action, answer.raw)
        assert answer.status == (200 if rule is None else 409)
        refused += rule is not None
        if rule is not None and seat == referee.turn:
            listed = {action_key(other) for other in answer.json["legal_actions"]}
            assert listed == legal
        check_hidden(answer, referee, seat)
    return refused


def check_log(table: Table, referee: RefereeDeal, first_version: int) -> None:
    """Compare the log of the deal in hand, as each of the four reads it."""
    for seat in SEATS:
        path = f"{table.path}/actions?since={first_version}"
        answer = table.api.get(path, token=table.tokens[seat])
        events = answer.json["actions"]
        assert [(event["seat"], action_key(event["action"])) for event in events] == [
            (player, action_key(action)) for player, action in referee.log
        ]
        check_hidden(answer, referee, seat)


def choose_action(choose: random.Random, actions: list[dict[str, Any]]) -> dict[str, Any]:
    """Prefer taking and tabling, so that deals get to their end with melds on the table."""
    rich = [a for a in actions if a["type"] in ("meld", "lay_off", "take_discards")]
    return choose.choice(rich if rich and choose.random() < 0.7 else actions)


def play_whole_game(api: ApiClient, seed: str) -> tuple[int, int]:
    """Play a game to its end beside the referee; return how many actions and refusals."""
    choose = random.Random(seed)
    # Thousands of answers of the same few shapes: every 13th is held against the document.
    table = Table(ApiClient(api.app, check_every=13), seed=seed)
    totals, played, refused = [0, 0], 0, 0
    for number in (1, 2):
        referee, first_version = referee_for(table), played
        while not referee.over:
            check_views(table, referee)
            actions = check_legal(table, referee)
            legal = {action_key(action) for action in actions}
            refused += check_refusals(table, referee, choose, legal)
            if choose.random() < 0.05:
                check_log(table, referee, first_version)
            seat = referee.turn
            answer = play_both(table, referee, seat, choose_action(choose, actions))
            played += 1
            assert answer.json["game"]["version"] == played
        score, told = referee.score(), answer.json["action"]["deal_score"]
        for name in ("laid", "bonus", "hands", "total"):
            assert told[name] == score[name]
        assert told["went_out"] == referee.went_out
        totals = [totals[team] + score["total"][team] for team in (0, 1)]
        game = answer.json["game"]
        assert game["scores"] == totals
        assert len(game["deal_scores"]) == number
    assert game["status"] == "finished"
    expected = None if totals[0] == totals[1] else totals.index(max(totals))
    assert game["winner"] == expected
    assert game["fairness"]["seed"] == seed
    over = table.play(0, {"type": "draw_stock"})
    assert (over.status, over.json["type"]) == (409, "/docs/problems/game-over")
    return played, refused


@pytest.mark.parametrize("seed", ["whole-1", "whole-2", "whole-3"])
def test_a_whole_game_is_as_the_referee_has_it(api: ApiClient, seed: str) -> None:
    """Every list, view, refusal, log and score of a game by four tokens, over memory."""
    played, refused = play_whole_game(api, seed)

    assert played > 50
    assert refused > 100


def test_a_whole_game_over_redis_is_as_the_referee_has_it(redis_api: ApiClient) -> None:
    """The same over a real Redis."""
    played, _ = play_whole_game(redis_api, "whole-redis")

    assert played > 50


def test_the_referee_of_these_tests_refuses() -> None:
    """A check of the check: the referee is not one that accepts all."""
    deal = RefereeDeal([CARDS[:7], CARDS[7:14], CARDS[14:21], CARDS[21:28]], CARDS[29:], "2S", 3)

    assert deal.refusal(0, {"type": "pass"}) == "R24"
    assert in_display_order(["X1", "2C"]) == ["2C", "X1"]
    assert points("X1") == 20
    with pytest.raises(Refused):
        deal.play(1, {"type": "draw_stock"})
