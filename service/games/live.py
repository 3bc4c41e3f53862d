"""Following a game as it goes on: what a stream of events is made of.

The stream begins with the whole view, or where the follower left off, and goes on from the log, one
event a version, so it has no gap and no repeat however often it is taken up again. Who may look is
asked again at each change of the seats: the stream of a token that was replaced ends there. Whether
an app's key is still one is asked before anything is told.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from service.games.access import Caller, viewer_for
from service.games.changing import load_game
from service.games.errors import (
    GameNotFound,
    NotAllowed,
    NotAuthenticated,
    NotYourSeat,
    Unavailable,
)
from service.games.house import House
from service.games.model import Game
from service.games.ports import Document, WatchEnded
from service.games.representation import Viewer, event_to_json, game_to_json

AWAY_S = 1.0
"""Pause between two tries while the store is away."""


@dataclass(frozen=True, slots=True)
class News:
    """One thing that a follower is told."""

    kind: str
    """game, action or game_finished."""
    version: int | None
    """From where to go on after it; None where that does not change."""
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Follower:
    """Who follows which game, and where from."""

    caller: Caller
    game_id: str
    seat: int | None
    """The seat that an app names."""
    last_seen: int | None = None
    """The version up to which everything is known; None to begin with the whole view."""
    check_key: Callable[[], None] = lambda: None
    """Raises NotAuthenticated once the key that he showed is revoked, StoreUnavailable."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a follower waits for what."""

    keep_alive_s: float
    """Silence after which he is told that the stream is still there."""
    first_keep_alive_s: float
    """The same at the beginning: not alike for those who all came at once, such as after a
    restart, or they would all be told at once ever after."""
    longest_s: float
    """After so long the stream ends; he takes it up again."""
    sleep: Callable[[float], None]
    """Waits for so many seconds."""
    monotonic: Callable[[], float]
    """Seconds from some moment on."""


def follow_game(house: House, follower: Follower, pace: Pace) -> Iterator[News | None]:
    """Return what happens, until the game is over, this process ends or the time is up; None for
    silence. The store being away for a while is no end.

    Raises GameNotFound, NotAuthenticated, NotYourSeat, before anything is returned."""
    game = load_game(house, follower.game_id)
    viewer = viewer_for(game, follower.caller, follower.seat)
    return _follow(house, follower, game, viewer, pace)


def _follow(
    house: House, follower: Follower, game: Game, viewer: Viewer, pace: Pace
) -> Iterator[News | None]:
    end_at = pace.monotonic() + pace.longest_s
    since = follower.last_seen
    if since is None or since > game.version:
        # Nobody has seen a version that is not there yet: another game, or a store set back.
        since = game.version
        yield News("game", since, game_to_json(game, viewer))
    else:
        # So that the answer begins at once, though nothing may happen for long.
        yield None
    is_fresh = True
    silence_s = pace.first_keep_alive_s
    with closing(house.store.watch(game.id)) as watch:
        while not (game.is_over and since >= game.version):
            left_s = end_at - pace.monotonic()
            if left_s <= 0:
                return
            try:
                if not is_fresh:
                    game = load_game(house, game.id)
                    viewer = viewer_for(game, follower.caller, follower.seat)
                    is_fresh = True
                    continue
                entries = watch.next(since, min(silence_s, left_s))
                silence_s = pace.keep_alive_s
                follower.check_key()
            except Unavailable:
                yield None
                pace.sleep(AWAY_S)
                continue
            except (WatchEnded, GameNotFound, NotAllowed, NotAuthenticated, NotYourSeat):
                return
            for entry in entries:
                yield News("action", entry["version"], event_to_json(entry, viewer.seat))
                since = entry["version"]
                is_fresh = is_fresh and not _is_milestone(entry)
            if not entries:
                yield None
    yield News("game_finished", None, game_to_json(game, viewer))


def _is_milestone(entry: Document) -> bool:
    """Tell whether the game may be over after this, or the seats held by others."""
    return entry["type"] != "played" or "deal_score" in entry
