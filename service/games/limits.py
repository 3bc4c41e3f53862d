"""How often and how much one caller may ask: buckets by the minute, a quota of work on the queue.

A bucket of its own for actions: whoever asks for too many hints still plays. Callers without a key,
the local app of a machine of one's own, have no limits."""

from dataclasses import dataclass
from typing import Protocol

from service.games.access import AppCaller, Caller, key_name
from service.games.errors import RateLimited
from service.games.house import House
from service.games.model import Game
from service.sentences import Sentence

WINDOW_S = 60
ACTIONS, ADVICE, REQUESTS = "actions", "hints", "requests"
"""Buckets: playing; what puts work on a queue; everything else."""
QUEUED = "queued-hints"
"""The quota's name in the `RateLimit` header."""
QUOTA_RETRY_S = 5


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left in a bucket after one request took from it."""

    bucket: str
    limit: int
    """Requests a window."""
    left: int
    """Nought or more; below nought before rounding up means refused."""
    reset_s: int
    """Seconds until the bucket is full again."""
    is_allowed: bool


class Limits(Protocol):
    """Counts requests by caller, for all processes together."""

    def take(self, bucket: str, who: str, limit: int) -> Allowance:
        """Take one from the bucket of `who`, which holds `limit` a window; raises
        StoreUnavailable.
        """


def account_of(caller: Caller, game: Game | None = None) -> str:
    """Return to which key's quota a request counts, by the first digits of the key's hash: the
    caller's, and for a seat's token the one that its game was made with. Empty for none.

    Tokens have no quota of their own: whoever makes many games would have many."""
    if isinstance(caller, AppCaller):
        return key_name(caller)
    return "" if game is None else game.made_by_key


def check_quota(house: House, account: str) -> None:
    """Raise RateLimited when a key has as much work queued or running as it may.

    What is noted of a key's work is looked at only when it seems too much: jobs that have ended
    are forgotten then. Requests at the very same moment may come in together; the queue's own limit
    holds in any case."""
    if not house.max_hints or not account:
        return
    noted = house.store.jobs_of(account)
    if len(noted) < house.max_hints:
        return
    ended = [job_id for job_id in noted if not house.queue.is_active(job_id)]
    house.store.forget_jobs(account, ended)
    if len(noted) - len(ended) >= house.max_hints:
        raise RateLimited(
            Sentence(
                "{count} hints of this key are queued or running already.", count=house.max_hints
            ),
            Allowance(QUEUED, house.max_hints, 0, QUOTA_RETRY_S, is_allowed=False),
        )


def note_job(house: House, account: str, job_id: str) -> None:
    """Count a job that was just queued to the key."""
    if house.max_hints and account:
        house.store.note_job(account, job_id, house.clock())
