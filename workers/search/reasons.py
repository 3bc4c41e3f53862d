"""Why a move: a code with values and an English sentence, made of what the samples showed.

Nothing is said that the samples do not hold; a sentence names the two or three facts that weigh
most."""

from typing import Any

from service.rules import deal as rules
from service.rules.cards import names_of
from service.rules.score import points
from service.rules.view import SeatView
from workers.search import evaluate
from workers.search.moves import action_of_move
from workers.search.search import MoveSamples


def reason_for(view: SeatView, sample: MoveSamples) -> dict[str, Any]:
    """Return `{"code", "values", "text"}` for a sampled move."""
    action = action_of_move(sample.code, view)
    values: dict[str, Any] = {
        "lays": points(action.cards) if action.type in (rules.LAY_MELD, rules.LAY_OFF) else 0,
        "goes_out": round(sample.mean(evaluate.OUT), 2),
        "they_go_out": round(sample.mean(evaluate.OUT_THEIRS), 2),
        "left_in_hand": round(sample.mean(evaluate.HAND), 1),
        "ends_within_round": round(sample.mean(evaluate.SHORT), 2),
        "next_takes_it": round(sample.mean(evaluate.TAKEN), 2),
    }
    code, text = _SENTENCES[action.type](action, values)
    return {"code": code, "values": values, "text": text + _outlook(values)}


def _outlook(values: dict[str, Any]) -> str:
    return (
        f" Your side goes out in {values['goes_out']:.0%} of the samples,"
        f" the other in {values['they_go_out']:.0%}; {values['left_in_hand']:.0f}"
        " points stay in your side's hands on average."
    )


def _draw(_action: rules.Action, _values: dict[str, Any]) -> tuple[str, str]:
    return "draw_stock", "Draws an unknown card and leaves the pile as it is."


def _take(action: rules.Action, _values: dict[str, Any]) -> tuple[str, str]:
    return (
        "take_discards",
        f"Takes the discard pile from {names_of(action.cards)[0]}, which goes to the table now.",
    )


def _meld(action: rules.Action, values: dict[str, Any]) -> tuple[str, str]:
    return "meld", f"Lays {values['lays']} points as a meld: {' '.join(names_of(action.cards))}."


def _lay_off(action: rules.Action, values: dict[str, Any]) -> tuple[str, str]:
    return "lay_off", f"Lays off {' '.join(names_of(action.cards))} for {values['lays']} points."


def _discard(action: rules.Action, values: dict[str, Any]) -> tuple[str, str]:
    card = names_of(action.cards)[0]
    return (
        "discard",
        f"Throws {card}; the next player takes it in {values['next_takes_it']:.0%} of the samples.",
    )


def _pass(_action: rules.Action, _values: dict[str, Any]) -> tuple[str, str]:
    return "pass", "Takes nothing and leaves the turn."


_SENTENCES = {
    rules.DRAW_STOCK: _draw,
    rules.TAKE_DISCARDS: _take,
    rules.LAY_MELD: _meld,
    rules.LAY_OFF: _lay_off,
    rules.DISCARD: _discard,
    rules.PASS: _pass,
}
