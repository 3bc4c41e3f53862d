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
PARTS_OF_QUOTA, LEAST_SHARE = 10, 2
"""The tokens of one game have a tenth of the quota of its key, and room for two at least."""


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


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a request for work on the queue counts to."""

    key: str
    """The first digits of the hash of an app's key; empty where nothing is counted."""
    game_id: str = ""
    """The game whose token asks, which has a share of the key's quota; empty for an app."""


def account_of(caller: Caller, game: Game | None = None) -> Account:
    """Return to which key's quota a request counts: the caller's, and for a seat's token the one
    that its game was made with.

    Tokens have no quota of their own: whoever makes many games would have many. But those of one
    game have only a part of it, so that no player uses up what an app has for all."""
    if isinstance(caller, AppCaller):
        return Account(key_name(caller))
    return Account("") if game is None else Account(game.made_by_key, game.id)


def check_quota(house: House, account: Account) -> None:
    """Raise RateLimited when a key, or a game by its tokens, has as much work queued or running as
    it may.

    What is noted of a key's work is looked at only when it seems too much: jobs that have ended
    are forgotten then. Requests at the very same moment may come in together; the queue's own limit
    holds in any case."""
    if not house.max_hints or not account.key:
        return
    noted = house.store.jobs_of(account.key)
    if _are_too_many(house, account, noted, house.max_hints):
        raise _too_many(
            Sentence(
                "{count} hints of this key are queued or running already.", count=house.max_hints
            ),
            house.max_hints,
        )
    share = max(house.max_hints // PARTS_OF_QUOTA, LEAST_SHARE)
    of_game = [job_id for job_id in noted if f"-{account.game_id}-" in job_id]
    if account.game_id and _are_too_many(house, account, of_game, share):
        raise _too_many(
            Sentence("{count} hints of this game are queued or running already.", count=share),
            share,
        )


def _are_too_many(house: House, account: Account, noted: list[str], most: int) -> bool:
    """Tell whether so many of the jobs noted are under way; forget those that have ended."""
    if len(noted) < most:
        return False
    ended = [job_id for job_id in noted if not house.queue.is_active(job_id)]
    house.store.forget_jobs(account.key, ended)
    return len(noted) - len(ended) >= most


def _too_many(why: str, most: int) -> RateLimited:
    return RateLimited(why, Allowance(QUEUED, most, 0, QUOTA_RETRY_S, is_allowed=False))


def note_job(house: House, account: Account, job_id: str) -> None:
    """Count a job that was just queued to the key."""
    if house.max_hints and account.key:
        house.store.note_job(account.key, job_id, house.clock())
