"""The independent referee against the rule book: worked examples, refusals, random deals.

The referee is the second opinion on the engine, so it is itself held to the rules here.
"""

from __future__ import annotations

import copy
import random
import time
from itertools import chain, combinations
from typing import Any

import pytest

from tests.oracle import (
    CARDS,
    Action,
    RefereeDeal,
    RefereeGame,
    RefereeMeld,
    Refused,
    action_key,
    deal_out,
    every_meld,
    in_display_order,
    left_of,
    meld_key,
    meld_kind,
    points,
    table_actions,
)

SEEDS = range(50)
# Trying every subset of a hand takes about a second for each deal.
FEW_SEEDS = range(8)


def position(
    hand: str = "",
    others: tuple[str, str, str] = ("", "", ""),
    pile: str = "2C",
    stock: str = "2D 2H",
    phase: str = "meld",
) -> RefereeDeal:
    """Make a deal in which seat 0 is to move; only the named cards are in play."""
    hands = [hand.split(), *(other.split() for other in others)]
    deal = RefereeDeal(hands, stock.split(), "2C", dealer=3)
    deal.pile = pile.split()
    deal.phase = phase  # type: ignore[assignment]
    return deal


def put_on_table(deal: RefereeDeal, seat: int, cards: str) -> None:
    """Put a meld on the table as if the seat had laid it in one action."""
    names = cards.split()
    kind = meld_kind(names)
    assert kind is not None
    deal.melds.append(
        RefereeMeld(
            f"m{len(deal.melds) + 1}",
            kind,
            in_display_order(names),
            dict.fromkeys(names, seat),
            kind == "set" and len(names) == 4,
        )
    )


def draw_stock() -> Action:
    """Spell the action."""
    return {"type": "draw_stock"}


def take(card: str) -> Action:
    """Spell the action."""
    return {"type": "take_discards", "card": card}


def meld(cards: str) -> Action:
    """Spell the action."""
    return {"type": "meld", "cards": cards.split()}


def lay_off(cards: str, meld_id: str) -> Action:
    """Spell the action."""
    return {"type": "lay_off", "cards": cards.split(), "meld": meld_id}


def discard(card: str) -> Action:
    """Spell the action."""
    return {"type": "discard", "card": card}


def pass_turn() -> Action:
    """Spell the action."""
    return {"type": "pass"}


def keys(actions: list[Action]) -> set[tuple[Any, ...]]:
    """Canonicalise a list of actions that names none twice."""
    found = {action_key(action) for action in actions}
    assert len(found) == len(actions)
    return found


def takes(deal: RefereeDeal) -> list[str]:
    """List the pile cards that may be taken."""
    return [a["card"] for a in deal.legal_actions() if a["type"] == "take_discards"]


def shuffled_deal(rng: random.Random) -> RefereeDeal:
    """Deal a full pack in an order and from a dealer that the generator chooses."""
    dealer = rng.randrange(4)
    pack = list(CARDS)
    rng.shuffle(pack)
    return RefereeDeal(*deal_out(pack, dealer), dealer)


def state(deal: RefereeDeal) -> dict[str, Any]:
    """Copy all that a deal holds, for comparing before and after."""
    return copy.deepcopy(vars(deal))


# --- cards and melds -----------------------------------------------------------------------------


def test_the_pack_has_56_cards_worth_476():
    """R2, R26: 56 different cards, 476 points."""
    assert len(set(CARDS)) == len(CARDS) == 56
    assert sum(points(card) for card in CARDS) == 476


@pytest.mark.parametrize("size", [3, 4])
def test_the_list_of_all_melds_agrees_with_the_judgement_of_any_cards(size: int):
    """R15, R16, R3: each three and each four cards of the pack are a meld or are none."""
    listed = {cards for cards in every_meld() if len(cards) == size}

    judged = {frozenset(cards) for cards in combinations(CARDS, size) if meld_kind(cards)}

    assert listed == judged


def test_there_are_70_sets_and_264_runs():
    """R15, R16: every listed meld is one, none is listed twice."""
    kinds = [meld_kind(cards) for cards in every_meld()]

    assert kinds.count("set") == 70
    assert kinds.count("run") == 264
    assert len(set(every_meld())) == len(kinds) == 334


