"""The store of games over Redis.

One commit is one Lua script (`scripts/commit.lua`): version check, state, log entry, answer and
times to live, all or nothing. Nobody holds a lock, and no script reads JSON: Lua's numbers are
floats, which would spoil masks of 56 bits.

The log is a list in which the place of an entry is its version, so that readers resume by version;
those who wait for more are woken by what a commit publishes (`news.py`). A list and not a stream: a
stream's last node takes 4 kB however little is in it, and each entry some bytes more.

Every error that means "Redis is not there for us now" becomes `StoreUnavailable`, in one place.
The client made by `connecting.py` tries a broken connection once more and then gives up, so that a
request fails fast; the next request finds Redis again by itself.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from importlib import resources
from typing import Any, cast

import orjson
import redis
from redis.commands.core import Script
from redis.exceptions import ResponseError, TimeoutError

from service.games.counting import game_event
from service.games.entries import read_entry, write_entry
from service.games.errors import StoreUnavailable
from service.games.ports import (
    BOTS,
    CLOCK,
    DELIVERIES,
    NEWS,
    Answer,
    Commit,
    CommitResult,
    Document,
    Loaded,
    RequestKey,
    Watch,
    WatchEnded,
)
from service.store import keys
from service.store.connecting import at_server_of
from service.store.errors import store_errors, tell_away
from service.store.figures import count, note_status
from service.store.news import News
from service.store.sealing import seal, unseal
from service.store.traced import name_script

COMMIT_ID_BYTES = 6
"""It tells apart commits of one version of one game that race each other."""
REMEMBERED_S = 5.0
"""How long a process may not notice that an app has set or dropped its webhook."""
MOST_REMEMBERED = 10_000
_LARGEST_VERSION = 2**53
"""Redis takes signed 64-bit numbers; a client may send any."""


def load_script(client: redis.Redis, name: str) -> Script:
    """Return the script of the file `scripts/NAME.lua`; it is sent when Redis does not know it."""
    text = resources.files("service.store").joinpath("scripts", f"{name}.lua").read_text("utf-8")
    script: Script = client.register_script(text)
    name_script(str(script.sha), name)
    return script


class RedisStore:
    """`GameStore` over one Redis. May be shared by threads and greenlets."""

    def __init__(
        self,
        client: redis.Redis,
        *,
        finished_ttl_s: int,
        idle_ttl_s: int,
        idempotency_ttl_s: int,
        wait_replicas: int = 0,
        wait_s: float = 1.0,
    ) -> None:
        """Use `client`, which answers in bytes; nothing is sent yet.

        A commit counts as done when `wait_replicas` replicas have it, for which it waits `wait_s`.
        """
        # Its answers are typed as bytes or text, whichever a client may have been made for.
        self._client: Any = client
        self._finished_ttl_s = finished_ttl_s
        self._idle_ttl_s = idle_ttl_s
        self._idempotency_ttl_s = idempotency_ttl_s
        self._wait_replicas = wait_replicas
        self._wait_ms = max(round(1000 * wait_s), 1)
        self._commit = load_script(client, "commit")
        self._new_task = load_script(client, "new_task")
        self._save_task = load_script(client, "save_task")
        self._cancel_task = load_script(client, "cancel_task")
        self._unmark_waiting = load_script(client, "unmark_waiting")
        self._recall = load_script(client, "recall")
        self._news = News(client, self.read_log)
        self._hooked_apps: dict[str, tuple[float, bool]] = {}

    def ping(self) -> None:
        """Return when the store answers."""
        with store_errors():
            self._client.ping()

    # Games.

    def load(self, game_id: str, key: RequestKey | None = None) -> Loaded | None:
        """Return the game, or None; the answer under `key` is read after the state."""
        with store_errors():
            if key is None:
                stored = self._client.hmget(keys.state_key(game_id), "v", "s")
                answered = None
            else:
                pipeline = self._client.pipeline(transaction=False)
                pipeline.hmget(keys.state_key(game_id), "v", "s")
                pipeline.hmget(keys.answer_key(game_id, key.name), "f", "b", "i")
                stored, answered = pipeline.execute()
        if stored[0] is None:
            return None
        answer = None
        if key is not None and answered and answered[0] is not None:
            self._wait_for_answer(keys.answer_key(game_id, key.name))
            answer = _answer(key, *answered)
        return Loaded(int(stored[0]), orjson.loads(stored[1]), answer)

    def commit(self, commit: Commit) -> CommitResult:
        """Write everything of `commit` if the stored version is the one before; else nothing."""
        script_keys = [keys.state_key(commit.game_id), keys.log_key(commit.game_id)]
        arguments: list[Any] = [
            commit.version,
            orjson.dumps(commit.state),
            self._ttl_s(commit.status),
            os.urandom(COMMIT_ID_BYTES),
            b"" if commit.entry is None else write_entry(commit.entry),
            orjson.dumps(commit.entry),
        ]
        if commit.key is not None:
            script_keys.append(keys.answer_key(commit.game_id, commit.key.name))
            body = seal(commit.key, orjson.dumps(commit.answer))
            arguments += [commit.key.fingerprint, body, self._idempotency_ttl_s]
        with store_errors():
            result = self._run_commit(script_keys, arguments)
        if commit.key is not None and result[0] == b"answered":
            self._wait_for_answer(script_keys[-1])
            return CommitResult(is_done=False, answer=_answer(commit.key, *result[1:]))
        is_done = result[0] == b"done"
        if is_done:
            self.count(game_event(commit.version, commit.status))
            if commit.version == 0 or commit.left is not None:
                self._note_status(commit)
        return CommitResult(is_done=is_done)

    def _note_status(self, commit: Commit) -> None:
        """Note a game under its new status, for operators; while the store is away, not."""
        expires_at_s = time.time() + self._ttl_s(commit.status)
        with suppress(StoreUnavailable):
            note_status(self._client, commit.game_id, commit.status, commit.left, expires_at_s)

    def _run_commit(self, script_keys: list[str], arguments: list[Any]) -> list[Any]:
        """Run the script; with replicas to wait for, on a connection that then waits.

        Where too few have it in time, the change stands but is not acknowledged: StoreUnavailable.
        Who comes again with the same key gets the first answer when enough have it.
        """
        if not self._wait_replicas:
            return cast("list[Any]", self._commit(keys=script_keys, args=arguments))

        def commit(pipeline: Any) -> None:
            self._commit(keys=script_keys, args=arguments, client=pipeline)

        return cast("list[Any]", self._and_wait(script_keys[0], commit))

    def _and_wait(self, key: str, write: Callable[[Any], object]) -> Any:
        """Return the answer to the one command that `write` puts into a pipeline, when enough
        replicas of the server of `key` have it; raises StoreUnavailable.
        """

        def write_and_wait(server: redis.Redis) -> tuple[Any, int]:
            with server.pipeline(transaction=False) as pipeline:
                write(pipeline)
                pipeline.wait(self._wait_replicas, self._wait_ms)
                answer, replicas = pipeline.execute()
                return answer, replicas

        answer, replicas = at_server_of(self._client, key, write_and_wait)
        if replicas < self._wait_replicas:
            tell_away(TimeoutError(f"{replicas} of {self._wait_replicas} replicas have the change"))
            raise StoreUnavailable
        return answer

    def _wait_for_answer(self, answer_key: str) -> None:
        """Return when enough replicas have a kept answer, and so the change that it is of.

        WAIT waits for what its own connection has written: the time to live, begun anew.
        """
        if not self._wait_replicas:
            return
        ttl_s = self._idempotency_ttl_s
        with store_errors():
            is_there = self._and_wait(
                answer_key, lambda pipeline: pipeline.expire(answer_key, ttl_s)
            )
        # Not there: it was read from a master that has been demoted since, and is lost with it.
        if not is_there:
            raise StoreUnavailable

    def _ttl_s(self, status: str) -> int:
        is_over = status in ("finished", "abandoned")
        return self._finished_ttl_s if is_over else self._idle_ttl_s

    def read_log(self, game_id: str, since: int, limit: int = 1000) -> list[Document]:
        """Return entries with version > `since`, ascending, at most `limit`."""
        if limit < 1:
            return []
        first = min(max(since, 0), _LARGEST_VERSION)
        with store_errors():
            try:
                kept = self._client.lrange(keys.log_key(game_id), first, first + limit - 1)
            except ResponseError as error:
                if not str(error).startswith("WRONGTYPE"):
                    raise
                return self._read_stream(game_id, first, limit)
        return [
            read_entry(version, element[COMMIT_ID_BYTES:])
            for version, element in enumerate(kept, first + 1)
        ]

    def _read_stream(self, game_id: str, since: int, limit: int) -> list[Document]:
        """Return entries of a log that no change has made a list of yet: see `commit.lua`."""
        found = self._client.xrange(keys.log_key(game_id), min=f"{since + 1}-0", count=limit)
        return [orjson.loads(fields[b"e"]) for _id, fields in found]

    def wait_for_version(self, game_id: str, since: int, timeout_s: float) -> bool:
        """Wait until the log has an entry past `since`; False when the time is up first."""
        if timeout_s <= 0:
            return bool(self.read_log(game_id, since, 1))
        with closing(self.watch(game_id)) as watch:
            try:
                return bool(watch.next(since, timeout_s))
            except WatchEnded:
                return False

    def watch(self, game_id: str) -> Watch:
        """Return a watch on a game's log."""
        return self._news.watch(game_id)

    def end_watches(self) -> None:
        """End all watches, now and to come."""
        self._news.close()

    # The list of an app's games.

    def index_game(self, app: str, game_id: str, created_at_ms: int) -> None:
        """Put a game on its app's list, where it keeps its first place; and take two games that
        are gone off it, if two taken at random are.

        So the list stays below twice the number of games that live, though nobody reads it.
        """
        key = keys.app_games_key(app)
        lived_ms = 1000 * min(self._finished_ttl_s, self._idle_ttl_s)
        with store_errors():
            pipeline = self._client.pipeline(transaction=False)
            pipeline.zadd(key, {game_id: created_at_ms}, nx=True)
            pipeline.zrandmember(key, 2)
            sample = pipeline.execute()[1]
            pipeline.zmscore(key, sample)
            for member in sample:
                pipeline.exists(keys.state_key(member.decode()))
            scores, *living = pipeline.execute()
            for member, score, is_living in zip(sample, scores, living, strict=True):
                # A young one may be about to be created: it is listed first.
                if not is_living and score is not None and score < created_at_ms - lived_ms:
                    self._client.zrem(key, member)

    def list_games(
        self, app: str, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        """Return (created_at_ms, game_id), newest first, strictly before the cursor `before`."""
        key = keys.app_games_key(app)
        highest: float | str = "+inf" if before is None else before[0]
        found: list[tuple[int, str]] = []
        offset = 0
        while len(found) < limit:
            # Games of the cursor's millisecond come first, some of them before the cursor.
            with store_errors():
                page = self._client.zrevrangebyscore(
                    key, highest, "-inf", start=offset, num=limit + 1, withscores=True
                )
            games = [(int(score), member.decode()) for member, score in page]
            found += [game for game in games if before is None or game < before]
            if len(page) <= limit:
                break
            offset += len(page)
        return found[:limit]

    def forget_game(self, app: str, game_id: str) -> None:
        """Take a game that no longer exists off its app's list."""
        with store_errors():
            self._client.zrem(keys.app_games_key(app), game_id)

    # Tasks.

    def new_task(
        self, scope: str, kind: str, document: Document, ttl_s: int, key: RequestKey | None = None
    ) -> tuple[str, Answer | None]:
        """Store a task document under a new id, once for each `key`; return the id and, for a key
        that is known, the first answer.
        """
        script_keys = [keys.task_counter_key(scope, kind)]
        arguments: list[Any] = [
            keys.task_key_prefix(scope, kind),
            kind[0],
            orjson.dumps(document),
            document["status"],
            ttl_s,
            max(ttl_s, self._idle_ttl_s),
        ]
        if key is not None:
            script_keys.append(keys.answer_key(scope, key.name))
            arguments += [key.fingerprint, self._idempotency_ttl_s]
        with store_errors():
            result = self._new_task(keys=script_keys, args=arguments)
        task_id = result[1].decode()
        if key is None or result[0] == b"new":
            return task_id, None
        return task_id, _answer(key, result[2], result[3], result[1])

    def drop_task(self, scope: str, kind: str, task_id: str, key: RequestKey | None) -> None:
        """Forget a task and what was to be replayed for `key`."""
        dropped = [keys.task_key(scope, kind, task_id)]
        if key is not None:
            dropped.append(keys.answer_key(scope, key.name))
        with store_errors():
            self._client.delete(*dropped)

    def save_task(
        self, scope: str, kind: str, task_id: str, document: Document, ttl_s: int
    ) -> bool:
        """Replace a task document unless it was cancelled or is gone; tell whether it was."""
        with store_errors():
            is_saved = self._save_task(
                keys=[keys.task_key(scope, kind, task_id)],
                args=[orjson.dumps(document), document["status"], ttl_s],
            )
        return bool(is_saved)

    def cancel_task(self, scope: str, kind: str, task_id: str) -> Document | None:
        """Set a queued or running task's status to `cancelled`; return the document as it then is,
        or None.
        """
        with store_errors():
            task = self._cancel_task(keys=[keys.task_key(scope, kind, task_id)])
        return _task_document(task_id, task)

    def load_task(self, scope: str, kind: str, task_id: str) -> Document | None:
        """Return a task document; None when it is not (or no longer) there."""
        with store_errors():
            task = self._client.hmget(keys.task_key(scope, kind, task_id), "d", "s")
        return _task_document(task_id, task)

    def count_tasks(self, scope: str, kind: str) -> int:
        """Return the number of the last task of a kind that was made in a scope."""
        with store_errors():
            return int(self._client.get(keys.task_counter_key(scope, kind)) or 0)

    def note_job(self, account: str, job_id: str, at_s: float) -> None:
        """Put a job on the key's list."""
        with store_errors():
            pipeline = self._client.pipeline(transaction=False)
            pipeline.zadd(keys.jobs_key(account), {job_id: at_s})
            pipeline.expire(keys.jobs_key(account), keys.JOBS_TTL_S)
            pipeline.execute()

    def jobs_of(self, account: str) -> list[str]:
        """Return the jobs on the key's list, the oldest first."""
        with store_errors():
            found = self._client.zrange(keys.jobs_key(account), 0, -1)
        return [job_id.decode() for job_id in found]

    def forget_jobs(self, account: str, job_ids: list[str]) -> None:
        """Take jobs off the key's list."""
        if job_ids:
            with store_errors():
                self._client.zrem(keys.jobs_key(account), *job_ids)

    def newest_task(self, scope: str, kind: str) -> str | None:
        """Return the id of the newest task that is still there."""
        with store_errors():
            count = int(self._client.get(keys.task_counter_key(scope, kind)) or 0)
            for task_id in keys.task_ids(kind, count):
                if self._client.exists(keys.task_key(scope, kind, task_id)):
                    return task_id
        return None

    def was_task(self, scope: str, kind: str, task_id: str) -> bool:
        """Tell whether a task of that id was ever given out in the scope."""
        number = keys.task_number(kind, task_id)
        if number is None:
            return False
        return number <= self.count_tasks(scope, kind)

    # Games that wait, and what is to be looked at later.

    def mark_waiting(self, game_id: str, at_s: float, what: str = BOTS) -> None:
        """Note that the game will wait since `at_s`; an earlier note is replaced."""
        with store_errors():
            self._client.zadd(keys.waiting_key(what), {game_id: at_s})

    def unmark_waiting(self, game_id: str, until_s: float, what: str = BOTS) -> None:
        """Take away a note of `until_s` or before; a later one stays."""
        with store_errors():
            self._unmark_waiting(keys=[keys.waiting_key(what)], args=[game_id, until_s])

    def waiting_games(self, until_s: float, limit: int, what: str = BOTS) -> list[str]:
        """Return games noted as waiting at or before `until_s`, the longest waiting first."""
        return self._members_until(keys.waiting_key(what), until_s, limit)

    def note_due(self, agenda: str, place: str, at_s: float) -> None:
        """Note when a place is due; an earlier note stays."""
        with store_errors():
            self._client.zadd(keys.agenda_key(agenda), {place: at_s}, lt=True)

    def put_off(self, agenda: str, place: str, at_s: float) -> None:
        """Move a note to `at_s` if it is earlier; make none."""
        with store_errors():
            self._client.zadd(keys.agenda_key(agenda), {place: at_s}, xx=True, gt=True)

    def strike(self, agenda: str, place: str) -> None:
        """Take a note away."""
        with store_errors():
            self._client.zrem(keys.agenda_key(agenda), place)

    def recall(self, at_s: float) -> None:
        """Move all notes of something later than `at_s` to it."""
        lists = [*map(keys.waiting_key, (BOTS, NEWS)), *map(keys.agenda_key, (CLOCK, DELIVERIES))]
        with store_errors():
            for key in lists:
                self._recall(keys=[key], args=[at_s])

    def due(self, agenda: str, until_s: float, limit: int) -> list[str]:
        """Return places noted for `until_s` or before, the longest overdue first."""
        return self._members_until(keys.agenda_key(agenda), until_s, limit)

    def _members_until(self, key: str, until_s: float, limit: int) -> list[str]:
        with store_errors():
            found = self._client.zrangebyscore(key, "-inf", until_s, start=0, num=limit)
        return [member.decode() for member in found]

    # Who is told of games.

    def announced(self, game_id: str) -> int | None:
        """Return up to which version others were told of the game; None for not at all."""
        with store_errors():
            version = self._client.get(keys.announced_key(game_id))
        return None if version is None else int(version)

    def set_announced(self, game_id: str, version: int) -> None:
        """Note up to which version others were told of the game."""
        with store_errors():
            self._client.set(keys.announced_key(game_id), version, ex=self._idle_ttl_s)

    def set_webhook(self, app: str, document: Document | None) -> None:
        """Keep an app's webhook in place of the one before; None takes it away."""
        key = keys.app_webhook_key(app)
        with store_errors():
            if document is None:
                self._client.delete(key)
            else:
                self._client.set(key, orjson.dumps(document))
        self._hooked_apps.pop(app, None)

    def webhook(self, app: str) -> Document | None:
        """Return an app's webhook, or None."""
        with store_errors():
            stored = self._client.get(keys.app_webhook_key(app))
        return None if stored is None else orjson.loads(stored)

    def has_webhook(self, app: str) -> bool:
        """Tell whether an app has a webhook, as it was at most some seconds ago: asked at each
        action.
        """
        until_s, is_there = self._hooked_apps.get(app, (0.0, False))
        if time.monotonic() >= until_s:
            with store_errors():
                is_there = bool(self._client.exists(keys.app_webhook_key(app)))
            if len(self._hooked_apps) >= MOST_REMEMBERED:
                self._hooked_apps.clear()
            self._hooked_apps[app] = (time.monotonic() + REMEMBERED_S, is_there)
        return is_there

    # For operators.

    def count(self, amounts: Mapping[str, float]) -> None:
        """Add to the counters for operators; while the store is away nothing is counted."""
        if amounts:
            with suppress(StoreUnavailable):
                count(self._client, amounts)


def _answer(
    key: RequestKey, fingerprint: bytes, body: bytes, task_id: bytes | None = None
) -> Answer:
    """Return a kept answer; a task's document was kept plain and without the id that it got."""
    if task_id is not None:
        return Answer(fingerprint.decode(), {"id": task_id.decode(), **orjson.loads(body)})
    opened = unseal(key, body)
    return Answer("", {}) if opened is None else Answer(fingerprint.decode(), orjson.loads(opened))


def _task_document(task_id: str, task: list[bytes | None] | None) -> Document | None:
    """Return the document with its id in front and the status as kept beside it."""
    if not task or task[0] is None or task[1] is None:
        return None
    document: Document = {"id": task_id, **orjson.loads(task[0])}
    document["status"] = task[1].decode()
    return document
