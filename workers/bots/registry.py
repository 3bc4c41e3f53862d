"""The only list of levels: which player stands behind which name.

Weaker levels are weak as people are: they look less far, overlook takes and throw a card without
thought now and then; they never refuse what a beginner sees."""

from workers.bots.base import Bot
from workers.bots.players import GREEDY_WEIGHTS, RandomBot, RuleOfThumbBot, SearchBot
from workers.search.playout import W_HOLD_STOCK, W_NOISE, W_TAKE_BASE


def _weights(**changes: int) -> tuple[int, ...]:
    places = {"noise": W_NOISE, "take_base": W_TAKE_BASE, "hold_stock": W_HOLD_STOCK}
    weights = list(GREEDY_WEIGHTS)
    for name, value in changes.items():
        weights[places[name]] = value
    return tuple(weights)


BOTS: dict[str, Bot] = {
    "random": RandomBot(),
    "novice": RuleOfThumbBot(_weights(noise=96, take_base=160, hold_stock=27)),
    "greedy": RuleOfThumbBot(),
    "casual": SearchBot(250),
    "skilled": SearchBot(2_000),
    "expert": SearchBot(16_000),
    "master": SearchBot(64_000),
}
"""The levels, weakest first, in the order of `service/games/levels.json`."""


def bot_named(spec: str) -> Bot:
    """Return the bot of a level, or `search:ITERATIONS` for the tree search at any length.

    >>> bot_named("search:500").iterations
    500

    Raises KeyError for any other name.
    """
    kind, _, number = spec.partition(":")
    if kind == "search" and number.isdigit():
        return SearchBot(int(number))
    return BOTS[spec]
