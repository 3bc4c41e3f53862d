"""Who can write to the queues, and not to the games: no job of the list lets him play for a person,
speak in our name, or change a game at all.

Each job is put on its queue with arguments that no use case would give, and worked off as a worker
does. The game that they are about has four people, a webhook that has been told everything, and a
turn that is nobody's but a person's. What is stored of it is the same afterwards, to the byte."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis as redis_py
from rq import Queue

from service.games.access import AppCaller
from service.games.advice import BOT_MOVE_JOB, HINT_JOB, PART_JOB, ask_bot_move, ask_hint
from service.games.changing import ASK_JOB, BOT_TURN_JOB, OVERDUE_JOB
from service.games.hooks import ANNOUNCE_JOB, HINT_NEWS_JOB, SEND_JOB
from service.games.hosting import GameOrder, SeatOrder, create_game
from service.games.house import House
from service.games.positions import POSITION_JOB
from service.games.reviews import REVIEW_JOB
from service.games.webhooks import announce
from service.rules.view import view_to_json
from tests.receivers import SECRET, Receiver, receiving
from tests.workers.conftest import warm_kernels
from tests.workers.tables import four_people, log_of, make_game, stored, turn_of, view_of
from tests.workers.test_main import quiet_logs, work_off
from workers import jobs, webhooks
from workers.house import house

__all__ = ["quiet_logs", "warm_kernels"]

Json = dict[str, Any]
QUEUE_OF = {
    **dict.fromkeys(jobs.JOBS, "bots"),
    **dict.fromkeys((HINT_JOB, PART_JOB, POSITION_JOB, REVIEW_JOB), "hints"),
    **dict.fromkeys(webhooks.JOBS, "webhooks"),
}
"""A queue whose worker takes the job."""


@dataclass
class Attack:
    """A game to be meddled with, and one of the attacker's own, in which he may ask for work."""

    here: House
    redis: redis_py.Redis
    receiver: Receiver
    victim: str
    own: str

    def contents(self) -> dict[bytes, bytes]:
        """Return all that is stored of the game."""
        keys = sorted(self.redis.scan_iter(f"prs:{{{self.victim}}}:*"))
        return {key: self.redis.dump(key) for key in keys}

    def forged(self, job: str) -> list[Json]:
        """Return the arguments to be tried with a job."""
        game = stored(self.here, self.victim)
        turn, view = turn_of(self.here, self.victim), view_to_json(view_of(self.here, self.victim))
        seats = [{"game_id": self.victim, "seat": seat} for seat in range(4)]
        of_turn = {"game_id": self.victim, "seat": turn, "version": game.version}
        move, hint = {"scope": self.own, "task_id": "m1"}, {"task_id": "h1", "view": view}
        budget = {"iterations": 5}
        told = {"game_id": self.victim, "hint_id": "h1", "seat": turn, "version": game.version}
        return {
            BOT_TURN_JOB: [{**seat, "version": game.version} for seat in seats],
            OVERDUE_JOB: [
                {**seat, "turn_version": game.turn_version, "is_forced": is_forced}
                for seat in seats
                for is_forced in (True, False)
            ],
            BOT_MOVE_JOB: [
                {**move, **of_turn, "level": "greedy"},
                {"scope": self.victim, "task_id": "m1", **of_turn, "level": "greedy"},
            ],
            HINT_JOB: [{"scope": self.victim, **hint, "budget": budget}],
            PART_JOB: [
                {"scope": self.victim, "kind": "hint", **hint, "seed": "", "budget": budget}
            ],
            POSITION_JOB: [
                {"scope": self.victim, "task_id": "p1", "views": [view], "budget": budget}
            ],
            REVIEW_JOB: [{"scope": self.victim, "task_id": "r1", "options": {"iterations": 1}}],
            ANNOUNCE_JOB: [{"game_id": self.victim}],
            HINT_NEWS_JOB: [{**told, "status": status} for status in ("done", "queued", "won")],
            SEND_JOB: [{"game_id": self.victim, "delivery_id": "d1"}],
            ASK_JOB: [{**seat, "turn_version": game.turn_version} for seat in seats],
        }[job]

    def put(self, job: str, number: int, arguments: Json) -> str:
        """Put a job on its queue and work that off; return how it ended."""
        queue = Queue(QUEUE_OF[job], connection=self.redis, serializer="json")
        queued = queue.enqueue_call(job, kwargs=arguments, job_id=f"forged-{number}")
        work_off(self.redis, QUEUE_OF[job])
        webhooks.wait_for_threads()
        return str(queued.get_status(refresh=True).value)


