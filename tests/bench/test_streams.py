"""Actions on one API process with and without a thousand streams open, in one run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.embedded import RedisServer
from tests.api.streams import served
from tests.bench.figures import percentile, show, show_command
from tests.bench.load import Connection, Game
from tests.bench.processes import children_of, cpu_s
from tests.e2e.harness import ROOT, free_port

pytestmark = pytest.mark.bench

STREAMS = 1000
GAMES = 250
ROUNDS = 4
ROUND_S = 4.0
PACE_S = 0.5


@dataclass(frozen=True)
class Api:
    """The process that is measured."""

    port: int
    pids: list[int]

    @contextmanager
    def spending(self, spent_ms: list[float], taken_ms: list[float]) -> Iterator[None]:
        """Note the processor time that it spends for each action that is noted meanwhile."""
        before, count = cpu_s(self.pids), len(taken_ms)
        yield
        spent_ms.append(1000 * (cpu_s(self.pids) - before) / (len(taken_ms) - count))


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Run the API as one process on a Redis that keeps its data as `make run` does."""
    port = free_port()
    folder: Path = tmp_path_factory.mktemp("redis")
    with RedisServer(folder) as server, served(server.url, port) as master:
        yield Api(port, children_of(master.pid))


@contextmanager
def listening(port: int, count: int, paths: list[str]) -> Iterator[list[int]]:
    """Let another process listen to so many streams; at the end the events it heard are known."""
    command = [sys.executable, "-m", "tests.bench.listen", str(port), str(count), *paths]
    heard: list[int] = []
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as listener:
        assert listener.stdin is not None
        assert listener.stdout is not None
        assert listener.stdout.readline() == "ready\n"
        yield heard
        time.sleep(0.3)
        listener.stdin.close()
        heard.append(int(listener.stdout.readline()))


def new_games(port: int, count: int) -> list[Game]:
    """Return so many games, each begun."""
    with closing(Connection(port)) as connection:
        games = [Game(connection) for _ in range(count)]
        for game in games:
            act(connection, game)
    return games


def act(connection: Connection, game: Game) -> float:
    """Play one action; return the milliseconds it took."""
    path, body = game.next_request()
    began = time.perf_counter()
    answer = connection.post(path, body)
    taken_ms = 1000 * (time.perf_counter() - began)
    game.read(answer)
    return taken_ms


def act_for(port: int, games: list[Game], seconds: float) -> list[float]:
    """Play in the games in turn for so long, at most 40 actions each; at least one."""
    taken_ms: list[float] = []
    deadline = time.perf_counter() + seconds
    with closing(Connection(port)) as connection:
        while not taken_ms or (time.perf_counter() < deadline and len(taken_ms) < 40 * len(games)):
            taken_ms.append(act(connection, games[len(taken_ms) % len(games)]))
    return taken_ms


def events_path(game: Game) -> str:
    """Return the path of a game's stream."""
    return game.next_request()[0].replace("/actions", "/events")


def test_actions_beside_a_thousand_streams(api: Api) -> None:
    """One client at full speed, round after round: no streams, streams of the games it plays (four
    a game), streams of one game in which something happens twice a second.
    """
    show_command("thousand_streams")
    port = api.port
    kinds = ("0", "1,000", "1,000 of one game")
    taken_ms: dict[str, list[float]] = {kind: [] for kind in kinds}
    spent_ms: dict[str, list[float]] = {kind: [] for kind in kinds}
    for games in (new_games(port, GAMES) for _ in range(ROUNDS)):
        taken = taken_ms["0"]
        with api.spending(spent_ms["0"], taken):
            taken += act_for(port, games, ROUND_S)

        games, taken = new_games(port, GAMES), taken_ms["1,000"]
        with (
            listening(port, STREAMS, list(map(events_path, games))) as heard,
            api.spending(spent_ms["1,000"], taken),
        ):
            played = act_for(port, games, ROUND_S)
            taken += played
        assert heard == [STREAMS // GAMES * len(played)]

        games, watched = new_games(port, GAMES), new_games(port, 1)
        taken = taken_ms["1,000 of one game"]
        with listening(port, STREAMS, [events_path(watched[0])]) as heard:
            count = 0
            deadline = time.perf_counter() + ROUND_S
            with api.spending(spent_ms["1,000 of one game"], taken):
                while time.perf_counter() < deadline:
                    count += len(act_for(port, watched, 0.001))
                    taken += act_for(port, games, PACE_S)
        assert heard == [STREAMS * count]
    for kind in kinds:
        values = taken_ms[kind]
        quantiles = ", ".join(
            f"p{part:g} {percentile(values, part / 100):.2f} ms" for part in (50, 95, 99, 99.9)
        )
        show(f"an action with {kind} streams", values, "ms", f"; {quantiles}")
        show("its processor time, what is told to streams included", spent_ms[kind], "ms")
