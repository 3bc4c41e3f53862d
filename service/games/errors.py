"""What use cases raise. Each error carries data and no status: only `service/api/problem.py` knows
statuses.
"""

from typing import TYPE_CHECKING, Any

from service.rules.violations import RULE_OF, SENTENCE_OF, Violation
from service.sentences import Sentence

if TYPE_CHECKING:
    from service.games.limits import Allowance


class GamesError(Exception):
    """The root of the family. `str(error)` is a sentence for a person."""


class GameNotFound(GamesError):
    """There is no such game, or not for this caller."""

    def __init__(self, game_id: str) -> None:
        super().__init__(Sentence("There is no game of that id here."))
        self.game_id = game_id


class MatchNotFound(GamesError):
    """There is no such match, or not for this caller."""

    def __init__(self) -> None:
        super().__init__(Sentence("There is no match of that id here."))


class NotAuthenticated(GamesError):
    """No credentials, or none that are known."""


class NotYourSeat(GamesError):
    """The caller may not see or play that seat."""

    def __init__(
        self, seat: int | None = None, why: str = Sentence("That seat is not yours.")
    ) -> None:
        super().__init__(why)
        self.seat = seat


class NotAllowed(GamesError):
    """The caller is known and may not do that."""


class RateLimited(GamesError):
    """The caller asks too often, or for too much at once. Carries the bucket that is empty."""

    def __init__(self, why: str, allowance: "Allowance") -> None:
        super().__init__(why)
        self.allowance = allowance


class SeatUnnamed(GamesError):
    """The caller plays several seats and must say which one is meant."""

    def __init__(self) -> None:
        super().__init__(
            Sentence(
                "This game has several human seats: name one, "
                'as "seat" in the body or ?seat= in the query.'
            )
        )


class InvalidRequest(GamesError):
    """A well-formed request that asks for something impossible. `field` says where."""

    def __init__(self, field: str, why: Sentence) -> None:
        super().__init__(f"{field}: {why}")
        self.field = field
        self.why = why


class ImpossiblePosition(GamesError):
    """A position that no game can lead to. `faults` are pairs of a member and a sentence."""

    def __init__(self, faults: list[tuple[str, Sentence]]) -> None:
        super().__init__(
            Sentence(
                "This cannot be what a player sees: {count} fault(s), the first: {first}",
                count=len(faults),
                first=faults[0][1],
            )
        )
        self.faults = faults


class Conflict(GamesError):
    """The state of the game does not allow it."""


_ENDS = {
    "finished": Sentence("The game is finished."),
    "abandoned": Sentence("The game is abandoned."),
}


class GameFinished(Conflict):
    """The game is finished or abandoned."""

    def __init__(self, status: str) -> None:
        super().__init__(_ENDS[status])
        self.status = status


class GameNotFinished(Conflict):
    """Only a finished game can be shown in the open."""

    def __init__(self, why: str = Sentence("The game is not finished.")) -> None:
        super().__init__(why)


class SeatsOpen(Conflict):
    """The game waits for players."""

    def __init__(self, seats: list[int]) -> None:
        super().__init__(Sentence("The game has not begun: open seats {seats}.", seats=seats))
        self.seats = seats


class SeatTaken(Conflict):
    """Somebody sits there."""

    def __init__(self, seat: int) -> None:
        super().__init__(Sentence("Seat {seat} is taken.", seat=seat))
        self.seat = seat


class SeatAway(Conflict):
    """A bot plays the seat for its owner. `by` is who seated it: app, human or clock."""

    def __init__(self, seat: int, by: str) -> None:
        super().__init__(
            Sentence("A bot plays seat {seat} for its owner: take the seat back first.", seat=seat)
        )
        self.seat = seat
        self.by = by


class ActionRefused(Conflict):
    """The rules refuse an action. Carries the violation, the seat and, for the seat to move, what
    is legal.
    """

    def __init__(
        self, violation: Violation, seat: int, legal_actions: list[dict[str, Any]]
    ) -> None:
        super().__init__(SENTENCE_OF[violation])
        self.violation = violation
        self.rule = RULE_OF[violation]
        self.seat = seat
        self.legal_actions = legal_actions


class StaleVersion(GamesError):
    """The game has moved on. Carries the fresh view for the caller."""

    def __init__(self, expected: int, game: dict[str, Any]) -> None:
        super().__init__(
            Sentence(
                "The game is at version {version}, not {expected}.",
                version=game["version"],
                expected=expected,
            )
        )
        self.expected = expected
        self.game = game


class TooManyRaces(GamesError):
    """Others changed the game again and again while this request was judged."""

    def __init__(self) -> None:
        super().__init__(Sentence("The game changed too often meanwhile; try again."))


class KeyReused(GamesError):
    """An idempotency key came again with another request."""

    def __init__(self) -> None:
        super().__init__(Sentence("That Idempotency-Key was used for another request."))


class TaskNotFound(GamesError):
    """There was never such a hint or bot move here."""

    def __init__(self, task_id: str) -> None:
        super().__init__(Sentence("There is nothing of that id here."))
        self.task_id = task_id


class TaskExpired(GamesError):
    """The answer was here and is not kept any longer."""

    def __init__(self, task_id: str) -> None:
        super().__init__(Sentence("That answer has expired; ask again."))
        self.task_id = task_id


class WebhookNotFound(GamesError):
    """The app has no webhook."""

    def __init__(self) -> None:
        super().__init__(Sentence("This app has no webhook."))


class Unavailable(GamesError):
    """A part that the service needs cannot be used now. `retry_after_s` says when to try again."""

    def __init__(self, why: str, retry_after_s: int = 1) -> None:
        super().__init__(why)
        self.retry_after_s = retry_after_s


class StoreUnavailable(Unavailable):
    """The store of games does not answer."""

    def __init__(self) -> None:
        super().__init__(Sentence("The store of games does not answer."), 2)


class QueueFull(Unavailable):
    """Too many jobs wait."""

    def __init__(self, queue: str) -> None:
        super().__init__(Sentence("The queue of {queue} is full.", queue=queue), 5)
        self.queue = queue


class UnknownFormat(GamesError):
    """A stored game is of a format that this release does not read; it is left untouched."""

    def __init__(self, game_id: str, found: object) -> None:
        super().__init__(
            Sentence(
                "The stored game has format {found!r}, which this release does not read.",
                found=found,
            )
        )
        self.game_id = game_id
        self.found = found
