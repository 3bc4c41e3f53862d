"""Looking at a game and playing in it: the door that people and bots share."""

from dataclasses import dataclass
from typing import Any

from service.games.access import Caller, admit, player_for, viewer_for
from service.games.changing import Outcome, Step, change_game, load_game
from service.games.clocks import note_missed, note_presence
from service.games.errors import ActionRefused, SeatAway, SeatsOpen, StaleVersion
from service.games.hosting import check_unfinished, event_answer
from service.games.house import House
from service.games.model import Game
from service.games.ports import RequestKey
from service.games.representation import (
    Viewer,
    event_to_json,
    game_to_json,
    legal_actions_json,
    score_to_json,
)
from service.games.seats import check_present, take_back
from service.rules.cards import CARD_NAMES
from service.rules.deal import DISCARD, DRAW_STOCK, PASS, PHASE_NAMES, Action, check_action
from service.rules.match import play_in_match
from service.rules.notation import action_from_json, action_to_json
from service.rules.view import SeatView, view_match
from service.rules.violations import Violation


def read_game(house: House, caller: Caller, game_id: str, seat: int | None) -> dict[str, Any]:
    """Return GAME as `caller` may see it, with the eyes of `seat` where one is named."""
    game = load_game(house, game_id)
    return game_to_json(game, viewer_for(game, caller, seat))


def list_legal_actions(
    house: House, caller: Caller, game_id: str, seat: int | None
) -> dict[str, Any]:
    """Return the legal actions of the caller's seat; an app that names none asks for the seat to
    move. Empty out of turn.
    """
    game = load_game(house, game_id)
    turn = game.match.deal.turn
    admit(game, caller)
    viewer = viewer_for(game, caller, seat)
    if viewer.seat is None and game.is_persons(turn):
        viewer = Viewer(turn, names_seat=True)
    phase = PHASE_NAMES[game.match.deal.phase]
    return {"seat": viewer.seat, "phase": phase, "actions": legal_actions_json(game, viewer)}


def read_log(
    house: House, caller: Caller, game_id: str, seat: int | None, since: int, limit: int
) -> list[dict[str, Any]]:
    """Return the events past version `since` as the caller may see them."""
    game = load_game(house, game_id)
    viewer = viewer_for(game, caller, seat)
    return [
        event_to_json(entry, viewer.seat) for entry in house.store.read_log(game_id, since, limit)
    ]


@dataclass(frozen=True, slots=True)
class Judged:
    """A dry run: the action would be accepted."""

    action: dict[str, Any]
    game: dict[str, Any]


def judge_action(
    house: House,
    caller: Caller,
    game_id: str,
    seat: int | None,
    data: dict[str, Any],
    expected_version: int | None,
) -> Judged:
    """Say whether the action is legal, and change nothing; raises what `play_action` raises."""
    game = load_game(house, game_id)
    viewer = player_for(game, caller, seat)
    view = game_to_json(game, viewer)
    if viewer.seat is not None and game.stand_in(viewer.seat) != "clock":
        check_present(game, viewer.seat)
    if expected_version is not None and expected_version != game.version:
        raise StaleVersion(expected_version, view)
    return Judged(action_to_json(check_playable(game, viewer, data)), view)


def play_action(
    house: House,
    caller: Caller,
    game_id: str,
    seat: int | None,
    data: dict[str, Any],
    *,
    expected_version: int | None = None,
    key: RequestKey | None = None,
) -> Outcome:
    """Play the ACTION in `data`; returns `{"action": EVENT, "game": GAME}`.

    A seat that the clock gave to a bot is its owner's again first, whatever the action.

    Raises ActionRefused, SeatAway, GameFinished, SeatsOpen, StaleVersion, KeyReused, NotYourSeat,
    SeatUnnamed, GameNotFound."""

    def play(expected: int | None) -> Outcome:
        return change_game(
            house,
            game_id,
            lambda game: player_for(game, caller, seat),
            lambda game, viewer: decide_own_action(game, viewer, data),
            key=key,
            expected_version=expected,
        )

    try:
        return play(expected_version)
    except SeatAway as away:
        if away.by != "clock":
            raise
        returned = take_back(house, caller, game_id, away.seat, expected_version)
        version: int = returned.body["action"]["version"]
        return play(None if expected_version is None else version)


def play_for_bot(
    house: House, game_id: str, seat: int, action: Action, expected_version: int, by: str = "bot"
) -> Outcome:
    """Play a bot's proposal through the same door as a person's; raises StaleVersion when the game
    has moved on.
    """
    data = action_to_json(action)
    return change_game(
        house,
        game_id,
        lambda _game: Viewer(seat),
        lambda game, viewer: decide_action(game, viewer, data, by),
        expected_version=expected_version,
    )


def check_playable(game: Game, viewer: Viewer, data: dict[str, Any]) -> Action:
    """Return the action that `data` names if the viewer's seat may play it now; raises
    GameFinished, SeatsOpen, ActionRefused.
    """
    check_unfinished(game)
    if game.status == "open":
        raise SeatsOpen(game.open_seats)
    seat = viewer.seat
    if seat is None:
        raise ValueError("only a seat plays")
    deal = game.match.deal
    action = action_from_json(data)
    violation = check_action(deal, seat, action.type, action.cards, action.meld)
    if violation != Violation.NONE:
        raise ActionRefused(Violation(violation), seat, legal_actions_json(game, viewer))
    return action


def decide_own_action(game: Game, viewer: Viewer, data: dict[str, Any]) -> Step:
    """Judge and play the action of somebody who must hold the seat himself; raises SeatAway when a
    bot plays it for him.
    """
    seat = viewer.seat
    if seat is None:
        raise ValueError("only a seat plays")
    check_unfinished(game)
    check_present(game, seat)
    note_presence(game, seat)
    return decide_action(game, viewer, data, "human")


def decide_action(game: Game, viewer: Viewer, data: dict[str, Any], by: str) -> Step:
    """Judge the action and play it in the match; the step's log entry keeps the card drawn from the
    stock, for its owner alone.
    """
    action = check_playable(game, viewer, data)
    seat = viewer.seat
    if seat is None:
        raise ValueError("only a seat plays")
    deal = game.match.deal
    entry: dict[str, Any] = {"type": "played", "deal": game.match.number, "seat": seat, "by": by}
    entry["action"] = action_to_json(action)
    if action.type == DRAW_STOCK:
        entry["drawn"] = CARD_NAMES[deal.stock[deal.stock_count - 1]]
    score = play_in_match(game.match, seat, action)
    if score is not None:
        entry["deal_score"] = score_to_json(score)
    if game.match.is_over:
        game.status = "finished"
    is_persons = game.seats[seat].player == "human"
    if by == "clock" and is_persons and (score is not None or action.type in (DISCARD, PASS)):
        note_missed(game, seat)
    return Step(entry, event_answer(viewer))


def seat_view(house: House, game_id: str, seat: int) -> tuple[int, SeatView, Game]:
    """Return the version, what `seat` may know, and the game (for its status and levels; never hand
    it on).
    """
    game = load_game(house, game_id)
    return game.version, view_match(game.match, seat), game
