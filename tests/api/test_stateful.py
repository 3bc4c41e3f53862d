"""Any order of requests, right and wrong, by all four over HTTP, the referee beside them.

`test_whole_game.py` plays straight on; here Hypothesis chooses what comes next, and shortens what
went wrong to the fewest requests: repeats with the same key, stale versions, dry runs, refusals,
streams taken up anywhere, seats given to a bot and back, in between actions."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.api.client import Answer, ApiClient, Table, memory_app
from tests.api.streams import stream_of
from tests.api.test_whole_game import (
    SEATS,
    check_hidden,
    check_legal,
    check_log,
    check_refusals,
    check_views,
    choose_action,
    play_both,
    referee_for,
)
from tests.oracle import RefereeDeal, action_key

seats = st.integers(0, 3)
chances = st.randoms(use_true_random=False)


@cache
def api() -> ApiClient:
    """Return the service that all games of these tests are in."""
    return ApiClient(memory_app(), check_every=7)


class GameMachine(RuleBasedStateMachine):
    """A game of one deal."""

    table: Table
    referee: RefereeDeal
    version = 0
    away: dict[int, bool]
    last: tuple[int, dict[str, Any], str, Answer] | None = None
    """Seat, action, key and answer of the last action played with a key."""

    @initialize(seed=st.integers(0, 10**6))
    def begin(self, seed: int) -> None:
        """Make the game; the referee is told what the players see."""
        self.table = Table(api(), seed=f"stateful {seed}", deals=1)
        self.referee = referee_for(self.table)
        self.away = {}

    @property
    def is_on(self) -> bool:
        """Whether the deal goes on and the seat to move is its owner's."""
        return not self.referee.over and self.referee.turn not in self.away

    @precondition(lambda self: self.is_on)
    @rule(choose=chances)
    def play(self, choose: random.Random) -> None:
        """A legal action; the list of them is the referee's."""
        turn = self.referee.turn
        play_both(self.table, self.referee, turn, choose_action(choose, self.table.legal(turn)))
        self.version += 1

    @precondition(lambda self: self.is_on)
    @rule(choose=chances, number=st.integers(0, 10**9))
    def play_with_key(self, choose: random.Random, number: int) -> None:
        """The same, to be repeated later."""
        turn = self.referee.turn
        action = choose_action(choose, self.table.legal(turn))
        key = f"{self.version}-{number}"
        headers = {"Idempotency-Key": key, "If-Match": f'"{self.version}"'}
        answer = self.table.play(turn, action, headers=headers)
        assert answer.status == 201
        if action["type"] == "draw_stock":
            drawn = answer.json["action"]["card"]
            self.referee.stock.remove(drawn)
            self.referee.stock.insert(0, drawn)
        self.referee.play(turn, action)
        self.version += 1
        self.last = (turn, action, key, answer)

    @precondition(lambda self: self.last is not None)
    @rule()
    def repeat(self) -> None:
        """The first answer again, however much has been played since; with other words, 422."""
        assert self.last is not None
        seat, action, key, first = self.last
        again = self.table.play(seat, action, headers={"Idempotency-Key": key})
        assert (again.status, again.raw) == (201, first.raw)
        assert again.headers["Idempotent-Replayed"] == "true"
        other = self.table.play(
            seat, {"type": "discard", "card": "2C"}, headers={"Idempotency-Key": key}
        )
        if action != {"type": "discard", "card": "2C"}:
            assert (other.status, other.json["type"]) == (422, "/docs/problems/key-reused")

    @precondition(lambda self: self.is_on)
    @rule(choose=chances)
    def try_what_is_refused(self, choose: random.Random) -> None:
        """By the same rule as the referee refuses it, and without effect."""
        legal = {action_key(action) for action in self.referee.legal_actions()}
        if not self.away:
            check_refusals(self.table, self.referee, choose, legal)

    @precondition(lambda self: self.is_on)
    @rule(back=st.integers(1, 5))
    def act_on_an_old_view(self, back: int) -> None:
        """412 with the fresh view, hiding what is hidden."""
        turn = self.referee.turn
        headers = {"If-Match": f'"{self.version + back}"'}
        answer = self.table.play(turn, self.table.legal(turn)[0], headers=headers)
        assert (answer.status, answer.json["game"]["version"]) == (412, self.version)
        check_hidden(answer, self.referee, turn)

    @precondition(lambda self: not self.referee.over)
    @rule(seat=seats)
    def give_a_seat_away_and_back(self, seat: int) -> None:
        """Its owner sees it as before meanwhile, and cannot play it."""
        path, token = f"{self.table.path}/seats/{seat}/bot", self.table.tokens[seat]
        if self.away.pop(seat, False):
            assert self.table.api.delete(path, token=token).status == 200
        else:
            assert self.table.api.send("PUT", path, {}, token=token).status == 200
            self.away[seat] = True
            if seat == self.referee.turn:
                assert self.table.play(seat, {"type": "pass"}).json["status"] == 409
        self.version += 1

    @rule(seat=seats, behind=st.integers(0, 6))
    def take_up_a_stream(self, seat: int, behind: int) -> None:
        """Every event from there on, once, in order, and no card that the seat must not know."""
        since = max(self.version - behind, 0)
        headers = {"Last-Event-ID": str(since)}
        with stream_of(
            self.table.api.app, f"{self.table.path}/events", self.table.tokens[seat], headers
        ) as events:
            numbers = []
            while len(numbers) < self.version - since:
                event = next(events)
                if event.kind == "action":
                    numbers.append(event.id)
        assert numbers == list(range(since + 1, self.version + 1))

    @precondition(lambda self: not self.referee.over and not self.away)
    @rule()
    def look(self) -> None:
        """All four views and the list of actions are the referee's."""
        check_views(self.table, self.referee)
        check_legal(self.table, self.referee)

    @precondition(lambda self: self.version == len(self.referee.log))
    @rule()
    def read_the_log(self) -> None:
        """As each of the four reads it."""
        check_log(self.table, self.referee, 0)

    @invariant()
    def nothing_else_was_accepted(self) -> None:
        """The version counts what was accepted, and the status is the deal's."""
        if not hasattr(self, "table"):
            return
        game = self.table.view(0)
        assert game["version"] == self.version
        assert game["status"] == ("finished" if self.referee.over else "playing")
        assert [game["deal"]["hand_counts"][seat] for seat in SEATS] == [
            len(hand) for hand in self.referee.hands
        ]


def test_whatever_the_order_of_requests_all_is_as_the_referee_has_it() -> None:
    run_state_machine_as_test(
        GameMachine,
        settings=settings(
            max_examples=12,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
