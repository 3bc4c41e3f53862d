"""What the use cases need from the outside: a store of games and a queue of jobs.

`service/store` and `service/jobqueue.py` implement these over Redis and RQ;
`service/store/memory.py` implements the store for tests, and both pass one contract test. Documents
are plain JSON values.

Design: one commit is one compare-and-set on the version. It writes the new state, one log entry
and, where the request has a key, the answer to be replayed, all or nothing. No lock is held while
anybody thinks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Document = dict[str, Any]

BOT_QUEUE, HINT_QUEUE, REVIEW_QUEUE, WEBHOOK_QUEUE = "bots", "hints", "reviews", "webhooks"
QUEUES = (BOT_QUEUE, HINT_QUEUE, REVIEW_QUEUE, WEBHOOK_QUEUE)
"""The queues, each with a worker of its own."""
BOTS, NEWS = "bots", "news"
"""What games wait for: their bot's turn, being told of."""
CLOCK, DELIVERIES = "clock", "deliveries"
"""Agendas: games by their deadline, deliveries by their next try."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An Idempotency-Key as it is stored: never the client's text itself."""

    name: str
    """Hash of the caller and the client's key: where the answer is kept."""
    fingerprint: str
    """Hash of the request: method, path and body."""
    secret: bytes = field(default=b"", repr=False)
    """What only the caller has; the answer is sealed by it, and it is stored nowhere."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered the first time."""

    fingerprint: str
    """Of the request; empty for an answer that the secret of another one has sealed."""
    body: Document


