"""Why a move, in words: the sentences of a hint's reason, made of its code and values.

The search notes code and values, and these sentences in English; whoever reads the hint later gets
them made again in their own language. Nothing here looks at a game.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from service.sentences import Sentence, Share

_SENTENCES = {
    "draw_stock": Sentence("Draws an unknown card and leaves the discard pile as it is."),
    "take_discards": Sentence(
        "Takes the discard pile from {card}, which goes to the table at once."
    ),
    "meld": Sentence("Lays {lays} points as a meld: {cards}."),
    "lay_off": Sentence("Lays off {cards} for {lays} points."),
    "discard": Sentence(
        "Discards {card}; the next player takes it in {next_takes_it} of the samples."
    ),
    "pass": Sentence("Takes nothing and leaves the turn."),
}
_OUTLOOK = Sentence(
    "Chance to go out: your team {goes_out}, the other {they_go_out}; points left in your team's "
    "hands, on average: {left_in_hand}."
)
_SOON = Sentence("The deal ends before your next turn in {ends_within_round} of the samples.")
_NEEDS = Sentence(
    "To win the game your team must win this last deal by at least {needs}; the chance of that is "
    "{wins}."
)
_SPARES = Sentence(
    "Your team wins the game unless it loses this last deal by more than {spares}; the chance of "
    "winning is {wins}."
)
SOON = 0.05
"""A deal that ends within the round less often than this goes without saying."""
_SOLVED = Sentence(
    "Solved to the end of the deal: the stock is empty and {worlds} distributions of the cards are "
    "possible."
)
_SOLVED_KNOWN = Sentence(
    "Solved to the end of the deal: the stock is empty and the cards are all known."
)


def reason_sentences(
    code: str, values: Mapping[str, Any], action: Mapping[str, Any]
) -> tuple[Sentence, ...]:
    """Return the sentences for a reason's `code` and `values` and the action that it is for, as
    JSON.

    Raises KeyError for a code that is not known here or values that are not all there."""
    if code == "solved":
        worlds = values["worlds"]
        return (_SOLVED_KNOWN if worlds == 1 else Sentence(_SOLVED, worlds=worlds),)
    cards = action.get("cards") or [action.get("card", "")]
    pattern = _SENTENCES[code]
    first = Sentence(
        pattern,
        card=cards[0],
        cards=" ".join(cards),
        lays=values["lays"],
        next_takes_it=Share(values["next_takes_it"]),
    )
    left = f"{values['left_in_hand']:.0f}"
    outlook = Sentence(
        _OUTLOOK,
        goes_out=Share(values["goes_out"]),
        they_go_out=Share(values["they_go_out"]),
        left_in_hand=left,
    )
    return first, outlook, *_soon(values), *_needs(values)


def _soon(values: Mapping[str, Any]) -> Iterator[Sentence]:
    if values["ends_within_round"] >= SOON:
        yield Sentence(_SOON, ends_within_round=Share(values["ends_within_round"]))


def _needs(values: Mapping[str, Any]) -> Iterator[Sentence]:
    """Tell what the deal must bring, in the last one; `needs` is the least margin that wins."""
    needs = values.get("needs")
    if needs is not None:
        wins = Share(values["wins"])
        is_behind = needs > 0
        yield (
            Sentence(_NEEDS, needs=needs, wins=wins)
            if is_behind
            else Sentence(_SPARES, spares=-needs, wins=wins)
        )
