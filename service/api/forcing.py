"""Problems on demand: a client has to bear what it will seldom see.

With a test key the header `Sandbox-Force: 503` gets that problem from any operation that asks who
calls, before anything is read or done. With any other key or token, and without any, the header is
refused: what looks like a problem of the service there is one."""

from collections.abc import Container
from typing import NoReturn

from service.api.request_errors import Malformed
from service.games.access import Caller
from service.games.errors import Conflict, RateLimited, Unavailable
from service.games.limits import REQUESTS, Allowance
from service.games.sandbox import check_test_key
from service.sentences import Sentence

FORCE_HEADER = "Sandbox-Force"
FORCED = ("409", "429", "503")
RETRY_S = 1


def force_problem(wanted: str, caller: Caller, statuses: Container[int]) -> NoReturn:
    """Raise the problem of the status that is wanted; NotAllowed without a test key, Malformed for
    one that the operation, which has `statuses`, is never answered with.
    """
    check_test_key(caller)
    why = Sentence("Forced by Sandbox-Force.")
    if wanted not in FORCED or int(wanted) not in statuses:
        among = Sentence("One of {choices} that this path may have.", choices=", ".join(FORCED))
        raise Malformed([(FORCE_HEADER, among)])
    if wanted == "409":
        raise Conflict(why)
    if wanted == "429":
        raise RateLimited(why, Allowance(REQUESTS, 1, 0, RETRY_S, is_allowed=False))
    raise Unavailable(why, RETRY_S)
