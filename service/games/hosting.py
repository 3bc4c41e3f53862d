"""Making games, listing them, taking seats, ending them (R1, R4, R7)."""

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import Any

from service.games.access import (
    SECRET_BYTES,
    AppCaller,
    Caller,
    admit,
    hash_secret,
    issue_token,
    key_name,
    make_token,
)
from service.games.changing import (
    Outcome,
    Step,
    call_bot,
    call_external,
    change_game,
    load_game,
    mark_game,
    replayed,
)
from service.games.clocks import (
    TIMEOUT_LEVEL,
    begin_turn,
    start_clock,
    timeout_level,
    turn_seconds,
)
from service.games.errors import (
    GameFinished,
    GameNotFinished,
    GameNotFound,
    InvalidRequest,
    KeyReused,
    NotAllowed,
    SeatTaken,
    UnknownFormat,
)
from service.games.hooks import call_announcer, make_hook
from service.games.house import House
from service.games.levels import DEFAULT_LEVEL, is_level
from service.games.model import Game, SeatHolder, game_to_state
from service.games.ports import Commit, RequestKey
from service.games.representation import Viewer, event_to_json, game_to_json
from service.rules.cards import CARD_NAMES, CardId, Seat
from service.rules.deal import SEATS
from service.rules.match import DEALS, Seating, seat_as_given, seat_by_draw, start_match
from service.sentences import Sentence

GAME_ID_BYTES = 15
MOST_LOOKED_AT = 500
"""Games that are read for one page: of a status that few have, or with a test key, a page may have
less than was asked for, and the next one more.
"""
CREATION_S = 60
"""A game is listed before it is written; one that is not there after so long is gone."""


@dataclass(frozen=True, slots=True)
class SeatOrder:
    """What a creator asks for one place."""

    player: str
    """human, bot, open or external."""
    name: str | None = None
    level: str | None = None
    """Of a bot, or of the bot that plays when an external seat does not."""
    url: str = ""
    """Where an external seat is asked."""
    secret: str | None = None
    """What its questions are signed with; made here if not given."""


@dataclass(frozen=True, slots=True)
class GameOrder:
    """What a creator asks for."""

    seats: tuple[SeatOrder, ...]
    """Four places, in seat order or, with the partner draw, in any."""
    seating: str = "fixed"
    """fixed or draw (R4)."""
    seed: str | None = None
    client_seed: str = ""
    deals: int = DEALS
    spectators: bool = True
    turn_seconds: int | None = None
    """Seconds a turn of a person may take; None for no clock."""
    timeout_level: str = TIMEOUT_LEVEL
    """The bot that finishes overdue turns."""
    webhook: dict[str, Any] | None = None
    """url and, if given, secret and events of those who are told of the game."""
    decks: tuple[tuple[CardId, ...], ...] = ()
    """Packs of the first deals, chosen: with a test key only."""
    dealer: Seat | None = None
    """Who deals first, chosen: with a test key only."""
    is_sandbox: bool = False
    """Whether anything of that kind was asked for."""


def create_game(
    house: House, caller: Caller, order: GameOrder, key: RequestKey | None = None
) -> Outcome:
    """Make a game and deal the first deal.

    Returns `{"game": GAME, "seat_tokens": {seat: token}, "spectator_token": token or None}`, a seat
    token for each human seat. Raises NotAllowed for a seat's token, InvalidRequest."""
    if not isinstance(caller, AppCaller):
        raise NotAllowed(Sentence("Creating a game takes an app key."))
    game_id = make_game_id(house, caller, key)
    first = first_answer(house, game_id, key)
    if first is not None:
        return first
    game, body = new_game(house, caller, game_id, order)
    return write_new_game(house, game, body, key)


def first_answer(house: House, game_id: str, key: RequestKey | None) -> Outcome | None:
    """Return the answer to a request for a new game that comes again, None for one that is new."""
    loaded = house.store.load(game_id, key) if key else None
    if loaded is None or loaded.answer is None:
        return None
    return replayed(loaded.answer, key)


def new_game(
    house: House, caller: AppCaller, game_id: str, order: GameOrder, match_id: str | None = None
) -> tuple[Game, dict[str, Any]]:
    """Return a new game, not yet written, and what its maker is shown."""
    game, tokens = _new_game(house, caller, game_id, order)
    if match_id is not None:
        game.extra["match_id"] = match_id
    spectator_token = _admit_spectators(house, game) if order.spectators else None
    begin_turn(game, house.clock())
    return game, {
        "game": game_to_json(game, Viewer(None)),
        "seat_tokens": tokens,
        "spectator_token": spectator_token,
        **_secrets_made(game, order),
    }


def write_new_game(
    house: House, game: Game, body: dict[str, Any], key: RequestKey | None
) -> Outcome:
    """Write a new game and let it begin; returns `body`, or what was answered before."""
    is_told = mark_game(house, game, house.clock(), is_new_turn=True)
    house.store.index_game(game.app, game.id, int(house.clock() * 1000))
    result = house.store.commit(
        Commit(game.id, 0, game.status, game_to_state(game), key=key, answer=body if key else None)
    )
    if result.answer is not None:
        return replayed(result.answer, key)
    if not result.is_done:
        raise KeyReused
    if is_told:
        call_announcer(house, game.id, game.version)
    call_bot(house, game)
    call_external(house, game)
    return Outcome(body)


