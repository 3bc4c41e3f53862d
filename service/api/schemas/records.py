"""The record of a finished game."""

from marshmallow import fields, validate

from service.api.schemas.actions import Action, DealScore
from service.api.schemas.fields import AnswerSchema, Truth, Whole, card_field, cards_field
from service.api.schemas.games import Fairness, Seat, Seating


class RecordedAction(AnswerSchema):
    """One action as it was played."""

    version = Whole(required=True, metadata={"description": "The game's version after it."})
    at = fields.DateTime(required=True, metadata={"description": "When, in UTC."})
    seat = Whole(required=True)
    by = fields.String(required=True, metadata={"description": "Who played it: `human` or a bot."})
    action = fields.Nested(Action, required=True)
    card = card_field("The card drawn from the stock, or null.", required=True, allow_none=True)


class RecordedDeal(AnswerSchema):
    """One deal, all its cards and all its actions."""

    number = Whole(required=True, metadata={"description": "From 1."})
    dealer = Whole(required=True)
    deck = cards_field(
        "The pack before the deal, the top card first: seven cards to each player, one at a time "
        "from the dealer's left, then the upcard, then the stock.",
        required=True,
    )
    actions = fields.List(fields.Nested(RecordedAction), required=True)
    score = fields.Nested(DealScore, required=True)


class Record(AnswerSchema):
    """A finished game in the open."""

    id = fields.String(required=True)
    created_at = fields.DateTime(required=True)
    seats = fields.List(fields.Nested(Seat), required=True)
    seating = fields.Nested(Seating, required=True)
    fairness = fields.Nested(Fairness, required=True)
    sandbox = Truth(
        required=True,
        metadata={"description": "Made with a test key: the packs may not be the seed's."},
    )
    deals = fields.List(fields.Nested(RecordedDeal), required=True)
    scores = fields.List(Whole(), required=True, validate=validate.Length(2, 2))
    winner = Whole(
        required=True,
        allow_none=True,
        metadata={"description": "The winning team; null for a draw (R32)."},
    )
    text = fields.String(
        required=True, metadata={"description": "The game in notation, as `text/plain` has it."}
    )
