"""What marshmallow says of a value that does not fit, as sentences of ours.

They stand here once, so that `make words` finds them and whoever reads them gets them in their own
language, as every other refusal. A shape of a request takes them when its fields are bound to it.
Our own checks raise `ValidationError(Sentence(...))`.
"""

from collections.abc import Iterator
from typing import Any

from marshmallow import Schema, fields, validate

from service.sentences import Sentence

NO_OBJECT = Sentence("An object is needed.")
MISSING = Sentence("This field is missing.")
NO_CHOICE = Sentence("One of these is needed: {choices}.")
SENTENCES: dict[str, Sentence] = {
    "Missing data for required field.": MISSING,
    "Unknown field.": Sentence("This field is not known here."),
    "Field may not be null.": Sentence("This field may not be null."),
    "Invalid value.": Sentence("This value is not possible here."),
    "Invalid input type.": NO_OBJECT,
    "Invalid type.": NO_OBJECT,
    "Not a valid list.": Sentence("A list is needed."),
    "Not a valid string.": Sentence("A text is needed."),
    "Not a valid utf-8 string.": Sentence("A text that can be written in UTF-8 is needed."),
    "Not a valid number.": Sentence("A number is needed."),
    "Not a valid integer.": Sentence("A whole number is needed."),
    "Not a valid boolean.": Sentence("`true` or `false` is needed."),
    "Number too large.": Sentence("This number is too large."),
    "Special numeric values (nan or infinity) are not permitted.": Sentence(
        "A finite number is needed."
    ),
    "Must be one of: {choices}.": NO_CHOICE,
    "Must be equal to {other}.": Sentence("Only {other} is possible here."),
    "Must be greater than or equal to {min} and less than or equal to {max}.": Sentence(
        "A number from {min} to {max} is needed."
    ),
    "Must be greater than {min} and less than or equal to {max}.": Sentence(
        "A number above {min} and up to {max} is needed."
    ),
    "Longer than maximum length {max}.": Sentence("The length may be up to {max}."),
    "Length must be between {min} and {max}.": Sentence("The length must be from {min} to {max}."),
    "Length must be {equal}.": Sentence("The length must be {equal}."),
}
"""By marshmallow's own words, which keep their place for values: a `Sentence` that is formatted
remembers them."""


def sentence_for(message: object) -> Sentence:
    """Return marshmallow's message as a sentence; one that is not known here stays as it is."""
    if isinstance(message, Sentence):
        return message
    return SENTENCES.get(str(message)) or Sentence(str(message))


def parts_of(field: fields.Field[Any]) -> Iterator[fields.Field[Any]]:
    """Yield a field and, of a list, those of its items."""
    yield field
    if isinstance(field, fields.List):
        yield from parts_of(field.inner)


def messages_of(check: object) -> dict[str, str]:
    """Return what one of marshmallow's validators can say, by the attribute that holds it.

    Where one has several it takes the one that fits which bounds it was given."""
    if isinstance(check, validate.Range):
        return _of_bounds(check, low=check.min, high=check.max)
    if isinstance(check, validate.Length):
        if check.equal is not None:
            return {"message_equal": check.message_equal}
        return _of_bounds(check, low=check.min, high=check.max)
    if isinstance(check, validate.OneOf | validate.Equal):
        return {"error": check.error}
    return {}


def _of_bounds(check: Any, *, low: object, high: object) -> dict[str, str]:
    name = "message_max" if low is None else "message_min" if high is None else "message_all"
    return {name: getattr(check, name)}


def speak_in_sentences(field: fields.Field[Any]) -> None:
    """Let a field, its items and their validators say sentences."""
    for part in parts_of(field):
        part.error_messages = {key: sentence_for(m) for key, m in part.error_messages.items()}
        for check in part.validators:
            for name, message in messages_of(check).items():
                setattr(check, name, sentence_for(message))


SCHEMA_MESSAGES: dict[str, str] = {
    key: sentence_for(message) for key, message in Schema._default_error_messages.items()
}
"""What a whole shape can say."""
