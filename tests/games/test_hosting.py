"""Making games, listing them, taking seats, ending them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.games.access import hash_secret
from service.games.errors import (
    GameFinished,
    GameNotFound,
    InvalidRequest,
    KeyReused,
    NotAllowed,
    SeatsOpen,
    SeatTaken,
    StoreUnavailable,
)
from service.games.hosting import (
    GameOrder,
    SeatOrder,
    abandon_game,
    create_game,
    join_game,
    list_games,
)
from service.games.playing import play_action, read_game, read_log
from service.games.ports import Commit, RequestKey
from service.rules.shuffle import commitment
from tests.games.tables import APP, OTHER_APP, Table, open_table, order

KEY = RequestKey("name", "print-1")
EMPTY = {"mode", "dealer", "order", "draws"}


def listed(table: Table, status: str | None = None, limit: int = 50) -> list[str]:
    """Return the ids of the app's games, page after page."""
    ids: list[str] = []
    before = None
    while True:
        games, before = list_games(table.house, APP, status, limit, before)
        ids += [game["id"] for game in games]
        if before is None:
            return ids


# Creating.


def test_four_people_get_a_token_each() -> None:
    table = open_table("hhhh")

    assert sorted(table.tokens) == ["0", "1", "2", "3"]
    assert len(set(table.tokens.values())) == 4
    assert all(token.startswith(f"prs_{table.game_id}_") for token in table.tokens.values())


def test_a_token_is_stored_as_its_hash_only() -> None:
    table = open_table("hhhh")
    loaded = table.store.load(table.game_id)
    assert loaded is not None

    stored = json.dumps(loaded.state)

    for token in table.tokens.values():
        assert token.rpartition("_")[2] not in stored
        assert hash_secret(token) in stored


def test_bots_and_open_seats_get_no_token() -> None:
    assert sorted(open_table("hbob").tokens) == ["0"]


def test_a_game_begins_at_version_0_with_the_first_deal() -> None:
    table = open_table("hhhh")

    game = read_game(table.house, APP, table.game_id, None)
    assert (game["version"], game["status"]) == (0, "playing")
    assert game["deal"]["number"] == 1
    assert game["deal"]["hand_counts"] == [7, 7, 7, 7]
    assert game["deal"]["stock_count"] == 27
    assert len(game["deal"]["discard_pile"]) == 1
    assert game["deal"]["turn"] == (game["deal"]["dealer"] + 1) % 4
    assert (game["scores"], game["winner"], game["deal_scores"]) == ([0, 0], None, [])
    assert read_log(table.house, APP, table.game_id, None, 0, 10) == []


def test_fixed_seats_are_as_given_and_only_the_dealer_is_drawn_for() -> None:
    """R4, for players who have chosen their seats."""
    table = Table()
    names = ("Ana", "Bo", "Cy", "Di")
    asked = GameOrder(tuple(SeatOrder("human", name) for name in names), seed="s")

    game = create_game(table.house, APP, asked).body["game"]

    assert [seat["name"] for seat in game["seats"]] == list(names)
    assert game["seating"].keys() == EMPTY
    assert game["seating"]["order"] == [0, 1, 2, 3]
    assert len(game["seating"]["draws"][0]) == 4
    assert game["deal"]["dealer"] == game["seating"]["dealer"]


@pytest.mark.parametrize("seed", [f"seed-{number}" for number in range(12)])
def test_the_partner_draw_seats_the_two_lowest_opposite_each_other(seed: str) -> None:
    """R4: aces low, jokers high; the lowest sits at 0 and deals."""
    table = Table()
    names = ("Ana", "Bo", "Cy", "Di")
    asked = GameOrder(tuple(SeatOrder("human", name) for name in names), "draw", seed)

    game = create_game(table.house, APP, asked).body["game"]

    first = {draw["player"]: draw["card"] for draw in game["seating"]["draws"][0]}
    ranks = {player: "A23456789TJQKX".index(card[0]) for player, card in first.items()}
    lowest, _, second, _ = game["seating"]["order"]
    others = [player for player in range(4) if player not in (lowest, second)]
    assert ranks[lowest] <= ranks[second] <= min(ranks[player] for player in others)
    assert [seat["name"] for seat in game["seats"]] == [
        names[player] for player in game["seating"]["order"]
    ]
    assert game["seating"]["dealer"] == game["deal"]["dealer"] == 0


def test_the_partner_draw_hands_tokens_to_the_seats_drawn() -> None:
    """With two people and two bots, the tokens are those of where the people came to sit."""
    table = open_table("hbhb", seating="draw", seed="tokens")

    people = [str(s) for s, holder in enumerate(table.game.seats) if holder.player == "human"]
    assert sorted(table.tokens) == people


