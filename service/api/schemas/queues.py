"""The queues, as operators see them."""

from marshmallow import fields

from service.api.schemas.fields import AnswerSchema, Number, Whole


class Queue(AnswerSchema):
    """One queue, as it is now."""

    queue = fields.String(required=True, metadata={"examples": ["bots"]})
    queued = Whole(required=True, metadata={"description": "Jobs that wait."})
    running = Whole(required=True, metadata={"description": "Jobs that a worker has in hand."})
    failed = Whole(required=True, metadata={"description": "Jobs that failed in the last hour."})
    workers = Whole(required=True, metadata={"description": "Workers that have registered."})
    oldest_seconds = Number(
        required=True,
        metadata={"description": "Since the next job was queued; 0 where none waits."},
    )


class Queues(AnswerSchema):
    """All queues."""

    queues = fields.List(fields.Nested(Queue), required=True)


class Job(AnswerSchema):
    """A job, without what is in it."""

    job = fields.String(
        required=True,
        metadata={"description": "Names it here; no id.", "examples": ["0f3c2ab19d5e7786"]},
    )
    kind = fields.String(required=True, metadata={"examples": ["play_bot_turn"]})
    queued_at = fields.DateTime(required=True, allow_none=True)
    started_at = fields.DateTime(required=True, allow_none=True)
    ended_at = fields.DateTime(required=True, allow_none=True)
    error = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "The class of the error that it failed by, without its text.",
            "examples": ["KeyError"],
        },
    )
    where = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "File and line that the error came through last.",
            "examples": ["workers/jobs.py:120"],
        },
    )


class QueueJobs(AnswerSchema):
    """The jobs of one queue, at most 100 of each state."""

    queue = fields.String(required=True)
    waiting = fields.List(fields.Nested(Job), required=True)
    running = fields.List(fields.Nested(Job), required=True)
    failed = fields.List(fields.Nested(Job), required=True)
