"""Telling others of games: a delivery for each thing that happened and each hook that wants it.

The log says what happened; how far it has been told is kept beside it. A delivery is made once
whatever is run twice, since its making has a key, and stays readable for some days. It is tried
again with growing pauses for a day; a receiver that asks for a longer one (`Retry-After`) gets it,
within that day. What is told is what one sees who sees no hand: a hook belongs
to no seat, and its receiver may be anybody.

The messages follow the Standard Webhooks specification: `type`, `timestamp`, `data`, and the
headers `webhook-id` (the same for each try), `webhook-timestamp` and `webhook-signature`."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service.games.access import AppCaller, Caller, admit
from service.games.changing import load_game
from service.games.clocks import deadline_s
from service.games.errors import GameNotFound, NotAllowed, WebhookNotFound
from service.games.hooks import (
    Hook,
    hook_from_json,
    hook_owner,
    hooks_of,
    make_hook,
)
from service.games.house import House, rfc3339
from service.games.model import Game
from service.games.ports import DELIVERIES, NEWS, RequestKey
from service.games.representation import Viewer, event_to_json, game_to_json
from service.rules.deal import SEATS
from service.rules.match import dealer_of
from service.sentences import Sentence
from service.tracing import TRACEPARENT, carry

DELIVERY = "delivery"
"""A kind of task; ids are d1, d2, ..."""
DELIVERY_TTL_S = 3 * 86_400
"""How long a delivery can be read; its last try is after one day."""
PAUSES_S = (5, 55, 240, 1500, 5400, 10_800, 18_000, 21_600, 28_800)
"""Between the tries of a delivery: 24 hours in all."""
TRIED_S = sum(PAUSES_S)
"""After so long there is no further try, however long a receiver wants the pauses to be."""
LEASE_S = 30.0
"""A try that has not been noted after so long was lost with its worker."""
LOG_PAGE = 200
SETTLED_S = 5.0
"""A commit is written long before so many seconds have passed since it was noted."""


# An app's hook.


def set_webhook(
    house: House, caller: Caller, url: str, secret: str | None, events: list[str] | None
) -> tuple[dict[str, Any], bool]:
    """Set the hook of an app, in place of the one before; return it, with its secret if that was
    made here, and whether there was none before. Raises NotAllowed, InvalidRequest.
    """
    owner = _owner_for(caller)
    hook = make_hook(house, "app", {"url": url, "secret": secret, "events": events}, "")
    is_new = house.store.webhook(owner) is None
    house.store.set_webhook(owner, hook.to_json())
    shown = webhook_to_json(hook)
    return ({**shown, "secret": hook.secret} if secret is None else shown), is_new


def read_webhook(house: House, caller: Caller) -> dict[str, Any]:
    """Return an app's hook without its secret; raises WebhookNotFound, NotAllowed."""
    stored = house.store.webhook(_owner_for(caller))
    if stored is None:
        raise WebhookNotFound
    return webhook_to_json(hook_from_json("app", stored))


def drop_webhook(house: House, caller: Caller) -> None:
    """Take an app's hook away; what was not delivered yet never is. Raises WebhookNotFound."""
    owner = _owner_for(caller)
    if house.store.webhook(owner) is None:
        raise WebhookNotFound
    house.store.set_webhook(owner, None)


def _owner_for(caller: Caller) -> str:
    if not isinstance(caller, AppCaller):
        raise NotAllowed(Sentence("Webhooks take an app key."))
    return hook_owner(caller.app, is_test=caller.is_test)


def webhook_to_json(hook: Hook) -> dict[str, Any]:
    """Return a hook as its owner sees it again: without the secret."""
    return {"url": hook.url, "events": list(hook.events), "created_at": hook.since}


# What happened.


def announce(house: House, game_id: str) -> list[str]:
    """Make the deliveries for all that the log has past what was told, and return the ids of the
    new ones, to be tried now. May be run by several at once.
    """
    made: list[str] = []
    try:
        game = load_game(house, game_id)
    except GameNotFound:
        house.store.unmark_waiting(game_id, house.clock(), NEWS)
        return made
    hooks = hooks_of(house, game)
    told = house.store.announced(game_id)
    if told is None:
        told = 0
        if game.version == 0 and game.status == "playing":
            started = _turn_started(game, 0, game.match.deal.turn)
            made += _deliver(house, game, hooks, started, game.created_at)
        house.store.set_announced(game_id, told)
    while entries := house.store.read_log(game_id, told, LOG_PAGE):
        # After its log: a game may have gone on, and ended, since it was last looked at.
        game = load_game(house, game_id)
        for entry in entries:
            for message in _messages(game, entry):
                made += _deliver(house, game, hooks, message, entry["at"])
        told = entries[-1]["version"]
        house.store.set_announced(game_id, told)
    return made