@pytest.mark.parametrize(
    "cards",
    [
        *("AS 2S 3S", "KS AS 2S", "TS 2S 3S", "4S 5S 7S", "4S 5S 6D", "4S 5S 5S 6S"),
        *("", "QS KS", "7S 7D", "7S 7S 7D", "7S 7D 7H KC"),
        *("X1 X2", "X1 7S 7D", "5S X1 7S", "4S 5S X1 7S", "7S 7D 7H 7C X1"),
    ],
)
def test_what_is_no_meld(cards: str):
    """R15, R16, R3: too few, a gap, two suits, a low ace, a wild joker, a card twice."""
    assert meld_kind(cards.split()) is None


@pytest.mark.parametrize(
    ("cards", "kind"),
    [("KS AS QS", "run"), ("9H JH TH", "run"), ("X4 X1 X3", "set"), ("7S 7D 7H 7C", "set")],
)
def test_cards_are_a_meld_in_any_order(cards: str, kind: str):
    """R15, R16, R3: the ace is high, the ten stands between nine and jack, jokers are a set."""
    assert meld_kind(iter(cards.split())) == kind


# --- the worked examples -------------------------------------------------------------------------


def test_example_1_four_jacks_at_once_double_and_three_and_one_do_not():
    """R28: `JS JD JH`, later `JC`: 40. All four at once: 80."""
    later = position("JS JD JH JC 3C")
    at_once = position("JS JD JH JC 3C")

    later.play(0, meld("JS JD JH"))
    later.play(0, lay_off("JC", "m1"))
    at_once.play(0, meld("JS JD JH JC"))

    assert later.score()["laid"] == [40, 0]
    assert at_once.score()["laid"] == [80, 0]


def test_example_2_jokers_double_too():
    """R28, R3: `X1 X2 X3` 60, then `X4` 80; four at once 160."""
    later = position("X1 X2 X3 X4 3C")
    at_once = position("X1 X2 X3 X4 3C")

    later.play(0, meld("X1 X2 X3"))
    three = later.score()["laid"]
    later.play(0, lay_off("X4", "m1"))
    at_once.play(0, meld("X1 X2 X3 X4"))

    assert three == [60, 0]
    assert later.score()["laid"] == [80, 0]
    assert at_once.score()["laid"] == [160, 0]


@pytest.mark.parametrize(
    ("cards", "worth"),
    [
        ("4S 4D 4H", 12),
        ("JS QS KS AS", 45),
        ("QH KH AH", 35),
        ("9H TH JH", 29),
        ("2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD AD", 99),
        ("AS AD AH AC", 120),
        ("TS TD TH TC", 80),
        ("2S 2D 2H 2C", 16),
    ],
)
def test_example_3_what_melds_are_worth(cards: str, worth: int):
    """R26, R28: card points, and double for four of a rank at once."""
    deal = position(cards + " 3C", pile="", stock="")

    deal.play(0, meld(cards))

    assert deal.score()["laid"] == [worth, 0]


def test_example_4_a_score_may_be_negative():
    """R30, R31: table 87, hand 90: -3. Table nothing, hand 40: -40. Four jacks in hand: -40."""
    tabled = position("X1 X2 X3 X4 TC")
    put_on_table(tabled, 0, "AS AD AH")
    put_on_table(tabled, 2, "9S 9D 9H")
    put_on_table(tabled, 0, "5S 5D 5H")
    nothing_tabled = position("X1", others=("", "KC TD", ""))
    jacks = position("JS JD JH JC")

    scores = [deal.score() for deal in (tabled, nothing_tabled, jacks)]

    assert [score["laid"][0] for score in scores] == [87, 0, 0]
    assert [score["hands"][0] for score in scores] == [-90, -40, -40]
    assert [score["total"][0] for score in scores] == [-3, -40, -40]


def test_example_5_a_laid_off_card_counts_for_who_laid_it():
    """R27: A has three aces and holds `KC`; an opponent lays off `AC` and holds `2S`."""
    deal = position("AC 2S", others=("KC", "", ""))
    put_on_table(deal, 1, "AS AD AH")

    deal.play(0, lay_off("AC", "m1"))

    assert deal.score()["total"] == [13, 35]
    assert not deal.melds[0].doubled


