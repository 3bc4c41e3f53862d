"""This game as OpenSpiel's Python search wants it: a state with the methods of `pyspiel.State`.

It is not derived from `pyspiel.State`: each call would then go to C++ and back, which would cost
the search a good part of its time. A state is a world of the frozen search (`tests/frozen`), whose
compiled moves it uses, so that OpenSpiel plays with what is quick here and stays the same opponent
in every version.

What is hidden is dealt anew from the view of the seat to move (`resample`), and a node's key is
what its mover knows: the hand, the table, the pile, counts, and cards known in other hands (R33).
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyspiel

from service.rules._jit import popcount
from service.rules.deal import OVER
from service.rules.view import SeatView
from tests.frozen.ismcts_1.determinize import determinize, unknown_counts, unseen_array
from tests.frozen.ismcts_1.moves import MAX_MOVES, apply_move, list_moves
from tests.frozen.ismcts_1.rng import RngState
from tests.frozen.ismcts_1.world import WORLD, margin_of, template_of_view

_TYPE = SimpleNamespace(
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
)
GAME = SimpleNamespace(get_type=lambda: _TYPE)
"""All that the search asks of a game."""
_MOVES = np.zeros(MAX_MOVES, np.int64)


@dataclass(slots=True)
class State:
    """A deal with all its cards; `worlds` holds one world, plain records."""

    worlds: np.ndarray

    def get_game(self) -> SimpleNamespace:
        """Return the game."""
        return GAME

    def clone(self) -> "State":
        """Return a state that shares nothing with this one."""
        return State(self.worlds.copy())

    def current_player(self) -> int:
        """Return the seat to move, or OpenSpiel's number for the end."""
        world = self.worlds[0]
        return int(world["turn"]) if world["phase"] != OVER else pyspiel.PlayerId.TERMINAL

    def is_terminal(self) -> bool:
        """Tell whether the deal is over."""
        return bool(self.worlds[0]["phase"] == OVER)

    def is_chance_node(self) -> bool:
        """Return False: chance is in the deal, which `resample` settles to the last card."""
        return False

    def legal_actions(self, _player: int | None = None) -> list[int]:
        """Return the codes of the moves of the seat to move (`moves.py`)."""
        count = list_moves(self.worlds[0], _MOVES)
        return _MOVES[:count].tolist()

    def apply_action(self, code: int) -> None:
        """Play a listed move."""
        apply_move(self.worlds[0], code)

    def returns(self) -> list[float]:
        """Return the margin of the deal by seat, in points."""
        margin = float(margin_of(self.worlds[0]))
        return [margin, -margin, margin, -margin]

    def information_state_string(self) -> tuple[Any, ...]:
        """Return what the seat to move knows; no text, since the search only compares it."""
        world = self.worlds[0]
        hands = world["hands"].tolist()
        return (
            hands[world["turn"]],
            *map(popcount, hands),
            *world["known"].tolist(),
            *world["laid"].tolist(),
            *(int(world[name]) for name in ("table_sets", "table_runs", "phase", "due", "passes")),
            int(world["stock_count"]),
            world["pile"][: world["pile_count"]].tobytes(),
        )


@dataclass(slots=True)
class Known:
    """What the seat to move knows, and the way to full states that agree with it."""

    template: np.ndarray
    unseen: np.ndarray
    counts: np.ndarray
    rng: RngState

    @classmethod
    def from_view(cls, view: SeatView, rng: RngState) -> "Known":
        """Take it from a view; nothing else is there to be taken from."""
        template = template_of_view(view).view(np.ndarray).view(WORLD)
        return cls(template, unseen_array(view), unknown_counts(view), rng)

    def resample(self) -> State:
        """Return a full state: the unseen cards dealt anew, all ways equally likely."""
        worlds = np.zeros(1, WORLD)
        determinize(self.template[0], self.unseen, self.counts, worlds[0], self.rng)
        return State(worlds)
