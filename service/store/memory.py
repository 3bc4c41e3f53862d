"""The store and the queue in memory, for tests of use cases: same contracts, no Redis.

Documents are kept as text, as Redis would keep them, so that a caller can neither change what is
stored nor store what is no JSON. Set `is_away` to see what happens without the part.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Condition, RLock
from typing import Any, Generic, TypeVar

import orjson

from service.games.counting import game_event
from service.games.entries import read_entry, write_entry
from service.games.errors import QueueFull, StoreUnavailable
from service.games.ports import (
    BOTS,
    Answer,
    Commit,
    CommitResult,
    Document,
    Loaded,
    RequestKey,
    Watch,
    WatchEnded,
)
from service.store.keys import task_ids, task_number
from service.store.sealing import seal, unseal

Value = TypeVar("Value")


class _Expiring(Generic[Value]):
    """A dictionary whose entries are gone after their time to live."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, ...], tuple[float, Value]] = {}

    def get(self, *key: str) -> Value | None:
        """Return the entry, or None when there is none (any longer)."""
        expires_at, value = self._entries.get(key, (0.0, None))
        return value if value is not None and self._clock() < expires_at else None

    def put(self, value: Value, ttl_s: float, *key: str) -> None:
        """Keep `value` for `ttl_s` seconds from now."""
        self._entries[key] = (self._clock() + ttl_s, value)

    def drop(self, *key: str) -> None:
        """Take an entry away if there is one."""
        self._entries.pop(key, None)

    def replace(self, value: Value, *key: str) -> None:
        """Put `value` in place of an entry, which will be gone when that one would have been."""
        self._entries[key] = (self._entries[key][0], value)


@dataclass(slots=True)
class _StoredGame:
    version: int
    state: bytes
    log: list[bytes] = field(default_factory=list)
    """Entry i belongs to version i + 1."""


@dataclass(frozen=True, slots=True)
class _StoredAnswer:
    fingerprint: str
    body: bytes
    is_sealed: bool

    def opened_by(self, key: RequestKey) -> Answer:
        body = unseal(key, self.body) if self.is_sealed else self.body
        return Answer("", {}) if body is None else Answer(self.fingerprint, orjson.loads(body))


@dataclass(frozen=True, slots=True)
class _MemoryWatch:
    store: "MemoryStore"
    game_id: str

    def next(self, since: int, timeout_s: float) -> list[Document]:
        return self.store.await_entries(self.game_id, since, timeout_s)

    def close(self) -> None: ...