@pytest.fixture
def attack(
    redis: redis_py.Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Attack]:
    """Return a game of four people in mid-turn, all of it told, and one of somebody else."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("PERSIAN_RUMMY_WEBHOOK_ADDRESSES", "any")
    house.cache_clear()
    here = house()
    with receiving() as receiver:
        people = (SeatOrder("human"),) * 4
        hook = {"url": receiver.url(), "secret": SECRET}
        order = GameOrder(people, seed="victim", webhook=hook, turn_seconds=3600)
        victim = create_game(here, AppCaller("victim"), order).body["game"]["id"]
        own = four_people(here, seed="attacker")
        ask_bot_move(here, AppCaller("app"), own, turn_of(here, own), "greedy")
        ask_hint(here, AppCaller("victim"), victim, None, {"iterations": 5})
        redis.delete(*redis.scan_iter("rq:*"))
        for delivery in announce(here, victim):
            webhooks.send_delivery(victim, delivery)
        webhooks.wait_for_threads()
        yield Attack(here, redis, receiver, victim, own)
    webhooks.wait_for_threads()
    house.cache_clear()


@pytest.mark.parametrize("job", sorted(jobs.JOBS | webhooks.JOBS))
def test_no_forged_job_changes_a_game_or_speaks_in_our_name(attack: Attack, job: str) -> None:
    """Every job of the lists, so that a new one without an attack fails. The one exception is the
    advice that somebody has asked for: who writes to the queues can spoil that, as he can lose it.
    """
    before, posted = attack.contents(), len(attack.receiver.got)
    ended = [attack.put(job, n, arguments) for n, arguments in enumerate(attack.forged(job))]

    after = attack.contents()
    advice = f"prs:{{{attack.victim}}}:task:hint:h1".encode()
    if job == HINT_JOB:
        assert after.pop(advice) != before.pop(advice)
    assert after == before
    assert len(attack.receiver.got) == posted
    assert log_of(attack.here, attack.own) == []
    assert set(ended) <= {"finished", "failed"}


def test_what_was_asked_for_is_still_done(attack: Attack) -> None:
    """A check of the check: the same job with what its task says plays the turn."""
    turn = turn_of(attack.here, attack.own)
    asked: Json = {"scope": attack.own, "task_id": "m1", "game_id": attack.own, "version": 0}
    ended = attack.put(BOT_MOVE_JOB, 1, {**asked, "seat": turn, "level": "greedy"})

    assert ended == "finished"
    assert {entry["by"] for entry in log_of(attack.here, attack.own)} == {"bot_move"}


def test_an_overdue_turn_is_finished_for_the_seat_to_move_alone(attack: Attack) -> None:
    """Whatever seat the job names: no bot chooses by a hand that is not to move."""
    late = dataclasses.replace(attack.here, clock=lambda: time.time() - 3600)
    game_id = make_game(late, *["human"] * 4, turn_seconds=60)
    turn = turn_of(attack.here, game_id)
    steps = [jobs.finish_overdue_turn(game_id, (turn + n) % 4, 0)["steps"] for n in (1, 2, 3, 0)]

    assert steps[:3] == [0, 0, 0]
    assert steps[3] >= 2
    assert {entry["by"] for entry in log_of(attack.here, game_id)} == {"clock"}
