"""The only list of levels: which player stands behind which name.

Weaker levels are weak as people are: they look less far, overlook takes and throw a card without
thought now and then; they never refuse what a beginner sees."""

from workers.bots.base import Bot
from workers.bots.players import (
    GREEDY_WEIGHTS,
    LearntBot,
    RandomBot,
    RuleOfThumbBot,
    SearchBot,
)
from workers.search.thumb import W_HOLD_LAY_OFFS, W_HOLD_MELDS, W_NOISE, W_TAKE_BASE


def _weights(changes: dict[int, int]) -> tuple[int, ...]:
    return tuple(changes.get(place, weight) for place, weight in enumerate(GREEDY_WEIGHTS))


NOVICE_WEIGHTS = _weights({W_NOISE: 80, W_TAKE_BASE: 300, W_HOLD_MELDS: 27, W_HOLD_LAY_OFFS: 27})
"""Lays everything at once, takes only what shines, and throws a card without thought now and then.
"""

BOTS: dict[str, Bot] = {
    "random": RandomBot(),
    "novice": RuleOfThumbBot(NOVICE_WEIGHTS),
    "greedy": RuleOfThumbBot(),
    "casual": SearchBot(500),
    "skilled": SearchBot(4_000),
    "expert": SearchBot(32_000),
    "master": SearchBot(128_000),
}
"""The levels, weakest first, in the order of `service/games/levels.json`."""


def bot_named(spec: str) -> Bot:
    """Return the bot of a level, `search:ITERATIONS` for the tree search at any length, or `learnt`
    for the learnt policy by itself.

    >>> bot_named("search:500").iterations
    500

    Raises KeyError for any other name.
    """
    kind, _, number = spec.partition(":")
    if kind == "search" and number.isdigit():
        return SearchBot(int(number))
    return LearntBot() if spec == "learnt" else BOTS[spec]
