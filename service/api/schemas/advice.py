"""Hints, single bot moves and the bots' levels."""

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields, validate, validates_schema

from service.api.schemas.actions import Action, Event
from service.api.schemas.fields import (
    SEED_MAX,
    AnswerSchema,
    Number,
    RequestSchema,
    Truth,
    Whole,
    check_text,
    level_field,
    seat_field,
)
from service.sentences import Sentence

MAX_SECONDS = 10
MAX_ITERATIONS = 1_000_000
MAX_SEED = 2**63 - 1
MAX_WORKERS = 16
TASK_STATUSES = ("queued", "running", "done", "failed", "cancelled")
BUDGETS = ("seconds", "iterations", "level")


class Seed(fields.Raw):
    """Text or a whole number."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> str | int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is int and 0 <= value <= MAX_SEED:
            return value
        if isinstance(value, str) and len(value) <= SEED_MAX:
            check_text(value)
            return value
        raise ValidationError(
            Sentence(
                "A text of up to {length} characters or a whole number from 0 to {most} is needed.",
                length=SEED_MAX,
                most=MAX_SEED,
            )
        )


class Budget(RequestSchema):
    """How hard to think; at most one of seconds, iterations and level."""

    seconds = Number(
        validate=validate.Range(0, MAX_SECONDS, min_inclusive=False),
        metadata={
            "description": "Think so long.",
            "exclusiveMinimum": 0,
            "maximum": MAX_SECONDS,
            "examples": [1.0],
        },
    )
    iterations = Whole(
        validate=validate.Range(1, MAX_ITERATIONS),
        metadata={"description": "Think so much: the answer is the same on any machine."},
    )
    level = level_field("Think as that bot does; `expert` if nothing is given.")
    seed = Seed(
        metadata={
            "description": "Same seed, iterations, workers and view: same answer.",
            "oneOf": [
                {"type": "string", "maxLength": SEED_MAX},
                {"type": "integer", "minimum": 0, "maximum": MAX_SEED},
            ],
        }
    )

    workers = Whole(
        validate=validate.Range(1, MAX_WORKERS),
        metadata={
            "description": "Split the search into so many parts, which idle workers may take: "
            "sooner done by `iterations` or `level`, more thought by `seconds`. The answer depends "
            "on the number of parts, not on who takes them.",
            "default": 1,
        },
    )

    @validates_schema
    def check_budget(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two budgets at once."""
        given = [name for name in BUDGETS if name in data]
        if len(given) > 1:
            only_one = Sentence("Give only one of {fields}.", fields=", ".join(BUDGETS))
            raise ValidationError({name: [only_one] for name in given[1:]})


class HintRequest(Budget):
    """Whom to advise and how hard to think; at most one of seconds, iterations and level."""

    seat = seat_field()


class BotMoveRequest(RequestSchema):
    """Which bot is to play the turn, and for which seat."""

    level = level_field("How strong the bot plays; `expert` if not given.")
    seat = seat_field()


class MarginSplit(AnswerSchema):
    """An expected margin in its parts, own less theirs; they add up to it."""

    table_now = Number(metadata={"description": "What lies on the table already."})
    melds_own = Number(metadata={"description": "What the own team will lay."})
    melds_theirs = Number(metadata={"description": "What the other team will lay, as a loss."})
    bonus = Number(metadata={"description": "25 times the difference in chances to go out."})
    hands_own = Number(metadata={"description": "Cards left in the own team's hands, as a loss."})
    hands_theirs = Number(metadata={"description": "Cards left in the other team's hands."})


class Reason(AnswerSchema):
    """What an action does, as data and in words."""

    code = fields.String(required=True, metadata={"examples": ["draw_stock"]})
    values = fields.Dict(
        keys=fields.String(),
        values=fields.Raw(),
        required=True,
        metadata={"description": "The figures that the text tells, by name."},
    )
    text = fields.String(
        required=True,
        metadata={"description": "Sentences for a person, in the language of the answer."},
    )


class Candidate(AnswerSchema):
    """One action and what it is worth to the seat that asks."""

    action = fields.Nested(Action, required=True)
    expected_margin = Number(
        allow_none=True,
        metadata={"description": "Own team's points minus the other's, at the end of the deal."},
    )
    margin_interval = fields.List(
        Number(),
        allow_none=True,
        metadata={
            "description": "Where the margin lies with 95 % confidence, by the engine's value of "
            "what comes after the next turns; that value is learnt and may err."
        },
    )
    win_probability = Number(
        allow_none=True, metadata={"description": "Of the game, 0 to 1; null where not estimated."}
    )
    visits = Whole(metadata={"description": "How often the search tried it."})
    equal = Truth(
        allow_none=True,
        metadata={
            "description": "Whether the figures do not tell it from the best; null while "
            "the search runs."
        },
    )
    split = fields.Nested(
        MarginSplit, allow_none=True, metadata={"description": "The margin in its parts."}
    )
    reason = fields.Nested(
        Reason, allow_none=True, metadata={"description": "Why; null while the search runs."}
    )


class Search(AnswerSchema):
    """What was spent on the answer, and what repeats it."""

    iterations = Whole(metadata={"description": "Rounds of the tree search, all parts together."})
    workers = Whole(metadata={"description": "Parts that the search was made of."})
    fresh_worlds = Whole(
        metadata={"description": "Deals of the unseen cards that each leading action was tried on."}
    )
    seconds = Number()
    seed = fields.Raw(allow_none=True, metadata={"type": ["string", "integer"]})
    engine = fields.String()


class Task(AnswerSchema):
    """What all work on the queue has in common."""

    id = fields.String(required=True, metadata={"examples": ["h1"]})
    status = fields.String(required=True, validate=validate.OneOf(TASK_STATUSES))
    game_id = fields.String(required=True)
    version = Whole(
        required=True, metadata={"description": "The game's version that the answer is for."}
    )
    seat = Whole(required=True)
    created_at = fields.DateTime(required=True)
    finished_at = fields.DateTime(required=True, allow_none=True)
    error = fields.String(
        required=True, allow_none=True, metadata={"description": "Why it failed, or null."}
    )


class Hint(Task):
    """Advice, with its progress and the best so far while it is worked on."""

    progress = Number(required=True, validate=validate.Range(0, 1))
    best = fields.Nested(
        Action, required=True, allow_none=True, metadata={"description": "The best so far."}
    )
    candidates = fields.List(
        fields.Nested(Candidate), required=True, metadata={"description": "Best first."}
    )
    search = fields.Nested(Search, required=True, allow_none=True)


class BotMove(Task):
    """A turn that a bot plays for a human seat."""

    level = fields.String(required=True)
    actions = fields.List(
        fields.Nested(Event), required=True, metadata={"description": "What it has played."}
    )


class Bot(AnswerSchema):
    """A level, with its rating as measured by games against the others."""

    level = fields.String(required=True)
    rating = Number(required=True, allow_none=True)
    rating_interval = fields.List(
        Number(), required=True, allow_none=True, metadata={"description": "95 %: low, high."}
    )
    iterations = Whole(
        required=True, allow_none=True, metadata={"description": "Of search, for one decision."}
    )
    typical_seconds = Number(
        required=True, allow_none=True, metadata={"description": "For one decision."}
    )


class Bots(AnswerSchema):
    """All levels, weakest first."""

    bots = fields.List(fields.Nested(Bot), required=True)
