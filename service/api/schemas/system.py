"""Rules, health and problems."""

from marshmallow import fields

from service.api.schemas.actions import Action
from service.api.schemas.fields import AnswerSchema, Whole
from service.api.schemas.games import Game


class Rule(AnswerSchema):
    """One rule; refusals cite its id."""

    id = fields.String(required=True, metadata={"examples": ["R11"]})
    section = fields.String(required=True)
    text = fields.String(required=True)


class Rules(AnswerSchema):
    """The rules of the game."""

    language = fields.String(required=True, metadata={"examples": ["en"]})
    title = fields.String(required=True)
    rules = fields.List(fields.Nested(Rule), required=True)


class Health(AnswerSchema):
    """The process answers."""

    status = fields.String(required=True, metadata={"examples": ["ok"]})


class Readiness(AnswerSchema):
    """The process and all that it needs answer."""

    status = fields.String(required=True, metadata={"examples": ["ok"]})
    dependencies = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata={"examples": [{"store": "ok", "queue": "ok"}]},
    )


class FieldError(AnswerSchema):
    """One fault of a request."""

    field = fields.String(required=True, metadata={"examples": ["seats.0.level"]})
    message = fields.String(required=True)


class Problem(AnswerSchema):
    """What went wrong (RFC 9457)."""

    type = fields.String(
        required=True,
        metadata={
            "description": "The kind of problem: a path of this service that explains it.",
            "format": "uri-reference",
            "examples": ["/docs/problems/stale-version"],
        },
    )
    title = fields.String(
        required=True,
        metadata={"description": "The same for each of its kind, in the language of the answer."},
    )
    status = Whole(required=True)
    detail = fields.String(required=True, metadata={"description": "A sentence for a person."})
    instance = fields.String(metadata={"description": "The path that was asked."})
    rule = fields.String(metadata={"description": "The rule that refuses.", "examples": ["R11"]})
    legal_actions = fields.List(
        fields.Nested(Action), metadata={"description": "What the seat may play instead."}
    )
    game = fields.Nested(Game, metadata={"description": "The game as it now is, when stale."})
    errors = fields.List(
        fields.Nested(FieldError), metadata={"description": "Faults, field by field."}
    )
    dependencies = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        metadata={"description": "Which part is away, when not ready."},
    )
