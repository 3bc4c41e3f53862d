"""What may stand in a query, by operation."""

from marshmallow import ValidationError, fields, validate, validates_schema

from service.api.schemas.fields import QueryTruth, QueryWhole, RequestSchema
from service.api.schemas.games import STATUSES
from service.sentences import Sentence
from service.translations import LANGUAGES

LOG_LIMIT = 1000
PAGE_LIMIT = 100
MAX_WAIT_S = 30
MAX_VERSION = 10**9


def seat_in_query() -> QueryWhole:
    """Return the field of a seat in a query."""
    return QueryWhole(
        validate=validate.Range(0, 3),
        metadata={"description": "The seat that is meant; an app with several names it."},
    )


def since_in_query(description: str) -> QueryWhole:
    """Return the field of a version in a query."""
    return QueryWhole(
        validate=validate.Range(0, MAX_VERSION), metadata={"description": description}
    )


class NoQuery(RequestSchema):
    """An operation without a query."""


class SeatQuery(RequestSchema):
    """Whose eyes, or whose hand."""

    seat = seat_in_query()


class LanguageQuery(RequestSchema):
    """In which language."""

    lang = fields.String(
        validate=validate.OneOf(LANGUAGES),
        metadata={"description": "The language of the words; without it `Accept-Language` says."},
    )


class GameQuery(SeatQuery):
    """Reading a game, now or when it has moved on."""

    since = since_in_query("With `wait`: answer when the version is past this one.")
    wait = QueryWhole(
        validate=validate.Range(0, MAX_WAIT_S),
        metadata={"description": "Seconds to wait for it; then the game as it is."},
    )

    @validates_schema
    def check_wait(self, data: dict[str, int], **_: object) -> None:
        """Refuse a wait for nothing."""
        if "wait" in data and "since" not in data:
            needs = Sentence("This needs `{field}`.", field="since")
            raise ValidationError({"wait": [needs]})


class ActionQuery(SeatQuery):
    """Playing, or only asking whether it would be accepted."""

    dry_run = QueryTruth(
        load_default=False, metadata={"description": "`true`: judge and change nothing."}
    )


class LogQuery(SeatQuery):
    """A part of the log."""

    since = since_in_query("Only events past this version; 0 for all.")
    limit = QueryWhole(
        load_default=LOG_LIMIT,
        validate=validate.Range(1, LOG_LIMIT),
        metadata={"description": "At most so many events."},
    )


class EventsQuery(SeatQuery):
    """Whose eyes, and after which event."""

    last_event_id = since_in_query(
        "As the header `Last-Event-ID`, for clients that cannot set it; the header wins."
    )


class DeliveriesQuery(RequestSchema):
    """A page of deliveries."""

    limit = QueryWhole(
        load_default=20,
        validate=validate.Range(1, PAGE_LIMIT),
        metadata={"description": "At most so many."},
    )
    before = QueryWhole(
        validate=validate.Range(1, MAX_VERSION),
        metadata={"description": "From the `next` link of the page before."},
    )


class GamesQuery(RequestSchema):
    """A page of games."""

    status = fields.String(
        validate=validate.OneOf(STATUSES), metadata={"description": "Only games of this status."}
    )
    limit = QueryWhole(
        load_default=20,
        validate=validate.Range(1, PAGE_LIMIT),
        metadata={"description": "At most so many games."},
    )
    cursor = fields.String(
        validate=validate.Length(1, 200),
        metadata={"description": "From the `next` link of the page before."},
    )
