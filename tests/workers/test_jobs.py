"""The jobs: they end what they began, bear being run twice, and drop what comes too late."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import threading
import time
from typing import Any

import pytest
import redis as redis_py
from rq.job import Job

import service.games
from service.games.advice import (
    BOT_MOVE,
    HINT,
    ask_bot_move,
    ask_hint,
    cancel_hint,
    read_task,
)
from service.games.clocks import deadline_s
from service.games.hosting import abandon_game
from service.games.house import House
from service.games.playing import play_for_bot, seat_view
from service.rules.notation import action_from_json
from service.rules.view import view_to_json
from service.store.figures import Figures
from tests.workers.tables import (
    APP,
    four_people,
    legal_actions,
    log_of,
    make_game,
    play,
    play_until_turn_of,
    stored,
    turn_of,
    view_of,
)
from workers import jobs, webhooks

Json = dict[str, Any]


def a_bots_turn(here: House) -> tuple[str, int, int]:
    """Make a game in which the bot at seat 1 is to move; return what its job is given."""
    game_id = make_game(here, "human", "greedy", "human", "human")
    play_until_turn_of(here, game_id, 1)
    return game_id, 1, stored(here, game_id).version


def arguments_of(connection: redis_py.Redis, job_id: str) -> Json:
    """Return what a queued job is given."""
    arguments: Json = Job.fetch(job_id, connection=connection, serializer="json").kwargs
    return arguments


def jobs_that_are_queued() -> set[str]:
    """Return the names that the use cases queue jobs by: their constants `..._JOB`."""
    modules = [
        importlib.import_module(f"service.games.{module.name}")
        for module in pkgutil.iter_modules(service.games.__path__)
    ]
    return {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.endswith("_JOB") and isinstance(value, str)
    }


def test_the_list_of_jobs_is_what_the_use_cases_queue() -> None:
    """And each name on it is a function of the module that has the list."""
    assert jobs_that_are_queued() == jobs.JOBS | webhooks.JOBS
    for home in (jobs, webhooks):
        for name in home.JOBS:
            module, _, function = name.rpartition(".")
            assert home.__name__ == module
            assert callable(getattr(home, function))


# A bot's turn.


def test_a_bots_turn_is_played_to_its_end(here: House) -> None:
    """From the draw to the discard, and no further."""
    game_id, seat, version = a_bots_turn(here)

    result = jobs.play_bot_turn(game_id, seat, version)

    turn = log_of(here, game_id)[version:]
    assert len(turn) == result["steps"]
    assert {(seat, "bot")} == {(entry["seat"], entry["by"]) for entry in turn}
    assert [False] * (len(turn) - 1) + [True] == [jobs.ends_turn(entry) for entry in turn]
    assert 2 == turn_of(here, game_id)


def test_what_bots_think_is_counted_by_level(here: House, redis: redis_py.Redis) -> None:
    """Each action once, for `/metrics`."""
    game_id, seat, version = a_bots_turn(here)

    steps = jobs.play_bot_turn(game_id, seat, version)["steps"]

    counters = Figures(redis, redis).counters()
    thoughts = [name for name in counters if name.startswith("thought:")]
    assert steps == sum(counters[name] for name in thoughts)
    assert {"greedy"} == {name.split(":")[1] for name in thoughts}
    assert counters["thought_s:greedy"] > 0


def test_the_job_as_queued_plays_the_turn(here: House, redis: redis_py.Redis) -> None:
    """Its arguments are plain JSON, and its result is."""
    game_id, seat, version = a_bots_turn(here)

    result = jobs.play_bot_turn(**arguments_of(redis, f"bot-{game_id}-{version}-{seat}"))

    assert result == json.loads(json.dumps(result))
    assert stored(here, game_id).version == version + result["steps"]


def test_a_bots_turn_that_is_run_twice_is_played_once(here: House) -> None:
    game_id, seat, version = a_bots_turn(here)
    jobs.play_bot_turn(game_id, seat, version)
    log = log_of(here, game_id)

    again = jobs.play_bot_turn(game_id, seat, version)

    assert {"steps": 0} == again
    assert log == log_of(here, game_id)


def test_two_workers_that_play_the_same_turn_at_once_play_it_once(here: House) -> None:
    """One was held up so long that it counted as dead; their choices race, step by step."""
    for number in range(5):
        game_id = make_game(here, "human", "casual", "human", "human", seed=f"both-{number}")
        play_until_turn_of(here, game_id, 1)
        version = stored(here, game_id).version
        threads = [
            threading.Thread(target=jobs.play_bot_turn, args=(game_id, 1, version))
            for _ in range(3)
        ]

        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        turn = log_of(here, game_id)[version:]
        assert 2 == turn_of(here, game_id)
        assert {1} == {entry["seat"] for entry in turn}
        assert 1 == sum(map(jobs.ends_turn, turn))
        assert 1 == sum(
            entry["action"]["type"] in ("draw_stock", "take_discards") for entry in turn
        )


def test_a_turn_that_a_killed_worker_began_is_gone_on_with(here: House) -> None:
    """The second job finds the card drawn and draws no other."""
    game_id, seat, version = a_bots_turn(here)
    play_for_bot(here, game_id, seat, action_from_json({"type": "draw_stock"}), version)

    jobs.play_bot_turn(game_id, seat, version)

    turn = log_of(here, game_id)[version:]
    assert 1 == sum(entry["action"]["type"] == "draw_stock" for entry in turn)
    assert jobs.ends_turn(turn[-1])


def test_a_choice_for_another_version_is_dropped(here: House) -> None:
    """The bot thought while the game moved on: nothing is played."""
    game_id, seat, _ = a_bots_turn(here)
    version, view, _ = seat_view(here, game_id, seat)
    play_for_bot(here, game_id, seat, action_from_json({"type": "draw_stock"}), version)
    log = log_of(here, game_id)

    played = jobs.play_step(here, game_id, version, view, "greedy", "bot")

    assert played is None
    assert log == log_of(here, game_id)


def test_a_choice_for_a_game_that_was_abandoned_is_dropped(here: House) -> None:
    game_id, seat, _ = a_bots_turn(here)
    version, view, _ = seat_view(here, game_id, seat)
    abandon_game(here, APP, game_id)

    assert jobs.play_step(here, game_id, version, view, "greedy", "bot") is None


@pytest.mark.parametrize("why", ["abandoned", "gone", "a person's turn", "another bot's"])
def test_a_job_without_a_turn_to_play_plays_nothing(here: House, why: str) -> None:
    game_id, seat, version = a_bots_turn(here)
    if why == "abandoned":
        abandon_game(here, APP, game_id)
    elif why == "a person's turn":
        jobs.play_bot_turn(game_id, seat, version)
    elif why == "another bot's":
        seat = 2
    else:
        game_id = "nosuchgame"

    assert {"steps": 0} == jobs.play_bot_turn(game_id, seat, version)


def test_the_last_turn_of_a_game_ends_the_job(here: House) -> None:
    """Bots play on, turn by turn as they would be called, until the game is over."""
    game_id = make_game(here, "greedy", "greedy", "greedy", "greedy", deals=1)
    turns = 0
    while (game := stored(here, game_id)).status == "playing":
        jobs.play_bot_turn(game_id, game.match.deal.turn, game.version)
        turns += 1

    assert turns > 4
    assert "finished" == game.status
    assert "deal_score" in log_of(here, game_id)[-1]


# A bot that plays one turn of a person's seat.


def asked_move(here: House) -> tuple[str, Json]:
    """Ask a bot to play the turn in hand of a person; return the game's id and the task."""
    game_id = four_people(here, steps=4)
    return game_id, ask_bot_move(here, APP, game_id, turn_of(here, game_id), "greedy").body


