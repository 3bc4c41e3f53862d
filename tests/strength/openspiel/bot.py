"""OpenSpiel's Python ISMCTS as a player of the arena, by time or by simulations.

Its C++ search cannot play this game: games written in Python cannot give it another deal of the
unseen cards (2.0.2: `ResampleFromInfostate` is not passed on, a resampler cannot be set). The two
follow the same code line by line, nodes keyed by the mover's information set.

Set as it does best here: exploration 100 points, as our own; the most visits decide, and not a move
drawn by visits, which is the default of the C++ one and would cost 40 points a deal.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from open_spiel.python.algorithms import ismcts, mcts

from service.rules.view import SeatView
from tests.frozen.ismcts_1.moves import MAX_MOVES, action_of_move
from tests.frozen.ismcts_1.playout import play_out_randomly
from tests.frozen.ismcts_1.rng import RngState, new_rng
from tests.strength.openspiel.state import GAME, Known, State
from workers.bots.base import Decision

EXPLORATION = 100.0


class CompiledPlayouts(mcts.RandomRolloutEvaluator):
    """Random playouts as OpenSpiel's own, but compiled, and with a meld or lay-off half of the time
    that there is one: ten times as fast as its own, and better.
    """

    def __init__(self, rng: RngState) -> None:
        """Take the stream of chance."""
        super().__init__()
        self._rng = rng
        self._moves = np.zeros(MAX_MOVES, np.int64)

    def evaluate(self, state: State) -> list[float]:
        """Return the margin by seat after one playout."""
        playing = state.clone()
        play_out_randomly(playing.worlds[0], self._moves, self._rng)
        return playing.returns()


class TimedSearch(ismcts.ISMCTSBot):
    """OpenSpiel's search with a limit of time beside that of simulations, as its C++ twin has."""

    def search(self, state: State, is_time_left: Callable[[], bool]) -> tuple[int, int]:
        """Return the most visited move and the simulations made, two at least: the first only
        opens the root.
        """
        self.reset()
        self._root_node = self.create_new_node(state)
        done = 0
        while done < 2 or (done < self._max_simulations and is_time_left()):
            self.run_simulation(self.sample_root_state(state))
            done += 1
        policy = self.get_final_policy(state, self._root_node)
        return max(policy, key=lambda pair: pair[1])[0], done


@dataclass(frozen=True, slots=True)
class OpenSpielBot:
    """Plays the most visited move of OpenSpiel's search, a search for each action."""

    simulations: int = 1_000_000
    own_playouts: bool = False
    """OpenSpiel's own random playouts instead of compiled ones."""

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Search so many simulations."""
        return self.decide_within(view, seed, float("inf"))[0]

    def decide_within(self, view: SeatView, seed: str, seconds: float) -> tuple[Decision, float]:
        """Search for so long, by this thread's processor time; the last simulation may go over."""
        began = time.thread_time()
        rng = new_rng(seed, view.seat)
        chance = np.random.RandomState(int(rng[0]))
        known = Known.from_view(view, rng)
        state = known.resample()
        codes = state.legal_actions()
        if len(codes) == 1:
            return Decision(action_of_move(codes[0], view)), 0.0
        playouts = (
            mcts.RandomRolloutEvaluator(1, chance) if self.own_playouts else CompiledPlayouts(rng)
        )
        bot = TimedSearch(
            GAME,
            playouts,
            EXPLORATION,
            self.simulations,
            random_state=chance,
            final_policy_type=ismcts.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
        )
        bot.set_resampler(lambda _state, _seat: known.resample())
        code, done = bot.search(state, lambda: time.thread_time() - began < seconds)
        return Decision(action_of_move(code, view), done), time.thread_time() - began
