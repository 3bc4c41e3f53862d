"""What every use case is given: the ports, the clock, the source of secrets, the limits."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from service.games.ports import GameStore, JobQueue


@dataclass(frozen=True, slots=True)
class House:
    """The outside as the use cases see it. Built by `service/app.py` and `workers/main.py`."""

    store: GameStore
    queue: JobQueue
    clock: Callable[[], float]
    """Seconds since 1970, UTC."""
    new_secret: Callable[[int], str]
    """Return URL-safe text with that many random bytes in it, from the system's generator."""
    hint_ttl_s: int = 86_400
    """How long a hint or a bot move can be read."""
    posts_anywhere: bool = False
    """Whether webhooks and external seats may be at addresses that are not public."""
    review_ttl_s: int = 7 * 86_400
    """How long a review can be read: as long as the finished game."""
    max_hints: int = 0
    """Hints, moves and reviews of one key that may be queued or running at once; 0: no limit."""

    def now(self) -> str:
        """Return the time in RFC 3339, UTC, to the millisecond."""
        return rfc3339(self.clock())


def rfc3339(at_s: float) -> str:
    """Return `at_s`, seconds since 1970, as RFC 3339 text in UTC."""
    return (
        datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
