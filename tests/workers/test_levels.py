"""The levels that the API names are the players that the workers have."""

from __future__ import annotations

from service.games.levels import DEFAULT_LEVEL, bot_levels
from workers.bots.registry import BOTS


def test_the_api_names_the_levels_that_there_are_weakest_first() -> None:
    """Two lists, since the service never imports the workers; this holds them together."""
    assert list(BOTS) == [level["level"] for level in bot_levels()]
    assert DEFAULT_LEVEL in BOTS


def test_the_api_tells_how_long_each_level_searches() -> None:
    told = {level["level"]: level["iterations"] for level in bot_levels()}

    assert {level: getattr(bot, "iterations", 0) for level, bot in BOTS.items()} == told
