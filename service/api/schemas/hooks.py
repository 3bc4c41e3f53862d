"""Where others are told: addresses and secrets, as requests carry them."""

import re
from typing import Any

from marshmallow import ValidationError, fields, validate

from service.api.schemas.fields import Items, RequestSchema
from service.games.addresses import MAX_URL
from service.games.hooks import EVENTS
from service.sentences import Sentence

SECRET_PATTERN = "^(whsec_)?[A-Za-z0-9+/]{32,88}={0,2}$"
_SECRET = re.compile(SECRET_PATTERN)


def check_secret(value: str) -> None:
    """Refuse what is no secret."""
    # `$` alone would let a line break at the end pass, which it does not in the document.
    if not _SECRET.fullmatch(value):
        raise ValidationError(Sentence("`whsec_` and 24 to 64 bytes in base64 are needed."))


def url_field(description: str, **more: Any) -> fields.String:
    """Return the field of an address that is posted to; the use case looks at it closely."""
    return fields.String(
        required=True,
        validate=validate.Length(8, MAX_URL),
        metadata={"description": description, "examples": ["https://example.org/rummy"], **more},
    )


def secret_field(description: str) -> fields.String:
    """Return the field of a secret of the Standard Webhooks scheme."""
    return fields.String(
        validate=check_secret,
        metadata={
            "description": description,
            "pattern": SECRET_PATTERN,
            "examples": ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
        },
    )


class WebhookRequest(RequestSchema):
    """Where to tell of what happens."""

    url = url_field("Where to post: http or https, at a public address.")
    secret = secret_field(
        "What messages are signed with: `whsec_` and 24 to 64 bytes in base64. Made here if not "
        "given, and shown once."
    )
    events = Items(
        fields.String(validate=validate.OneOf(EVENTS)),
        validate=validate.Length(1, len(EVENTS)),
        metadata={"description": "Which; all if not given.", "examples": [["turn.started"]]},
    )