def test_the_same_seed_deals_the_same_cards() -> None:
    assert open_table(seed="a").game.match == open_table(seed="a").game.match
    assert open_table(seed="a").game.match != open_table(seed="b").game.match


def test_a_client_seed_mixes_into_the_deal() -> None:
    mixed = open_table(seed="a", client_seed="mine")

    assert mixed.game.match.deal.hands != open_table(seed="a").game.match.deal.hands
    game = read_game(mixed.house, APP, mixed.game_id, None)
    assert game["fairness"]["client_seed"] == "mine"


def test_without_a_seed_the_house_makes_one_and_commits_to_it() -> None:
    table = open_table(seed=None)
    game = read_game(table.house, APP, table.game_id, None)

    assert game["fairness"]["seed"] is None
    assert game["fairness"]["commitment"] == commitment(table.game.match.seed)
    assert len(table.game.match.seed) >= 32


def test_a_bot_without_a_level_is_the_best_and_has_a_name() -> None:
    table = Table()
    asked = GameOrder((SeatOrder("bot"), SeatOrder("bot", "Robo", "greedy"), *order("hh").seats))

    seats = create_game(table.house, APP, asked).body["game"]["seats"]

    assert [(seat["name"], seat["level"]) for seat in seats[:2]] == [
        ("Expert bot 0", "expert"),
        ("Robo", "greedy"),
    ]


def test_an_unknown_level_is_refused_and_no_game_made() -> None:
    table = Table()
    asked = GameOrder((SeatOrder("bot", None, "genius"), *order("hhh").seats))

    with pytest.raises(InvalidRequest) as raised:
        create_game(table.house, APP, asked)

    assert raised.value.field == "level"
    assert listed(table) == []


def test_a_seats_token_creates_and_lists_no_games() -> None:
    table = open_table()

    with pytest.raises(NotAllowed):
        create_game(table.house, table.seat(0), order())
    with pytest.raises(NotAllowed):
        list_games(table.house, table.seat(0), None, 10, None)


def test_the_creators_answer_shows_no_hand() -> None:
    table = Table()

    game = create_game(table.house, APP, order()).body["game"]

    assert game["viewer"] is None
    assert game["deal"]["hand"] == []
    assert game["legal_actions"] == []


# Creating with a key.


def test_the_same_request_creates_one_game_and_shows_the_same_tokens() -> None:
    table = Table()
    first = create_game(table.house, APP, order(seed=None), KEY)

    again = create_game(table.house, APP, order(seed=None), KEY)

    assert (first.is_replayed, again.is_replayed) == (False, True)
    assert again.body == json.loads(json.dumps(first.body))
    assert listed(table) == [first.body["game"]["id"]]


def test_the_same_key_for_another_request_creates_nothing() -> None:
    table = Table()
    create_game(table.house, APP, order(), KEY)

    with pytest.raises(KeyReused):
        create_game(table.house, APP, order("hbhb"), RequestKey(KEY.name, "print-2"))

    assert len(listed(table)) == 1


def test_one_key_of_two_apps_is_two_keys() -> None:
    table = Table()

    ours = create_game(table.house, APP, order(), KEY).body["game"]["id"]
    theirs = create_game(table.house, OTHER_APP, order(), KEY).body["game"]["id"]

    assert ours != theirs


def test_a_key_whose_answer_is_forgotten_makes_no_second_game() -> None:
    """The game of that key is still there: its tokens are shown once."""
    table = Table()
    create_game(table.house, APP, order(), KEY)
    table.clock.now_s += 601

    with pytest.raises(KeyReused):
        create_game(table.house, APP, order(), KEY)


# Open seats.


def test_a_game_with_an_open_seat_waits_and_shows_no_deal() -> None:
    table = open_table("hooh")

    game = read_game(table.house, APP, table.game_id, None)
    assert game["status"] == "open"
    assert game["deal"] is None
    with pytest.raises(SeatsOpen) as raised:
        play_action(table.house, table.seat(0), table.game_id, None, {"type": "draw_stock"})
    assert raised.value.seats == [1, 2]


def test_whoever_joins_gets_the_seats_only_token_and_plays_with_it() -> None:
    table = open_table("hhho")

    body = join_game(table.house, table.game_id, 3, "Di").body

    assert body["seat"] == 3
    assert body["game"]["status"] == "playing"
    assert body["game"]["version"] == 1
    assert len(body["game"]["deal"]["hand"]) == 7
    table.tokens["3"] = body["token"]
    assert read_game(table.house, table.seat(3), table.game_id, None)["viewer"] == 3
    (event,) = read_log(table.house, APP, table.game_id, None, 0, 10)
    assert (event["type"], event["seat"], event["name"]) == ("joined", 3, "Di")
    assert "token" not in event