def move_arguments(redis: redis_py.Redis, game_id: str, task: Json) -> Json:
    return arguments_of(redis, f"move-{game_id}-{task['id']}")


def test_a_bot_move_plays_the_turn_and_keeps_its_events(here: House, redis: redis_py.Redis) -> None:
    game_id, asked = asked_move(here)

    jobs.play_bot_move(**move_arguments(redis, game_id, asked))

    task = read_task(here, APP, game_id, BOT_MOVE, asked["id"])
    turn = log_of(here, game_id)[asked["version"] :]
    assert ("done", None) == (task["status"], task["error"])
    assert [entry["version"] for entry in turn] == [event["version"] for event in task["actions"]]
    assert {(asked["seat"], "bot_move")} == {(entry["seat"], entry["by"]) for entry in turn}
    assert jobs.ends_turn(turn[-1])
    assert task["finished_at"] is not None


def test_a_bot_move_that_is_run_twice_is_played_once(here: House, redis: redis_py.Redis) -> None:
    """And stays done."""
    game_id, asked = asked_move(here)
    arguments = move_arguments(redis, game_id, asked)
    jobs.play_bot_move(**arguments)
    task, log = read_task(here, APP, game_id, BOT_MOVE, asked["id"]), log_of(here, game_id)

    jobs.play_bot_move(**arguments)

    assert task == read_task(here, APP, game_id, BOT_MOVE, asked["id"])
    assert log == log_of(here, game_id)


