"""What is wrong with a request before any use case sees it. Statuses are in `problem.py`."""

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


class Malformed(RequestError):
    """The request has the wrong shape. `errors` are pairs of field and message."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in errors[:3]))
        self.errors = errors
