"""What a position must have in it: every real one passes, every fault is named."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.rules.cards import CARD_NAMES
from service.rules.deal import DRAW, MELD, OVER, Deal, deal_cards
from service.rules.positions import find_view_faults
from service.rules.view import view_deal, view_from_json, view_to_json
from tests.strategies import LIKINGS, deals_in_play, play_on

Json = dict[str, Any]
MOST_TRIES = 3000


def view_of(deal: Deal, seat: int | None = None) -> Json:
    """Return what a seat (by default the one to move) sees, as JSON."""
    return view_to_json(view_deal(deal, deal.turn if seat is None else seat))


@settings(max_examples=300)
@given(deals_in_play())
def test_what_a_seat_to_move_sees_has_no_fault(deal: Deal) -> None:
    """Of every deal that the rules themselves reach."""
    if deal.phase != OVER:
        assert find_view_faults(view_of(deal)) == []


@given(deals_in_play())
def test_advice_is_for_the_seat_to_move_while_the_deal_is_on(deal: Deal) -> None:
    """The other seats' views have that one fault, and after the end there is nothing to decide."""
    other = (deal.turn + 1) % 4
    fields = {field for field, _ in find_view_faults(view_of(deal, other))}

    assert fields >= ({"turn", "phase"} if deal.phase == OVER else {"turn"})


def in_play(seed: int, wanted: Callable[[Deal], bool]) -> Json:
    """Return the view of the seat to move in some deal of which `wanted` is true."""
    rng = random.Random(seed)
    for _ in range(MOST_TRIES):
        deal = deal_cards(rng.sample(range(56), 56), rng.randrange(4))
        liking = rng.choice(LIKINGS)
        for _ in range(120):
            if deal.phase != OVER and wanted(deal):
                return view_of(deal)
            play_on(deal, rng, liking, 1)
    raise AssertionError("no such deal was found")


def rich(deal: Deal) -> bool:
    """A deal with sets, runs, known cards of another seat and a hand worth the name."""
    others = [deal.known[seat] for seat in range(4) if seat != deal.turn]
    has_both = {1, 2} <= set(deal.meld_kinds[: deal.meld_count])
    return (
        has_both and any(others) and deal.hands[deal.turn].bit_count() > 2 and deal.stock_count > 3
    )


def unseen(view: Json) -> list[str]:
    """Return names of cards that stand nowhere in the position."""
    text = str(view)
    return [name for name in CARD_NAMES if name not in text]


def break_at(view: Json, path: str, value: Any) -> None:
    """Put `value` at a path such as `melds.0.kind`."""
    *way, last = path.split(".")
    place: Any = view
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = value


def other_kind(view: Json) -> None:
    view["melds"][0]["kind"] = {"set": "run", "run": "set"}[view["melds"][0]["kind"]]


def no_meld(view: Json) -> None:
    view["melds"][0]["cards"][0] = unseen(view)[0]
    view["melds"][0]["cards"] = view["melds"][0]["cards"][:2]
    view["melds"][0]["laid_by"] = view["melds"][0]["laid_by"][:2]


def known_of_other(view: Json) -> int:
    """Return another seat of whose hand cards are known."""
    return next(s for s, known in enumerate(view["known_cards"]) if known and s != view["seat"])


def lay_card_by_card(view: Json) -> None:
    meld = view["melds"][0]
    meld["laid_by"] = [place % 4 for place in range(len(meld["cards"]))]


def double_a_run(view: Json) -> None:
    view["melds"][run_of(view)]["doubled"] = True


BREAKS: dict[str, tuple[str, Callable[[Json], Any]]] = {
    "another seat is to move": ("turn", lambda v: break_at(v, "turn", (v["seat"] + 1) % 4)),
    "the deal is over": ("phase", lambda v: break_at(v, "phase", "over")),
    "a deal too many": ("number", lambda v: break_at(v, "number", v["deals"] + 1)),
    "points before the first deal": ("scores", lambda v: break_at(v, "scores", [5, 0])),
    "too few cards in hand": ("hand", lambda v: v["hand"].pop()),
    "a card too many in hand": ("hand", lambda v: v["hand"].append(unseen(v)[0])),
    "a card twice in hand": ("hand", lambda v: break_at(v, "hand.0", v["hand"][1])),
    "a card in hand and pile": (
        "discard_pile",
        lambda v: break_at(v, "discard_pile.0", v["hand"][0]),
    ),
    "a card in hand and meld": (
        "melds.0.cards",
        lambda v: break_at(v, "melds.0.cards.0", v["hand"][0]),
    ),
    "the stock too large": ("stock_count", lambda v: break_at(v, "stock_count", 28)),
    "counts that do not add up": ("body", lambda v: break_at(v, "stock_count", 2)),
    "more known than held": (
        "known_cards.{other}",
        lambda v: break_at(v, f"hand_counts.{known_of_other(v)}", 0),
    ),
    "a known card not in the own hand": (
        "known_cards.{seat}",
        lambda v: v["known_cards"][v["seat"]].append(unseen(v)[0]),
    ),
    "a known card of another in the own hand": (
        "known_cards.{other}",
        lambda v: break_at(v, f"known_cards.{known_of_other(v)}.0", v["hand"][0]),
    ),
    "a meld that is none": ("melds.0.cards", no_meld),
    "a meld of another kind": ("melds.0.kind", other_kind),
    "a meld by another name": ("melds.0.id", lambda v: break_at(v, "melds.0.id", "m2")),
    "a card that nobody laid": ("melds.0.laid_by", lambda v: v["melds"][0]["laid_by"].pop()),
    "a meld that nobody began": ("melds.0.laid_by", lay_card_by_card),
    "a double that is none": ("melds.{run}.doubled", double_a_run),
    "other points": ("points.1", lambda v: break_at(v, "points.1", v["points"][1] + 5)),
    "passes with a stock": ("passes", lambda v: break_at(v, "passes", 1)),
    "four passes": ("passes", lambda v: break_at(v, "passes", 4)),
}


