"""Whole games over HTTP, by people and bots, held against the independent referee."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from typing import Any

import pytest
import redis
from jsonschema import Draft202012Validator
from rq import Queue
from rq.job import Job

from tests import oracle
from tests.e2e.harness import ROOT, Player, Referee, Service, make_table, wait_until

pytestmark = pytest.mark.e2e

Json = dict[str, Any]

OTHER_ACTIONS: list[Json] = [
    {"type": "draw_stock"},
    {"type": "pass"},
    {"type": "take_discards", "card": "7H"},
    {"type": "meld", "cards": ["JC", "JD", "JH"]},
    {"type": "meld", "cards": ["QS", "KS", "AS"]},
    {"type": "lay_off", "cards": ["7S"], "meld": "m1"},
    {"type": "discard", "card": "KD"},
]
"""Actions that are mostly refused."""


def choose(rng: random.Random, actions: list[Json]) -> Json:
    """Choose any action, melds rather than discards, so that deals end in every way."""
    tabled = [action for action in actions if action["type"] in ("meld", "lay_off")]
    taking = [action for action in actions if action["type"] == "take_discards"]
    for liked in (tabled, taking):
        if liked and rng.random() < 0.7:
            return rng.choice(liked)
    return rng.choice(actions)


def test_a_game_of_one_person_and_three_bots_ends_with_the_right_score(service: Service) -> None:
    """The log is replayed by the referee, who counts for himself; so is each view on the way."""
    rng = random.Random(1)
    table = make_table(service.app, "e2e-one", "human", "greedy", "casual", "novice")
    person = table.players[0]
    referee = Referee(table)

    while (game := person.await_turn(table.id, 0))["status"] == "playing":
        referee.follow(person.log(table.id, referee.version))
        referee.check_view(game)
        action = choose(rng, game["legal_actions"])
        person.must(201, "POST", f"{table.path}/actions", action, If_Match=f'"{game["version"]}"')
    referee.follow(person.log(table.id, referee.version))

    referee.check_result(game)
    assert table.seed == game["fairness"]["seed"]
    print(f"\n{game['version']} actions, scores {game['scores']}")


def test_a_game_of_four_tokens_is_what_the_referee_says_at_every_step(service: Service) -> None:
    """Every list of legal actions, every seat's view, refusals and scores."""
    rng = random.Random(2)
    table = make_table(service.app, "e2e-four", "human", "human", "human", "human")
    referee = Referee(table)

    while not referee.is_over:
        for player in table.players.values():
            referee.check_view(player.must(200, "GET", table.path))
        turn = referee.deal.turn
        mover = table.players[turn]
        listed = mover.must(200, "GET", f"{table.path}/legal-actions")
        assert (turn, referee.deal.phase) == (listed["seat"], listed["phase"])
        referee.check_legal_actions(listed["actions"])
        check_refusals(table.path, table.players, referee, rng)
        action = choose(rng, listed["actions"])
        played = mover.must(201, "POST", f"{table.path}/actions", action)
        referee.follow([played["action"]])

    referee.check_result(table.players[3].must(200, "GET", table.path))
    again = Referee(table).follow(table.app.log(table.id))
    assert again.scores == referee.scores


def check_refusals(
    path: str, players: dict[int, Player], referee: Referee, rng: random.Random
) -> None:
    """Let one seat at random try something; the API refuses it by the referee's rule."""
    seat, action = rng.choice(list(players)), rng.choice(OTHER_ACTIONS)
    rule = referee.deal.refusal(seat, action)

    answer = players[seat].ask("POST", f"{path}/actions?dry_run=true", action)

    assert (200 if rule is None else 409) == answer.status, (seat, action, rule, answer)
    if rule is not None:
        assert "application/problem+json" == answer.headers["content-type"]
        assert rule == answer.body["rule"], (seat, action, answer.body)
        assert (seat == referee.deal.turn) == bool(answer.body["legal_actions"])


def test_every_level_plays_legal_turns(service: Service) -> None:
    """Asked for turns of a person's seat, in rotation; the referee follows."""
    levels = [bot["level"] for bot in service.app.must(200, "GET", "/bots")["bots"]]
    table = make_table(service.app, "e2e-levels", "human", "human", "human", "human", deals=1)
    referee = Referee(table)
    seconds = dict.fromkeys(levels, 0.0)

    for turn in range(3 * len(levels)):
        level = levels[turn % len(levels)]
        began = time.monotonic()
        move = service.app.must(
            200,
            "POST",
            f"{table.path}/bot-moves",
            {"level": level, "seat": referee.deal.turn},
            Prefer="wait=30",
        )
        seconds[level] = max(seconds[level], time.monotonic() - began)
        assert ("done", None) == (move["status"], move["error"])
        assert service.app.log(table.id, referee.version) == [
            {**event, "card": None} for event in move["actions"]
        ]
        referee.follow(move["actions"])
        if referee.is_over:
            break

    referee.check_view(service.app.must(200, "GET", f"{table.path}?seat={referee.deal.turn}"))
    print("\nslowest turn, s:", {level: round(taken, 2) for level, taken in seconds.items()})


