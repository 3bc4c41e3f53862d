"""Who may see and play what.

Two kinds of callers: an app, which made the game and plays every human seat of it, and the holder
of a token: of a seat's, who plays that seat, or of the spectators', who plays none. A token names
its game in clear, so that a token of another game is told nothing, not even that this game exists.
"""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from service.games.errors import (
    GameNotFound,
    NotAllowed,
    NotAuthenticated,
    NotYourSeat,
    SeatUnnamed,
)
from service.games.model import Game, SeatHolder
from service.games.representation import Viewer
from service.rules.deal import SEATS
from service.sentences import Sentence

SECRET_BYTES = 24
"""Of a token, a seed, a key: 192 bits."""
TOKEN_PREFIX = "prs_"
APP_KEY_PREFIX = "prk_"
KEY_DIGITS = 12
"""Of a key's hash: enough to tell keys apart."""
LOCAL_APP = "local"
"""The app that callers without a key are, where keys are optional."""
PLAY, HINTS, ADMIN = "play", "hints", "admin"
SCOPES = (PLAY, HINTS, ADMIN)
"""How far a key reaches: games and their seats; advice and reviews; what concerns the whole app."""


@dataclass(frozen=True, slots=True)
class AppKey:
    """An app's key as it is kept: without the key."""

    app: str
    key_hash: str
    """SHA-256 of the key; its first digits name the key when revoking."""
    created_at: str
    """RFC 3339, UTC."""
    scopes: tuple[str, ...] = SCOPES
    is_test: bool = False
    """Whether it opens the sandbox, and only games of its own kind."""


@dataclass(frozen=True, slots=True)
class AppCaller:
    """An app, by its name, and what the key that it showed allows."""

    app: str
    scopes: tuple[str, ...] = SCOPES
    is_test: bool = False
    key_hash: str = ""
    """Of the key, by which requests are counted; empty for the local app, which has none."""

    @property
    def name(self) -> str:
        """A name for logs and for keeping callers' idempotency keys apart."""
        return f"{'test' if self.is_test else 'app'}:{self.app}"


@dataclass(frozen=True, slots=True)
class SeatCaller:
    """The holder of a seat's token."""

    game_id: str
    token_hash: str

    @property
    def name(self) -> str:
        """A name for logs and for keeping callers' idempotency keys apart."""
        return f"seat:{self.token_hash}"


Caller = AppCaller | SeatCaller


def key_name(caller: AppCaller) -> str:
    """Return the digits by which `keys list` and `keys revoke` know the caller's key; empty for
    the local app, which has none.
    """
    return caller.key_hash[:KEY_DIGITS]


def hash_secret(secret: str) -> str:
    """Return what is stored of a token or key: its SHA-256 in hexadecimal. Secrets have 192 bits,
    so no salt is needed.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def make_token(game_id: str, secret: str) -> str:
    """Return the token of a seat of `game_id`."""
    return f"{TOKEN_PREFIX}{game_id}_{secret}"


def issue_token(new_secret: Callable[[int], str], game_id: str, holder: SeatHolder) -> str:
    """Give `holder` a new token and return it; only its hash is kept."""
    token = make_token(game_id, new_secret(SECRET_BYTES))
    holder.token_hash = hash_secret(token)
    return token


def is_spectator(game: Game, caller: Caller) -> bool:
    """Tell whether `caller` shows the game's spectator token: sees what all see, and no more."""
    return (
        isinstance(caller, SeatCaller)
        and caller.game_id == game.id
        and hmac.compare_digest(game.extra.get("spectator_hash", ""), caller.token_hash)
    )


def caller_of_token(token: str) -> SeatCaller:
    """Return who shows `token`; raises NotAuthenticated if it has not the shape of one. Whether it
    is right shows at the game.
    """
    game_id, _, secret = token.removeprefix(TOKEN_PREFIX).partition("_")
    if not token.startswith(TOKEN_PREFIX) or not game_id or not secret:
        raise NotAuthenticated(Sentence("That is no seat token."))
    return SeatCaller(game_id, hash_secret(token))


def seat_of_token(game: Game, caller: SeatCaller) -> int | None:
    """Return the seat whose token `caller` shows, None for none. All are compared, in a time that
    does not tell which one it is.
    """
    seats = [
        seat
        for seat in range(SEATS)
        if hmac.compare_digest(game.seats[seat].token_hash or "", caller.token_hash)
    ]
    return seats[0] if seats else None


def holder_of(game: Game, caller: SeatCaller) -> str | None:
    """Return a name for whom the token was made that `caller` shows: a seat of the game, or those
    who look on. None for a token that is not one of this game's.
    """
    if is_spectator(game, caller):
        return f"{game.id}-spectators"
    seat = seat_of_token(game, caller) if caller.game_id == game.id else None
    return None if seat is None else f"{game.id}-{seat}"


def admit(game: Game, caller: Caller) -> int | None:
    """Let `caller` in: return the seat of a token, or None for the game's app.

    Raises GameNotFound for another app, for a test key where the game was not made with one, and
    for a token of another game, NotAuthenticated for a token
    that is not (any longer) right, NotAllowed for a spectator's."""
    if isinstance(caller, AppCaller):
        if caller.app != game.app or (caller.is_test and not game.is_sandbox):
            raise GameNotFound(game.id)
        return None
    if caller.game_id != game.id:
        raise GameNotFound(game.id)
    seat = seat_of_token(game, caller)
    if is_spectator(game, caller):
        raise NotAllowed(Sentence("A spectator only looks on."))
    if seat is None:
        raise NotAuthenticated(Sentence("That token is not valid for this game."))
    return seat


def viewer_for(game: Game, caller: Caller, seat: int | None) -> Viewer:
    """Return with whose eyes `caller` looks: the token's seat, or the human seat that an app names,
    or nobody's.

    Raises NotYourSeat for any other seat.
    """
    if is_spectator(game, caller):
        if seat is not None:
            raise NotYourSeat(seat)
        return Viewer(None)
    own = admit(game, caller)
    if own is not None:
        if seat is not None and seat != own:
            raise NotYourSeat(seat)
        return Viewer(own)
    if seat is None:
        return Viewer(None)
    if not game.is_persons(seat):
        raise NotYourSeat(seat, Sentence("Seat {seat} is not played by a person.", seat=seat))
    return Viewer(seat, names_seat=True)


def player_for(game: Game, caller: Caller, seat: int | None) -> Viewer:
    """Return for whom `caller` acts: as `viewer_for`, and an app that names no seat acts for the
    only human one.

    Raises SeatUnnamed when there is more than one: a doubled request must never play for the next
    seat."""
    admit(game, caller)
    viewer = viewer_for(game, caller, seat)
    if viewer.seat is not None:
        return viewer
    seats = game.persons_seats
    if len(seats) == 1:
        return Viewer(seats[0], names_seat=True)
    if not seats:
        raise NotYourSeat(None, Sentence("No seat of this game is played by a person."))
    raise SeatUnnamed
