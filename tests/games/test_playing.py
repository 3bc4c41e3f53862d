"""Playing: versions, log, refusals, keys, races; and the end of a game."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from service.games.changing import MAX_RACES
from service.games.errors import (
    ActionRefused,
    GameFinished,
    GameNotFound,
    KeyReused,
    SeatTaken,
    StaleVersion,
    StoreUnavailable,
    TooManyRaces,
)
from service.games.hosting import join_game
from service.games.playing import (
    judge_action,
    play_action,
    play_for_bot,
    read_game,
    read_log,
    seat_view,
)
from service.games.ports import Commit, CommitResult, RequestKey
from service.rules.deal import DISCARD, Action, find_faults
from service.rules.match import start_match
from service.rules.notation import action_from_json
from service.rules.violations import Violation
from service.store.memory import MemoryStore
from tests.games.tables import APP, Table, every_action, open_table

DRAW = {"type": "draw_stock"}
KEY = RequestKey("name", "print-1")
Result = TypeVar("Result")


def at_once(count: int, work: Callable[[int], Result]) -> list[Result]:
    """Run `work` in `count` threads that set out together."""
    start = threading.Barrier(count)

    def run(number: int) -> Result:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


# Whole games.


@pytest.mark.parametrize("seed", range(6))
def test_a_whole_game_counts_every_action_and_logs_each_once(seed: int) -> None:
    """R7, R32: two deals, then it is over; versions without gaps; each answer agrees with the log
    and each list of legal actions with what is accepted."""
    table = open_table(seed=f"whole {seed}")
    rng = random.Random(seed)
    events = []
    while table.game.status == "playing":
        version, turn = table.version, table.turn
        action = rng.choice(table.legal_actions())
        body = table.play(action, expected_version=version)
        events.append(body["action"])
        assert body["action"]["version"] == body["game"]["version"] == version + 1
        assert body["action"]["action"] == action
        assert (body["action"]["seat"], body["action"]["by"]) == (turn, "human")
        assert body["game"] == read_game(table.house, table.seat(turn), table.game_id, None)
        assert find_faults(table.game.match.deal) == []

    game = read_game(table.house, APP, table.game_id, None)
    assert game["status"] == "finished"
    assert [event["version"] for event in events] == list(range(1, game["version"] + 1))
    shown = [{**event, "card": None} for event in events]
    assert read_log(table.house, APP, table.game_id, None, 0, 10_000) == shown
    scored = [event["deal_score"] for event in events if "deal_score" in event]
    assert game["deal_scores"] == scored
    assert len(scored) == 2
    assert [event["deal"] for event in events] == sorted(event["deal"] for event in events)
    assert game["scores"] == [sum(score["total"][team] for score in scored) for team in (0, 1)]
    ours, theirs = game["scores"]
    assert game["winner"] == (None if ours == theirs else int(theirs > ours))


@pytest.fixture(scope="module")
def finished() -> Table:
    """Return a game that was played to its end."""
    table = open_table(seed="to the end")
    table.play_randomly(random.Random(5), 5000)
    assert table.game.status == "finished"
    return table


def test_a_finished_game_tells_its_seed_and_the_seed_gives_the_deals(finished: Table) -> None:
    game = read_game(finished.house, APP, finished.game_id, None)

    assert game["fairness"]["seed"] == "to the end"
    dealt = start_match("to the end", game["seating"]["dealer"])
    first = next(
        event
        for event in read_log(finished.house, APP, finished.game_id, None, 0, 5000)
        if event["action"]["type"] == "discard"
    )
    cards = dealt.deal.hands[first["seat"]] | 1 << dealt.deal.stock_cards[0]
    assert action_from_json(first["action"]).cards & (cards | dealt.deal.hands[first["seat"]])


def test_a_finished_game_refuses_every_action_and_changes_no_more(finished: Table) -> None:
    before = finished.store.load(finished.game_id)

    for seat in range(4):
        for action in (DRAW, {"type": "pass"}, {"type": "discard", "card": "AS"}):
            with pytest.raises(GameFinished):
                play_action(finished.house, finished.seat(seat), finished.game_id, None, action)
        assert finished.legal_actions(seat) == []

    assert finished.store.load(finished.game_id) == before


def test_a_game_of_one_deal_ends_after_it() -> None:
    table = open_table(seed="short", deals=1)

    table.play_randomly(random.Random(2), 5000)

    game = read_game(table.house, APP, table.game_id, None)
    assert (game["status"], game["deals"], len(game["deal_scores"])) == ("finished", 1, 1)


def test_the_second_deal_begins_by_itself_with_the_next_dealer() -> None:
    """R7."""
    table = open_table(seed="two deals")
    first_dealer = table.game.match.deal.dealer
    rng = random.Random(3)
    while table.game.match.number == 1:
        body = table.play(rng.choice(table.legal_actions()))

    assert body["action"]["deal"] == 1
    assert "deal_score" in body["action"]
    deal = body["game"]["deal"]
    assert (deal["number"], deal["dealer"]) == (2, (first_dealer + 1) % 4)
    assert (deal["hand_counts"], deal["melds"], deal["points"]) == ([7] * 4, [], [0, 0])
    assert deal["due"] is None


# Refusals.


def test_a_refused_action_changes_nothing_at_all() -> None:
    table = open_table(seed="refusals")
    table.play_randomly(random.Random(1), 30)
    before = table.store.load(table.game_id)
    legal = table.legal_actions()

    refused = 0
    for action in every_action(table.game):
        for seat in range(4):
            if seat == table.turn and action in legal:
                continue
            with pytest.raises(ActionRefused):
                play_action(table.house, table.seat(seat), table.game_id, None, action)
            refused += 1

    assert refused > 400
    assert table.store.load(table.game_id) == before
    assert table.store.read_log(table.game_id, before.version if before else 0) == []


def test_the_seat_to_move_is_told_what_is_legal_and_others_that_it_is_not_their_turn() -> None:
    table = open_table()
    turn = table.turn

    with pytest.raises(ActionRefused) as own:
        table.play({"type": "discard", "card": "AS"})
    with pytest.raises(ActionRefused) as others:
        play_action(table.house, table.seat((turn + 1) % 4), table.game_id, None, DRAW)

    assert (own.value.violation, own.value.rule) == (Violation.NOT_DRAWN, "R8")
    assert own.value.legal_actions == table.legal_actions()
    assert others.value.violation == Violation.NOT_YOUR_TURN
    assert (others.value.seat, others.value.legal_actions) == ((turn + 1) % 4, [])


def test_a_card_named_twice_is_refused_and_stays_in_the_hand() -> None:
    """R2: there is one of each card."""
    table = open_table()
    table.play(DRAW)
    (card, other, *_) = read_game(table.house, table.seat(table.turn), table.game_id, None)["deal"][
        "hand"
    ]

    for cards in ([card, card, card], [card, card, other]):
        with pytest.raises(ActionRefused) as raised:
            table.play({"type": "meld", "cards": cards})
        assert raised.value.violation == Violation.CARD_TWICE

    assert table.version == 1


@pytest.mark.parametrize("meld", ["m0", "m1", "m01", "m99", "x1", "", "m", "m1 ", "m²"])
def test_a_lay_off_on_a_meld_that_is_not_there_is_refused(meld: str) -> None:
    """R18."""
    table = open_table()
    table.play(DRAW)
    card = read_game(table.house, table.seat(table.turn), table.game_id, None)["deal"]["hand"][0]

    with pytest.raises(ActionRefused) as raised:
        table.play({"type": "lay_off", "cards": [card], "meld": meld})

    assert raised.value.violation == Violation.NO_SUCH_MELD


def test_an_action_of_a_game_that_is_not_there_is_not_judged() -> None:
    table = open_table()
    holder = table.seat(0)

    with pytest.raises(GameNotFound):
        play_action(table.house, holder, "nowhere", None, DRAW)


# Dry runs.


def test_a_dry_run_judges_every_action_like_the_real_one_and_changes_nothing() -> None:
    table = open_table(seed="dry")
    table.play_randomly(random.Random(4), 25)
    before = table.store.load(table.game_id)
    legal = table.legal_actions()

    for action in every_action(table.game):
        holder = table.seat(table.turn)
        if action in legal:
            judged = judge_action(table.house, holder, table.game_id, None, action, table.version)
            assert judged.action == action
            assert judged.game == read_game(table.house, holder, table.game_id, None)
        else:
            with pytest.raises(ActionRefused):
                judge_action(table.house, holder, table.game_id, None, action, None)

    assert table.store.load(table.game_id) == before
    assert table.queue.calls == 0


def test_a_dry_run_of_another_version_is_stale() -> None:
    table = open_table()

    with pytest.raises(StaleVersion):
        judge_action(table.house, table.seat(table.turn), table.game_id, None, DRAW, 1)


# Versions.


@pytest.mark.parametrize("expected", [-1, 1, 3, 999])
def test_an_action_for_another_version_is_stale_and_gets_the_fresh_view(expected: int) -> None:
    table = open_table()
    table.play_randomly(random.Random(1), 2)
    turn = table.turn

    with pytest.raises(StaleVersion) as raised:
        table.play(table.legal_actions()[0], expected_version=expected)

    assert raised.value.expected == expected
    assert raised.value.game == read_game(table.house, table.seat(turn), table.game_id, None)
    assert table.version == 2


def test_an_action_sent_twice_without_a_key_is_played_once() -> None:
    """The second one is judged by the rules: nobody draws twice, and no other seat is played."""
    table = open_table()
    table.play(DRAW)

    with pytest.raises(ActionRefused) as raised:
        table.play(DRAW)

    assert raised.value.violation == Violation.ALREADY_DRAWN
    assert table.version == 1


def test_a_discard_sent_twice_without_a_key_plays_for_nobody_else() -> None:
    table = open_table()
    holder = table.seat(table.turn)
    table.play(DRAW)
    discard = next(action for action in table.legal_actions() if action["type"] == "discard")
    table.play(discard)

    with pytest.raises(ActionRefused) as raised:
        play_action(table.house, holder, table.game_id, None, discard)

    assert raised.value.violation == Violation.NOT_YOUR_TURN
    assert table.version == 2


# Keys.


def test_the_same_request_is_played_once_and_answered_alike() -> None:
    table = open_table()
    holder = table.seat(table.turn)
    first = play_action(table.house, holder, table.game_id, None, DRAW, key=KEY)
    table.play_randomly(random.Random(1), 7)
    version = table.version

    again = play_action(table.house, holder, table.game_id, None, DRAW, key=KEY, expected_version=0)

    assert (first.is_replayed, again.is_replayed) == (False, True)
    assert again.body == json.loads(json.dumps(first.body))
    assert table.version == version


def test_the_same_key_for_another_request_is_refused_and_plays_nothing() -> None:
    table = open_table()
    holder = table.seat(table.turn)
    play_action(table.house, holder, table.game_id, None, DRAW, key=KEY)
    other = RequestKey(KEY.name, "print-2")

    with pytest.raises(KeyReused):
        play_action(table.house, holder, table.game_id, None, table.legal_actions()[0], key=other)

    assert table.version == 1


def test_a_refused_request_keeps_its_key_free() -> None:
    table = open_table()
    holder = table.seat(table.turn)
    with pytest.raises(ActionRefused):
        play_action(table.house, holder, table.game_id, None, {"type": "pass"}, key=KEY)

    assert not play_action(table.house, holder, table.game_id, None, DRAW, key=KEY).is_replayed


def test_an_answer_is_replayed_to_nobody_who_may_not_see_the_game() -> None:
    table = open_table()
    play_action(table.house, table.seat(table.turn), table.game_id, None, DRAW, key=KEY)
    stranger = open_table().seat(0)

    with pytest.raises(GameNotFound):
        play_action(table.house, stranger, table.game_id, None, DRAW, key=KEY)


def test_an_answer_is_replayed_after_the_end_of_the_game() -> None:
    table = open_table(deals=1, seed="end")
    rng = random.Random(1)
    while table.game.status == "playing":
        holder, action = table.seat(table.turn), rng.choice(table.legal_actions())
        key = RequestKey(str(table.version), "print")
        last = play_action(table.house, holder, table.game_id, None, action, key=key)

    again = play_action(table.house, holder, table.game_id, None, action, key=key)

    assert again.is_replayed
    assert again.body == json.loads(json.dumps(last.body))


# Races.


def test_of_four_actions_for_one_version_one_is_played() -> None:
    for seed in range(5):
        table = open_table(seed=str(seed))
        holder = table.seat(table.turn)

        def act(_number: int, table: Table = table, holder: Any = holder) -> str:
            try:
                play_action(table.house, holder, table.game_id, None, DRAW, expected_version=0)
            except StaleVersion as error:
                return f"stale: now {error.game['version']}"
            return "played"

        assert sorted(at_once(4, act)) == ["played", *["stale: now 1"] * 3]
        assert table.version == 1


def test_of_one_request_sent_by_many_at_once_one_is_played_and_all_are_answered_alike() -> None:
    table = open_table()
    holder = table.seat(table.turn)

    outcomes = at_once(
        12, lambda _: play_action(table.house, holder, table.game_id, None, DRAW, key=KEY)
    )

    assert sum(not outcome.is_replayed for outcome in outcomes) == 1
    assert len({json.dumps(outcome.body, sort_keys=True) for outcome in outcomes}) == 1
    assert table.version == 1


class Racing(MemoryStore):
    """A store in which somebody else is faster, so many times."""

    lost = 0
    rival: Callable[[], object] | None = None

    def commit(self, commit: Commit) -> CommitResult:
        """Let the rival go first."""
        if self.lost and self.rival is not None:
            self.lost -= 1
            rival, self.rival = self.rival, None
            rival()
            self.rival = rival
        return super().commit(commit)


def racing_table(players: str = "hhoo") -> tuple[Table, Racing]:
    """Return a table whose store can let others go first."""
    table = open_table(players)
    store = Racing(clock=table.clock)
    loaded = table.store.load(table.game_id)
    assert loaded is not None
    store.commit(Commit(table.game_id, 0, "open", loaded.state))
    table.store = store
    table.house = replace(table.house, store=store)
    return table, store


def test_a_request_without_a_version_that_lost_a_race_is_judged_as_if_it_came_later() -> None:
    table, store = racing_table()
    store.rival = lambda: join_game(table.house, table.game_id, 2, "Rival")
    store.lost = 1

    body = join_game(table.house, table.game_id, 3, "Slow").body

    assert (body["game"]["version"], body["game"]["status"]) == (2, "playing")
    assert [entry["name"] for entry in store.read_log(table.game_id, 0)] == ["Rival", "Slow"]


def test_who_lost_the_race_for_a_seat_is_told_that_it_is_taken() -> None:
    table, store = racing_table()
    store.rival = lambda: join_game(table.house, table.game_id, 3, "Rival")
    store.lost = 1

    with pytest.raises(SeatTaken):
        join_game(table.house, table.game_id, 3, "Slow")

    assert table.game.seats[3].name == "Rival"
    assert table.version == 1


def test_who_loses_every_race_is_told_so_in_the_end() -> None:
    table, store = racing_table()

    def rival() -> None:
        loaded = store.load(table.game_id)
        assert loaded is not None
        entry = {"version": loaded.version + 1}
        store.commit(Commit(table.game_id, loaded.version + 1, "open", loaded.state, entry))

    store.rival = rival
    store.lost = MAX_RACES

    with pytest.raises(TooManyRaces):
        join_game(table.house, table.game_id, 3, "Slow")

    assert table.game.seats[3].player == "open"


# The store is away.


def test_without_a_store_nothing_is_answered_and_later_all_goes_on() -> None:
    table = open_table()
    holder = table.seat(table.turn)
    table.store.is_away = True
    for use in (
        lambda: play_action(table.house, holder, table.game_id, None, DRAW),
        lambda: read_game(table.house, holder, table.game_id, None),
    ):
        with pytest.raises(StoreUnavailable):
            use()

    table.store.is_away = False

    assert table.play(DRAW)["game"]["version"] == 1


# What bots play through.


def test_a_bot_plays_its_turn_through_the_same_door() -> None:
    table = open_table("bbbb")
    at, view, _game = seat_view(table.house, table.game_id, table.turn)
    assert view.seat == table.turn

    body = play_for_bot(table.house, table.game_id, table.turn, Action(0), at).body

    assert (body["action"]["by"], body["action"]["seat"]) == ("bot", table.turn)
    assert body["game"]["version"] == 1


def test_a_bots_choice_for_another_version_is_dropped() -> None:
    table = open_table("bbbb")
    play_for_bot(table.house, table.game_id, table.turn, Action(0), 0)

    with pytest.raises(StaleVersion):
        play_for_bot(table.house, table.game_id, table.turn, Action(0), 0)

    assert table.version == 1


def test_a_bots_illegal_choice_is_refused_like_anybodys() -> None:
    table = open_table("bbbb")

    with pytest.raises(ActionRefused):
        play_for_bot(table.house, table.game_id, table.turn, Action(DISCARD, 1), 0)

    assert table.version == 0


# The log.


def test_the_log_is_read_from_a_version_on() -> None:
    table = open_table()
    table.play_randomly(random.Random(1), 9)

    events = read_log(table.house, APP, table.game_id, None, 4, 3)

    assert [event["version"] for event in events] == [5, 6, 7]


def test_times_in_the_log_are_utc_and_ascend() -> None:
    table = open_table()
    table.play_randomly(random.Random(1), 9)

    times = [event["at"] for event in read_log(table.house, APP, table.game_id, None, 0, 99)]

    assert all(at.startswith("2026-09-21T") and at.endswith("Z") for at in times)
    assert times == sorted(times)
