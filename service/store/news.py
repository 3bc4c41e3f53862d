"""News of games: one connection a process, however many wait for however many games.

Every commit publishes its log entry on a channel of the game (`scripts/commit.lua`). Here one
thread (under gevent a greenlet) reads what is published of the games that somebody watches and
wakes those who wait for them. A watcher subscribes first and reads the log then, so nothing falls
between the two; what it misses, because the connection broke or it was slow, it finds in the log,
which alone is the truth.

Only that thread uses the connection. Others ask it for a subscription by a list and wake it by
publishing on a channel of its own. When the connection breaks, all who wait are told
(`StoreUnavailable`); the next one to watch opens a new one.

In a cluster the connection goes to any of its nodes, for what is published on one is passed on to
all: one connection whatever the number of nodes, at the price of each entry (some 200 bytes) on
each link between them. What is lost on such a link, nobody is told. So who has waited in vain looks
at the log before saying so."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import orjson
import redis

from service.games.errors import StoreUnavailable
from service.games.ports import Document, WatchEnded
from service.store import keys
from service.store.connecting import connection_apart, patience_of
from service.store.errors import store_errors

TICK_S = 1.0
"""How often the reading thread looks round while nothing comes."""
LINGER_S = 5.0
"""How long a game stays subscribed that nobody watches: long polls come again."""
PING_S = 10.0
"""After so long without a word the other side is asked whether it is there."""
CROWD = 10
CROWD_PAUSE_S = 0.001
"""So many of those who watch one game are woken at once, and requests get their turn in between:
gevent runs up to fifty greenlets before it looks for them, which with streams to write is 8 ms, at
each answer of Redis."""
RECENT = 64
"""Entries of a watched game kept for those who wait; who is further behind reads the log."""

ReadLog = Callable[[str, int], list[Document]]


class _Topic:
    """One game on one connection. Its condition guards all but `watchers` and `idle_since`."""

    def __init__(self, game_id: str) -> None:
        self.game_id = game_id
        self.watchers = 0
        self.idle_since = 0.0
        self.condition = threading.Condition()
        self.is_open = False
        self.is_dead = False
        self.newest = 0
        self.recent: deque[tuple[int, Document]] = deque(maxlen=RECENT)

    def open(self) -> None:
        """Note that Redis has confirmed the subscription."""
        with self.condition:
            self.is_open = True
            self.condition.notify_all()

    def die(self) -> None:
        """Tell all who wait that no news will come any more."""
        with self.condition:
            self.is_dead = True
            self.condition.notify_all()

    def add(self, version: int, entry: Document) -> None:
        """Take up a new entry and wake those who wait."""
        with self.condition:
            if self.recent and self.recent[-1][0] != version - 1:
                self.recent.clear()
            self.recent.append((version, entry))
            self.newest = version
            # Counted now: who is woken first may have gone before the last is woken.
            rest = self.watchers - CROWD
            self.condition.notify(CROWD)
        if rest > 0:
            crier = threading.Thread(
                target=self._wake_others, args=(rest,), name="crier", daemon=True
            )
            crier.start()

    def _wake_others(self, rest: int) -> None:
        """Wake the rest of a crowd, those first who have waited longest. Who begins to wait
        meanwhile looks first whether there is something new.
        """
        for _ in range(0, rest, CROWD):
            time.sleep(CROWD_PAUSE_S)
            with self.condition:
                self.condition.notify(CROWD)

    def await_open(self, timeout_s: float) -> bool:
        """Wait until the subscription holds; False when the time is up or the connection broke."""
        with self.condition:
            self.condition.wait_for(lambda: self.is_open or self.is_dead, timeout_s)
            return self.is_open and not self.is_dead

    def await_past(self, since: int, timeout_s: float) -> bool:
        """Wait for an entry past `since`; False when the time is up or the connection broke."""
        with self.condition:
            self.condition.wait_for(lambda: self.newest > since or self.is_dead, max(timeout_s, 0))
            return self.newest > since

    def entries_past(self, since: int) -> list[Document]:
        """Return the entries past `since` if all of them are still here, else none."""
        with self.condition:
            if not self.recent or self.recent[0][0] > since + 1:
                return []
            return [entry for version, entry in self.recent if version > since]


class _Line:
    """One connection to Redis and what is subscribed on it; lives until it breaks or is idle."""

    def __init__(self, client: Any, timeout_s: float) -> None:
        """Connect, and subscribe to the channel by which others wake the reading thread; raises
        what redis-py raises.
        """
        # RESP 2: published messages come as plain answers.
        self._connection = connection_apart(client, protocol=2, health_check_interval=0)
        self._timeout_s = timeout_s
        self.wake_channel = f"{keys.WAKE_CHANNELS}{secrets.token_hex(8)}"
        self.lock = threading.Lock()
        """Guards the members below."""
        self.topics: dict[str, _Topic] = {}
        self.asked: list[_Topic] = []
        self.is_dead = False
        try:
            self._connection.send_command("SUBSCRIBE", self.wake_channel)
            self._connection.read_response(timeout=timeout_s)
        except BaseException:
            self._connection.disconnect()
            raise

    def join(self, game_id: str) -> tuple[_Topic, bool] | None:
        """Return the game's topic, one watcher more, and whether the thread must be woken for it;
        None when the line is dead.
        """
        with self.lock:
            if self.is_dead:
                return None
            topic = self.topics.get(game_id)
            is_new = topic is None
            if topic is None:
                topic = self.topics[game_id] = _Topic(game_id)
                self.asked.append(topic)
            topic.watchers += 1
            return topic, is_new

    def leave(self, topic: _Topic) -> None:
        """Note that one watcher of a topic has gone."""
        with self.lock:
            topic.watchers -= 1
            topic.idle_since = time.monotonic()

    def die(self) -> None:
        """End: tell all who wait. Safe to call from any thread, more than once."""
        with self.lock:
            self.is_dead = True
            topics = list(self.topics.values())
        for topic in topics:
            topic.die()

    def read(self) -> None:
        """Read until the connection breaks, the line is ended, or nobody has watched for a while;
        this is the reading thread.
        """
        heard_at = asked_at = looked_at = time.monotonic()
        try:
            while not self.is_dead:
                self._subscribe()
                if self._connection.can_read(timeout=TICK_S):
                    self._take(self._connection.read_response(timeout=self._timeout_s))
                    heard_at = time.monotonic()
                now = time.monotonic()
                if now - heard_at > PING_S and asked_at <= heard_at:
                    self._connection.send_command("PING", check_health=False)
                    asked_at = now
                elif asked_at > heard_at and now - asked_at > self._timeout_s + TICK_S:
                    break
                if now - looked_at >= TICK_S:
                    # Not at each entry: there may be thousands of games.
                    self._let_go(now)
                    looked_at = now
        except (redis.RedisError, OSError):
            # Those who wait are told; the log still has what they miss.
            pass
        finally:
            self.die()
            self._connection.disconnect()

    def _subscribe(self) -> None:
        with self.lock:
            asked, self.asked = self.asked, []
        if asked:
            channels = [keys.news_channel(topic.game_id) for topic in asked]
            self._connection.send_command("SUBSCRIBE", *channels, check_health=False)

    def _take(self, message: Any) -> None:
        """Take in what Redis says: a confirmation, an entry, the answer to a PING, a wake-up."""
        if not isinstance(message, list) or len(message) != 3:
            return
        kind, channel, content = message
        topic = self.topics.get(keys.game_of_channel(channel.decode()))
        if topic is None:
            return
        if kind == b"subscribe":
            topic.open()
        elif kind == b"message":
            version, _, entry = content.partition(b" ")
            topic.add(int(version), orjson.loads(entry))

    def _let_go(self, now: float) -> None:
        """Unsubscribe from games that nobody watches any longer; end when none is left."""
        with self.lock:
            idle = [
                topic
                for topic in self.topics.values()
                if topic.watchers < 1 and topic.is_open and now - topic.idle_since > LINGER_S
            ]
            for topic in idle:
                del self.topics[topic.game_id]
            if idle and not self.topics:
                self.is_dead = True
                return
        if idle:
            channels = [keys.news_channel(topic.game_id) for topic in idle]
            self._connection.send_command("UNSUBSCRIBE", *channels, check_health=False)


class News:
    """What is published of games, for all in this process that watch. May be shared by threads and
    greenlets.
    """

    def __init__(self, client: redis.Redis, read_log: ReadLog) -> None:
        """Use `client`'s settings, and `read_log` for what was missed; nothing is opened yet."""
        self._client: Any = client
        self.read_log = read_log
        limit = patience_of(client)
        self.timeout_s: float = 5.0 if limit is None else limit
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._failures = 0
        self.is_closed = False

    def watch(self, game_id: str) -> "NewsWatch":
        """Return a watch on a game; nothing is asked yet."""
        return NewsWatch(self, game_id)

    def close(self) -> None:
        """End all watches, now and to come."""
        with self._lock:
            self.is_closed = True
            line = self._line
        if line is not None:
            line.die()

    def join(self, game_id: str) -> tuple[_Line, _Topic]:
        """Subscribe to a game and wait until that holds; raises StoreUnavailable, WatchEnded."""
        while True:
            line = self._living_line()
            joined = line.join(game_id)
            if joined is None:
                continue
            topic, is_new = joined
            try:
                if is_new:
                    with store_errors():
                        self._client.publish(line.wake_channel, b"")
                is_open = topic.await_open(self.timeout_s)
            except BaseException:
                line.leave(topic)
                raise
            if not is_open:
                line.leave(topic)
                self.check_open()
                raise StoreUnavailable
            return line, topic

    def check_open(self) -> None:
        """Raise WatchEnded when no more news are to be waited for."""
        if self.is_closed:
            raise WatchEnded

    def _living_line(self) -> _Line:
        """Return the connection in use, or open one; of many who find none, one tries."""
        failures = self._failures
        with self._lock:
            self.check_open()
            if self._line is not None and not self._line.is_dead:
                return self._line
            if failures != self._failures:
                # Somebody has tried while we stood in the queue.
                raise StoreUnavailable
            try:
                with store_errors():
                    line = _Line(self._client, self.timeout_s)
            except BaseException:
                self._failures += 1
                raise
            self._line = line
        threading.Thread(target=line.read, name="news", daemon=True).start()
        return line


