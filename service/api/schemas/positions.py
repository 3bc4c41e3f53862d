"""Positions of somebody else's games, and the advice for them."""

from typing import Any

from marshmallow import ValidationError, fields, validate, validates_schema

from service.api.schemas.actions import Action
from service.api.schemas.advice import Budget, Candidate, Search, Task
from service.api.schemas.fields import (
    AnswerSchema,
    Items,
    Number,
    RequestSchema,
    Truth,
    Whole,
    card_field,
    cards_field,
)
from service.sentences import Sentence

MOST_POSITIONS = 100
MOST_MELDS = 18
MOST_POINTS = 10_000
MOST_DEALS = 10


def _seat(description: str) -> Whole:
    return Whole(
        required=True, validate=validate.Range(0, 3), metadata={"description": description}
    )


def _count(description: str, most: int = 56) -> Whole:
    return Whole(
        required=True, validate=validate.Range(0, most), metadata={"description": description}
    )


def _pair(description: str) -> Items:
    return Items(
        Whole(validate=validate.Range(-MOST_POINTS, MOST_POINTS)),
        required=True,
        validate=validate.Length(2, 2),
        metadata={"description": description},
    )


class PositionMeld(RequestSchema):
    """A meld on the table, as GAME has it."""

    id = fields.String(required=True, validate=validate.Length(1, 8), metadata={"examples": ["m1"]})
    kind = fields.String(required=True, validate=validate.OneOf(["set", "run"]))
    cards = cards_field("A set or a run, in any order.", required=True)
    laid_by = Items(
        Whole(validate=validate.Range(0, 3)),
        required=True,
        validate=validate.Length(max=56),
        metadata={"description": "The seat that laid each of `cards`."},
    )
    doubled = Truth(required=True, metadata={"description": "A set of four laid at once (R28)."})


class Position(RequestSchema):
    """What the seat to move sees: GAME's `deal`, with `seat`, `deals` and `scores` beside it."""

    seat = _seat("Who asks; the seat to move.")
    deals = Whole(
        required=True,
        validate=validate.Range(1, MOST_DEALS),
        metadata={"description": "Deals that make the game."},
    )
    scores = _pair("Points of the finished deals, by team.")
    number = Whole(
        required=True,
        validate=validate.Range(1, MOST_DEALS),
        metadata={"description": "Which deal it is, from 1."},
    )
    dealer = _seat("The seat that dealt.")
    turn = _seat("The seat to move.")
    phase = fields.String(required=True, validate=validate.OneOf(["draw", "meld", "over"]))
    due = card_field(
        "The card that must be melded or laid off first (R11), or null.",
        required=True,
        allow_none=True,
    )
    passes = Whole(
        required=True,
        validate=validate.Range(0, 4),
        metadata={"description": "Passes in a row (R25)."},
    )
    deadline = fields.String(
        allow_none=True, metadata={"description": "As GAME has it; not looked at."}
    )
    stock_count = _count("Cards in the stock.")
    discard_pile = cards_field("Bottom to top.", required=True)
    hand = cards_field("The own cards.", required=True)
    hand_counts = Items(
        Whole(validate=validate.Range(0, 56)),
        required=True,
        validate=validate.Length(4, 4),
        metadata={"description": "Cards held, by seat."},
    )
    known_cards = Items(
        cards_field("Of one seat."),
        required=True,
        validate=validate.Length(4, 4),
        metadata={"description": "By seat, cards taken from the pile and still held (R33)."},
    )
    melds = Items(
        fields.Nested(PositionMeld), required=True, validate=validate.Length(max=MOST_MELDS)
    )
    points = _pair("Points on the table, by team.")


class PositionRequest(Budget):
    """One position or up to a hundred, and how hard to think about each."""

    position = fields.Nested(Position)
    positions = Items(
        fields.Nested(Position),
        validate=validate.Length(1, MOST_POSITIONS),
        metadata={"description": "Instead of `position`: several, answered in `hints`."},
    )

    @validates_schema
    def check_positions(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse both, and neither."""
        if ("position" in data) == ("positions" in data):
            either = Sentence("Give either `position` or `positions`.")
            raise ValidationError({"position": [either]})


class PositionAdvice(AnswerSchema):
    """The advice for one position of several."""

    seat = Whole(required=True)
    best = fields.Nested(
        Action, required=True, allow_none=True, metadata={"description": "The best so far."}
    )
    candidates = fields.List(
        fields.Nested(Candidate), required=True, metadata={"description": "Best first."}
    )
    search = fields.Nested(Search, required=True, allow_none=True)


class PositionHint(Task):
    """Advice for a position, as a game's hint has it; for several positions it is in `hints`."""

    game_id = fields.String(
        required=True, allow_none=True, metadata={"description": "Null: no game is kept here."}
    )
    version = Whole(required=True, allow_none=True, metadata={"description": "Null."})
    seat = Whole(required=True, allow_none=True, metadata={"description": "Null for several."})
    progress = Number(required=True, validate=validate.Range(0, 1))
    best = fields.Nested(
        Action, required=True, allow_none=True, metadata={"description": "The best so far."}
    )
    candidates = fields.List(
        fields.Nested(Candidate), required=True, metadata={"description": "Best first."}
    )
    search = fields.Nested(Search, required=True, allow_none=True)
    hints = fields.List(
        fields.Nested(PositionAdvice),
        required=True,
        allow_none=True,
        metadata={"description": "By place in `positions`; null for one `position`."},
    )
