"""The codes of refusal, each with the rule it rests on and a sentence for a person.

Checks return a code and raise nothing, so that they compile. Names and values are stable: clients
and logs keep them.
"""

from enum import IntEnum

from service.sentences import Sentence


class Violation(IntEnum):
    """Why an action is refused; `NONE` when it is not."""

    NONE = 0
    DEAL_OVER = 1
    NOT_YOUR_TURN = 2
    ALREADY_DRAWN = 3
    NOT_DRAWN = 4
    STOCK_EMPTY = 5
    NOT_IN_PILE = 6
    TAKE_UNPLAYABLE = 7
    DUE_CARD_MISSING = 8
    CARD_TWICE = 9
    CARD_NOT_HELD = 10
    JOKER_NOT_WILD = 11
    NOT_A_SET = 12
    NOT_A_RUN = 13
    NO_SUCH_MELD = 14
    LAY_OFF_UNFIT = 15
    PASS_WITH_STOCK = 16
    PASS_AFTER_DRAW = 17


RULE_OF: dict[Violation, str] = {
    Violation.DEAL_OVER: "R21",
    Violation.NOT_YOUR_TURN: "R6",
    Violation.ALREADY_DRAWN: "R8",
    Violation.NOT_DRAWN: "R8",
    Violation.STOCK_EMPTY: "R23",
    Violation.NOT_IN_PILE: "R9",
    Violation.TAKE_UNPLAYABLE: "R12",
    Violation.DUE_CARD_MISSING: "R11",
    Violation.CARD_TWICE: "R2",
    Violation.CARD_NOT_HELD: "R8",
    Violation.JOKER_NOT_WILD: "R3",
    Violation.NOT_A_SET: "R15",
    Violation.NOT_A_RUN: "R16",
    Violation.NO_SUCH_MELD: "R18",
    Violation.LAY_OFF_UNFIT: "R17",
    Violation.PASS_WITH_STOCK: "R24",
    Violation.PASS_AFTER_DRAW: "R8",
}
"""The id of the rule behind each violation."""

SENTENCE_OF: dict[Violation, Sentence] = {
    Violation.DEAL_OVER: Sentence("The deal is over."),
    Violation.NOT_YOUR_TURN: Sentence("It is another seat's turn."),
    Violation.ALREADY_DRAWN: Sentence("You have drawn already; meld, lay off or discard."),
    Violation.NOT_DRAWN: Sentence("Draw first, from the stock or from the discard pile."),
    Violation.STOCK_EMPTY: Sentence("The stock is empty; take from the discard pile or pass."),
    Violation.NOT_IN_PILE: Sentence("That card is not in the discard pile."),
    Violation.TAKE_UNPLAYABLE: Sentence(
        "A card taken from the discard pile must be melded or "
        "laid off at once, and with your hand and the cards above it that one cannot be."
    ),
    Violation.DUE_CARD_MISSING: Sentence(
        "The card you took from the discard pile must be melded or laid off first."
    ),
    Violation.CARD_TWICE: Sentence("The same card is named twice; there is one of each."),
    Violation.CARD_NOT_HELD: Sentence("You do not hold that card."),
    Violation.JOKER_NOT_WILD: Sentence("Jokers are not wild: they meld only with other jokers."),
    Violation.NOT_A_SET: Sentence("A set is three or four cards of one rank."),
    Violation.NOT_A_RUN: Sentence(
        "A run is three or more cards of one suit in consecutive ranks, the ace high only."
    ),
    Violation.NO_SUCH_MELD: Sentence("There is no meld of that name on the table."),
    Violation.LAY_OFF_UNFIT: Sentence("Those cards do not fit the meld you name."),
    Violation.PASS_WITH_STOCK: Sentence("A pass is allowed only when the stock is empty."),
    Violation.PASS_AFTER_DRAW: Sentence("You have drawn; a pass would have been the whole turn."),
}
"""What to tell a person."""


class RulesError(Exception):
    """The root of what the rules raise at their checked doors."""


class IllegalAction(RulesError):
    """An action that the rules refuse, with the violation, the action as given and the seat."""

    def __init__(self, violation: Violation, action: object, seat: int) -> None:
        super().__init__(SENTENCE_OF[violation])
        self.violation = violation
        self.action = action
        self.seat = seat

    @property
    def rule(self) -> str:
        """The id of the rule, such as `R11`."""
        return RULE_OF[self.violation]