def run_of(view: Json) -> int:
    """Return the row of a run."""
    return next(row for row, meld in enumerate(view["melds"]) if meld["kind"] == "run")


@pytest.mark.parametrize("name", BREAKS)
def test_each_fault_is_named_where_it_is(name: str) -> None:
    """The right position has none; the broken one has one at the member that was broken."""
    place, change = BREAKS[name]
    for seed in range(3):
        view = in_play(seed, rich)
        assert find_view_faults(view) == []
        other, row = known_of_other(view), run_of(view)
        change(view)

        found = dict(find_view_faults(view))
        assert place.format(seat=view["seat"], other=other, run=row) in found, found
        assert all(text.endswith(".") for text in found.values())


def test_all_faults_are_named_at_once() -> None:
    """Who sends a position need not mend it fault by fault."""
    view = in_play(1, rich)
    view["hand"].pop()
    view["passes"] = 2
    view["melds"][0]["id"] = "m9"

    assert {"hand", "passes", "melds.0.id"} <= {field for field, _ in find_view_faults(view)}


def due_view() -> Json:
    """Return a position in which a card is due."""
    return in_play(5, lambda deal: deal.due >= 0 and deal.meld_count > 0)


def test_a_card_is_due_only_where_one_was_taken() -> None:
    """R11, R12: in sight of all, in the middle of a turn, and fit to be tabled."""
    view = due_view()
    assert find_view_faults(view) == []

    unseen_by_all = {**view, "known_cards": [[], [], [], []]}
    before_the_draw = {**view, "phase": "draw"}
    held = [card for card in view["hand"] if card != view["due"]]
    lonely = {**view, "hand": [view["due"], *unseen(view)[: len(held)]], "melds": []}
    lonely["known_cards"] = [[view["due"]] if s == view["seat"] else [] for s in range(4)]

    for position in (unseen_by_all, before_the_draw):
        assert "due" in dict(find_view_faults(position))
    assert find_view_faults(lonely) != []


def test_a_due_card_that_could_not_be_taken_is_named() -> None:
    """R12, in a position whose counts are right: a two that fits nothing."""
    view = in_play(7, lambda deal: deal.due >= 0 and deal.meld_count == 0)
    assert find_view_faults(view) == []
    hand = [name for name in CARD_NAMES if name not in view["discard_pile"]]
    taken = len(view["known_cards"][view["seat"]])
    # One of each rank, the suits in turn: no set, no run.
    apart = ["2C", "4D", "6H", "8S", "TC", "QD", "AH", "3S", "5C", "7D", "9H", "JS", "KC", "X1"]
    held = [name for name in apart if name in hand][: len(view["hand"])]
    view["hand"], view["due"] = held, held[0]
    view["known_cards"][view["seat"]] = held[:taken]

    assert len(held) == view["hand_counts"][view["seat"]]
    assert [field for field, _ in find_view_faults(view)] == ["due"]


@pytest.mark.parametrize("phase", [DRAW, MELD])
def test_before_the_first_meld_everything_is_settled(phase: int) -> None:
    """R5, R6, R8, R11: seven cards each, the turn by the cards drawn, nothing known."""
    view = in_play(3, lambda d: d.meld_count == 0 and d.phase == phase and d.due < 0)
    assert find_view_faults(view) == []

    dealer = {**view, "dealer": (view["dealer"] + 1) % 4}
    counts = copy.deepcopy(view)
    one, two = [seat for seat in range(4) if seat != view["seat"]][:2]
    counts["hand_counts"][one] += 1
    counts["hand_counts"][two] -= 1
    known = copy.deepcopy(view)
    known["known_cards"][one] = unseen(view)[:1]

    assert "turn" in dict(find_view_faults(dealer))
    assert f"hand_counts.{one}" in dict(find_view_faults(counts))
    assert "known_cards" in dict(find_view_faults(known))


@given(deals_in_play(), st.randoms(use_true_random=False))
def test_faults_are_found_in_any_well_shaped_position(deal: Deal, rng: random.Random) -> None:
    """However wild the values are, the check itself never fails; and what it passes can be read."""
    view = view_of(deal)
    names = list(CARD_NAMES)
    for _ in range(rng.randrange(1, 6)):
        change = rng.randrange(9)
        if change == 0:
            view["hand"] = rng.choices(names, k=rng.randrange(10))
        elif change == 1:
            view["discard_pile"] = rng.choices(names, k=rng.randrange(10))
        elif change == 2:
            view["known_cards"][rng.randrange(4)] = rng.choices(names, k=rng.randrange(4))
        elif change == 3:
            view["hand_counts"][rng.randrange(4)] = rng.randrange(57)
        elif change == 4:
            view["due"] = rng.choice([None, *names])
        elif change == 5:
            view["phase"] = rng.choice(["draw", "meld", "over"])
        elif change == 6:
            view["seat"] = view["turn"] = rng.randrange(4)
        elif change == 7:
            view["stock_count"], view["passes"] = rng.randrange(60), rng.randrange(6)
        else:
            cards = rng.choices(names, k=rng.randrange(6))
            laid_by = [rng.randrange(4) for _ in range(rng.randrange(6))]
            meld = {"id": "m1", "kind": "set", "cards": cards, "laid_by": laid_by, "doubled": True}
            view["melds"].insert(0, meld)

    if not find_view_faults(view):
        assert view_to_json(view_from_json(view))["hand_counts"] == view["hand_counts"]
