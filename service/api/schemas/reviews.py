"""The review of a finished game."""

from marshmallow import fields, validate

from service.api.schemas.actions import Action
from service.api.schemas.advice import TASK_STATUSES, Search, Seed
from service.api.schemas.fields import (
    SEED_MAX,
    AnswerSchema,
    Number,
    RequestSchema,
    Whole,
    card_field,
)

FEWEST_ITERATIONS = 100
MOST_ITERATIONS = 50_000
WORDS = ("best", "fine", "slip", "blunder")


class ReviewRequest(RequestSchema):
    """How hard to look."""

    iterations = Whole(
        validate=validate.Range(FEWEST_ITERATIONS, MOST_ITERATIONS),
        metadata={"description": "Of search, for each decision; 2000 if not given."},
    )
    seed = Seed(
        metadata={
            "description": "Same game, iterations and seed: same review.",
            "oneOf": [
                {"type": "string", "maxLength": SEED_MAX},
                {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
            ],
        }
    )


def interval_field(description: str) -> fields.List[float]:
    """Return the field of a 95 % interval, low and high."""
    sure = "by the engine's value, which may err, with 95 % confidence: low, high."
    return fields.List(
        Number(),
        required=True,
        validate=validate.Length(2, 2),
        metadata={"description": f"{description} {sure}"},
    )


class ReviewedDecision(AnswerSchema):
    """What one player chose, and what it cost by what that player knew then."""

    version = Whole(required=True, metadata={"description": "The game's version after it."})
    deal = Whole(required=True)
    seat = Whole(required=True)
    action = fields.Nested(Action, required=True, metadata={"description": "What was played."})
    best = fields.Nested(
        Action,
        required=True,
        metadata={"description": "The best found; of a longer meld the step that was better."},
    )
    choices = Whole(required=True, metadata={"description": "Moves to choose from."})
    expected_margin = Number(
        required=True,
        metadata={"description": "With the best: own points less theirs, at the deal's end."},
    )
    loss = Number(
        required=True,
        validate=validate.Range(0),
        metadata={"description": "Points lost against the best; 0 where it was played."},
    )
    loss_interval = interval_field("Where the loss lies")
    word = fields.String(required=True, validate=validate.OneOf(WORDS))


class ReviewedDraw(AnswerSchema):
    """What a card drawn from the stock gave: the luck of one draw."""

    version = Whole(required=True, metadata={"description": "The game's version after it."})
    deal = Whole(required=True)
    seat = Whole(required=True)
    card = card_field("The card drawn.", required=True)
    before = Number(required=True, metadata={"description": "Expected margin before the draw."})
    after = Number(required=True, metadata={"description": "Expected margin after it."})
    luck = Number(required=True, metadata={"description": "After less before, in points."})
    luck_interval = interval_field("Where the luck lies")


class WordCounts(AnswerSchema):
    """How many decisions were how good."""

    best = Whole(required=True)
    fine = Whole(required=True)
    slip = Whole(required=True)
    blunder = Whole(required=True)


class ReviewedPlayer(AnswerSchema):
    """What a player's decisions and draws come to."""

    seat = Whole(required=True)
    decisions = Whole(required=True)
    words = fields.Nested(WordCounts, required=True)
    loss = Number(
        required=True,
        validate=validate.Range(0),
        metadata={"description": "Points lost by all decisions: skill."},
    )
    loss_interval = interval_field("Where it lies")
    draws = Whole(required=True, metadata={"description": "Cards drawn from the stock."})
    luck = Number(required=True, metadata={"description": "What all draws gave, in points."})
    luck_interval = interval_field("Where it lies")


class ReviewOptions(AnswerSchema):
    """What the review was asked with."""

    iterations = Whole(required=True)
    seed = fields.Raw(required=True, metadata={"type": ["string", "integer"]})


class Review(AnswerSchema):
    """A finished game looked at again, with what is done so far while it is worked on."""

    id = fields.String(required=True, metadata={"examples": ["r1"]})
    status = fields.String(required=True, validate=validate.OneOf(TASK_STATUSES))
    game_id = fields.String(required=True)
    options = fields.Nested(ReviewOptions, required=True)
    progress = Number(required=True, validate=validate.Range(0, 1))
    decisions = fields.List(
        fields.Nested(ReviewedDecision),
        required=True,
        metadata={"description": "In order; only those with a choice."},
    )
    draws = fields.List(fields.Nested(ReviewedDraw), required=True)
    players = fields.List(
        fields.Nested(ReviewedPlayer), required=True, validate=validate.Length(4, 4)
    )
    search = fields.Nested(Search, required=True, allow_none=True)
    created_at = fields.DateTime(required=True)
    finished_at = fields.DateTime(required=True, allow_none=True)
    error = fields.String(
        required=True, allow_none=True, metadata={"description": "Why it failed, or null."}
    )