def test_bots_alone_play_a_game_to_its_end(service: Service) -> None:
    """Nobody asks them to."""
    table = make_table(service.app, "e2e-bots", "greedy", "random", "casual", "novice")
    began = time.monotonic()

    game = service.app.await_turn(table.id, -1)

    Referee(table).follow(service.app.log(table.id)).check_result(game)
    print(f"\n{game['version']} actions in {time.monotonic() - began:.2f} s")


def test_a_hint_in_a_running_game_is_soon_there(service: Service) -> None:
    """Half a second of search, asked for by the seat to move; its best action is played."""
    table = make_table(service.app, "e2e-hint", "human", "greedy", "greedy", "greedy")
    person = table.players[0]
    game = person.await_turn(table.id, 0)
    began = time.monotonic()

    hint = person.must(
        200, "POST", f"{table.path}/hints", {"seconds": 0.5, "seed": 7}, Prefer="wait=20"
    )

    taken_s = time.monotonic() - began
    assert ("done", 1.0, game["version"], 0) == (
        *(hint[part] for part in ("status", "progress", "version", "seat")),
    )
    assert hint["best"] == hint["candidates"][0]["action"]
    tried = [oracle.action_key(candidate["action"]) for candidate in hint["candidates"]]
    assert set(tried) <= set(map(oracle.action_key, game["legal_actions"]))
    assert len(tried) == len(set(tried))
    person.must(201, "POST", f"{table.path}/actions", hint["best"])
    assert taken_s < 20
    print(f"\na hint of 0.5 s took {taken_s:.2f} s, {hint['search']['iterations']} iterations")


def test_what_is_answered_is_what_the_document_describes(service: Service) -> None:
    """Games, logs, hints and bot moves as they come from running workers."""
    document = service.app.must(200, "GET", "/openapi.json")
    table = make_table(service.app, "e2e-document", "human", "greedy", "greedy", "greedy")
    person = table.players[0]
    person.await_turn(table.id, 0)

    hint = person.must(200, "POST", f"{table.path}/hints", {"iterations": 3000}, Prefer="wait=20")
    move = person.must(
        200, "POST", f"{table.path}/bot-moves", {"level": "greedy"}, Prefer="wait=20"
    )

    for name, body in (
        ("Hint", hint),
        ("BotMove", move),
        ("Game", person.must(200, "GET", table.path)),
        ("ActionLog", person.must(200, "GET", f"{table.path}/actions")),
        ("LegalActions", person.must(200, "GET", f"{table.path}/legal-actions")),
        ("Bots", person.must(200, "GET", "/bots")),
    ):
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        faults = [
            f"{name} {'.'.join(map(str, fault.absolute_path))}: {fault.message[:200]}"
            for fault in Draft202012Validator(schema).iter_errors(body)
        ]
        assert [] == faults


def test_the_demo_plays_a_game_to_its_end(service: Service) -> None:
    """As `make demo` runs it."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "service.demo", "--seed", "e2e-demo"),
            *("--level", "greedy", "--hint-iterations", "200"),
        ],
        cwd=ROOT,
        env={**os.environ, "PORT": str(service.port)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    boards = [line for line in lines if line.startswith("---- deal")]
    assert len(boards) >= 4
    assert any(line.startswith("your hand ") for line in lines)
    assert any(line.startswith("final score: ") for line in lines)
    assert "the seed was e2e-demo" == lines[-1]
    assert "\x1b" not in done.stdout


def test_the_demo_says_when_no_service_answers() -> None:
    """And how to start one."""
    done = subprocess.run(
        [sys.executable, "-m", "service.demo", "--base-url", "http://127.0.0.1:9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (1, "") == (done.returncode, done.stdout)
    assert "No Persian Rummy answers at http://127.0.0.1:9" in done.stderr
    assert "make run" in done.stderr


@pytest.mark.parametrize("queue", ["bots", "hints"])
def test_a_forged_job_is_refused(service: Service, queue: str, tmp_path: Any) -> None:
    """Whoever can write to Redis still cannot name a function of their liking."""
    forged_folder = tmp_path / "made-by-a-forged-job"
    with redis.Redis.from_url(redis_url_of(service)) as connection:
        jobs = Queue(queue, connection=connection, serializer="json")
        forged = jobs.enqueue_call("os.mkdir", args=(str(forged_folder),), job_id=f"forged-{queue}")
        # What pickle would write: no JSON at all.
        with connection.pipeline() as at_once:
            spoilt = jobs.enqueue_call(
                "workers.jobs.give_hint", job_id=f"spoilt-{queue}", pipeline=at_once
            )
            at_once.hset(spoilt.key, "data", b"\x80\x04}\x94.")
            at_once.execute()

        for job in (forged, spoilt):
            wait_until(
                lambda job=job: fetch(connection, job.id).is_failed, 30, f"the failing of {job.id}"
            )
            result = fetch(connection, job.id).latest_result()
            assert result is not None
            assert "this function is no job" == result.exc_string

    assert not forged_folder.exists()


def fetch(connection: redis.Redis, job_id: str) -> Job:
    """Return a job as it is now."""
    return Job.fetch(job_id, connection=connection, serializer="json")


def redis_url_of(service: Service) -> str:
    """Return the address of the Redis that the service has started."""
    return f"unix://{service.folder / 'data' / 'redis' / 'redis.sock'}"