def sweep_news(house: House) -> list[tuple[str, int]]:
    """Return games, and their versions, that were noted some seconds ago and of which not all has
    been told; forget the others.
    """
    behind = []
    until_s = house.clock() - SETTLED_S
    for game_id in house.store.waiting_games(until_s, LOG_PAGE, NEWS):
        loaded = house.store.load(game_id)
        told = house.store.announced(game_id)
        if loaded is None or (told is not None and told >= loaded.version):
            house.store.unmark_waiting(game_id, until_s, NEWS)
        else:
            behind.append((game_id, loaded.version))
    return behind


def announce_hint(
    house: House, game_id: str, hint_id: str, seat: int, version: int, status: str
) -> list[str]:
    """Make the deliveries that tell that a hint has ended; what it says is read by whose it is."""
    game = load_game(house, game_id)
    data = {
        "game_id": game_id,
        "version": version,
        "hint_id": hint_id,
        "seat": seat,
        "status": status,
    }
    message = _Message("hint.finished", hint_id, data)
    return _deliver(house, game, hooks_of(house, game), message, house.now())


@dataclass(frozen=True, slots=True)
class _Message:
    event: str
    name: str
    """Tells it from others of its kind in the game."""
    data: dict[str, Any]


def _messages(game: Game, entry: dict[str, Any]) -> list[_Message]:
    """Return what an entry of the log tells, in order; `game` is at that version or past it."""
    version = str(entry["version"])
    found = []
    if entry["type"] == "played":
        data = {"game_id": game.id, "event": event_to_json(entry, None)}
        found.append(_Message("action.played", version, data))
    if game.is_over and entry["version"] == game.version:
        data = {"game_id": game.id, "game": game_to_json(game, Viewer(None))}
        return [*found, _Message("game.finished", version, data)]
    seat = _next_seat(game, entry)
    if seat is not None:
        found.append(_turn_started(game, entry["version"], seat))
    return found


def _next_seat(game: Game, entry: dict[str, Any]) -> int | None:
    """Return whose turn begins with an entry; None when none does."""
    if entry["type"] == "played":
        if "deal_score" in entry:
            next_deal = entry["deal"] + 1
            return (dealer_of(game.match.first_dealer, next_deal) + 1) % SEATS
        ends_turn = entry["action"]["type"] in ("discard", "pass")
        return (entry["seat"] + 1) % SEATS if ends_turn else None
    # A change of seats: the first turn of the game, or one that its owner begins anew.
    is_now = game.turn_version == entry["version"] and game.status == "playing"
    return game.match.deal.turn if is_now else None


def _turn_started(game: Game, version: int, seat: int) -> _Message:
    due_s = deadline_s(game) if game.turn_version == version else None
    data = {
        "game_id": game.id,
        "version": version,
        "seat": seat,
        "player": game.seats[seat].player,
        "deadline": None if due_s is None else rfc3339(due_s),
    }
    return _Message("turn.started", str(version), data)


# Deliveries.


def _deliver(house: House, game: Game, hooks: list[Hook], message: _Message, at: str) -> list[str]:
    """Make a delivery for each hook that wants the message; return the ids of the new ones."""
    made = []
    for hook in hooks:
        is_before = hook.scope == "app" and at < hook.since
        if message.event not in hook.events or is_before:
            continue
        document: dict[str, Any] = {
            "status": "queued",
            "event": message.event,
            "scope": hook.scope,
            "data": message.data,
            "at": at,
            "attempts": [],
            "next_attempt_at": house.now(),
            "created_at": house.now(),
            "finished_at": None,
            **carry(),
        }
        name = f"delivery-{hook.scope}-{message.event}-{message.name}"
        key = RequestKey(name, "")
        delivery_id, known = house.store.new_task(game.id, DELIVERY, document, DELIVERY_TTL_S, key)
        # One that was made before is noted still, unless its maker died just then.
        house.store.note_due(DELIVERIES, _place(game.id, delivery_id), house.clock() + LEASE_S)
        if known is None:
            made.append(delivery_id)
    return made


def _place(game_id: str, delivery_id: str) -> str:
    return f"{game_id}/{delivery_id}"


def lease(house: House, game_id: str, delivery_id: str) -> None:
    """Note that somebody tries a delivery: nobody else is to, for a while."""
    try_again(house, game_id, delivery_id, house.clock() + LEASE_S)


def try_again(house: House, game_id: str, delivery_id: str, at_s: float) -> None:
    """Note when a delivery is to be tried next."""
    place = _place(game_id, delivery_id)
    house.store.note_due(DELIVERIES, place, at_s)
    house.store.put_off(DELIVERIES, place, at_s)