@pytest.mark.parametrize("seat", [0, 1])
def test_a_taken_seat_is_not_taken_again(seat: int) -> None:
    table = open_table("hboo")

    with pytest.raises(SeatTaken) as raised:
        join_game(table.house, table.game_id, seat, None)

    assert raised.value.seat == seat
    assert table.version == 0


def test_a_join_sent_twice_with_a_key_is_one_join() -> None:
    table = open_table("hhoo")
    first = join_game(table.house, table.game_id, 2, "Cy", KEY)

    again = join_game(table.house, table.game_id, 2, "Cy", KEY)

    assert again.is_replayed
    assert again.body["token"] == first.body["token"]
    assert table.version == 1


def test_no_seat_of_a_game_that_is_over_is_taken() -> None:
    table = open_table("hhho")
    abandon_game(table.house, APP, table.game_id)

    with pytest.raises(GameFinished):
        join_game(table.house, table.game_id, 3, None)


def test_a_game_that_does_not_exist_is_not_joined() -> None:
    with pytest.raises(GameNotFound):
        join_game(Table().house, "nothing", 0, None)


# Abandoning.


def test_an_app_abandons_its_game() -> None:
    table = open_table()

    body = abandon_game(table.house, APP, table.game_id).body

    assert body["action"]["type"] == "abandoned"
    assert (body["game"]["status"], body["game"]["version"]) == ("abandoned", 1)
    assert body["game"]["winner"] is None
    assert body["game"]["fairness"]["seed"] is None


def test_an_abandoned_game_takes_no_action_and_is_not_abandoned_again() -> None:
    table = open_table()
    actions = table.legal_actions()
    abandon_game(table.house, APP, table.game_id)

    with pytest.raises(GameFinished):
        table.play(actions[0])
    with pytest.raises(GameFinished):
        abandon_game(table.house, APP, table.game_id)

    assert table.version == 1
    assert table.legal_actions() == []


def test_a_seats_token_abandons_nothing() -> None:
    table = open_table()

    with pytest.raises(NotAllowed):
        abandon_game(table.house, table.seat(0), table.game_id)

    assert table.game.status == "playing"


# Listing.


@pytest.fixture
def many() -> tuple[Table, list[str]]:
    """Return a table with nine games of the app, oldest first, every third one abandoned."""
    table = Table()
    ids = []
    for number in range(9):
        body = create_game(table.house, APP, order(seed=str(number))).body
        ids.append(body["game"]["id"])
        if number % 3 == 0:
            abandon_game(table.house, APP, ids[-1])
    create_game(table.house, OTHER_APP, order())
    return table, ids


@pytest.mark.parametrize("limit", [1, 2, 4, 9, 50])
def test_an_apps_games_are_listed_newest_first_page_by_page(
    many: tuple[Table, list[str]], limit: int
) -> None:
    table, ids = many

    assert listed(table, limit=limit) == ids[::-1]


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_games_are_listed_by_status(many: tuple[Table, list[str]], limit: int) -> None:
    table, ids = many

    assert listed(table, "abandoned", limit) == [ids[6], ids[3], ids[0]]
    assert listed(table, "finished", limit) == []


def test_a_page_is_never_longer_than_asked(many: tuple[Table, list[str]]) -> None:
    games, cursor = list_games(many[0].house, APP, "playing", 4, None)

    assert len(games) == 4
    assert cursor is not None


def test_a_game_that_has_expired_leaves_the_list() -> None:
    table = open_table()
    table.clock.now_s += 3601

    assert listed(table) == []
    assert table.store.list_games("app", None, 10) == []


def test_a_game_that_is_being_made_stays_on_the_list() -> None:
    """It is listed before it is written; who reads in between must not take it off."""
    table = Table()
    table.store.index_game("app", "coming", int(table.clock() * 1000))

    assert listed(table) == []
    assert table.store.list_games("app", None, 10) != []


def test_a_game_of_another_release_is_left_out_of_the_list_and_untouched() -> None:
    table = open_table()
    at_ms = int(table.clock() * 1000)
    state: dict[str, Any] = {"format": 99, "app": "app"}
    table.store.index_game("app", "strange", at_ms)
    table.store.commit(Commit("strange", 0, "playing", state))

    assert listed(table) == [table.game_id]

    loaded = table.store.load("strange")
    assert loaded is not None
    assert loaded.state == state


# Without a store.


def test_without_a_store_no_game_is_made_and_later_one_is() -> None:
    table = Table()
    table.store.is_away = True
    with pytest.raises(StoreUnavailable):
        create_game(table.house, APP, order(), KEY)

    table.store.is_away = False

    assert not create_game(table.house, APP, order(), KEY).is_replayed