def rematch(
    house: House,
    caller: Caller,
    game_id: str,
    seed: str | None = None,
    client_seed: str = "",
    key: RequestKey | None = None,
) -> Outcome:
    """Make the next game with the same players in the same seats, as `create_game` does; the dealer
    is drawn anew (R4).

    Raises NotAllowed for a token, GameNotFinished before the end, GameNotFound."""
    game = load_game(house, game_id)
    if admit(game, caller) is not None:
        raise NotAllowed(Sentence("A rematch takes the app's key."))
    if not game.is_over:
        raise GameNotFinished
    return create_game(house, caller, _order_of(game, seed, client_seed), key)


def _order_of(game: Game, seed: str | None, client_seed: str) -> GameOrder:
    """Return the order that makes a game like `game`, its players where they sit."""
    return GameOrder(
        seats=tuple(_seat_order_of(game, seat) for seat in range(SEATS)),
        seed=seed,
        client_seed=client_seed,
        deals=game.match.deals,
        spectators=game.spectators,
        turn_seconds=turn_seconds(game),
        timeout_level=timeout_level(game),
        webhook=game.extra.get("webhook"),
    )


def _seat_order_of(game: Game, seat: int) -> SeatOrder:
    holder = game.seats[seat]
    if game.is_persons(seat):
        return SeatOrder("human", holder.name)
    place = game.extra.get("external", {}).get(str(seat))
    if place is not None and holder.player == "external":
        return SeatOrder("external", holder.name, place["level"], place["url"], place["secret"])
    return SeatOrder(holder.player, holder.name or None, holder.level)


def make_game_id(house: House, caller: AppCaller, key: RequestKey | None) -> str:
    """Return a random id, or for a request with a key the id that its repetition will find."""
    if key is None:
        return base64.b32encode(house.new_secret(GAME_ID_BYTES).encode())[:24].decode().lower()
    digest = hashlib.sha256(f"{caller.name}:{key.name}".encode()).digest()
    return base64.b32encode(digest)[:24].decode().lower()


def _new_game(
    house: House, caller: AppCaller, game_id: str, order: GameOrder
) -> tuple[Game, dict[str, str]]:
    if order.is_sandbox and not caller.is_test:
        raise NotAllowed(Sentence("Choosing the cards takes a test key."))
    seed = house.new_secret(SECRET_BYTES) if order.seed is None else order.seed
    seating = (
        seat_by_draw(seed, order.client_seed)
        if order.seating == "draw"
        else seat_as_given(seed, order.client_seed)
    )
    if order.dealer is not None:
        seating = replace(seating, dealer=order.dealer)
    seats = [_holder(order.seats[player], seat) for seat, player in enumerate(seating.players)]
    tokens = {
        str(seat): issue_token(house.new_secret, game_id, seats[seat])
        for seat in range(SEATS)
        if seats[seat].player == "human"
    }
    game = Game(
        id=game_id,
        app=caller.app,
        version=0,
        status="open" if any(holder.player == "open" for holder in seats) else "playing",
        created_at=house.now(),
        seats=seats,
        seating=_seating_to_json(order.seating, seating),
        match=start_match(seed, seating.dealer, order.client_seed, order.deals, order.decks),
        spectators=order.spectators,
    )
    if caller.is_test:
        game.extra["sandbox"] = True
    if caller.key_hash:
        game.extra["key"] = key_name(caller)
    for seat, player in enumerate(seating.players):
        if order.seats[player].player == "external":
            _place_external(house, game, seat, order.seats[player], f"seats.{player}")
    if order.webhook is not None:
        game.extra["webhook"] = make_hook(house, "game", order.webhook, "webhook").to_json()
    if order.turn_seconds is not None:
        start_clock(game, order.turn_seconds, check_level(order.timeout_level))
    return game, tokens


def _place_external(house: House, game: Game, seat: int, order: SeatOrder, field: str) -> None:
    """Note where a seat's player is asked; raises InvalidRequest."""
    asked = {"url": order.url, "secret": order.secret}
    hook = make_hook(house, "seat", asked, field)
    level = None if order.level is None else check_level(order.level)
    place = {"url": hook.url, "secret": hook.secret, "level": level}
    game.extra.setdefault("external", {})[str(seat)] = place


def _secrets_made(game: Game, order: GameOrder) -> dict[str, Any]:
    """Return the secrets that were made here, which are shown once: of the webhook and, by seat, of
    external seats.
    """
    is_made = order.webhook is not None and order.webhook.get("secret") is None
    externals = game.extra.get("external", {})
    places = game.seating["order"]
    return {
        "webhook_secret": game.extra["webhook"]["secret"] if is_made else None,
        "external_secrets": {
            seat: place["secret"]
            for seat, place in externals.items()
            if order.seats[places[int(seat)]].secret is None
        },
    }


