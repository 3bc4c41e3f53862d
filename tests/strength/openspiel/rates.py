"""How fast OpenSpiel's C++ ISMCTS is on card games of its own, as JSON; a program, run with its
folder on the path:

    PYTHONPATH=.cache/openspiel python -m tests.strength.openspiel.rates hearts 38 7 0.4

Arguments: the game, how many actions of players come before, rounds, seconds a round.
Printed: iterations a second of processor time in each round, one random playout each.
"""

import json
import random
import sys
import time

import pyspiel

CHUNK = 100
"""Iterations of one search; its tree is thrown away then."""
EXPLORATION = 2.0
"""Does not matter for the speed."""


def position(name: str, actions: int) -> pyspiel.State:
    """Return a state after so many random actions of players, and on until there is a choice."""
    rng = random.Random(1)
    state = pyspiel.load_game(name).new_initial_state()
    while state.is_chance_node() or actions > 0 or len(state.legal_actions()) < 2:
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, chances)[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            actions -= 1
    return state


def rates(name: str, actions: int, rounds: int, seconds: float) -> list[float]:
    """Return iterations a second of each round."""
    state = position(name, actions)
    bot = pyspiel.ISMCTSBot(
        seed=1,
        evaluator=pyspiel.RandomRolloutEvaluator(1, 1),
        uct_c=EXPLORATION,
        max_simulations=CHUNK,
        final_policy_type=pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
    )
    found = []
    for _ in range(rounds):
        done = 0
        began = time.thread_time()
        while (spent := time.thread_time() - began) < seconds:
            bot.get_policy(state)
            done += CHUNK
        found.append(done / spent)
    return found


if __name__ == "__main__":
    game, before, times, length = sys.argv[1:]
    print(json.dumps(rates(game, int(before), int(times), float(length))))
