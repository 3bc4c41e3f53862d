"""The jobs of the queue `webhooks`: telling of games, asking seats that are played from outside.

A job only hands its work to a thread and ends, so that one who answers slowly holds up neither the
queue nor others; to one receiver no more than `MOST_AT_ONCE` are on their way, and no app has more
than half of the threads. A receiver is an app's: of two apps that post to one host, which may be a
service for everybody, neither is held up by what the other's address answers. Nothing is lost with
a thread: a delivery that was begun and not noted is tried again after its lease, a question
that is not answered ends at its deadline. Nothing here loads the search or numba.

`JOBS` is the list of names that the worker of this queue accepts."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import orjson
from structlog.contextvars import bound_contextvars

from service.games import webhooks
from service.games.advice import HINT, UNDER_WAY
from service.games.changing import ASK_JOB
from service.games.clocks import deadline_s
from service.games.errors import Conflict, GameNotFound, StaleVersion, Unavailable
from service.games.externals import Question, call_house_bot, question_for
from service.games.hooks import ANNOUNCE_JOB, HINT_NEWS_JOB, SEND_JOB
from service.games.house import House
from service.games.playing import play_for_bot, seat_view
from service.games.webhooks import LEASE_S
from service.logs import get_logger
from service.rules.cards import UnknownCard
from service.rules.deal import Action
from service.rules.notation import BadNotation, action_from_json
from service.tracing import carry, span
from workers.house import house
from workers.outbound import NotReached, post

log = get_logger(__name__)
Work = Callable[[], object]

JOBS = frozenset({ANNOUNCE_JOB, HINT_NEWS_JOB, SEND_JOB, ASK_JOB})
"""Dotted names of the jobs."""
HINT_FACTS = ("seat", "version", "status")
"""What of a hint's document its job repeats."""
THREADS = 64
MOST_AT_ONCE = 4
"""Messages on their way to one receiver."""
BACKLOG = 100
"""Messages that wait for one receiver in this process; more come back with the sweep."""
MOST_WAITED_S = LEASE_S / 2
"""So much of the lease of a delivery is left at least when it is begun."""
ASKERS = 128
MOST_ASKED_AT_ONCE = 32
"""Turns that one receiver is asked for at a time; a house bot plays what is more."""
FULL_PAUSE_S = 1.0
"""When a delivery is tried again for which its receiver had no place."""
LONGEST_PAUSE_S = 3600.0
"""For which a receiver that asks for it is told nothing at all. The delivery that it asked at waits
as long as it said."""
MOST_PAUSES = 10_000
MOST_STEPS = 60
"""More than a turn from outside needs."""
LONGEST_ASKED_S = 30.0
"""A seat that has not answered a question by then has not answered it."""


Receiver = tuple[str, str]
"""An app, and a host and port that it has things posted to."""


def _receiver_of(app: str, url: str) -> Receiver:
    """Return what all addresses of one receiver have in common."""
    return app, urlsplit(url).netloc.lower()


def _in_trace(work: Work) -> Work:
    """Return `work` as a part of the trace in hand, in whatever thread it is done."""
    carried = carry()

    def traced() -> None:
        with (
            span("post", carried=carried) as begun,
            bound_contextvars(**({} if begun is None else {"trace_id": begun.trace_id})),
        ):
            work()

    return traced if carried else work