def _admit_spectators(house: House, game: Game) -> str:
    """Return a token for those who may look on without any hand; only its hash is kept."""
    token = make_token(game.id, house.new_secret(SECRET_BYTES))
    game.extra["spectator_hash"] = hash_secret(token)
    return token


def _holder(order: SeatOrder, seat: int) -> SeatHolder:
    if order.player == "bot":
        level = check_level(order.level or DEFAULT_LEVEL)
        return SeatHolder("bot", order.name or f"{level.capitalize()} bot {seat}", level)
    if order.player == "external":
        return SeatHolder("external", order.name or f"External player {seat}")
    if order.player == "open":
        return SeatHolder("open", order.name or "")
    return SeatHolder("human", order.name or f"Player {seat}")


def check_level(level: str) -> str:
    """Return `level`; raises InvalidRequest when there is no such level."""
    if not is_level(level):
        raise InvalidRequest(
            "level", Sentence("there is no level {level!r}; GET /bots lists them", level=level)
        )
    return level


def _seating_to_json(mode: str, seating: Seating) -> dict[str, Any]:
    """Report how seats came about: `order` gives, by seat, the place in the request; `draws` the
    cards by that place.
    """
    return {
        "mode": mode,
        "dealer": seating.dealer,
        "order": list(seating.players),
        "draws": [
            [{"player": player, "card": CARD_NAMES[card]} for player, card in drawn.items()]
            for drawn in seating.rounds
        ],
    }


def join_game(
    house: House,
    game_id: str,
    seat: int,
    name: str | None,
    key: RequestKey | None = None,
    caller: Caller | None = None,
) -> Outcome:
    """Take an open seat. Whoever knows the game's id and shows no credentials (None) may, and those
    whom the game admits. The game begins when the last open seat is taken.

    Returns `{"seat", "token", "game"}`. Raises SeatTaken, GameFinished, GameNotFound.
    """

    def admit_joiner(game: Game) -> Viewer:
        if caller is not None:
            admit(game, caller)
        return Viewer(None)

    def decide(game: Game, _viewer: Viewer) -> Step:
        check_unfinished(game)
        holder = game.seats[seat]
        if holder.player != "open":
            raise SeatTaken(seat)
        holder.player = "human"
        holder.name = name or holder.name or f"Player {seat}"
        token = issue_token(house.new_secret, game.id, holder)
        begin_if_full(game)
        return Step(
            {"type": "joined", "seat": seat, "by": "human", "name": holder.name},
            lambda changed, _entry: {
                "seat": seat,
                "token": token,
                "game": game_to_json(changed, Viewer(seat)),
            },
        )

    return change_game(house, game_id, admit_joiner, decide, key=key)


def begin_if_full(game: Game) -> None:
    """Let an open game begin whose seats are all taken."""
    if game.status == "open" and not game.open_seats:
        game.status = "playing"


def check_unfinished(game: Game) -> None:
    """Raise GameFinished for a game that is finished or abandoned."""
    if game.status in ("finished", "abandoned"):
        raise GameFinished(game.status)


def abandon_game(house: House, caller: Caller, game_id: str) -> Outcome:
    """End a game without a result; only its app may. Returns `{"action", "game"}`."""

    def admit_app(game: Game) -> Viewer:
        if admit(game, caller) is not None:
            raise NotAllowed(Sentence("Abandoning a game takes the app's key."))
        return Viewer(None)

    def decide(game: Game, viewer: Viewer) -> Step:
        check_unfinished(game)
        game.status = "abandoned"
        return Step({"type": "abandoned", "seat": None, "by": "app"}, event_answer(viewer))

    return change_game(house, game_id, admit_app, decide)


def event_answer(viewer: Viewer) -> Any:
    """Return the usual answer of a change: the event and the game, both for `viewer`."""
    return lambda game, entry: {
        "action": event_to_json(entry, viewer.seat),
        "game": game_to_json(game, viewer),
    }


def list_games(
    house: House, caller: Caller, status: str | None, limit: int, before: tuple[int, str] | None
) -> tuple[list[dict[str, Any]], tuple[int, str] | None]:
    """Return up to `limit` of the app's games, newest first, as one who sees no hand, and the
    cursor of the next page or None. Of `MOST_LOOKED_AT` games none may be such as is wanted.
    """
    if not isinstance(caller, AppCaller):
        raise NotAllowed(Sentence("Listing games takes an app key."))
    found: list[dict[str, Any]] = []
    looked_at = 0
    while len(found) < limit and looked_at < MOST_LOOKED_AT:
        page = house.store.list_games(caller.app, before, limit)
        looked_at += len(page)
        for created_at_ms, game_id in page:
            before = (created_at_ms, game_id)
            try:
                game = load_game(house, game_id)
            except GameNotFound:
                if created_at_ms < (house.clock() - CREATION_S) * 1000:
                    house.store.forget_game(caller.app, game_id)
                continue
            except UnknownFormat:
                continue
            if caller.is_test and not game.is_sandbox:
                continue
            if status is None or game.status == status:
                found.append(game_to_json(game, Viewer(None)))
                if len(found) == limit:
                    return found, before
        if len(page) < limit:
            return found, None
    return found, before
