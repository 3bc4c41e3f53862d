"""A hosted game: who sits where, the match, the version; and its stored form.

The stored form is one JSON document with a format number. A release reads its own format and those
before it, and refuses others untouched (`UnknownFormat`). It holds hidden cards and hashes of
tokens, and is never sent to a client: `representation.py` makes what a client sees."""

from dataclasses import dataclass, field
from typing import Any, Literal

from service.games.errors import UnknownFormat
from service.rules.deal import CORE_FIELDS, NOBODY, SEATS, TABLE_FIELDS, Deal
from service.rules.match import Match
from service.rules.score import DealScore

FORMAT = 2
"""Format 1 had `laid_by` as an object, by card; the rest is the same."""
Status = Literal["open", "playing", "finished", "abandoned"]
Player = Literal["human", "bot", "open", "external"]


@dataclass(slots=True)
class SeatHolder:
    """Who holds a seat."""

    player: Player
    name: str
    """Shown to all; up to 40 characters."""
    level: str | None = None
    """The bot's level, or None."""
    token_hash: str | None = None
    """SHA-256 of the seat's token, or None for a seat that has none."""


@dataclass(slots=True)
class Game:
    """A game as the service keeps it."""

    id: str
    app: str
    """The app that made it."""
    version: int
    """Accepted changes so far; 0 for a new game."""
    status: Status
    created_at: str
    """RFC 3339, UTC."""
    seats: list[SeatHolder]
    """By seat, 0 to 3."""
    seating: dict[str, Any]
    """How players were seated: mode, dealer, cards drawn (R4)."""
    match: Match
    turn_version: int = 0
    """The version at which the turn in hand began: names the job that plays it."""
    spectators: bool = True
    """Whether others may look on, without any hand."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Settings that only some games have (clock, webhook)."""

    @property
    def bot_to_move(self) -> int | None:
        """The seat to move if a bot holds it and the game is on, else None."""
        if self.status != "playing":
            return None
        turn = self.match.deal.turn
        return turn if self.seats[turn].player == "bot" else None

    @property
    def person_to_move(self) -> int | None:
        """The seat to move if a person holds it and the game is on, else None."""
        if self.status != "playing":
            return None
        turn = self.match.deal.turn
        return turn if self.seats[turn].player == "human" else None

    @property
    def external_to_move(self) -> int | None:
        """The seat to move if it is played from outside and the game is on, else None."""
        if self.status != "playing":
            return None
        turn = self.match.deal.turn
        return turn if self.seats[turn].player == "external" else None

    @property
    def is_over(self) -> bool:
        """Whether the game is finished or abandoned."""
        return self.status in ("finished", "abandoned")

    @property
    def match_id(self) -> str | None:
        """The match that this game is a table of, or None."""
        match_id: str | None = self.extra.get("match_id")
        return match_id

    @property
    def made_by_key(self) -> str:
        """The first digits of the hash of the key that it was made with; empty for none."""
        name: str = self.extra.get("key", "")
        return name

    @property
    def is_sandbox(self) -> bool:
        """Whether it was made with a test key: its cards may be chosen and its clock moved."""
        return bool(self.extra.get("sandbox"))

    @property
    def open_seats(self) -> list[int]:
        """Seats that wait for a player."""
        return [seat for seat in range(SEATS) if self.seats[seat].player == "open"]

    def is_persons(self, seat: int) -> bool:
        """Whether the seat belongs to a person, though a bot may play it meanwhile."""
        return self.seats[seat].token_hash is not None

    @property
    def persons_seats(self) -> list[int]:
        """Seats that belong to people."""
        return [seat for seat in range(SEATS) if self.is_persons(seat)]

    def stand_in(self, seat: int) -> str | None:
        """Who let a bot play this person's seat (app, human or clock); None when none does."""
        by: str | None = self.extra.get("stand_ins", {}).get(str(seat))
        return by


def game_to_state(game: Game) -> dict[str, Any]:
    """Return the stored form of `game`; its version is stored beside it."""
    match = game.match
    return {
        "format": FORMAT,
        "app": game.app,
        "status": game.status,
        "created_at": game.created_at,
        "seats": [[s.player, s.name, s.level, s.token_hash] for s in game.seats],
        "seating": game.seating,
        "turn_version": game.turn_version,
        "spectators": game.spectators,
        "extra": game.extra,
        "seed": match.seed,
        "client_seed": match.client_seed,
        "first_dealer": match.first_dealer,
        "deals": match.deals,
        "number": match.number,
        "scores": [[s.laid, s.bonus, s.hands, s.went_out] for s in match.scores],
        "deal": _deal_to_state(match.deal),
        **({"decks": [list(deck) for deck in match.decks]} if match.decks else {}),
    }


def game_from_state(game_id: str, version: int, state: dict[str, Any]) -> Game:
    """Return the game stored as `state`; raises UnknownFormat for a format of another release."""
    if state.get("format") not in range(1, FORMAT + 1):
        raise UnknownFormat(game_id, state.get("format"))
    scores = [
        DealScore(tuple(laid), tuple(bonus), tuple(hands), out)
        for laid, bonus, hands, out in state["scores"]
    ]
    match = Match(
        seed=state["seed"],
        client_seed=state["client_seed"],
        first_dealer=state["first_dealer"],
        deals=state["deals"],
        number=state["number"],
        deal=_deal_from_state(state["deal"]),
        scores=scores,
        decks=tuple(map(tuple, state.get("decks", []))),
    )
    return Game(
        id=game_id,
        app=state["app"],
        version=version,
        status=state["status"],
        created_at=state["created_at"],
        seats=[SeatHolder(*holder) for holder in state["seats"]],
        seating=state["seating"],
        match=match,
        turn_version=state["turn_version"],
        spectators=state["spectators"],
        extra=state["extra"],
    )


_USED_LENGTH = {
    "stock": "stock_count",
    "pile": "pile_count",
    "meld_kinds": "meld_count",
    "meld_cards": "meld_count",
    "meld_doubled": "meld_count",
}
"""Lists of which only the first so many entries mean anything."""


def _deal_to_state(deal: Deal) -> dict[str, Any]:
    """Return the deal's fields, each list cut to the part in use; `laid_by` as text, a digit or a
    point a card, up to the last card on the table.
    """
    state: dict[str, Any] = {}
    for name, length in CORE_FIELDS + TABLE_FIELDS:
        value = getattr(deal, name)
        state[name] = (
            value[: getattr(deal, _USED_LENGTH[name])]
            if name in _USED_LENGTH
            else value[:]
            if length
            else value
        )
    seats = "".join("." if seat == NOBODY else str(seat) for seat in deal.laid_by)
    state["laid_by"] = seats.rstrip(".")
    return state


def _deal_from_state(state: dict[str, Any]) -> Deal:
    deal = Deal()
    for name, length in CORE_FIELDS + TABLE_FIELDS:
        if name == "laid_by":
            laid_by = state[name]
            pairs = laid_by.items() if isinstance(laid_by, dict) else enumerate(laid_by)
            for card, seat in pairs:
                deal.laid_by[int(card)] = NOBODY if seat == "." else int(seat)
        elif length:
            getattr(deal, name)[: len(state[name])] = state[name]
        else:
            setattr(deal, name, state[name])
    return deal