class MemoryStore:
    """`GameStore` in one process. May be shared by threads."""

    def __init__(
        self,
        *,
        finished_ttl_s: int = 600,
        idle_ttl_s: int = 3600,
        idempotency_ttl_s: int = 600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin empty; `clock`, in seconds, says when things expire."""
        self.is_away = False
        self.counters: dict[str, float] = {}
        self._has_ended = False
        self._finished_ttl_s = finished_ttl_s
        self._idle_ttl_s = idle_ttl_s
        self._idempotency_ttl_s = idempotency_ttl_s
        self._changed = Condition(RLock())
        self._games: _Expiring[_StoredGame] = _Expiring(clock)
        self._answers: _Expiring[_StoredAnswer] = _Expiring(clock)
        self._tasks: _Expiring[bytes] = _Expiring(clock)
        self._counters: dict[tuple[str, str], int] = {}
        self._jobs: dict[str, dict[str, float]] = {}
        self._apps: dict[str, dict[str, int]] = {}
        self._notes: dict[tuple[str, str], float] = {}
        self._announced: _Expiring[int] = _Expiring(clock)
        self._webhooks: dict[str, bytes] = {}

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Let one caller at a time in; nobody while the store is away."""
        with self._changed:
            if self.is_away:
                raise StoreUnavailable
            yield

    def ping(self) -> None:
        """Return when the store answers."""
        with self._open():
            return

    # Games.

    def load(self, game_id: str, key: RequestKey | None = None) -> Loaded | None:
        """Return the game, or None."""
        with self._open():
            game = self._games.get(game_id)
            if game is None:
                return None
            known = self._answers.get(game_id, key.name) if key else None
            answer = known.opened_by(key) if known and key else None
            return Loaded(game.version, orjson.loads(game.state), answer)

    def commit(self, commit: Commit) -> CommitResult:
        """Write everything of `commit` if the stored version is the one before; else nothing."""
        state = orjson.dumps(commit.state)
        entry = None if commit.entry is None else write_entry(commit.entry)
        with self._open():
            known = self._answers.get(commit.game_id, commit.key.name) if commit.key else None
            if known is not None and commit.key is not None:
                return CommitResult(is_done=False, answer=known.opened_by(commit.key))
            game = self._games.get(commit.game_id)
            if (-1 if game is None else game.version) != commit.version - 1:
                return CommitResult(is_done=False)
            log = [] if game is None else game.log
            if entry is not None:
                log.append(entry)
            is_over = commit.status in ("finished", "abandoned")
            ttl_s = self._finished_ttl_s if is_over else self._idle_ttl_s
            self._games.put(_StoredGame(commit.version, state, log), ttl_s, commit.game_id)
            if commit.key is not None:
                body = seal(commit.key, orjson.dumps(commit.answer))
                answer = _StoredAnswer(commit.key.fingerprint, body, is_sealed=True)
                self._answers.put(answer, self._idempotency_ttl_s, commit.game_id, commit.key.name)
            self._changed.notify_all()
            self.count(game_event(commit.version, commit.status))
            return CommitResult(is_done=True)

    def read_log(self, game_id: str, since: int, limit: int = 1000) -> list[Document]:
        """Return entries with version > `since`, ascending, at most `limit`."""
        with self._open():
            game = self._games.get(game_id)
            if game is None or limit < 1:
                return []
            first = max(since, 0)
            return list(map(read_entry, count(first + 1), game.log[first : first + limit]))

    def wait_for_version(self, game_id: str, since: int, timeout_s: float) -> bool:
        """Wait until the log has an entry past `since`; False when the time is up first."""
        if timeout_s <= 0:
            return bool(self.read_log(game_id, since, 1))
        try:
            return bool(self.watch(game_id).next(since, timeout_s))
        except WatchEnded:
            return False

    def watch(self, game_id: str) -> Watch:
        """Return a watch on a game's log."""
        return _MemoryWatch(self, game_id)

    def end_watches(self) -> None:
        """End all watches, now and to come."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def await_entries(self, game_id: str, since: int, timeout_s: float) -> list[Document]:
        """Return entries past `since` when there are any, none when the time is up."""

        def is_there() -> bool:
            game = self._games.get(game_id)
            return self._has_ended or (game is not None and len(game.log) > since)

        with self._open():
            self._changed.wait_for(is_there, max(timeout_s, 0))
            if self._has_ended:
                raise WatchEnded
            return self.read_log(game_id, since)

    # The list of an app's games.

    def index_game(self, app: str, game_id: str, created_at_ms: int) -> None:
        """Put a game on its app's list, where it keeps its first place."""
        with self._open():
            self._apps.setdefault(app, {}).setdefault(game_id, created_at_ms)

    def list_games(
        self, app: str, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        """Return (created_at_ms, game_id), newest first, strictly before the cursor `before`."""
        with self._open():
            games = [(at_ms, game_id) for game_id, at_ms in self._apps.get(app, {}).items()]
        games.sort(reverse=True)
        return [game for game in games if before is None or game < before][: max(limit, 0)]

    def forget_game(self, app: str, game_id: str) -> None:
        """Take a game that no longer exists off its app's list."""
        with self._open():
            self._apps.get(app, {}).pop(game_id, None)

    # Tasks.

    def new_task(
        self, scope: str, kind: str, document: Document, ttl_s: int, key: RequestKey | None = None
    ) -> tuple[str, Answer | None]:
        """Store a task document under a new id, once for each `key`; return the id and, for a key
        that is known, the first answer.
        """
        with self._open():
            known = self._answers.get(scope, key.name) if key else None
            if known is not None and key is not None:
                answer = known.opened_by(key)
                return answer.body["id"], answer
            number = self._counters.get((scope, kind), 0) + 1
            self._counters[scope, kind] = number
            task_id = f"{kind[0]}{number}"
            stored = orjson.dumps({"id": task_id, **document})
            self._tasks.put(stored, ttl_s, scope, kind, task_id)
            if key is not None:
                kept = _StoredAnswer(key.fingerprint, stored, is_sealed=False)
                self._answers.put(kept, self._idempotency_ttl_s, scope, key.name)
            return task_id, None

    def drop_task(self, scope: str, kind: str, task_id: str, key: RequestKey | None) -> None:
        """Forget a task and what was to be replayed for `key`."""
        with self._open():
            self._tasks.drop(scope, kind, task_id)
            if key is not None:
                self._answers.drop(scope, key.name)

    def save_task(
        self, scope: str, kind: str, task_id: str, document: Document, ttl_s: int
    ) -> bool:
        """Replace a task document unless it was cancelled or is gone; tell whether it was."""
        with self._open():
            before = self.load_task(scope, kind, task_id)
            if before is None or before["status"] == "cancelled":
                return False
            self._tasks.put(orjson.dumps(document), ttl_s, scope, kind, task_id)
            return True

    def cancel_task(self, scope: str, kind: str, task_id: str) -> Document | None:
        """Set a queued or running task's status to `cancelled`; return the document as it then is,
        or None.
        """
        with self._open():
            document = self.load_task(scope, kind, task_id)
            if document is not None and document["status"] in ("queued", "running"):
                document["status"] = "cancelled"
                self._tasks.replace(orjson.dumps(document), scope, kind, task_id)
            return document

    def load_task(self, scope: str, kind: str, task_id: str) -> Document | None:
        """Return a task document; None when it is not (or no longer) there."""
        with self._open():
            stored = self._tasks.get(scope, kind, task_id)
            return None if stored is None else {"id": task_id, **orjson.loads(stored)}

    def count_tasks(self, scope: str, kind: str) -> int:
        """Return the number of the last task of a kind that was made in a scope."""
        with self._open():
            return self._counters.get((scope, kind), 0)

    def note_job(self, account: str, job_id: str, at_s: float) -> None:
        """Put a job on the key's list."""
        with self._open():
            self._jobs.setdefault(account, {})[job_id] = at_s

    def jobs_of(self, account: str) -> list[str]:
        """Return the jobs on the key's list, the oldest first."""
        with self._open():
            jobs = self._jobs.get(account, {})
            return sorted(jobs, key=lambda job_id: (jobs[job_id], job_id))

    def forget_jobs(self, account: str, job_ids: list[str]) -> None:
        """Take jobs off the key's list."""
        with self._open():
            for job_id in job_ids:
                self._jobs.get(account, {}).pop(job_id, None)

    def newest_task(self, scope: str, kind: str) -> str | None:
        """Return the id of the newest task that is still there."""
        with self._open():
            newest = self._counters.get((scope, kind), 0)
            for task_id in task_ids(kind, newest):
                if self._tasks.get(scope, kind, task_id) is not None:
                    return task_id
            return None

    def was_task(self, scope: str, kind: str, task_id: str) -> bool:
        """Tell whether a task of that id was ever given out in the scope."""
        number = task_number(kind, task_id)
        with self._open():
            return number is not None and number <= self._counters.get((scope, kind), 0)

    # Games that wait, and what is to be looked at later.

    def mark_waiting(self, game_id: str, at_s: float, what: str = BOTS) -> None:
        """Note that the game will wait since `at_s`; an earlier note is replaced."""
        with self._open():
            self._notes[what, game_id] = at_s

    def unmark_waiting(self, game_id: str, until_s: float, what: str = BOTS) -> None:
        """Take away a note of `until_s` or before; a later one stays."""
        with self._open():
            if self._notes.get((what, game_id), until_s) <= until_s:
                self._notes.pop((what, game_id), None)

    def waiting_games(self, until_s: float, limit: int, what: str = BOTS) -> list[str]:
        """Return games noted as waiting at or before `until_s`, the longest waiting first."""
        return self.due(what, until_s, limit)

    def note_due(self, agenda: str, place: str, at_s: float) -> None:
        """Note when a place is due; an earlier note stays."""
        with self._open():
            self._notes[agenda, place] = min(at_s, self._notes.get((agenda, place), at_s))

    def put_off(self, agenda: str, place: str, at_s: float) -> None:
        """Move a note to `at_s` if it is earlier; make none."""
        with self._open():
            if (agenda, place) in self._notes:
                self._notes[agenda, place] = max(at_s, self._notes[agenda, place])

    def strike(self, agenda: str, place: str) -> None:
        """Take a note away."""
        with self._open():
            self._notes.pop((agenda, place), None)

    def recall(self, at_s: float) -> None:
        """Move all notes of something later than `at_s` to it."""
        with self._open():
            self._notes = {what: min(noted_s, at_s) for what, noted_s in self._notes.items()}

    def due(self, agenda: str, until_s: float, limit: int) -> list[str]:
        """Return places noted for `until_s` or before, the longest overdue first."""
        with self._open():
            noted = [(at_s, place) for (kind, place), at_s in self._notes.items() if kind == agenda]
        return [place for at_s, place in sorted(noted) if at_s <= until_s][: max(limit, 0)]

    # Who is told of games.

    def announced(self, game_id: str) -> int | None:
        """Return up to which version others were told of the game; None for not at all."""
        with self._open():
            return self._announced.get(game_id)

    def set_announced(self, game_id: str, version: int) -> None:
        """Note up to which version others were told of the game."""
        with self._open():
            self._announced.put(version, self._idle_ttl_s, game_id)

    def set_webhook(self, app: str, document: Document | None) -> None:
        """Keep an app's webhook in place of the one before; None takes it away."""
        with self._open():
            self._webhooks.pop(app, None)
            if document is not None:
                self._webhooks[app] = orjson.dumps(document)

    def webhook(self, app: str) -> Document | None:
        """Return an app's webhook, or None."""
        with self._open():
            stored = self._webhooks.get(app)
            return None if stored is None else orjson.loads(stored)

    def has_webhook(self, app: str) -> bool:
        """Tell whether an app has a webhook."""
        with self._open():
            return app in self._webhooks

    def count(self, amounts: Mapping[str, float]) -> None:
        """Add to the counters for operators; while the store is away nothing is counted."""
        with self._changed:
            if not self.is_away:
                for name, amount in amounts.items():
                    self.counters[name] = self.counters.get(name, 0.0) + amount


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job as it was put on a queue."""

    queue: str
    job: str
    """Dotted name of the function."""
    job_id: str
    arguments: dict[str, Any]


class MemoryQueue:
    """`JobQueue` that runs nothing: a test takes the jobs out and says when they are over."""

    def __init__(self, max_queued_jobs: int = 1000) -> None:
        """Begin empty."""
        self.is_away = False
        self.calls = 0
        """How often somebody tried to put a job on a queue."""
        self._max_queued_jobs = max_queued_jobs
        self._lock = RLock()
        self._waiting: list[QueuedJob] = []
        self._running: dict[str, QueuedJob] = {}
        self._results: dict[str, dict[str, Any]] = {}

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self._lock:
            if self.is_away:
                raise StoreUnavailable
            yield

    def enqueue(self, queue: str, job: str, job_id: str, arguments: Mapping[str, Any]) -> bool:
        """Put a job on `queue`; False when one of that id waits or runs."""
        plain = orjson.loads(orjson.dumps(dict(arguments)))
        with self._open():
            self.calls += 1
            if self.is_active(job_id):
                return False
            if self.depths().get(queue, 0) >= self._max_queued_jobs:
                raise QueueFull(queue)
            self._waiting.append(QueuedJob(queue, job, job_id, plain))
            return True

    def is_active(self, job_id: str) -> bool:
        """Tell whether a job of that id waits or runs."""
        with self._open():
            return job_id in self._running or any(job.job_id == job_id for job in self._waiting)

    def take_back(self, queue: str, job_id: str) -> bool:
        """Take a job that still waits off `queue`; tell whether it was there."""
        with self._open():
            found = [job for job in self._waiting if (job.queue, job.job_id) == (queue, job_id)]
            self._waiting = [job for job in self._waiting if job not in found]
            return bool(found)

    def result_of(self, job_id: str) -> dict[str, Any] | None:
        """Return what a test said that the job returned."""
        with self._open():
            return self._results.get(job_id)

    def depths(self) -> dict[str, int]:
        """Return how many jobs wait, by queue."""
        with self._open():
            names = [job.queue for job in self._waiting]
            return {name: names.count(name) for name in names}

    def ping(self) -> None:
        """Return when the queue answers."""
        with self._open():
            return

    # For tests.

    @property
    def waiting(self) -> list[QueuedJob]:
        """The jobs that wait, the first to run first."""
        return list(self._waiting)

    def start(self) -> QueuedJob:
        """Take the next job out and note that it runs; raises IndexError when none waits."""
        with self._lock:
            job = self._waiting.pop(0)
            self._running[job.job_id] = job
            return job

    def end(self, job_id: str, result: dict[str, Any] | None = None) -> None:
        """Note that a job runs no longer, done or dead: its id may be used again."""
        with self._lock:
            self._running.pop(job_id, None)
            if result is not None:
                self._results[job_id] = result

    def lose_all(self) -> None:
        """Forget every job, as a flushed Redis would."""
        with self._lock:
            self._waiting.clear()
            self._running.clear()