def test_example_6_a_take_brings_the_cards_above_and_its_own_card_is_due():
    """R10, R11, R13: taking `4S` takes `QD` too; the meld is due and `QD` stays in the hand."""
    deal = position("4D 4C", pile="6H 4S QD", phase="draw")

    deal.play(0, take("4S"))

    assert deal.due == "4S"
    assert deal.pile == ["6H"]
    assert deal.known[0] == {"4S", "QD"}
    assert keys(deal.legal_actions()) == keys([meld("4S 4D 4C")])
    deal.play(0, meld("4S 4D 4C"))
    assert deal.hands[0] == ["QD"]
    assert deal.known[0] == {"QD"}
    assert keys(deal.legal_actions()) == keys([discard("QD")])


def test_example_7_only_a_card_that_can_be_melded_is_taken():
    """R12: pile `8H KC 3S QD`, hand `8S 8D`: only `8H`, all four cards with it."""
    deal = position("8S 8D", pile="8H KC 3S QD", phase="draw")

    assert takes(deal) == ["8H"]
    assert deal.refusal(0, take("KC")) == "R12"
    deal.play(0, take("8H"))
    assert deal.pile == []
    assert sorted(deal.hands[0]) == sorted(["8S", "8D", "8H", "KC", "3S", "QD"])


def test_example_8_the_due_card_may_take_the_player_out():
    """R21, R29: hand `7S 7D`, pile top `7H`: take, meld, out: 21 + 25."""
    deal = position("7S 7D", pile="2C 7H", phase="draw")

    deal.play(0, take("7H"))
    deal.play(0, meld("7S 7D 7H"))

    assert deal.over
    assert deal.went_out == 0
    assert deal.score() == {"laid": [21, 0], "bonus": [25, 0], "hands": [0, 0], "total": [46, 0]}


@pytest.mark.parametrize("named", ["m1", "m2"])
def test_example_9_runs_that_touch_stay_two_melds(named: str):
    """R18: `7S` goes on the run that is named."""
    deal = position("7S 3C")
    put_on_table(deal, 1, "4S 5S 6S")
    put_on_table(deal, 2, "8S 9S TS")

    deal.play(0, lay_off("7S", named))

    assert len(deal.melds) == 2
    lengths = {m.id: len(m.cards) for m in deal.melds}
    assert lengths == {"m1": 3, "m2": 3} | {named: 4}


@pytest.mark.parametrize(("four", "laid", "total"), [("J", 80, 114), ("X", 160, 194)])
def test_example_10_a_whole_deal_is_the_sum_of_its_parts(four: str, laid: int, total: int):
    """R27 to R30: 80 + 35 + 7 - 33 + 25 = 114.

    The example speaks of four jokers at once for 80, but R28 and example 2 give those 160. The
    figures are right for four jacks; both are tested here, jokers by R28.
    """
    of_a_rank = " ".join(card for card in CARDS if card[0] == four)
    deal = position(f"{of_a_rank} QS KS AS", others=("", "7D AC TC 8C", ""))
    put_on_table(deal, 1, "4D 5D 6D")

    deal.turn = 2
    deal.play(2, lay_off("7D", "m1"))
    deal.turn = 0
    deal.play(0, meld(of_a_rank))
    deal.play(0, meld("QS KS AS"))

    assert deal.went_out == 0
    assert deal.score() == {
        "laid": [laid + 35 + 7, 15],
        "bonus": [25, 0],
        "hands": [-33, 0],
        "total": [total, 15],
    }


# --- the turn ------------------------------------------------------------------------------------


def test_a_run_grows_at_both_ends_in_one_action():
    """R17: every way to lay off several cards is listed, on each meld that they fit."""
    deal = position("3S 7S 8S KD")
    put_on_table(deal, 3, "4S 5S 6S")

    found = [a for a in deal.legal_actions() if a["type"] == "lay_off"]

    ways = ["3S", "7S", "7S 8S", "3S 7S", "3S 7S 8S"]
    assert keys(found) == keys([lay_off(way, "m1") for way in ways])


def test_a_take_may_be_met_by_a_lay_off_across_a_gap():
    """R11, R12: the taken 8 fits the run only together with the 7 of the hand."""
    deal = position("7S KD", pile="8S 2C", phase="draw")
    put_on_table(deal, 3, "4S 5S 6S")

    assert takes(deal) == ["8S"]
    deal.play(0, take("8S"))
    assert keys(deal.legal_actions()) == keys([lay_off("7S 8S", "m1")])