def test_a_bot_move_that_a_killed_worker_began_is_gone_on_with(
    here: House, redis: redis_py.Redis
) -> None:
    """Its events are those of both workers."""
    game_id = four_people(here)
    seat = turn_of(here, game_id)
    asked = ask_bot_move(here, APP, game_id, seat, "greedy").body
    begun = play_for_bot(
        here, game_id, seat, action_from_json({"type": "draw_stock"}), 0, "bot_move"
    ).body["action"]
    document = {**asked, "status": "running", "actions": [begun]}
    here.store.save_task(game_id, BOT_MOVE, asked["id"], document, 60)

    jobs.play_bot_move(**move_arguments(redis, game_id, asked))

    task = read_task(here, APP, game_id, BOT_MOVE, asked["id"])
    assert "done" == task["status"]
    assert begun == task["actions"][0]
    assert [entry["version"] for entry in log_of(here, game_id)] == [
        event["version"] for event in task["actions"]
    ]


def test_a_bot_move_that_the_player_forestalls_fails_and_plays_nothing(
    here: House, redis: redis_py.Redis
) -> None:
    game_id, asked = asked_move(here)
    play(here, game_id, legal_actions(here, game_id)[0])
    log = log_of(here, game_id)

    jobs.play_bot_move(**move_arguments(redis, game_id, asked))

    task = read_task(here, APP, game_id, BOT_MOVE, asked["id"])
    assert ("failed", "The game has moved on.") == (task["status"], task["error"])
    assert [] == task["actions"]
    assert log == log_of(here, game_id)


# Hints.


def asked_hint(here: House, **budget: Any) -> tuple[str, Json]:
    """Ask for a hint for the person to move; return the game's id and the hint."""
    game_id = four_people(here, steps=5)
    return game_id, ask_hint(here, APP, game_id, None, budget or {"iterations": 300}).body


def hint_arguments(redis: redis_py.Redis, game_id: str, hint: Json) -> Json:
    return arguments_of(redis, f"hint-{game_id}-{hint['id']}")


def test_a_hint_is_given_what_the_seat_sees_and_its_budget_alone(
    here: House, redis: redis_py.Redis
) -> None:
    """R33: nothing in the job that the seat does not know."""
    game_id, asked = asked_hint(here, iterations=300, seed="s")

    arguments = hint_arguments(redis, game_id, asked)

    assert {
        "scope": game_id,
        "task_id": asked["id"],
        "view": view_to_json(view_of(here, game_id)),
        "budget": {"iterations": 300, "seed": "s"},
    } == arguments


def test_a_hint_is_done_and_names_legal_actions(here: House, redis: redis_py.Redis) -> None:
    game_id, asked = asked_hint(here)

    result = jobs.give_hint(**hint_arguments(redis, game_id, asked))

    hint = read_task(here, APP, game_id, HINT, asked["id"])
    assert ("done", "done", 1.0) == (result["status"], hint["status"], hint["progress"])
    assert hint["best"] == hint["candidates"][0]["action"]
    listed = [
        {name: value for name, value in action.items() if name != "seat"}
        for action in legal_actions(here, game_id)
    ]
    assert all(candidate["action"] in listed for candidate in hint["candidates"])
    assert 300 == hint["search"]["iterations"]


def test_a_hint_that_is_run_twice_stays_as_it_is(here: House, redis: redis_py.Redis) -> None:
    """A client that has seen it done never sees it running again."""
    game_id, asked = asked_hint(here)
    arguments = hint_arguments(redis, game_id, asked)
    jobs.give_hint(**arguments)
    hint = read_task(here, APP, game_id, HINT, asked["id"])

    assert {"status": "gone"} == jobs.give_hint(**arguments)

    assert hint == read_task(here, APP, game_id, HINT, asked["id"])


