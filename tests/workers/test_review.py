"""Reviews: losses, words, luck, and that they are the same wherever they are computed."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache, reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.games.access import AppCaller
from service.games.house import House
from service.games.model import Game, game_from_state, game_to_state
from service.games.playing import play_for_bot, seat_view
from service.games.records import read_whole_log
from service.games.reviews import REVIEW, ask_review, cancel_review, read_review
from service.rules.cards import CARD_NAMES, cards_in, parse_card
from service.rules.deal import LAY_MELD, LAY_OFF, OVER, Action, Deal, deal_cards, play
from service.rules.legal import legal_actions
from service.rules.match import Match, restarted
from service.rules.notation import action_from_json
from service.rules.view import unseen_cards, view_deal, view_match
from tests.games.tables import Table, open_table
from tests.strategies import LIKINGS, choose
from tests.workers.tables import make_game
from workers import jobs
from workers.bots.registry import BOTS
from workers.review import (
    BLUNDER_FROM,
    FINE_WITHIN,
    judge,
    replayed,
    steps_of,
    value_draw,
    word_for,
    write_review,
)
from workers.search.moves import MAX_MOVES, list_moves
from workers.search.world import template_of_view

Json = dict[str, Any]
FEW = 50
"""Worlds for each draw in most tests."""
OPTIONS: Json = {"iterations": 300, "seed": "s"}
APP = AppCaller("app")
ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = """
import json, sys
from workers.warmup import choose_cache
choose_cache()
from service.games.model import game_from_state
from workers.review import write_review
state, log, options = json.load(sys.stdin)
match = game_from_state("g", 0, state).match
found = write_review(match, log, options, {}, lambda _: True, str, lambda: 0.0, 50)
json.dump([found["decisions"], found["draws"], found["players"]], sys.stdout)
"""


def play_to_the_end(house: House, game_id: str, levels: tuple[str, ...]) -> None:
    """Let bots of some levels play the seats of a game of people."""
    bots = [BOTS[level] for level in levels]
    while True:
        at, view, game = seat_view(house, game_id, load_turn(house, game_id))
        if game.status != "playing":
            return
        action = bots[view.turn].decide(view, f"{at}").action
        play_for_bot(house, game_id, view.turn, action, at)


def load_turn(house: House, game_id: str) -> int:
    """Return the seat to move."""
    return seat_view(house, game_id, 0)[1].turn


@cache
def played(levels: tuple[str, ...], seed: str, deals: int = 1) -> tuple[Json, list[Json]]:
    """Return the state of a finished game of such players and its log."""
    table: Table = open_table(seed=seed, deals=deals)
    play_to_the_end(table.house, table.game_id, levels)
    return game_to_state(table.game), read_whole_log(table.house, table.game_id)


def finished(levels: tuple[str, ...], seed: str = "review") -> tuple[Match, list[Json]]:
    """Return a finished match and its log."""
    state, log = played(levels, seed)
    game: Game = game_from_state("g", 0, state)
    return game.match, log


def review(
    match: Match, log: list[Json], options: Json = OPTIONS, saved: list[Json] | None = None
) -> Json:
    """Write a review; what would be published is put on `saved`."""

    def save(document: Json) -> bool:
        if saved is not None:
            saved.append(json.loads(json.dumps(document)))
        return True

    document = {"status": "running"}
    return write_review(match, log, options, document, save, lambda: "now", ticking(), FEW)


def ticking(step_s: float = 1.0) -> Callable[[], float]:
    """Return a clock that goes on with each look at it."""
    now = [0.0]

    def clock() -> float:
        now[0] += step_s
        return now[0]

    return clock


def is_one_run(actions: list[Action]) -> bool:
    """Tell whether all actions lay the same three cards of a run, some with more of it."""
    common = reduce(and_, (action.cards for action in actions))
    return {LAY_MELD} == {action.type for action in actions} and common.bit_count() == 3


MIXED = ("greedy", "random", "greedy", "casual")


# What is said of a decision.


def test_every_choice_of_every_player_is_judged_and_nothing_else() -> None:
    """One entry for each action at which there was a choice, in the order of the log. How much of
    one run to lay at once is none: the rest can be laid off next.
    """
    match, log = finished(MIXED)
    found = review(match, log)

    with_choice = [
        entry["version"]
        for entry, before in replayed(match, log)
        if len(legal_actions(before.deal)) > 1 and not is_one_run(legal_actions(before.deal))
    ]
    assert [decision["version"] for decision in found["decisions"]] == with_choice
    by_version = {entry["version"]: entry for entry in log}
    for decision in found["decisions"]:
        assert decision["action"] == by_version[decision["version"]]["action"]
        assert decision["seat"] == by_version[decision["version"]]["seat"]
        assert decision["choices"] > 1


def test_played_equals_best_means_no_loss_at_all() -> None:
    """And only then is it called best, unless the played one is as good by the figures."""
    found = review(*finished(MIXED))["decisions"]

    same = [one for one in found if one["action"] == one["best"]]
    assert len(same) > len(found) / 4
    for one in same:
        assert (one["loss"], one["word"]) == (0, "best")
        assert one["loss_interval"] == [0.0, 0.0] or one["loss_interval"][0] <= 0
    for one in found:
        assert one["loss"] >= 0
        assert one["loss_interval"][0] <= max(one["loss"], one["loss_interval"][1])


def test_the_best_is_legal_where_it_is_named() -> None:
    """What is advised afterwards could have been played then (but for a meld laid in steps)."""
    match, log = finished(MIXED)
    found = {one["version"]: one for one in review(match, log)["decisions"]}
    checked = 0
    for entry, before in replayed(match, log):
        decision = found.get(entry["version"])
        steps = list(steps_of(before.deal.copy(), action_from_json(entry["action"])))
        if decision is not None and len(steps) == 1:
            assert action_from_json(decision["best"]) in legal_actions(before.deal)
            checked += 1

    assert checked > 30


@pytest.mark.parametrize(
    ("loss", "half", "word"),
    [
        (0.0, 0.0, "best"),
        (-3.0, 5.0, "best"),
        (0.4, 0.1, "fine"),
        (FINE_WITHIN, 0.5, "slip"),
        (FINE_WITHIN, FINE_WITHIN, "fine"),
        (BLUNDER_FROM - 0.1, 1.0, "slip"),
        (BLUNDER_FROM, 1.0, "blunder"),
        (60.0, 61.0, "fine"),
    ],
)
def test_a_word_says_how_dear_and_how_sure(loss: float, half: float, word: str) -> None:
    """What the figures do not surely tell from the best is no slip."""
    assert word_for(loss, half) == word


def test_totals_are_the_sums_of_decisions_and_draws() -> None:
    """But for rounding, and with single losses below nought counted as they are."""
    found = review(*finished(MIXED))
    for player in found["players"]:
        decisions = [one for one in found["decisions"] if one["seat"] == player["seat"]]
        draws = [one for one in found["draws"] if one["seat"] == player["seat"]]
        middle = sum(sum(one["loss_interval"]) / 2 for one in decisions)

        assert player["decisions"] == len(decisions) == sum(player["words"].values())
        assert sum(player["loss_interval"]) / 2 == pytest.approx(middle, abs=0.1 * len(decisions))
        assert player["loss"] == pytest.approx(max(0.0, middle), abs=0.1 * len(decisions))
        assert player["draws"] == len(draws)
        luck = sum(one["luck"] for one in draws)
        assert player["luck"] == pytest.approx(luck, abs=0.1 * len(draws) + 0.1)


def test_a_player_by_chance_loses_more_than_one_who_thinks() -> None:
    """Over a few games, by far: the review tells skill."""
    lost = {"random": 0.0, "casual": 0.0}
    for number in range(3):
        levels = ("random", "casual", "casual", "casual")
        found = review(*finished(levels, f"skill-{number}"))
        lost["random"] += found["players"][0]["loss"]
        lost["casual"] += sum(found["players"][seat]["loss"] for seat in (1, 2, 3)) / 3

    assert lost["random"] > 2 * lost["casual"] + 30


# Steps of the search for an action of the rules.


def moves_of(deal: Deal) -> list[int]:
    """Return the codes that the search lists for the seat to move."""
    out = np.zeros(MAX_MOVES, np.int64)
    count = list_moves(template_of_view(view_deal(deal, deal.turn))[0], out)
    return [int(code) for code in out[:count]]


def test_any_action_is_made_of_moves_that_the_search_knows() -> None:
    """Legal one after the other, and together they lead where the action leads."""
    rng, several = random.Random(4), 0
    for _ in range(60):
        deal = deal_cards(rng.sample(range(56), 56), rng.randrange(4))
        liking = rng.choice(LIKINGS)
        while deal.phase != OVER:
            action = choose(rng, deal, liking)
            several += check_steps(deal, action)
            play(deal, deal.turn, action)

    assert several > 30


def check_steps(deal: Deal, action: Action) -> bool:
    """Assert it of one action; tell whether it took several steps."""
    whole, apart = deal.copy(), deal.copy()
    play(whole, whole.turn, action)
    steps = list(steps_of(deal, action))
    for code, step in steps:
        assert code in moves_of(apart), (action, code)
        play(apart, apart.turn, step)
    for name in ("hands", "pile", "laid", "table_sets", "table_runs", "turn", "phase", "due"):
        assert getattr(apart, name) == getattr(whole, name), name
    if action.type not in (LAY_MELD, LAY_OFF):
        assert len(steps) == 1
    return len(steps) > 1


def test_a_forced_action_is_no_decision() -> None:
    """With one card in hand there is nothing to choose at the discard."""
    match, log = finished(MIXED)
    forced = [
        (before, action_from_json(entry["action"]))
        for entry, before in replayed_copies(match, log)
        if len(legal_actions(before.deal)) == 1
    ]
    assert forced

    for before, action in forced[:20]:
        assert judge(before, action, 100, 200, "s") is None


# What is known is what was known then.


def test_a_judgement_does_not_look_at_hidden_cards() -> None:
    """R33: with the unseen cards dealt anew the same decision is judged the same."""
    match, log = finished(MIXED)
    rng = random.Random(1)
    for entry, before in list(replayed_copies(match, log))[7::23]:
        action = action_from_json(entry["action"])
        expected = judge(before, action, 200, 200, "s")
        exchange_unseen(before.deal, rng)

        assert judge(before, action, 200, 200, "s") == expected


def replayed_copies(match: Match, log: list[Json]) -> Any:
    """Yield each entry with a match of its own."""
    for entry, before in replayed(match, log):
        twin = restarted(match)
        twin.number, twin.deal, twin.scores = before.number, before.deal.copy(), before.scores[:]
        yield entry, twin


def exchange_unseen(deal: Deal, rng: random.Random) -> None:
    """Deal the cards that the seat to move does not see anew to the same places."""
    unseen = list(cards_in(unseen_cards(view_deal(deal, deal.turn))))
    rng.shuffle(unseen)
    for seat in range(4):
        if seat != deal.turn:
            missing = (deal.hands[seat] & ~deal.known[seat]).bit_count()
            deal.hands[seat] = deal.known[seat]
            for _ in range(missing):
                deal.hands[seat] |= 1 << unseen.pop()
    deal.stock[: deal.stock_count] = unseen


# Luck.


def test_over_all_cards_that_might_come_luck_is_nothing() -> None:
    """Else skill would be called luck: the mean over the unseen cards is nought, within noise, each
    card on worlds of its own, so that their noise evens out.
    """
    match, log = finished(MIXED)
    draws = [before for entry, before in replayed_copies(match, log) if "drawn" in entry]
    spreads = []
    for before in draws[1::9]:
        view = view_match(before, before.deal.turn)
        unseen = list(cards_in(unseen_cards(view)))
        found = [value_draw(view, card, f"s{card}", 500) for card in unseen]
        lucks = [after - was for was, after, _ in found]
        half = sum(half for _, _, half in found) / len(found)

        assert abs(sum(lucks) / len(lucks)) < 2 * half / math.sqrt(len(lucks))
        spreads.append(max(lucks) / half)
    # And some cards are better than others, if not at each moment.
    assert sum(spreads) / len(spreads) > 1


def test_the_card_that_completes_a_set_is_good_luck() -> None:
    """And one that fits nothing is not."""
    deal = deal_cards(
        [parse_card(name) for name in stacked(["KS", "KH", "KD", "QC", "2D", "5H", "8S"])], 3
    )
    view = view_deal(deal, 0)

    def luck(name: str) -> float:
        before, after, _ = value_draw(view, parse_card(name), "s")
        return after - before

    # Two of a pair with the upcard 2C, and the fourth king.
    good = [luck(name) for name in ("KC", "2H", "2S")]
    others = [luck(name) for name in ("TD", "4S", "3S", "JH", "8C")]
    assert min(good) > 5
    assert sum(others) / len(others) < 0


def stacked(hand: list[str]) -> list[str]:
    """Return a pack in which seat 0, left of dealer 3, is dealt `hand`."""
    rest = [name for name in CARD_NAMES if name not in hand]
    deck: list[str] = []
    for card in hand:
        deck += [card, *(rest.pop() for _ in range(3))]
    return deck + rest


def test_draws_are_those_of_the_log_with_their_cards() -> None:
    match, log = finished(MIXED)
    drawn = [(e["version"], e["seat"], e["drawn"]) for e in log if "drawn" in e]

    found = review(match, log)["draws"]

    assert [(one["version"], one["seat"], one["card"]) for one in found] == drawn
    for one in found:
        assert one["luck"] == pytest.approx(one["after"] - one["before"], abs=0.11)
        assert one["luck_interval"][0] <= one["luck"] <= one["luck_interval"][1]


# As a job.


def test_the_same_options_give_the_same_review_in_another_process() -> None:
    """Deterministic by seed; another seed gives other figures."""
    state, log = played(MIXED, "review")
    match, _ = finished(MIXED)
    elsewhere = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        cwd=ROOT,
        input=json.dumps([state, log, OPTIONS]),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    ).stdout
    here = review(match, log)
    other = review(match, log, {**OPTIONS, "seed": "t"})

    assert json.dumps([here["decisions"], here["draws"], here["players"]]) == elsewhere
    assert here["decisions"] != other["decisions"]


def test_progress_grows_and_a_part_can_be_read() -> None:
    match, log = finished(MIXED)
    saved: list[Json] = []
    done = review(match, log, saved=saved)

    progress = [document["progress"] for document in saved]
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    half = saved[len(saved) // 2]
    assert half["status"] == "running"
    assert half["decisions"] == done["decisions"][: len(half["decisions"])]
    assert (saved[-1]["status"], saved[-1]["finished_at"]) == ("done", "now")


def test_a_cancelled_review_looks_no_further() -> None:
    match, log = finished(MIXED)
    saves: list[float] = []

    def save(document: Json) -> bool:
        saves.append(document["progress"])
        return len(saves) < 3

    document = {"status": "running"}
    found = write_review(match, log, OPTIONS, document, save, str, ticking(), FEW)

    assert (found["status"], len(saves)) == ("cancelled", 3)


def test_the_job_reviews_a_stored_game_and_is_run_once(here: House) -> None:
    """From the asking to the reading, over Redis; cancelled before it begins it does nothing."""
    game_id = make_game(here, "human", "human", "human", "human", seed="job", deals=1)
    play_to_the_end(here, game_id, MIXED)
    asked = ask_review(here, APP, game_id, {"iterations": 100}).body
    done = jobs.review_game(game_id, asked["id"], asked["options"])
    read = read_review(here, APP, game_id)

    assert done == {"status": "done"}
    assert (read["status"], read["progress"]) == ("done", 1.0)
    assert read["decisions"]
    assert jobs.review_game(game_id, asked["id"], asked["options"]) == {"status": "gone"}

    other = ask_review(here, APP, game_id, {"iterations": 101}).body
    cancel_review(here, APP, game_id)
    assert jobs.review_game(game_id, other["id"], other["options"]) == {"status": "gone"}
    assert here.store.load_task(game_id, REVIEW, other["id"]) is not None
