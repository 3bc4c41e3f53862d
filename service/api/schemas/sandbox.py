"""The sandbox: what a test key may do besides."""

from marshmallow import fields, validate

from service.api.schemas.fields import RequestSchema, Whole

MOST_SECONDS = 7 * 86_400


class ClockRequest(RequestSchema):
    """How far the clock of a game is to be moved on."""

    game_id = fields.String(
        required=True,
        validate=validate.Length(1, 64),
        metadata={"description": "A game that was made with a test key."},
    )
    seconds = Whole(
        required=True,
        validate=validate.Range(1, MOST_SECONDS),
        metadata={"description": "The turn's deadline comes so much sooner."},
    )