def test_a_player_without_cards_floats_and_must_discard_what_is_not_melded():
    """R22: the discard of the last card ends no deal."""
    deal = position("9C", stock="2D 3D 4D 5D KH")

    deal.play(0, discard("9C"))
    for seat in (1, 2, 3):
        deal.play(seat, draw_stock())
        deal.play(seat, discard(deal.hands[seat][0]))
    deal.play(0, draw_stock())

    assert not deal.over
    assert keys(deal.legal_actions()) == keys([discard("5D")])


def test_four_passes_end_the_deal_without_a_bonus():
    """R24, R25: a take sets the count back to nought."""
    deal = position("7S 7D 9C", others=("KC", "KD", "KH"), pile="7H", stock="", phase="draw")
    deal.passes = 3

    deal.play(0, take("7H"))
    deal.play(0, meld("7S 7D 7H"))
    deal.play(0, discard("9C"))
    for seat in (1, 2, 3, 0):
        assert not deal.over
        assert action_key(pass_turn()) in keys(deal.legal_actions())
        deal.play(seat, pass_turn())

    assert deal.over
    assert deal.went_out is None
    assert deal.score()["bonus"] == [0, 0]
    assert deal.legal_actions() == []


def test_a_discarded_card_is_no_longer_known_in_the_hand():
    """R33: known are the cards taken from the pile and still held."""
    deal = position("7S 7D KC", pile="7H 2C 3C", phase="draw")

    deal.play(0, take("7H"))
    deal.play(0, meld("7S 7D 7H"))
    deal.play(0, discard("3C"))

    assert deal.view(1)["known_cards"] == [["2C"], [], [], []]
    assert deal.view(1)["hand"] == []
    assert deal.view(1)["hand_counts"] == [2, 0, 0, 0]
    assert deal.view(1)["melds"][0]["laid_by"] == [0, 0, 0]


# --- refusals ------------------------------------------------------------------------------------

MELD_PHASE_REFUSALS = [
    (1, discard("KD"), "R6"),
    (0, draw_stock(), "R8"),
    (0, take("2C"), "R8"),
    (0, pass_turn(), "R8"),
    (0, discard("AH"), "R8"),
    (0, meld("7S 7D 7C"), "R8"),
    (0, lay_off("TC", "m1"), "R8"),
    (0, lay_off("TC", "m9"), "R8"),
    (0, meld("7S 7D 7S"), "R2"),
    (0, meld("AH AH"), "R2"),
    (0, lay_off("KD KD", "m9"), "R2"),
    (0, lay_off("KD", "m9"), "R18"),
    (0, meld("7S 7D X1"), "R3"),
    (0, meld("X1 KD"), "R3"),
    (0, meld("X1"), "R15"),
    (0, meld("X1 X2"), "R15"),
    (0, meld(""), "R15"),
    (0, meld("7S 7D"), "R15"),
    (0, meld("7S 7D 7H KD"), "R15"),
    (0, meld("KD"), "R16"),
    (0, meld("7D KD"), "R16"),
    (0, meld("7D 8D KD"), "R16"),
    (0, lay_off("KD", "m1"), "R17"),
    (0, lay_off("", "m1"), "R17"),
    (0, lay_off("X1", "m1"), "R17"),
    (0, meld("7S 7D 7H"), None),
]


@pytest.mark.parametrize(("seat", "action", "rule"), MELD_PHASE_REFUSALS)
def test_each_refusal_in_the_meld_phase_names_its_rule(seat: int, action: Action, rule: str | None):
    """R2, R3, R6, R8, R15 to R18: the first rule broken in the order of the checks."""
    deal = position("7S 7D 7H 8D KD X1 X2")
    put_on_table(deal, 1, "TS TD TH")

    assert deal.refusal(seat, action) == rule


@pytest.mark.parametrize(
    ("action", "rule"),
    [
        (discard("KD"), "R8"),
        (meld("7S 7S"), "R8"),
        (lay_off("KD", "m9"), "R8"),
        (take("3C"), "R9"),
        (take("2C"), "R12"),
        (take("7H"), None),
        (pass_turn(), "R24"),
        (draw_stock(), None),
    ],
)
def test_each_refusal_in_the_draw_phase_names_its_rule(action: Action, rule: str | None):
    """R8, R9, R12, R24: before the draw nothing else is played, and the stock is not empty."""
    deal = position("7S 7D KD", pile="7H 2C", phase="draw")

    assert deal.refusal(0, action) == rule


def test_an_empty_stock_is_not_drawn_from():
    """R23, R24: with the stock empty a player takes or passes."""
    deal = position("7S KD", stock="", phase="draw")

    assert deal.refusal(0, draw_stock()) == "R23"
    assert keys(deal.legal_actions()) == keys([pass_turn()])


