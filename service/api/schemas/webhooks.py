"""Webhooks: what others are told, and how that went."""

from marshmallow import fields, validate

from service.api.schemas.actions import Action, Event
from service.api.schemas.fields import AnswerSchema, Number, Whole
from service.api.schemas.games import Game


class Webhook(AnswerSchema):
    """An app's webhook."""

    url = fields.String(required=True)
    events = fields.List(fields.String(), required=True)
    created_at = fields.DateTime(required=True)
    secret = fields.String(metadata={"description": "Only where it was just made here."})


class Attempt(AnswerSchema):
    """One try of a delivery."""

    at = fields.DateTime(required=True)
    status = Whole(
        required=True, allow_none=True, metadata={"description": "The answer's status, or null."}
    )
    error = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Why there was no answer, or null.", "examples": ["timeout"]},
    )
    ms = Number(required=True, metadata={"description": "Milliseconds it took."})


class Delivery(AnswerSchema):
    """A message and how its sending went."""

    id = fields.String(required=True, metadata={"examples": ["d1"]})
    webhook_id = fields.String(
        required=True, metadata={"description": "The header `webhook-id` of the message."}
    )
    event = fields.String(required=True, metadata={"examples": ["turn.started"]})
    scope = fields.String(
        required=True, metadata={"description": "Whose webhook: `game` or `app`."}
    )
    status = fields.String(
        required=True,
        validate=validate.OneOf(["queued", "delivered", "failed"]),
        metadata={"description": "`failed`: after a day, by a 410, or since the webhook is gone."},
    )
    created_at = fields.DateTime(required=True)
    attempts = fields.List(fields.Nested(Attempt), required=True)
    next_attempt_at = fields.DateTime(required=True, allow_none=True)
    finished_at = fields.DateTime(required=True, allow_none=True)


class DeliveryPage(AnswerSchema):
    """A page of deliveries, newest first."""

    deliveries = fields.List(fields.Nested(Delivery), required=True)
    next = fields.String(
        required=True, allow_none=True, metadata={"description": "The next page's path, or null."}
    )


class TurnStarted(AnswerSchema):
    """A turn has begun."""

    game_id = fields.String(required=True)
    version = Whole(required=True)
    seat = Whole(required=True, metadata={"description": "Whose turn it is."})
    player = fields.String(required=True, metadata={"description": "As in GAME."})
    deadline = fields.DateTime(required=True, allow_none=True)


class ActionPlayed(AnswerSchema):
    """An action was played; no card drawn from the stock is told."""

    game_id = fields.String(required=True)
    event = fields.Nested(Event, required=True)


class HintFinished(AnswerSchema):
    """A hint is there to be read."""

    game_id = fields.String(required=True)
    version = Whole(required=True)
    hint_id = fields.String(required=True)
    seat = Whole(required=True)
    status = fields.String(required=True)


class GameFinished(AnswerSchema):
    """A game is finished or was abandoned."""

    game_id = fields.String(required=True)
    game = fields.Nested(Game, required=True)


class ActionWanted(AnswerSchema):
    """An external seat is asked for its action; it answers 200 with an ACTION."""

    game_id = fields.String(required=True)
    version = Whole(required=True)
    seat = Whole(required=True)
    deadline = fields.DateTime(required=True, allow_none=True)
    view = fields.Dict(
        keys=fields.String(),
        values=fields.Raw(),
        required=True,
        metadata={"description": "What the seat may see: GAME's deal and the scores."},
    )
    legal_actions = fields.List(fields.Nested(Action), required=True)


MESSAGES: dict[str, type[AnswerSchema]] = {
    "turn.started": TurnStarted,
    "action.played": ActionPlayed,
    "hint.finished": HintFinished,
    "game.finished": GameFinished,
    "action.wanted": ActionWanted,
}
"""The shape of `data`, by the message's type."""
