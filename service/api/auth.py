"""Who calls: an app by its key, a seat by its token, or, where keys are optional, the local app.

Keys and tokens are looked up by their hash; nothing here keeps or logs them."""

from typing import Protocol

from flask import Request

from service.config import Settings
from service.games.access import (
    APP_KEY_PREFIX,
    LOCAL_APP,
    TOKEN_PREFIX,
    AppCaller,
    AppKey,
    Caller,
    SeatCaller,
    caller_of_token,
    hash_secret,
)
from service.games.errors import NotAllowed, NotAuthenticated
from service.sentences import Sentence

LOCAL = AppCaller(LOCAL_APP)
UNKNOWN = Sentence("That key or token is not known.")


class AppKeys(Protocol):
    """Where apps' keys are kept."""

    def find(self, key_hash: str) -> AppKey | None:
        """Return the key of that hash, None for none; raises StoreUnavailable."""


def identify(request: Request, settings: Settings, keys: AppKeys) -> Caller:
    """Return who makes the request; raises NotAuthenticated."""
    given = request.headers.get("Authorization")
    if given is None:
        if settings.auth == "required":
            raise NotAuthenticated(Sentence("An app key or a seat token is needed."))
        return LOCAL
    scheme, credentials = split_authorization(given)
    if scheme != "bearer" or not credentials:
        raise NotAuthenticated(Sentence("Send the key or token as: Authorization: Bearer TOKEN"))
    if credentials.startswith(TOKEN_PREFIX):
        return caller_of_token(credentials)
    if credentials.startswith(APP_KEY_PREFIX):
        key = keys.find(hash_secret(credentials))
        if key is not None:
            return AppCaller(key.app, key.scopes, key.is_test, key.key_hash)
    raise NotAuthenticated(UNKNOWN)


def split_authorization(header: str) -> tuple[str, str]:
    """Return the scheme, in lower case, and the key or token of an `Authorization` header.

    >>> split_authorization("Bearer  prk_1")
    ('bearer', 'prk_1')
    """
    scheme, _, credentials = header.strip().partition(" ")
    return scheme.lower(), credentials.strip()


def check_scope(caller: Caller, scope: str) -> None:
    """Raise NotAllowed for a key that does not reach so far. A token reaches as far as its seat."""
    if isinstance(caller, AppCaller) and scope not in caller.scopes:
        raise NotAllowed(Sentence("That key has not the scope `{scope}`.", scope=scope))


def shown_name(caller: Caller | None) -> str | None:
    """Return a caller's name for the log: enough to follow it, nothing to use it by."""
    if isinstance(caller, SeatCaller):
        return f"seat:{caller.game_id[:32]}:{caller.token_hash[:8]}"
    return None if caller is None else caller.name