class NewsWatch:
    """`Watch` over the shared connection; for one thread or greenlet."""

    def __init__(self, news: News, game_id: str) -> None:
        """Watch `game_id`; the subscription is made when it is first waited."""
        self._news = news
        self._game_id = game_id
        self._joined: tuple[_Line, _Topic] | None = None
        self._has_read_log = False

    def next(self, since: int, timeout_s: float) -> list[Document]:
        """Return entries past version `since`, waiting for them; empty when the time is up."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._news.check_open()
            topic = self._topic()
            if not self._has_read_log:
                entries = self._news.read_log(self._game_id, since)
                self._has_read_log = True
                if entries:
                    return entries
            left_s = deadline - time.monotonic()
            if topic.await_past(since, left_s):
                entries = topic.entries_past(since) or self._news.read_log(self._game_id, since)
                if not entries:
                    # What was newer is not there: another game of that id came after it.
                    raise WatchEnded
                return entries
            elif topic.is_dead:
                self.close()
                self._news.check_open()
                raise StoreUnavailable
            else:
                return self._news.read_log(self._game_id, since)

    def close(self) -> None:
        """Watch no longer."""
        if self._joined is not None:
            line, topic = self._joined
            self._joined = None
            line.leave(topic)

    def _topic(self) -> _Topic:
        """Return the topic, subscribed to; after a subscription the log must be read."""
        if self._joined is not None and self._joined[1].is_dead:
            self.close()
        if self._joined is None:
            self._has_read_log = False
            self._joined = self._news.join(self._game_id)
        return self._joined[1]