@pytest.mark.parametrize(
    ("action", "rule"),
    [
        (meld("9S 9D 9H"), "R11"),
        (lay_off("TC", "m1"), "R11"),
        (discard("7H"), "R11"),
        (discard("9S"), "R11"),
        (discard("AH"), "R8"),
        (meld("9S 9D"), "R15"),
        (lay_off("9S", "m1"), "R17"),
        (meld("7S 7D 7H"), None),
    ],
)
def test_the_due_card_comes_first(action: Action, rule: str | None):
    """R11: the first table action contains the taken card, and no discard comes before it."""
    deal = position("7S 7D 9S 9D 9H TC", pile="7H", phase="draw")
    put_on_table(deal, 1, "TS TD TH")
    deal.play(0, take("7H"))

    assert deal.refusal(0, action) == rule


def test_nothing_is_played_once_the_deal_is_over():
    """R21: the deal is over the moment a hand is empty, before any other check."""
    deal = position("7S 7D 7H")

    deal.play(0, meld("7S 7D 7H"))

    for seat in (0, 1):
        assert deal.refusal(seat, draw_stock()) == "R21"
    assert deal.legal_actions() == []


def test_a_refused_action_changes_nothing():
    """R12: Refused carries the rule, and the deal stays as it was."""
    deal = position("7S 7D KD", pile="7H 2C", phase="draw")
    before = state(deal)

    with pytest.raises(Refused) as refused:
        deal.play(0, take("2C"))

    assert refused.value.rule == "R12"
    assert state(deal) == before


def test_an_action_of_no_known_type_is_an_error_of_the_caller():
    """No rule is broken by what is no action: ValueError."""
    with pytest.raises(ValueError, match="no such type"):
        position("KD").refusal(0, {"type": "knock"})


def test_the_order_of_cards_in_an_action_does_not_matter():
    """Keys compare cards as sets and leave out the seat."""
    assert action_key(meld("4S 4D 4C")) == action_key({**meld("4C 4S 4D"), "seat": 2})
    assert action_key(lay_off("7S", "m1")) != action_key(lay_off("7S", "m2"))
    laid = {"id": "m1", "kind": "run", "cards": ["4S", "5S", "6S"], "laid_by": [0, 0, 1]}
    turned = {**laid, "cards": ["6S", "5S", "4S"], "laid_by": [1, 0, 0]}
    assert meld_key({**laid, "doubled": False}) == meld_key({**turned, "doubled": False})


# --- random deals --------------------------------------------------------------------------------


def subsets(cards: list[str]) -> list[list[str]]:
    """List all subsets of the cards, the empty one too."""
    sizes = range(len(cards) + 1)
    return [list(s) for s in chain.from_iterable(combinations(cards, size) for size in sizes)]


def every_conceivable_action(deal: RefereeDeal) -> list[Action]:
    """List every action with the cards of the pack, and every subset of the hand to table."""
    actions = [draw_stock(), pass_turn()]
    actions += [take(card) for card in CARDS] + [discard(card) for card in CARDS]
    for cards in subsets(deal.hands[deal.turn]):
        actions.append({"type": "meld", "cards": cards})
        for laid in [*(m.id for m in deal.melds), f"m{len(deal.melds) + 1}"]:
            actions.append({"type": "lay_off", "cards": cards, "meld": laid})
    return actions


