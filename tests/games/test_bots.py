"""Calling the bots: once a turn, by a stable id, and again when a job is lost."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from service.games.changing import BOT_QUEUE, BOT_TURN_JOB
from service.games.errors import QueueFull, StoreUnavailable
from service.games.hosting import abandon_game, create_game, join_game
from service.games.playing import play_for_bot, seat_view
from service.games.sweeping import sweep_bots
from service.rules.legal import legal_actions
from service.store.memory import MemoryQueue, MemoryStore, QueuedJob
from tests.games.tables import APP, Table, open_table, order


def turn_job(table: Table) -> QueuedJob:
    """Return the job that plays the turn in hand."""
    game = table.game
    return QueuedJob(
        BOT_QUEUE,
        BOT_TURN_JOB,
        f"bot-{game.id}-{game.turn_version}-{table.turn}",
        {"game_id": game.id, "seat": table.turn, "version": game.turn_version},
    )


def bot_step(table: Table, rng: random.Random) -> None:
    """Play one step of the bot that is to move, as a worker would."""
    at, _view, game = seat_view(table.house, table.game_id, table.turn)
    action = rng.choice(legal_actions(game.match.deal))
    play_for_bot(table.house, table.game_id, table.turn, action, at)


def run_next_job(table: Table, rng: random.Random) -> QueuedJob:
    """Take the next job and play its whole turn."""
    job = table.queue.start()
    seat, number = table.turn, table.game.match.number
    assert job.arguments["seat"] == seat
    while table.game.bot_to_move == seat and table.game.match.number == number:
        turn_version = table.game.turn_version
        bot_step(table, rng)
        if table.game.turn_version != turn_version:
            break
    table.queue.end(job.job_id)
    return job


def bots_turn(players: str = "hbhb", seed: str = "s") -> Table:
    """Return a table at which a bot is to begin its turn, called once."""
    for number in range(20):
        table = open_table(players, seed=f"{seed}-{number}")
        if table.game.bot_to_move is not None:
            return table
    raise AssertionError("a person begins every time")


def persons_turn(players: str = "hbhb") -> Table:
    """Return a table at which a person is to begin."""
    for number in range(20):
        table = open_table(players, seed=str(number))
        if table.game.bot_to_move is None:
            return table
    raise AssertionError("a bot begins every time")


def marked(table: Table) -> list[str]:
    """Return the games that are marked as waiting for a bot."""
    return table.store.waiting_games(table.clock.now_s + 1e6, 100)


# Calling.


def test_a_bot_that_begins_is_called_at_once() -> None:
    table = bots_turn()

    assert table.queue.waiting == [turn_job(table)]
    assert turn_job(table).job_id.endswith(f"-0-{table.turn}")
    assert marked(table) == [table.game_id]


def test_no_bot_is_called_while_seats_are_open_or_people_play() -> None:
    for table in (open_table("hhhh"), open_table("bbbo"), persons_turn()):
        assert table.queue.waiting == []
        assert marked(table) == []


def test_the_last_to_join_sets_the_bots_going() -> None:
    table = open_table("bbbo", seed="join")
    if table.turn == 3:
        table = open_table("bobb", seed="join")
    seat = table.game.open_seats[0]

    join_game(table.house, table.game_id, seat, None)

    assert table.queue.waiting == [turn_job(table)]
    assert turn_job(table).arguments["version"] == 1


def test_a_bot_is_called_when_the_turn_comes_to_it_and_not_before() -> None:
    table = persons_turn()
    table.play({"type": "draw_stock"})
    assert table.queue.calls == 0
    discard = next(a for a in table.legal_actions() if a["type"] == "discard")

    table.play(discard)

    assert table.queue.waiting == [turn_job(table)]
    assert turn_job(table).arguments["version"] == 2
    assert marked(table) == [table.game_id]


def test_a_bot_is_called_once_a_turn_however_many_steps_it_takes() -> None:
    """Whole games of four bots: one call for each turn, each under an id of its own."""
    for seed in range(4):
        table = open_table("bbbb", seed=f"four bots {seed}")
        rng = random.Random(seed)
        seen = []
        while table.queue.waiting:
            assert table.queue.waiting == [turn_job(table)]
            seen.append(run_next_job(table, rng).job_id)
        log = table.store.read_log(table.game_id, 0, 10_000)

        assert table.game.status == "finished"
        ends = [e for e in log if e["action"]["type"] in ("discard", "pass") or "deal_score" in e]
        assert len(seen) == len(set(seen)) == table.queue.calls == len(ends)
        assert all(entry["by"] == "bot" for entry in log)
        assert marked(table) == []


def test_the_mark_goes_when_a_persons_turn_comes() -> None:
    table = bots_turn("hbhh")
    run_next_job(table, random.Random(1))

    assert table.game.bot_to_move is None
    assert marked(table) == []


def test_the_bot_is_called_no_more_for_a_game_that_is_abandoned() -> None:
    table = bots_turn()

    abandon_game(table.house, APP, table.game_id)

    assert table.queue.calls == 1
    assert marked(table) == []


def test_a_full_or_lost_queue_does_not_stop_an_action() -> None:
    """The game is marked as waiting, and that was written before the action was."""
    for queue in (MemoryQueue(max_queued_jobs=0), MemoryQueue()):
        queue.is_away = True
        table = persons_turn()
        table.house = replace(table.house, queue=queue)
        table.play({"type": "draw_stock"})
        discard = next(a for a in table.legal_actions() if a["type"] == "discard")

        assert table.play(discard)["game"]["version"] == 2

        assert marked(table) == [table.game_id]


def test_a_game_that_a_bot_begins_is_made_though_the_queue_is_full() -> None:
    table = Table()
    table.house = replace(table.house, queue=MemoryQueue(max_queued_jobs=0))

    body = create_game(table.house, APP, order("bbbb")).body

    assert marked(table) == [body["game"]["id"]]


class Fading(MemoryStore):
    """A store that goes away right after a commit, when told to."""

    is_fading = False

    def unmark_waiting(self, game_id: str, until_s: float) -> None:
        """Be away if told so."""
        if self.is_fading:
            raise StoreUnavailable
        super().unmark_waiting(game_id, until_s)


@dataclass(slots=True)
class Fixture:
    table: Table
    store: Fading


def fading_table() -> Fixture:
    """Return a table of a bot and three people, the bot to begin, whose store can go away."""
    for number in range(40):
        table = Table()
        store = Fading(clock=table.clock)
        table.store = store
        table.house = replace(table.house, store=store)
        body = create_game(table.house, APP, order("bhhh", seed=str(number))).body
        table.game_id, table.tokens = body["game"]["id"], body["seat_tokens"]
        if table.game.bot_to_move is not None:
            return Fixture(table, store)
    raise AssertionError("the bot never begins")


def test_an_action_that_is_written_is_answered_though_the_store_goes_away_then() -> None:
    """The mark stays too long, and the sweep takes it away."""
    there = fading_table()
    there.store.is_fading = True

    run_next_job(there.table, random.Random(1))

    assert there.table.game.bot_to_move is None
    assert marked(there.table) == [there.table.game_id]
    there.store.is_fading = False
    assert sweep_bots(there.table.house, -1e6) == []
    assert marked(there.table) == []


class Overtaken(MemoryStore):
    """A store in which the next turn has begun before the mark of the last one is taken away."""

    marks_at_s = 0.0

    def unmark_waiting(self, game_id: str, until_s: float) -> None:
        """Let the next bot's turn begin first."""
        if self.marks_at_s:
            self.mark_waiting(game_id, self.marks_at_s)
        super().unmark_waiting(game_id, until_s)


