"""Why a move: a code with values and English sentences, made of what the samples showed.

Nothing is said that the samples do not hold (`evaluate.py`): what happens before the mover's next
turn is counted in them, what comes of the deal is expected by them. The sentences are those of
`service/games/reasons.py`, which makes them again in other languages from the code and the values.
"""

from typing import Any

from service.games.reasons import reason_sentences
from service.rules import deal as rules
from service.rules.notation import action_to_json
from service.rules.score import points
from service.rules.view import SeatView
from workers.search import evaluate
from workers.search.moves import action_of_move
from workers.search.search import MoveSamples


def _chance(sample: MoveSamples, column: int) -> float:
    """Return a chance of which a learnt part may lie a little outside what a chance can be."""
    return min(max(sample.mean(column), 0.0), 1.0)


def reason_for(view: SeatView, sample: MoveSamples) -> dict[str, Any]:
    """Return `{"code", "values", "text"}` for a sampled move."""
    action = action_of_move(sample.code, view)
    values: dict[str, Any] = {
        "lays": points(action.cards) if action.type in (rules.LAY_MELD, rules.LAY_OFF) else 0,
        "goes_out": round(_chance(sample, evaluate.OUT), 2),
        "they_go_out": round(_chance(sample, evaluate.OUT_THEIRS), 2),
        "left_in_hand": round(max(sample.mean(evaluate.HAND), 0.0), 1),
        "ends_within_round": round(sample.mean(evaluate.SHORT), 2),
        "next_takes_it": round(sample.mean(evaluate.TAKEN), 2),
    }
    if view.number == view.deals:
        team = view.turn % 2
        # The least margin of this deal that wins the game (R32).
        values["needs"] = view.scores[1 - team] - view.scores[team] + 1
        values["wins"] = round(sample.mean(evaluate.WIN), 2)
    shown = action_to_json(action)
    code = shown["type"]
    text = " ".join(reason_sentences(code, values, shown))
    return {"code": code, "values": values, "text": text}
