"""Tables for the tests of the use cases: a house with all in memory, games in it, players."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

from service.games.access import AppCaller, SeatCaller, caller_of_token
from service.games.changing import load_game
from service.games.hosting import GameOrder, SeatOrder, create_game
from service.games.house import House
from service.games.model import Game, game_to_state
from service.games.playing import list_legal_actions, play_action
from service.games.ports import Commit, RequestKey
from service.rules.cards import CARD_NAMES
from service.rules.deal import DRAW
from service.rules.legal import legal_actions
from service.rules.notation import action_to_json
from service.store.memory import MemoryQueue, MemoryStore
from tests.receivers import SECRET

APP = AppCaller("app")
OTHER_APP = AppCaller("other")
HOUSES = itertools.count()
"""Each house has secrets, and so ids, of its own."""
KINDS = {"h": "human", "b": "bot", "o": "open", "e": "external"}


@dataclass(slots=True)
class Clock:
    """A clock that a test sets; a millisecond passes with each look at it."""

    now_s: float = 1_790_000_000.0

    def __call__(self) -> float:
        self.now_s += 0.001
        return self.now_s


@dataclass(slots=True)
class Table:
    """A house and one game in it."""

    clock: Clock = field(default_factory=Clock)
    store: MemoryStore = field(init=False)
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    house: House = field(init=False)
    game_id: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    """By seat, as the creator got them."""
    spectator_token: str | None = None
    created: dict[str, Any] = field(default_factory=dict)
    """The body of the answer to the creation."""

    def __post_init__(self) -> None:
        numbers = random.Random(next(HOUSES))
        self.store = MemoryStore(clock=self.clock)
        self.house = House(
            self.store, self.queue, self.clock, lambda size: numbers.randbytes(size).hex()
        )

    @property
    def game(self) -> Game:
        """The game as it is stored."""
        return load_game(self.house, self.game_id)

    @property
    def version(self) -> int:
        return self.game.version

    @property
    def turn(self) -> int:
        """The seat to move."""
        return self.game.match.deal.turn

    def seat(self, seat: int) -> SeatCaller:
        """Return the holder of the token of `seat`."""
        return caller_of_token(self.tokens[str(seat)])

    def legal_actions(self, seat: int | None = None) -> list[dict[str, Any]]:
        """Return the legal actions of the seat to move, or of `seat`, as its own holder sees."""
        holder = self.seat(self.turn if seat is None else seat)
        actions: list[dict[str, Any]] = list_legal_actions(self.house, holder, self.game_id, None)[
            "actions"
        ]
        return actions

    def play(self, data: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Play as the holder of the seat to move; return the answer's body."""
        holder = self.seat(self.turn)
        return play_action(self.house, holder, self.game_id, None, data, **more).body

    def play_randomly(self, rng: random.Random, steps: int) -> int:
        """Play up to `steps` legal actions as the holders of the tokens; return how many."""
        for played in range(steps):
            if self.game.status != "playing":
                return played
            self.play(rng.choice(self.legal_actions()))
        return steps

    def play_until_turn_of(self, seat: int, rng: random.Random | None = None) -> None:
        """Play on until `seat` is to draw; everybody draws and discards."""
        rng = rng or random.Random(1)
        while self.turn != seat or self.game.match.deal.phase != DRAW:
            actions = self.legal_actions()
            short = [a for a in actions if a["type"] in ("draw_stock", "discard", "pass")]
            self.play(rng.choice(short))


def order(players: str = "hhhh", **more: Any) -> GameOrder:
    """Return an order of four seats: h human, b bot, o open, e external."""
    level = {"b": "greedy"}
    outside = {"url": "https://example.org/rummy", "secret": more.pop("external_secret", SECRET)}
    seats = (
        SeatOrder(KINDS[p], None, level.get(p), **(outside if p == "e" else {})) for p in players
    )
    return GameOrder(tuple(seats), **more)


def open_table(
    players: str = "hhhh", *, seed: str | None = "seed", key: RequestKey | None = None, **more: Any
) -> Table:
    """Return a table with a new game of the app `app`."""
    table = Table()
    body = create_game(table.house, APP, order(players, seed=seed, **more), key).body
    table.game_id = body["game"]["id"]
    table.tokens = body["seat_tokens"]
    table.spectator_token = body["spectator_token"]
    table.created = body
    return table


def table_at(game: Game, log: list[dict[str, Any]], tokens: dict[str, str]) -> Table:
    """Return a table of its own whose store holds `game` and `log`."""
    table = Table(game_id=game.id, tokens=tokens)
    for version in range(game.version + 1):
        entry = log[version - 1] if version else None
        table.store.commit(Commit(game.id, version, game.status, game_to_state(game), entry))
    return table


def every_action(game: Game) -> list[dict[str, Any]]:
    """Return actions of all types, legal and not, such as somebody might try."""
    tried: list[dict[str, Any]] = [{"type": "draw_stock"}, {"type": "pass"}]
    tried += [{"type": "discard", "card": card} for card in CARD_NAMES]
    tried += [{"type": "take_discards", "card": card} for card in CARD_NAMES]
    for start in range(0, 54, 3):
        cards = list(CARD_NAMES[start : start + 3])
        tried.append({"type": "meld", "cards": cards})
        tried.append({"type": "lay_off", "cards": cards[:1], "meld": f"m{start // 3 + 1}"})
    tried += [action_to_json(action) for action in legal_actions(game.match.deal)]
    return tried
