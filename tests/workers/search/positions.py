"""Positions for the search's tests: deals in every phase, reached by random play."""

import random
from collections.abc import Iterator

from service.rules.deal import (
    DISCARD,
    LAY_MELD,
    LAY_OFF,
    OVER,
    TAKE_DISCARDS,
    Deal,
    deal_cards,
    play,
)
from service.rules.legal import legal_actions
from service.rules.shuffle import shuffled_deck

_EAGER = (TAKE_DISCARDS, LAY_MELD, LAY_OFF)


def random_deal(seed: int) -> Iterator[Deal]:
    """Yield the same deal before each action of a random game with players who like to meld."""
    chance = random.Random(seed)
    deal = deal_cards(shuffled_deck(f"position-{seed}", "deal-1"), seed % 4)
    while deal.phase != OVER:
        yield deal
        actions = legal_actions(deal)
        eager = [action for action in actions if action.type in _EAGER]
        thrown = [action for action in actions if action.type == DISCARD]
        chosen = eager if eager and chance.random() < 0.4 else thrown or actions
        play(deal, deal.turn, chance.choice(chosen))


def positions(count: int, first_seed: int = 0) -> list[Deal]:
    """Return `count` positions, one a deal, at every stage from the first turn to near the end."""
    found = []
    seed = first_seed
    while len(found) < count:
        chance = random.Random(seed + 10_000)
        deals = [deal.copy() for deal in random_deal(seed)]
        found.append(chance.choice(deals))
        seed += 1
    return found


def permuted(deal: Deal, seat: int, seed: int) -> Deal:
    """Return a deal that `seat` cannot tell from `deal`: cards it does not know lie elsewhere."""
    chance = random.Random(seed)
    twin = deal.copy()
    others = [other for other in range(4) if other != seat]
    hidden = {
        s: [c for c in range(56) if (twin.hands[s] & ~twin.known[s]) >> c & 1] for s in others
    }
    pool = [card for cards in hidden.values() for card in cards] + twin.stock[: twin.stock_count]
    chance.shuffle(pool)
    for other in others:
        own = [pool.pop() for _ in hidden[other]]
        twin.hands[other] = twin.known[other] | sum(1 << card for card in own)
    twin.stock[: twin.stock_count] = pool
    return twin
