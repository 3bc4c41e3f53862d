"""The bots' levels as the API names them: read from `levels.json`, which the arena writes.

The players behind the names live in `workers/bots/registry.py`; a test holds the two lists against
each other."""

import json
from functools import cache
from importlib import resources
from typing import Any

DEFAULT_LEVEL = "expert"


@cache
def bot_levels() -> tuple[dict[str, Any], ...]:
    """Return the levels, weakest first, each with its rating, interval, iterations a decision and
    typical seconds.
    """
    text = resources.files("service.games").joinpath("levels.json").read_text("utf-8")
    return tuple(json.loads(text)["levels"])


def is_level(name: object) -> bool:
    """Tell whether `name` is a level."""
    return any(level["level"] == name for level in bot_levels())