def test_a_mark_of_a_later_turn_is_not_taken_away_with_that_of_the_last() -> None:
    """Else a lost job of that later turn would never be found."""
    for number in range(40):
        table = Table()
        store = Overtaken(clock=table.clock)
        table.store = store
        table.house = replace(table.house, store=store)
        body = create_game(table.house, APP, order("bhhh", seed=str(number))).body
        table.game_id = body["game"]["id"]
        if table.game.bot_to_move is not None:
            break
    store.marks_at_s = table.clock.now_s + 60

    run_next_job(table, random.Random(1))

    assert marked(table) == [table.game_id]


# Sweeping.


def test_the_sweep_calls_nobody_whose_job_waits_or_runs() -> None:
    table = bots_turn()
    table.clock.now_s += 60

    assert sweep_bots(table.house, 5) == []
    table.queue.start()
    assert sweep_bots(table.house, 5) == []

    assert table.queue.waiting == []


@pytest.mark.parametrize("loss", ["flushed", "killed"])
def test_the_sweep_calls_a_bot_again_whose_job_was_lost(loss: str) -> None:
    table = bots_turn()
    if loss == "flushed":
        table.queue.lose_all()
    else:
        table.queue.end(table.queue.start().job_id)
    table.clock.now_s += 60

    assert sweep_bots(table.house, 5) == [table.game_id]
    assert sweep_bots(table.house, 5) == []

    assert table.queue.waiting == [turn_job(table)]


def test_a_bot_killed_in_the_middle_of_its_turn_is_called_for_the_same_turn() -> None:
    table = bots_turn()
    first = table.queue.start()
    bot_step(table, random.Random(1))
    assert table.version == 1
    table.queue.end(first.job_id)
    table.clock.now_s += 60

    assert sweep_bots(table.house, 5) == [table.game_id]

    (job,) = table.queue.waiting
    assert job.job_id == first.job_id
    assert job.arguments == {**first.arguments, "version": 1}


def test_a_bot_that_has_waited_less_is_left_to_its_job() -> None:
    table = bots_turn()
    table.queue.lose_all()

    assert sweep_bots(table.house, 5) == []

    assert table.queue.waiting == []


def test_the_sweep_calls_bots_that_a_full_queue_did_not_take() -> None:
    table = persons_turn()
    table.queue.is_away = True
    table.play({"type": "draw_stock"})
    table.play(next(a for a in table.legal_actions() if a["type"] == "discard"))
    table.queue.is_away = False
    table.clock.now_s += 60

    assert sweep_bots(table.house, 5) == [table.game_id]

    assert table.queue.waiting == [turn_job(table)]


def test_the_sweep_says_when_the_queue_is_full_or_the_store_away() -> None:
    table = bots_turn()
    table.clock.now_s += 60
    full = replace(table.house, queue=MemoryQueue(max_queued_jobs=0))
    with pytest.raises(QueueFull):
        sweep_bots(full, 5)
    table.store.is_away = True
    with pytest.raises(StoreUnavailable):
        sweep_bots(table.house, 5)

    table.store.is_away = False

    assert marked(table) == [table.game_id]


def test_the_sweep_clears_marks_of_games_that_wait_for_nobody() -> None:
    """Of a change that lost its race, of a game that has expired."""
    table = persons_turn()
    table.store.mark_waiting(table.game_id, 1)
    table.store.mark_waiting("expired", 2)

    assert sweep_bots(table.house, 5) == []

    assert marked(table) == []
    assert table.queue.calls == 0


def test_the_sweep_finds_a_game_that_was_marked_and_not_written() -> None:
    """The mark comes before the commit; who dies in between leaves one too many, never too few."""
    table = bots_turn()
    table.queue.lose_all()
    table.store.mark_waiting(table.game_id, table.clock.now_s - 60)

    assert sweep_bots(table.house, 5) == [table.game_id]