def due_deliveries(house: House, limit: int = LOG_PAGE) -> list[tuple[str, str]]:
    """Return game and id of the deliveries that are to be tried now."""
    found = []
    for place in house.store.due(DELIVERIES, house.clock(), limit):
        game_id, _, delivery_id = place.partition("/")
        found.append((game_id, delivery_id))
    return found


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as it is to be posted."""

    app: str
    """Whose game it tells of."""
    trace: dict[str, str]
    """What names the trace that it is of, if there is one."""
    url: str
    secret: str
    id: str
    body: dict[str, Any]


def letter_of(house: House, game_id: str, delivery_id: str) -> Letter | None:
    """Return what to post for a delivery; None, and it is not tried again, when it has ended or its
    hook is gone.
    """
    document = house.store.load_task(game_id, DELIVERY, delivery_id)
    if document is None or document["status"] != "queued":
        house.store.strike(DELIVERIES, _place(game_id, delivery_id))
        return None
    app = ""
    hooks: list[Hook] = []
    with suppress(GameNotFound):
        game = load_game(house, game_id)
        app, hooks = game.app, hooks_of(house, game)
    hook = next((hook for hook in hooks if hook.scope == document["scope"]), None)
    if hook is None:
        _end(house, game_id, document, "failed")
        return None
    body = {"type": document["event"], "timestamp": document["at"], "data": document["data"]}
    trace = {TRACEPARENT: str(document.get(TRACEPARENT, ""))}
    return Letter(app, trace, hook.url, hook.secret, f"{game_id}.{delivery_id}", body)


def note_attempt(
    house: House,
    game_id: str,
    delivery_id: str,
    status: int | None,
    why: str | None,
    ms: float,
    retry_after_s: float = 0.0,
) -> dict[str, Any] | None:
    """Write down how a try ended: with the answer's status, or with why there was none. Plan the
    next one, not before the seconds that the receiver asked for, or end the delivery; return it.

    Delivered is what was answered 2xx; 410 says that nobody is there any more."""
    document = house.store.load_task(game_id, DELIVERY, delivery_id)
    if document is None or document["status"] != "queued":
        house.store.strike(DELIVERIES, _place(game_id, delivery_id))
        return document
    document["attempts"].append(
        {"at": house.now(), "status": status, "error": why, "ms": round(ms, 1)}
    )
    tries = len(document["attempts"])
    if status is not None and 200 <= status < 300:
        return _end(house, game_id, document, "delivered")
    now_s = house.clock()
    last_s = datetime.fromisoformat(document["created_at"]).timestamp() + TRIED_S
    if status == 410 or tries > len(PAUSES_S) or now_s >= last_s:
        return _end(house, game_id, document, "failed")
    next_s = now_s + max(PAUSES_S[tries - 1], retry_after_s)
    _plan(house, game_id, document, min(next_s, last_s))
    return document


def put_off(house: House, game_id: str, delivery_id: str, at_s: float) -> None:
    """Plan the next try of a delivery for later, without one now."""
    document = house.store.load_task(game_id, DELIVERY, delivery_id)
    if document is not None and document["status"] == "queued":
        _plan(house, game_id, document, at_s)


def _plan(house: House, game_id: str, document: dict[str, Any], at_s: float) -> None:
    document["next_attempt_at"] = rfc3339(at_s)
    house.store.save_task(game_id, DELIVERY, document["id"], document, DELIVERY_TTL_S)
    try_again(house, game_id, document["id"], at_s)


def _end(house: House, game_id: str, document: dict[str, Any], status: str) -> dict[str, Any]:
    document |= {"status": status, "finished_at": house.now(), "next_attempt_at": None}
    house.store.save_task(game_id, DELIVERY, document["id"], document, DELIVERY_TTL_S)
    house.store.strike(DELIVERIES, _place(game_id, document["id"]))
    return document


def list_deliveries(
    house: House, caller: Caller, game_id: str, limit: int, before: int | None
) -> tuple[list[dict[str, Any]], int | None]:
    """Return deliveries of a game, newest first, those with a number below `before`; and from where
    to go on, or None. Only the game's app may: raises NotAllowed.
    """
    if admit(load_game(house, game_id), caller) is not None:
        raise NotAllowed(Sentence("Deliveries take the app's key."))
    newest = house.store.count_tasks(game_id, DELIVERY)
    number = newest if before is None else min(before - 1, newest)
    found: list[dict[str, Any]] = []
    while number > 0 and len(found) < limit:
        document = house.store.load_task(game_id, DELIVERY, f"d{number}")
        if document is not None:
            found.append(delivery_to_json(game_id, document))
        number -= 1
    return found, number + 1 if number > 0 else None


def delivery_to_json(game_id: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return a delivery as its app sees it."""
    shown = {
        name: document[name]
        for name in (
            "id",
            "event",
            "scope",
            "status",
            "created_at",
            "attempts",
            "next_attempt_at",
            "finished_at",
        )
    }
    return {**shown, "webhook_id": f"{game_id}.{document['id']}"}
