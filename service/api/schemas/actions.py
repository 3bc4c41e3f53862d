"""ACTION, as clients send it and as they are shown it, and the events of the log."""

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate
from marshmallow_oneofschema.one_of_schema import OneOfSchema

from service.api.schemas.fields import (
    AnswerSchema,
    RequestSchema,
    Whole,
    card_field,
    cards_field,
    seat_field,
)
from service.api.schemas.messages import MISSING, NO_CHOICE, NO_OBJECT


class Union(OneOfSchema):
    """One of several shapes, told apart by one field.

    The field stays in the data, as each shape declares it: so the document's `oneOf` accepts what
    the schema accepts."""

    type_field_remove = False

    def __init__(self, **settings: Any) -> None:
        """Make the shapes once; the base class would make one anew for each thing that it reads."""
        super().__init__(**settings)
        self._shapes = {
            name: shape if isinstance(shape, Schema) else shape()
            for name, shape in self.type_schemas.items()
        }

    def get_data_type(self, data: dict[str, Any]) -> str:
        """Return the name of the shape; raises ValidationError without repeating what was sent."""
        name = data.get(self.type_field)
        if self.type_field not in data:
            raise ValidationError({self.type_field: [MISSING]})
        if not isinstance(name, str) or name not in self.type_schemas:
            allowed = ", ".join(self.type_schemas)
            raise ValidationError({self.type_field: [NO_CHOICE.format(choices=allowed)]})
        return name

    def _load(self, data: Any, *, partial: Any = None, unknown: Any = None, **_: Any) -> Any:
        if not isinstance(data, dict):
            raise ValidationError({"_schema": [NO_OBJECT]})
        return self._shapes[self.get_data_type(data)].load(data, partial=partial, unknown=unknown)


def type_field(name: str) -> fields.String:
    """Return the field that tells shapes apart, for the shape `name`."""
    return fields.String(
        required=True, validate=validate.Equal(name), metadata={"description": f"`{name}`"}
    )


MELD = "The id of the meld that is extended (R18), as GAME shows it."


def meld_field() -> fields.String:
    """Return the field of a meld's id; the rules refuse an id that no meld has."""
    return fields.String(
        required=True,
        validate=validate.Length(1, 8),
        metadata={"description": MELD, "examples": ["m3"]},
    )


class DrawStock(RequestSchema):
    """Draw the top card of the stock."""

    type = type_field("draw_stock")
    seat = seat_field()


class TakeDiscards(RequestSchema):
    """Take a card from the discard pile and all above it."""

    type = type_field("take_discards")
    card = card_field("The lowest card taken, which is due at once (R11).", required=True)
    seat = seat_field()


class LayMeld(RequestSchema):
    """Lay a new meld."""

    type = type_field("meld")
    cards = cards_field("A set or a run, in any order.", required=True)
    seat = seat_field()


class LayOff(RequestSchema):
    """Add cards to a meld on the table."""

    type = type_field("lay_off")
    cards = cards_field("The cards added, in any order.", required=True)
    meld = meld_field()
    seat = seat_field()


class Discard(RequestSchema):
    """Discard a card, which ends the turn."""

    type = type_field("discard")
    card = card_field("The card discarded.", required=True)
    seat = seat_field()


class Pass(RequestSchema):
    """Pass: only with an empty stock (R24)."""

    type = type_field("pass")
    seat = seat_field()


class Action(Union):
    """What a seat does: told apart by `type`."""

    type_schemas: Mapping[str, type[Schema] | Schema] = {
        "draw_stock": DrawStock,
        "take_discards": TakeDiscards,
        "meld": LayMeld,
        "lay_off": LayOff,
        "discard": Discard,
        "pass": Pass,
    }


class DealScore(AnswerSchema):
    """The score of a finished deal; each list is one number a team."""

    laid = fields.List(Whole(), required=True, validate=validate.Length(2, 2))
    bonus = fields.List(Whole(), required=True, validate=validate.Length(2, 2))
    hands = fields.List(Whole(), required=True, validate=validate.Length(2, 2))
    total = fields.List(Whole(), required=True, validate=validate.Length(2, 2))
    went_out = Whole(
        required=True,
        allow_none=True,
        metadata={"description": "The seat that went out (R21), or null."},
    )


class Event(AnswerSchema):
    """One accepted change of a game, as the caller may see it."""

    version = Whole(required=True, metadata={"description": "The game's version after it."})
    at = fields.DateTime(required=True, metadata={"description": "When, in UTC."})
    type = fields.String(
        required=True,
        metadata={
            "description": "`played`: an ACTION; `joined`: a seat was taken; `bot_seated`: a bot "
            "plays the seat from now on; `seat_returned`: its owner again; `token_replaced`: the "
            "seat has a new token; `clock_moved`: the turn's deadline was moved, by a tester or "
            "because the service's own clock was put right; `abandoned`: the game was ended. "
            "Further types may come."
        },
    )
    seat = Whole(
        required=True, allow_none=True, metadata={"description": "Whose change it was, or null."}
    )
    by = fields.String(
        required=True,
        metadata={
            "description": "Who made it: `human`, `bot`, `bot_move` (a bot asked to), `app`, "
            "`clock` (a bot, since the time was over) or `external`."
        },
    )
    card = card_field(
        "The card drawn from the stock, for the seat that drew it; else null (R33).",
        required=True,
        allow_none=True,
    )
    deal = Whole(metadata={"description": "The deal's number, from 1; of `played`."})
    action = fields.Nested(Action, metadata={"description": "What was played; of `played`."})
    deal_score = fields.Nested(
        DealScore, metadata={"description": "Set when the action ended the deal."}
    )
    name = fields.String(
        metadata={"description": "The player's name; of `joined` and `bot_seated`."}
    )
    level = fields.String(
        allow_none=True, metadata={"description": "The bot's level; of `bot_seated`."}
    )
    seconds = Whole(metadata={"description": "How much sooner it is; of `clock_moved`."})


class StreamEvent(AnswerSchema):
    """One server-sent event, its fields as members."""

    event = fields.String(
        required=True, validate=validate.OneOf(["game", "action", "game_finished"])
    )
    id = fields.String(
        metadata={"description": "The version from which to go on; `game_finished` has none."}
    )
    data = fields.String(
        required=True,
        metadata={
            "description": "JSON: GAME, in `action` EVENT.",
            "contentMediaType": "application/json",
        },
    )


class ActionLog(AnswerSchema):
    """The log of a game, ascending by version."""

    actions = fields.List(fields.Nested(Event), required=True)


class LegalActions(AnswerSchema):
    """What a seat may play now; each is accepted as it is by `playAction`."""

    seat = Whole(
        required=True, allow_none=True, metadata={"description": "Whose actions these are."}
    )
    phase = fields.String(required=True, validate=validate.OneOf(["draw", "meld", "over"]))
    actions = fields.List(fields.Nested(Action), required=True)
