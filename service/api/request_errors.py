"""What is wrong with a request before any use case sees it. Statuses are in `problem.py`."""

from collections.abc import Callable

from service.sentences import Sentence


class RequestError(Exception):
    """The root of the family. `str(error)` is a sentence for a person."""


class NotJson(RequestError):
    """The body cannot be read as JSON."""


class EmptyBody(NotJson):
    """There is no body where one is needed."""

    def __init__(self) -> None:
        super().__init__(Sentence("The body is empty; a JSON object is needed."))


class WrongMediaType(RequestError):
    """The body is not said to be JSON."""

    def __init__(self) -> None:
        super().__init__(Sentence("Send the body as application/json."))


Fault = tuple[str, Sentence]
"""A field of the request, and what is wrong with it."""
FIRST_FAULTS = 3
"""More of them on one line would help nobody; `errors` has them all."""


class Malformed(RequestError):
    """The request has the wrong shape: `errors` say where and why."""

    def __init__(self, errors: list[Fault]) -> None:
        self.errors = errors
        super().__init__(self.summary(str))

    def summary(self, tell: Callable[[Sentence], str]) -> str:
        """Return the first faults in a line, as `tell` tells them."""
        return "; ".join(f"{field}: {tell(why)}" for field, why in self.errors[:FIRST_FAULTS])
