"""GAME and EVENT: what a viewer is sent, made from a game and nothing else (R33).

Every document for a client that tells of cards is made here or in `service/rules/view.py`.
"""

from dataclasses import dataclass
from typing import Any

from service.games.clocks import deadline_s, turn_seconds
from service.games.house import rfc3339
from service.games.model import Game
from service.rules.deal import SEATS
from service.rules.legal import legal_actions
from service.rules.notation import action_to_json
from service.rules.score import DealScore
from service.rules.shuffle import ALGORITHM, commitment
from service.rules.view import view_match, view_to_json


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: a seat, or None for one who sees no hand."""

    seat: int | None
    names_seat: bool = False
    """True for an app, which plays several seats: its legal actions carry `seat`, so that each can
    be sent as it is.
    """


def score_to_json(score: DealScore) -> dict[str, Any]:
    """Return a deal's score with its parts."""
    return {
        "laid": list(score.laid),
        "bonus": list(score.bonus),
        "hands": list(score.hands),
        "total": list(score.total),
        "went_out": score.went_out,
    }


def legal_actions_json(game: Game, viewer: Viewer) -> list[dict[str, Any]]:
    """Return the viewer's legal actions; none unless the game is on and it is the viewer's turn,
    and none for a seat that must be taken back first.
    """
    if game.status != "playing" or viewer.seat != game.match.deal.turn:
        return []
    if game.stand_in(viewer.seat) in ("app", "human"):
        return []
    actions = [action_to_json(action) for action in legal_actions(game.match.deal)]
    if viewer.names_seat:
        for action in actions:
            action["seat"] = viewer.seat
    return actions


def game_to_json(game: Game, viewer: Viewer) -> dict[str, Any]:
    """Return GAME as `viewer` may see it."""
    match = game.match
    # The other table of a match has the same cards: `matches.py` tells the seed when both are over.
    is_told = game.status == "finished" and game.match_id is None
    return {
        "id": game.id,
        "version": game.version,
        "status": game.status,
        "created_at": game.created_at,
        "seats": [_seat_to_json(game, seat) for seat in range(SEATS)],
        "seating": game.seating,
        "fairness": {
            "commitment": commitment(match.seed),
            "algorithm": ALGORITHM,
            "client_seed": match.client_seed or None,
            "seed": match.seed if is_told else None,
        },
        "match_id": game.match_id,
        "sandbox": game.is_sandbox,
        "deals": match.deals,
        "turn_seconds": turn_seconds(game),
        "spectators": game.spectators,
        "deal": None if game.status == "open" else _deal_to_json(game, viewer),
        "deal_scores": [score_to_json(score) for score in match.scores],
        "scores": list(match.totals),
        "winner": match.winner,
        "viewer": viewer.seat,
        "legal_actions": legal_actions_json(game, viewer),
    }


def _seat_to_json(game: Game, seat: int) -> dict[str, Any]:
    holder = game.seats[seat]
    return {
        "seat": seat,
        "team": seat % 2,
        "player": holder.player,
        "name": holder.name,
        "level": holder.level,
        "stand_in": game.stand_in(seat),
    }


def _deal_to_json(game: Game, viewer: Viewer) -> dict[str, Any]:
    """Return the deal as a seat's view; who views and the scores stand beside it in GAME."""
    deal = view_to_json(view_match(game.match, viewer.seat))
    for name in ("seat", "deals", "scores"):
        del deal[name]
    due_s = deadline_s(game)
    deal["deadline"] = None if due_s is None else rfc3339(due_s)
    return deal


def event_to_json(entry: dict[str, Any], seat: int | None) -> dict[str, Any]:
    """Return a log entry as EVENT for a viewer at `seat`: the card drawn from the stock only for
    who drew it (R33).
    """
    event = {name: value for name, value in entry.items() if name != "drawn"}
    event["card"] = entry.get("drawn") if seat is not None and seat == entry.get("seat") else None
    return event
