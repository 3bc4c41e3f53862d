"""Play a game with the client that openapi-python-client made: `play_python.py URL`.

What is imported from `rummy_client` is generated; nothing else knows the API."""

import json
import random
import sys

from rummy_client import Client
from rummy_client.api.actions import list_legal_actions, play_action
from rummy_client.api.bots import list_bots
from rummy_client.api.games import create_game, get_game
from rummy_client.api.positions import ask_position_hint
from rummy_client.api.records import get_record
from rummy_client.models import (
    ChangedGame,
    CreatedGame,
    DrawStock,
    DrawStockType,
    Game,
    GameRequest,
    HumanSeat,
    HumanSeatPlayer,
    JudgedAction,
    LegalActions,
    Position,
    PositionHint,
    PositionMeld,
    PositionPhase,
    PositionRequest,
    Problem,
    Record,
)
from rummy_client.types import Unset


def main(url: str) -> None:
    """Play at random to the end; print what was played and the scores."""
    client = Client(base_url=url)
    bots = list_bots.sync(client=client)
    assert bots is not None
    seats = [
        HumanSeat(player=HumanSeatPlayer.HUMAN, name=name) for name in ("Ana", "Bo", "Cy", "Di")
    ]
    made = create_game.sync(client=client, body=GameRequest(seats=seats, seed="generated", deals=1))
    assert isinstance(made, CreatedGame)
    game, rng, played = made.game, random.Random(1), 0
    ask_for_position(client, game)
    while game.status == "playing":
        assert not isinstance(game.deal, Unset | None)
        seat = game.deal.turn
        legal = list_legal_actions.sync(game.id, client=client, seat=seat)
        assert isinstance(legal, LegalActions)
        action = rng.choice(legal.actions)
        judged = play_action.sync(game.id, client=client, body=action, dry_run=True)
        assert isinstance(judged, JudgedAction)
        changed = play_action.sync(
            game.id,
            client=client,
            body=action,
            if_match=f'"{game.version}"',
            idempotency_key=f"{played}",
        )
        assert isinstance(changed, ChangedGame), changed
        assert changed.action.action == action or changed.action.seat == seat
        game, played = changed.game, played + 1
    over = play_action.sync(
        game.id, client=client, body=DrawStock(type_=DrawStockType.DRAW_STOCK, seat=0)
    )
    assert isinstance(over, Problem)
    assert over.type_ == "/docs/problems/game-over"
    again = get_game.sync(game.id, client=client)
    assert isinstance(again, Game)
    record = get_record.sync(game.id, client=client)
    assert isinstance(record, Record)
    assert len(record.deals[0].actions) == played
    assert record.scores == again.scores
    print(json.dumps({"played": played, "scores": record.scores}))


def ask_for_position(client: Client, game: Game) -> None:
    """Send what the seat to move sees as a position, member by member."""
    shown = get_game.sync(game.id, client=client, seat=game.deal.turn)
    assert isinstance(shown, Game)
    deal = shown.deal
    position = Position(
        seat=deal.turn,
        deals=shown.deals,
        scores=shown.scores,
        number=deal.number,
        dealer=deal.dealer,
        turn=deal.turn,
        phase=PositionPhase(deal.phase.value),
        due=deal.due,
        passes=deal.passes,
        stock_count=deal.stock_count,
        discard_pile=deal.discard_pile,
        hand=deal.hand,
        hand_counts=deal.hand_counts,
        known_cards=deal.known_cards,
        melds=[PositionMeld.from_dict(meld.to_dict()) for meld in deal.melds],
        points=deal.points,
    )
    asked = ask_position_hint.sync(client=client, body=PositionRequest(position=position))
    assert isinstance(asked, PositionHint), asked


if __name__ == "__main__":
    main(sys.argv[1])