class Threads:
    """Threads that post, with no more than some at a time for each receiver, half of them for each
    app; a few more wait.
    """

    def __init__(
        self, size: int = THREADS, at_once: int = MOST_AT_ONCE, backlog: int = BACKLOG
    ) -> None:
        """Start none yet."""
        self._size = size
        self._at_once = at_once
        self._backlog = backlog
        self._lock = threading.Lock()
        self._busy: Counter[Receiver] = Counter()
        self._waiting: dict[Receiver, deque[tuple[float, Work]]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def run(self, app: str, url: str, work: Work) -> bool:
        """Do `work` for `app` in a thread, now or soon; False, and nothing is done, when enough
        waits for that receiver, or all threads are busy, or half of them with this app's work.
        """
        receiver = _receiver_of(app, url)
        work = _in_trace(work)
        with self._lock:
            if self._busy[receiver] >= self._at_once:
                waiting = self._waiting.setdefault(receiver, deque())
                if len(waiting) >= self._backlog:
                    return False
                waiting.append((time.monotonic(), work))
                return True
            of_app = sum(count for (whose, _), count in self._busy.items() if whose == app)
            if self._busy.total() >= self._size or of_app >= max(self._size // 2, 1):
                return False
            self._busy[receiver] += 1
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._size, thread_name_prefix="post")
            pool = self._pool
        pool.submit(self._work_off, receiver, work)
        return True

    def _work_off(self, receiver: Receiver, work: Work | None) -> None:
        """Do `work`, and what waits for the same receiver, one after the other."""
        while work is not None:
            try:
                work()
            except Unavailable as error:
                log.warning("post_not_noted", why=str(error))
            except Exception:
                # The edge of a thread: what is raised here nobody else would see.
                log.exception("fault", receiver=receiver[1])
            work = self._next(receiver)

    def _next(self, receiver: Receiver) -> Work | None:
        """Return what waits for a receiver, or let the thread go. What has waited so long that
        others may have taken it up is left to them.
        """
        with self._lock:
            waiting = self._waiting.get(receiver, deque())
            while waiting:
                since, work = waiting.popleft()
                if time.monotonic() - since < MOST_WAITED_S:
                    return work
            self._waiting.pop(receiver, None)
            self._busy[receiver] -= 1
            if not self._busy[receiver]:
                del self._busy[receiver]
            return None

    def wait(self) -> None:
        """Wait until all that was begun has ended."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()


class Pauses:
    """Which receivers want to be left alone until when, as far as this process was told so."""

    def __init__(self) -> None:
        """Know of none."""
        self._lock = threading.Lock()
        self._until: dict[Receiver, float] = {}

    def note(self, app: str, url: str, until_s: float) -> None:
        """Leave an app's receiver at `url` alone until then; forget pauses that are over."""
        now_s = time.monotonic()
        with self._lock:
            self._until = {r: until for r, until in self._until.items() if until > now_s}
            if len(self._until) < MOST_PAUSES:
                self._until[_receiver_of(app, url)] = until_s

    def left_s(self, app: str, url: str) -> float:
        """Return for how many seconds yet; 0 for a receiver that may be told."""
        with self._lock:
            until_s = self._until.get(_receiver_of(app, url), 0.0)
        return max(until_s - time.monotonic(), 0.0)


pauses = Pauses()
"""Those of this process."""
threads = Threads()
"""Those of this process that tell."""
askers = Threads(ASKERS, MOST_ASKED_AT_ONCE, backlog=0)
"""Those that ask: apart, so that no news stand before a question."""


def wait_for_threads() -> None:
    """Wait until all that was begun has ended."""
    threads.wait()
    askers.wait()


# Telling.


def announce_news(game_id: str) -> dict[str, Any]:
    """Tell what is new of a game to those who want to know; return how many messages that is."""
    here = house()
    made = webhooks.announce(here, game_id)
    for delivery_id in made:
        _begin(here, game_id, delivery_id)
    return {"made": len(made)}


def announce_hint(
    game_id: str, hint_id: str, seat: int, version: int, status: str
) -> dict[str, Any]:
    """Tell that a hint has ended, if it has: what is signed is what its document says, whoever
    wrote the job.
    """
    here = house()
    hint = here.store.load_task(game_id, HINT, hint_id)
    told = (seat, version, status)
    if hint is None or status in UNDER_WAY or told != tuple(map(hint.get, HINT_FACTS)):
        return {"made": 0}
    try:
        made = webhooks.announce_hint(here, game_id, hint_id, seat, version, status)
    except GameNotFound:
        made = []
    for delivery_id in made:
        _begin(here, game_id, delivery_id)
    return {"made": len(made)}


def send_delivery(game_id: str, delivery_id: str) -> dict[str, Any]:
    """Try a delivery again whose time has come."""
    here = house()
    webhooks.lease(here, game_id, delivery_id)
    return {"begun": _begin(here, game_id, delivery_id)}


def _begin(here: House, game_id: str, delivery_id: str) -> bool:
    """Let a thread try a delivery, or a later job when its receiver has enough on its way."""
    letter = webhooks.letter_of(here, game_id, delivery_id)
    if letter is None:
        return False
    paused_s = pauses.left_s(letter.app, letter.url)
    if paused_s > 0:
        webhooks.put_off(here, game_id, delivery_id, here.clock() + paused_s)
        return False
    if threads.run(letter.app, letter.url, lambda: attempt(here, game_id, delivery_id, letter)):
        return True
    webhooks.try_again(here, game_id, delivery_id, here.clock() + FULL_PAUSE_S)
    return False


def attempt(here: House, game_id: str, delivery_id: str, letter: webhooks.Letter) -> None:
    """Post once and write down how it ended."""
    began = time.monotonic()
    status, why, retry_after_s = None, None, 0.0
    try:
        reply = post(
            letter.url,
            letter.secret,
            letter.id,
            letter.body,
            any_address=here.posts_anywhere,
            at_s=here.clock(),
            link=letter.trace,
        )
        status, retry_after_s = reply.status, reply.retry_after_s
    except NotReached as error:
        why = str(error)
    ms = 1000 * (time.monotonic() - began)
    if retry_after_s > 0:
        until_s = time.monotonic() + min(retry_after_s, LONGEST_PAUSE_S)
        pauses.note(letter.app, letter.url, until_s)
    ended = webhooks.note_attempt(here, game_id, delivery_id, status, why, ms, retry_after_s)
    log.info(
        "delivery_tried",
        game=game_id,
        delivery=delivery_id,
        status=status,
        why=why,
        ms=round(ms, 1),
        retry_after_s=retry_after_s or None,
        now=None if ended is None else ended["status"],
    )


# Asking.


class BadAnswer(Exception):
    """What came back is no action; `str(error)` says why."""


def ask_external(game_id: str, seat: int, turn_version: int) -> dict[str, Any]:
    """Let a thread ask a seat that is played from outside for its turn; a house bot plays it when
    its receiver has enough to answer already.
    """
    here = house()
    try:
        _, _, game = seat_view(here, game_id, seat)
    except GameNotFound:
        return {"begun": False}
    if game.external_to_move != seat or game.turn_version != turn_version:
        return {"begun": False}
    url = game.extra["external"][str(seat)]["url"]
    begun = askers.run(game.app, url, lambda: play_turn(here, game_id, seat, turn_version))
    if not begun:
        call_house_bot(here, game, seat)
    return {"begun": begun}


def play_turn(here: House, game_id: str, seat: int, turn_version: int) -> int:
    """Ask for action after action until the turn is over; return how many were played.

    On an answer that is none a house bot finishes the turn; past the deadline the clock does."""
    steps = 0
    for _ in range(MOST_STEPS):
        try:
            at, _, game = seat_view(here, game_id, seat)
        except GameNotFound:
            break
        if game.external_to_move != seat or game.turn_version != turn_version:
            break
        left_s = (deadline_s(game) or 0) - here.clock()
        if left_s <= 0:
            break
        try:
            action = answer_to(here, question_for(game, seat, here.now()), left_s)
            play_for_bot(here, game_id, seat, action, at, "external")
        except StaleVersion:
            continue
        except (BadAnswer, Conflict) as error:
            log.info("bad_answer", game=game_id, seat=seat, version=at, why=str(error))
            call_house_bot(here, game, seat)
            break
        steps += 1
    log.info("external_turn", game=game_id, seat=seat, version=turn_version, steps=steps)
    return steps


def answer_to(here: House, question: Question, left_s: float) -> Action:
    """Ask, and return the action that is answered; raises BadAnswer. Whether it is legal, the rules
    say.
    """
    try:
        reply = post(
            question.url,
            question.secret,
            question.id,
            question.body,
            any_address=here.posts_anywhere,
            at_s=here.clock(),
            total_s=min(left_s, LONGEST_ASKED_S),
            read_s=LONGEST_ASKED_S,
        )
    except NotReached as error:
        raise BadAnswer(str(error)) from None
    if reply.status != 200:
        raise BadAnswer(f"status {reply.status}")
    try:
        answered = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        raise BadAnswer("no JSON") from None
    if not isinstance(answered, dict):
        raise BadAnswer("no object")
    answered.pop("seat", None)
    try:
        return action_from_json(answered)
    except (BadNotation, UnknownCard):
        raise BadAnswer("no action") from None
