"""Matches: two tables with the same deals, the teams' seats exchanged, and the compared score.

Every card that one team was dealt at the first table the other is dealt at the second, each player
what the neighbour had; so what is left of the difference is play. For those who rate players or
bots.

Both games come from one seed, which is told when both are over: neither table's record, review nor
seed is shown before (`check_open_to_all`). A match is not stored beside its games: its id is made
of their ids, and each game keeps it.

Who sits at both tables knows the deals from the first one played: people should play but one of
them, or both at once. Bots and external seats are asked for each game alone; whether a service of
somebody else's compares its games nobody here can tell."""

import re
from dataclasses import replace
from typing import Any

from service.games.access import SECRET_BYTES, AppCaller, Caller, viewer_for
from service.games.changing import Outcome, load_game
from service.games.errors import GameNotFound, MatchNotFound, NotAllowed
from service.games.hosting import (
    GameOrder,
    first_answer,
    make_game_id,
    new_game,
    write_new_game,
)
from service.games.house import House
from service.games.model import Game
from service.games.ports import RequestKey
from service.games.records import tables_of
from service.rules.deal import SEATS
from service.rules.shuffle import ALGORITHM, commitment
from service.sentences import Sentence

_MATCH_ID = re.compile(r"([a-z2-7]{1,32})-([a-z2-7]{1,32})")


def create_match(
    house: House, caller: Caller, order: GameOrder, key: RequestKey | None = None
) -> Outcome:
    """Make two games from one seed: in the second one each player sits one place to the left, so
    that the teams have each other's cards.

    Returns `{"match": MATCH, "tables": [...]}`, for each table what `create_game` returns. Raises
    NotAllowed for a seat's token, InvalidRequest."""
    if not isinstance(caller, AppCaller):
        raise NotAllowed(Sentence("Making a match takes an app key."))
    first_id = make_game_id(house, caller, key)
    answered = first_answer(house, first_id, key)
    if answered is not None:
        return answered
    second_id = make_game_id(house, caller, None)
    match_id = f"{first_id}-{second_id}"
    seed = house.new_secret(SECRET_BYTES) if order.seed is None else order.seed
    order = replace(order, seed=seed, seating="fixed")
    exchanged = replace(order, seats=(order.seats[-1], *order.seats[:-1]))
    first, first_body = new_game(house, caller, first_id, order, match_id)
    second, second_body = new_game(house, caller, second_id, exchanged, match_id)
    body = {"match": match_to_json([first, second]), "tables": [first_body, second_body]}
    # The first table comes last: it carries the answer to the request's key, so that whoever asks
    # again finds a whole match or none. A second table without a first one is nobody's.
    write_new_game(house, second, second_body, None)
    return write_new_game(house, first, body, key)


def read_match(house: House, caller: Caller, match_id: str) -> dict[str, Any]:
    """Return MATCH to its app or to whoever has a seat at one of its tables; raises MatchNotFound,
    NotAuthenticated.
    """
    found = _MATCH_ID.fullmatch(match_id)
    if found is None:
        raise MatchNotFound
    try:
        # A token belongs to one of the two.
        is_of_second = not isinstance(caller, AppCaller) and caller.game_id == found[2]
        game = load_game(house, found[2] if is_of_second else found[1])
        viewer_for(game, caller, None)
    except GameNotFound as error:
        raise MatchNotFound from error
    if game.match_id != match_id:
        raise MatchNotFound
    tables = tables_of(house, game)
    if len(tables) < 2:
        raise MatchNotFound
    return match_to_json(tables)


def match_to_json(tables: list[Game]) -> dict[str, Any]:
    """Return MATCH: what was ordered, how far each table is, and the result when both are over."""
    first = tables[0]
    is_over = all(game.is_over for game in tables)
    is_finished = all(game.status == "finished" for game in tables)
    return {
        "id": first.match_id,
        "status": "playing" if not is_over else "finished" if is_finished else "abandoned",
        "created_at": first.created_at,
        "deals": first.match.deals,
        "fairness": {
            "commitment": commitment(first.match.seed),
            "algorithm": ALGORITHM,
            "client_seed": first.match.client_seed or None,
            "seed": first.match.seed if is_over else None,
        },
        "teams": [
            {"team": team, "players": [first.seats[seat].name for seat in range(team, SEATS, 2)]}
            for team in (0, 1)
        ],
        "tables": [
            {
                "game_id": game.id,
                "status": game.status,
                # The teams of the match by the seats of this table: exchanged at the second one.
                "teams": [table, 1 - table],
                "scores": list(game.match.totals) if is_finished else None,
            }
            for table, game in enumerate(tables)
        ],
        "result": result_to_json(tables) if is_finished else None,
    }


def result_to_json(tables: list[Game]) -> dict[str, Any]:
    """Return the compared score: points of each team over both tables, in all and deal by deal."""
    by_deal = [
        [here.total[0] + there.total[1], here.total[1] + there.total[0]]
        for here, there in zip(tables[0].match.scores, tables[1].match.scores, strict=True)
    ]
    deals = [{"points": points, "margin": points[0] - points[1]} for points in by_deal]
    points = [sum(points[team] for points in by_deal) for team in (0, 1)]
    margin = points[0] - points[1]
    winner = None if margin == 0 else 0 if margin > 0 else 1
    return {"points": points, "margin": margin, "winner": winner, "deals": deals}
