"""Fields that take a value only in its JSON type: no text for a number, no number for a boolean."""

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import EXCLUDE, RAISE, Schema, ValidationError, fields, validate

from service.api.schemas.messages import SCHEMA_MESSAGES, speak_in_sentences
from service.games.levels import bot_levels
from service.sentences import Sentence

NAME_MAX = 40
SEED_MAX = 200
CARD_PATTERN = "^([2-9TJQKA][CDHS]|X[1-4])$"
_CARD = re.compile(CARD_PATTERN)
NAME_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
"""No control characters and no line breaks, as ECMA 262 and Python both read it."""
_CONTROL = re.compile(r"[\u0000-\u001f\u007f-\u009f\u2028\u2029]")
_WHOLE = re.compile(r"-?[0-9]{1,15}")


class RequestSchema(Schema):
    """A request's body or query: unknown fields are refused, in the reader's language."""

    error_messages = SCHEMA_MESSAGES

    class Meta:
        """See RequestSchema."""

        unknown = RAISE

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """See marshmallow's Schema: called once for each field of a shape."""
        speak_in_sentences(field_obj)


class AnswerSchema(Schema):
    """An answer: clients must expect further members in later releases."""

    class Meta:
        """See AnswerSchema."""

        unknown = EXCLUDE


class Whole(fields.Integer):
    """A whole number, as `5` or `5.0`."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if type(value) is not int:
            raise self.make_error("invalid")
        return value


class Number(fields.Float):
    """A number."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> float:
        if type(value) not in (int, float):
            raise self.make_error("invalid")
        try:
            return float(value)
        except OverflowError:
            raise self.make_error("too_large") from None


class Truth(fields.Boolean):
    """`true` or `false`, and nothing that resembles them."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class Items(fields.List[Any]):
    """A list in a body. Its length is looked at before its items are: a list of a hundred thousand
    is refused at once.
    """

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> list[Any]:
        if isinstance(value, list):
            for check in self.validators:
                if isinstance(check, validate.Length):
                    check(value)
        return super()._deserialize(value, attr, data, **kwargs)


class QueryWhole(fields.Integer):
    """A whole number in a query: decimal digits only."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        if not isinstance(value, str) or not _WHOLE.fullmatch(value):
            raise self.make_error("invalid")
        return int(value)


class QueryTruth(fields.Boolean):
    """`true` or `false` in a query."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> bool:
        if value not in ("true", "false"):
            raise self.make_error("invalid", input=value)
        return bool(value == "true")


def check_text(value: str) -> None:
    """Refuse text that cannot be written in UTF-8 (half of a surrogate pair)."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValidationError(Sentence("A text that can be written in UTF-8 is needed.")) from None


def check_name(value: str) -> None:
    """Refuse names with control characters or with nothing to see."""
    check_text(value)
    if _CONTROL.search(value):
        raise ValidationError(Sentence("A name has no control characters and no line breaks."))
    if not value.strip():
        raise ValidationError(Sentence("A name needs a visible character."))


def check_card(value: str) -> None:
    """Refuse what is no card."""
    if not _CARD.fullmatch(value):
        raise ValidationError(
            Sentence('Not a card: cards are written like "7H", "TD", "AS", "X1".')
        )


def check_pack(cards: list[str]) -> None:
    """Refuse a pack in which a card stands twice."""
    if len(set(cards)) != len(cards):
        raise ValidationError(Sentence("A card stands here more than once."))


class KnownLevel(validate.Validator):
    """Takes the names of the bots' levels; reads them when they are first needed."""

    @property
    def choices(self) -> list[str]:
        """The names, in an order that new ratings do not change; for the document."""
        return sorted(level["level"] for level in bot_levels())

    def __call__(self, value: str) -> str:
        """Return `value`; raises ValidationError when there is no such level."""
        if value not in self.choices:
            raise ValidationError(
                Sentence(
                    "There is no such level; there are {levels}.", levels=", ".join(self.choices)
                )
            )
        return value


def name_field(description: str) -> fields.String:
    """Return the field of a player's name."""
    return fields.String(
        validate=[validate.Length(1, NAME_MAX), check_name],
        metadata={"description": description, "pattern": NAME_PATTERN, "examples": ["Ana"]},
    )


def seat_field(**more: Any) -> Whole:
    """Return the field of a seat in a body."""
    description = more.pop("description", "The seat that is meant; an app with several names it.")
    return Whole(validate=validate.Range(0, 3), metadata={"description": description}, **more)


def card_field(description: str, **more: Any) -> fields.String:
    """Return the field of one card."""
    return fields.String(
        validate=check_card,
        metadata={"description": description, "pattern": CARD_PATTERN, "examples": ["7H"]},
        **more,
    )


def cards_field(description: str, **more: Any) -> Items:
    """Return the field of a list of cards. The rules, not the shape, refuse too few or doubles."""
    return Items(
        fields.String(validate=check_card, metadata={"pattern": CARD_PATTERN}),
        validate=validate.Length(max=56),
        metadata={"description": description, "examples": [["4S", "4D", "4H"]]},
        **more,
    )


def level_field(description: str, **more: Any) -> fields.String:
    """Return the field of a bot's level."""
    return fields.String(
        validate=KnownLevel(), metadata={"description": description, "examples": ["expert"]}, **more
    )
