"""Filling in what a seat does not know: consistent, without bias, and new each time."""

from collections import Counter

import numpy as np

from service.rules._jit import popcount
from service.rules.cards import ALL_CARDS, Mask, cards_in, mask_of
from service.rules.deal import CORE_FIELDS, Deal
from service.rules.view import SeatView, unseen_cards, view_deal
from tests.workers.search.positions import positions, random_deal
from workers.search.determinize import determinize, unknown_counts, unseen_array
from workers.search.rng import new_rng
from workers.search.world import Worlds, new_worlds, template_of_view


def sample(view: SeatView, worlds: Worlds, rng: np.ndarray, unseen: np.ndarray) -> np.void:
    """Determinize `view` into `worlds[0]` and return it."""
    determinize(template_of_view(view)[0], unseen, unknown_counts(view), worlds[0], rng)
    return worlds[0]


def as_deal(world: np.void, like: Deal) -> Deal:
    """Return a deal with the core fields of `world` and the melds of `like`."""
    deal = like.copy()
    for name, length in CORE_FIELDS:
        value = world[name]
        setattr(deal, name, [int(item) for item in value] if length else int(value))
    return deal


def test_every_world_looks_to_the_seat_as_the_deal_does():
    """R33: own hand, sizes, known cards, pile, melds; on every decision of random deals."""
    for seed in range(12):
        for deal in random_deal(seed):
            view = view_deal(deal, deal.turn)
            worlds = new_worlds(1)

            world = sample(view, worlds, new_rng(seed), unseen_array(view))

            assert view_deal(as_deal(world, deal), deal.turn) == view


def test_every_card_is_in_one_place():
    for deal in positions(40):
        view = view_deal(deal, deal.turn)

        world = sample(view, new_worlds(1), new_rng("once"), unseen_array(view))

        places: list[Mask] = [int(hand) for hand in world.hands]
        places.append(mask_of(int(c) for c in world.stock[: world.stock_count]))
        places.append(mask_of(int(c) for c in world.pile[: world.pile_count]))
        places.append(int(world.table_sets | world.table_runs))
        assert sum(popcount(mask) for mask in places) == 56
        assert sum(places) == ALL_CARDS


def test_a_hundred_worlds_differ():
    view = view_deal(positions(1)[0], None)
    deal = next(random_deal(3))
    view = view_deal(deal, deal.turn)
    worlds, rng, unseen = new_worlds(1), new_rng("distinct"), unseen_array(view)

    seen = {sample(view, worlds, rng, unseen).tobytes() for _ in range(100)}

    assert len(seen) == 100


def test_unseen_cards_are_everywhere_equally_often():
    """The place of a card follows its number of unknown places: chi-square over seats and stock."""
    deal = next(random_deal(5))
    view = view_deal(deal, deal.turn)
    worlds, rng, unseen = new_worlds(1), new_rng("uniform"), unseen_array(view)
    cards = list(cards_in(unseen_cards(view)))
    rounds = 4000
    found: Counter[tuple[int, int]] = Counter()

    for _ in range(rounds):
        world = sample(view, worlds, rng, unseen)
        for seat in range(4):
            if seat != view.seat:
                found.update((card, seat) for card in cards_in(int(world.hands[seat])))

    expected = rounds * 7 / len(cards)
    spread = expected * (1 - 7 / len(cards))
    others = [seat for seat in range(4) if seat != view.seat]
    terms = [(found[card, seat] - expected) ** 2 / spread for card in cards for seat in others]
    freedom = len(terms)
    assert abs(sum(terms) - freedom) < 5 * (2 * freedom) ** 0.5


def test_the_stock_is_shuffled_too():
    deal = next(random_deal(5))
    view = view_deal(deal, deal.turn)
    worlds, rng, unseen = new_worlds(1), new_rng("stock"), unseen_array(view)

    tops = Counter(int(sample(view, worlds, rng, unseen).stock[26]) for _ in range(6000))

    assert set(tops) == set(cards_in(unseen_cards(view)))
    assert max(tops.values()) < 2 * 6000 / len(tops)


def test_cards_known_from_a_take_stay_where_they_are():
    """R33: what was taken from the pile and is still held is no longer unseen."""
    deals = [d.copy() for seed in range(30) for d in random_deal(seed)]
    with_known = [d for d in deals if any(d.known[s] for s in range(4) if s != d.turn)]
    assert len(with_known) > 20

    for deal in with_known[:60]:
        view = view_deal(deal, deal.turn)
        world = sample(view, new_worlds(1), new_rng("known"), unseen_array(view))
        for seat in range(4):
            assert int(world.hands[seat]) & deal.known[seat] == deal.known[seat]