def check_always_true(deal: RefereeDeal) -> None:
    """Check what holds after every action: cards, score, lists and views agree."""
    assert deal.all_cards_once()
    score = deal.score()
    for team in (0, 1):
        parts = score["laid"][team] + score["bonus"][team] + score["hands"][team]
        assert score["total"][team] == parts
    assert all(meld_kind(m.cards) == m.kind for m in deal.melds)
    assert [m.id for m in deal.melds] == [f"m{n}" for n in range(1, len(deal.melds) + 1)]
    for seat in range(4):
        assert deal.known[seat] <= set(deal.hands[seat])
    legal = deal.legal_actions()
    assert (legal == []) == deal.over
    for action in legal:
        assert deal.refusal(deal.turn, action) is None
        assert deal.refusal(left_of(deal.turn), action) == "R6"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_deal_keeps_what_is_always_true(seed: int):
    """R8 to R30: each card in one place, something is legal until the end, every deal ends."""
    rng = random.Random(seed)
    deal = shuffled_deal(rng)
    check_always_true(deal)
    # 27 draws of stock and at most 56 tabled cards bound the turns: each is a draw and a discard,
    # and three passes may stand between two takes.
    for _ in range(1000):
        if deal.over:
            break
        stock_was_empty = deal.phase == "draw" and not deal.stock
        action = rng.choice(deal.legal_actions())
        before = deal.turn
        deal.play(before, action)
        check_always_true(deal)
        if stock_was_empty:
            assert action["type"] in ("take_discards", "pass")
    assert deal.over
    assert (deal.went_out is None) == (deal.passes == 4)


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_the_list_names_all_that_is_accepted_and_no_other(seed: int):
    """R8 to R24: every subset of the hand is tried as a meld and as each lay-off."""
    rng = random.Random(seed)
    deal = shuffled_deal(rng)
    while not deal.over:
        if len(deal.hands[deal.turn]) <= 8:
            before = state(deal)
            conceivable = every_conceivable_action(deal)
            accepted = [a for a in conceivable if deal.refusal(deal.turn, a) is None]
            assert keys(accepted) == keys(deal.legal_actions())
            assert state(deal) == before
        deal.play(deal.turn, rng.choice(deal.legal_actions()))


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_a_take_is_legal_exactly_if_an_action_with_its_card_follows(seed: int):
    """R11, R12: each pile card is tried in a copy, with every subset of a small hand."""
    rng = random.Random(seed)
    deal = shuffled_deal(rng)
    while not deal.over:
        if deal.phase == "draw":
            for place, card in enumerate(deal.pile):
                hand = deal.hands[deal.turn] + deal.pile[place:]
                if len(hand) > 10:
                    continue
                with_card = [cards for cards in subsets(hand) if card in cards]
                tables = [[], *(m.cards for m in deal.melds)]
                can = any(meld_kind(t + cards) for cards in with_card for t in tables)
                assert can == (deal.refusal(deal.turn, take(card)) is None)
        deal.play(deal.turn, rng.choice(deal.legal_actions()))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_game_is_two_deals_and_the_higher_total_wins(seed: int):
    """R7, R32: the second dealer is the first one's left neighbour; equal totals are a draw."""
    rng = random.Random(seed)
    first = rng.randrange(4)
    packs = [rng.sample(CARDS, len(CARDS)) for _ in range(2)]
    set_ups = [deal_out(packs[0], first), deal_out(packs[1], left_of(first))]
    game = RefereeGame(set_ups, first)

    while not game.over:
        game.play(game.deal.turn, rng.choice(game.legal_actions()))

    assert [deal.dealer for deal in game.deals] == [first, left_of(first)]
    assert game.scores == [deal.score() for deal in game.deals]
    totals = [sum(score["total"][team] for score in game.scores) for team in (0, 1)]
    assert game.totals == totals
    leads = {True: 0, False: 1}[totals[0] > totals[1]]
    assert game.winner == (None if totals[0] == totals[1] else leads)
    assert game.refusal(0, draw_stock()) == "R21"


def test_seven_cards_are_dealt_to_each_one_at_a_time_from_the_dealers_left():
    """R5, R6: then the upcard, then 27 cards of stock; the dealer's left starts."""
    hands, stock, upcard = deal_out(CARDS, dealer=1)
    deal = RefereeDeal(hands, stock, upcard, dealer=1)

    assert [hand[:2] for hand in hands] == [
        [CARDS[2], CARDS[6]],
        [CARDS[3], CARDS[7]],
        [CARDS[0], CARDS[4]],
        [CARDS[1], CARDS[5]],
    ]
    assert [len(hand) for hand in hands] == [7, 7, 7, 7]
    assert (upcard, stock) == (CARDS[28], CARDS[29:])
    assert deal.turn == 2
    assert deal.all_cards_once()


def test_listing_stays_quick_enough_for_differential_tests():
    """A hand of 45 cards has a finite list; a normal one takes less than 50 ms."""
    rng = random.Random(1)
    pack = rng.sample(CARDS, len(CARDS))
    assert table_actions(pack[:45], [])
    deal = position(" ".join(pack[:15]), pile=" ".join(pack[15:40]), phase="draw")

    start = time.perf_counter()
    for _ in range(10):
        deal.legal_actions()

    assert (time.perf_counter() - start) / 10 < 0.05