def test_a_hint_cancelled_before_it_began_is_not_worked_on(
    here: House, redis: redis_py.Redis
) -> None:
    game_id, asked = asked_hint(here)
    cancel_hint(here, APP, game_id, asked["id"])

    assert {"status": "gone"} == jobs.give_hint(**hint_arguments(redis, game_id, asked))

    assert "cancelled" == read_task(here, APP, game_id, HINT, asked["id"])["status"]


def test_a_hint_cancelled_while_it_runs_ends_soon(here: House, redis: redis_py.Redis) -> None:
    """And shows the best that was found until then."""
    game_id, asked = asked_hint(here, seconds=10)

    def cancel_when_running() -> None:
        while read_task(here, APP, game_id, HINT, asked["id"])["status"] != "running":
            time.sleep(0.01)
        cancel_hint(here, APP, game_id, asked["id"])

    other = threading.Thread(target=cancel_when_running)
    other.start()
    began = time.monotonic()

    result = jobs.give_hint(**hint_arguments(redis, game_id, asked))

    other.join()
    assert "cancelled" == result["status"]
    assert time.monotonic() - began < 5
    hint = read_task(here, APP, game_id, HINT, asked["id"])
    assert "cancelled" == hint["status"]
    assert hint["best"] is not None


def test_a_hint_of_an_expired_document_is_not_worked_on(here: House) -> None:
    """Nobody could read it."""
    game_id = four_people(here)
    view = view_to_json(view_of(here, game_id))

    assert {"status": "gone"} == jobs.give_hint(game_id, "h9", view, {"iterations": 10**9})


# An overdue turn.


def a_late_house(here: House) -> House:
    """Return a House whose clock is an hour behind: what it times is overdue by the real one."""
    return dataclasses.replace(here, clock=lambda: time.time() - 3600)


def an_overdue_turn(here: House) -> tuple[str, int]:
    """Make a game of four people whose first turn is overdue; return it and the seat to move."""
    game_id = make_game(a_late_house(here), *["human"] * 4, turn_seconds=60, timeout_level="novice")
    return game_id, turn_of(here, game_id)


def test_an_overdue_turn_is_finished_by_the_clock(here: House) -> None:
    """From where it stands to its end, and no further; the next turn has a deadline to come."""
    game_id, seat = an_overdue_turn(here)
    play(a_late_house(here), game_id, {"type": "draw_stock"})
    result = jobs.finish_overdue_turn(game_id, seat, 0)
    log = log_of(here, game_id)

    assert [entry["by"] for entry in log] == ["human", *["clock"] * result["steps"]]
    assert log[-1]["action"]["type"] == "discard"
    assert turn_of(here, game_id) == (seat + 1) % 4
    assert (deadline_s(stored(here, game_id)) or 0) > time.time() + 50


def test_a_turn_that_is_not_overdue_is_left_alone(here: House) -> None:
    """Also when the job comes too late, after the turn it was made for."""
    game_id = make_game(here, *["human"] * 4, turn_seconds=60)
    assert jobs.finish_overdue_turn(game_id, turn_of(here, game_id), 0) == {"steps": 0}
    late_id, seat = an_overdue_turn(here)
    jobs.finish_overdue_turn(late_id, seat, 0)

    assert jobs.finish_overdue_turn(late_id, seat, 0) == {"steps": 0}
    assert jobs.finish_overdue_turn("nothing", 0, 0) == {"steps": 0}


def test_the_third_overdue_turn_in_a_row_hands_the_seat_over(here: House) -> None:
    """The job says so itself; one that died between the two is made good by the next."""
    game_id, seat = an_overdue_turn(here)
    late = a_late_house(here)
    for _ in range(3):
        play_until_turn_of(late, game_id, seat)
        jobs.finish_overdue_turn(game_id, seat, stored(here, game_id).turn_version)
        if stored(here, game_id).stand_in(seat) is None:
            # The turn after it began by the real clock; the others are in time.
            play_until_turn_of(late, game_id, (seat + 3) % 4)
    log = log_of(here, game_id)

    assert (log[-1]["type"], log[-1]["by"], log[-1]["level"]) == ("bot_seated", "clock", "novice")
    assert sum(entry["by"] == "clock" and entry["type"] == "played" for entry in log) >= 6
    assert stored(here, game_id).bot_to_move is None
