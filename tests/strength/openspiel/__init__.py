"""OpenSpiel's information-set search as a yardstick: its speed on its own games, and an opponent.

OpenSpiel (Lanctot et al. 2019, "OpenSpiel: A Framework for Reinforcement Learning in Games",
arXiv:1908.09453) is no part of the tests' environment: `make openspiel` unpacks its wheel into a
folder of its own, which only what needs it puts on its path. Where there is no wheel for a machine,
what needs it is skipped and says so.

`state.py` is this game in the shape that OpenSpiel's Python search wants, `bot.py` that search as a
player of the arena; both need OpenSpiel on the path. `rates.py` measures its C++ search.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".cache" / "openspiel"
"""Where `make openspiel` puts it."""


def why_missing() -> str:
    """Return why OpenSpiel cannot be used here, or nothing."""
    if (FOLDER / "open_spiel").is_dir():
        return ""
    return "OpenSpiel is not here: `make openspiel` fetches it where there is a wheel for it"