@dataclass(frozen=True, slots=True)
class Loaded:
    """A stored game and, if the request's key is known already, its answer."""

    version: int
    state: Document
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """One accepted change of one game: from version `version - 1` to `version`."""

    game_id: str
    version: int
    """The new version; version 0 creates the game."""
    status: str
    """open, playing, finished or abandoned: decides the time to live."""
    state: Document
    entry: Document | None = None
    """The log entry of this version, private fields included; None only for version 0."""
    key: RequestKey | None = None
    answer: Document | None = None
    """What to replay for `key`."""
    left: str | None = None
    """The status that the game leaves by this; None for a new game, and where it stays."""


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What became of a commit. Exactly one of three: done, stale, or answered before."""

    is_done: bool
    answer: Answer | None = None
    """Set when a request of the same key was committed first."""


class WatchEnded(Exception):
    """No more news will come: this process is about to end, or the game began anew."""


class Watch(Protocol):
    """Waits for the log of one game to grow; for one thread or greenlet."""

    def next(self, since: int, timeout_s: float) -> list[Document]:
        """Return entries with version > `since`, ascending, as soon as there are any; none when the
        time is up.

        Raises StoreUnavailable at once when the store goes away meanwhile, and WatchEnded; after
        the former it may be called again.
        """

    def close(self) -> None:
        """Watch no longer."""


class GameStore(Protocol):
    """Games, logs, task documents and the list of games that wait for a bot.

    Every method raises `StoreUnavailable` when the store cannot be reached.
    """

    def load(self, game_id: str, key: RequestKey | None = None) -> Loaded | None:
        """Return the game, or None. The answer under `key` is read after the state."""

    def commit(self, commit: Commit) -> CommitResult:
        """Write everything of `commit` if the stored version is the one before; else nothing."""

    def read_log(self, game_id: str, since: int, limit: int = 1000) -> list[Document]:
        """Return entries with version > `since`, ascending, at most `limit`."""

    def wait_for_version(self, game_id: str, since: int, timeout_s: float) -> bool:
        """Wait until the log has an entry past `since`; False when the time is up first."""

    def watch(self, game_id: str) -> Watch:
        """Return a watch on a game's log; many may watch one game, and it costs little."""

    def end_watches(self) -> None:
        """End all watches, now and to come: they raise WatchEnded, also in who waits."""

    def index_game(self, app: str, game_id: str, created_at_ms: int) -> None:
        """Put a game on its app's list."""

    def list_games(
        self, app: str, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        """Return (created_at_ms, game_id), newest first, strictly before the cursor `before`."""

    def forget_game(self, app: str, game_id: str) -> None:
        """Take a game that no longer exists off its app's list."""

    def new_task(
        self, scope: str, kind: str, document: Document, ttl_s: int, key: RequestKey | None = None
    ) -> tuple[str, Answer | None]:
        """Store a task document under a new id (`h1`, `h2`, ... : first letter of `kind` and a
        count of the scope), put as `id` into the document.

        With a key that is known: store nothing, return the first task's id and Answer(fingerprint,
        document as first stored)."""

    def drop_task(self, scope: str, kind: str, task_id: str, key: RequestKey | None) -> None:
        """Forget a task whose job could not be queued, and what was to be replayed for `key`, so
        that the request can be made again. The id is not given out again.
        """

    def save_task(
        self, scope: str, kind: str, task_id: str, document: Document, ttl_s: int
    ) -> bool:
        """Replace a task document unless its stored status is `cancelled` or it is gone; tell
        whether it was replaced.
        """

    def cancel_task(self, scope: str, kind: str, task_id: str) -> Document | None:
        """Set a queued or running task's status to `cancelled`; return the document as it then is,
        or None.
        """

    def load_task(self, scope: str, kind: str, task_id: str) -> Document | None:
        """Return a task document; None when it is not (or no longer) there."""

    def count_tasks(self, scope: str, kind: str) -> int:
        """Return the number of the last task of a kind that was made in a scope."""

    def note_job(self, account: str, job_id: str, at_s: float) -> None:
        """Put a job on the list of those that count to a key's quota, since `at_s`."""

    def jobs_of(self, account: str) -> list[str]:
        """Return the jobs on the key's list, the oldest first."""

    def forget_jobs(self, account: str, job_ids: list[str]) -> None:
        """Take jobs off the key's list."""

    def newest_task(self, scope: str, kind: str) -> str | None:
        """Return the id of the task of that kind that was made last and is still there, looking
        back a few; None for none.
        """

    def was_task(self, scope: str, kind: str, task_id: str) -> bool:
        """Tell whether a task of that id was ever given out in the scope."""

    def mark_waiting(self, game_id: str, at_s: float, what: str = BOTS) -> None:
        """Note, before the commit, that the game will wait since `at_s`, for a bot or for being
        told of (an earlier note is replaced).
        """

    def unmark_waiting(self, game_id: str, until_s: float, what: str = BOTS) -> None:
        """Take away a note of `until_s` or before. A later one is of a turn that began meanwhile
        and stays.
        """

    def waiting_games(self, until_s: float, limit: int, what: str = BOTS) -> list[str]:
        """Return games noted as waiting at or before `until_s`, the longest waiting first."""

    def note_due(self, agenda: str, place: str, at_s: float) -> None:
        """Note that `place` is to be looked at at `at_s`; an earlier note stays: one too early
        costs a look, one too late would stretch a turn.
        """

    def put_off(self, agenda: str, place: str, at_s: float) -> None:
        """Move a note to `at_s` if it is earlier; make none."""

    def strike(self, agenda: str, place: str) -> None:
        """Take a note away: where none will be made any more."""

    def recall(self, at_s: float) -> None:
        """Move all notes of something later than `at_s`, of waiting games too, to it: the clock was
        put back, and what they say is further off than was meant.
        """

    def due(self, agenda: str, until_s: float, limit: int) -> list[str]:
        """Return places noted for `until_s` or before, the longest overdue first."""

    def announced(self, game_id: str) -> int | None:
        """Return up to which version others were told of the game; None for not at all."""

    def set_announced(self, game_id: str, version: int) -> None:
        """Note up to which version others were told of the game."""

    def set_webhook(self, app: str, document: Document | None) -> None:
        """Keep an app's webhook in place of the one before; None takes it away."""

    def webhook(self, app: str) -> Document | None:
        """Return an app's webhook, or None."""

    def has_webhook(self, app: str) -> bool:
        """Tell whether an app has a webhook, as it was at most some seconds ago; it may be told
        from memory, though the store be away.
        """

    def count(self, amounts: Mapping[str, float]) -> None:
        """Add to the counters for operators; while the store is away nothing is counted."""

    def ping(self) -> None:
        """Return when the store answers."""


class JobQueue(Protocol):
    """Queues of jobs for the workers. Jobs are named by dotted path and take plain JSON."""

    def enqueue(self, queue: str, job: str, job_id: str, arguments: Mapping[str, Any]) -> bool:
        """Put a job on `queue`; False when one of that id waits or runs and is alive.

        Raises QueueFull when too many wait, StoreUnavailable when the queue cannot be reached.
        """

    def is_active(self, job_id: str) -> bool:
        """Tell whether a job of that id waits or runs."""

    def take_back(self, queue: str, job_id: str) -> bool:
        """Take a job that still waits off `queue`; tell whether it was there: nobody will run it.

        Raises StoreUnavailable.
        """

    def result_of(self, job_id: str) -> Document | None:
        """Return what a job that ended lately returned; None while it waits or runs, when it failed
        and when it is gone. Raises StoreUnavailable.
        """

    def depths(self) -> dict[str, int]:
        """Return how many jobs wait, by queue."""

    def ping(self) -> None:
        """Return when the queue answers; raises StoreUnavailable."""
