"""The commands, and above all `run`: it starts everything, keeps it running, stops it all.

The web app and the workers are those of `standin.py`, the rest is real.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis as redis_py
from click.testing import CliRunner

from service import __version__
from service.cli import NotStarted, check_port_is_free, main
from service.embedded import RedisServer
from service.supervisor import Command, Patience, Supervisor, session_members

ROOT = Path(__file__).resolve().parent.parent
STANDIN = ROOT / "tests" / "standin.py"

IMPATIENT = Patience(stop_s=0.5, first_pause_s=0.05, longest_pause_s=0.2, early_ends=3)


def free_port() -> int:
    """Return a port that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_running(pid: int) -> bool:
    """Tell whether the process exists and is no zombie."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def wait_until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Wait for the condition; fail when it does not come true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


class Running:
    """`python -m service run` with the stand-ins, as its own process."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.port = free_port()
        self.notes = folder
        inherited = {key: value for key, value in os.environ.items() if key != "REDIS_URL"}
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "service", "run", "--port", str(self.port)),
                *("--data-dir", str(folder / "data"), "--app", "tests.standin:app"),
                *("--worker", f"{sys.executable} {STANDIN}"),
            ],
            cwd=ROOT,
            env={**inherited, "STANDIN_DIR": str(folder), "WEB_CONCURRENCY": "1", **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self.stdout = self.process.stdout
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.stdout:
            self.lines.append(line.rstrip("\n"))

    def says(self, pattern: str) -> bool:
        return any(re.search(pattern, line) for line in self.lines)

    def pid_of(self, name: str) -> int:
        """Return the process that a stand-in noted."""
        note = self.notes / name
        wait_until(lambda: note.exists() and note.read_text())
        return int(note.read_text())

    def get(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def end(self, number: int) -> int:
        """Send a signal and return the exit code once everything was said."""
        self.process.send_signal(number)
        code = self.process.wait(20)
        self.close()
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(20)
        self.stdout.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Return a function that starts the service; it is killed if the test did not stop it."""
    started: list[Running] = []

    def start_one(**env: str) -> Running:
        started.append(Running(tmp_path, **env))
        return started[-1]

    yield start_one
    for running in started:
        running.close()


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_run_starts_everything_and_a_signal_stops_it(start, number):
    """One line each, the addresses for people when requests are answered, then nothing left."""
    running = start()
    wait_until(lambda: running.says(r"^docs +http://127\.0\.0\.1:\d+/docs$"))
    assert running.says(r"^table +http://127\.0\.0\.1:\d+/$")
    web, redis_url = running.get().split()
    pids = [int(web), running.pid_of("bots"), running.pid_of("hints")]
    for name in ("redis", "web", "bots", "hints"):
        assert running.says(f"^{name} ")
    assert all(map(is_running, pids))
    assert redis_url.startswith("unix:///")

    began = time.monotonic()
    code = running.end(number)

    assert 0 == code
    assert time.monotonic() - began < 10
    assert "stopped" == running.lines[-1]
    assert not any(map(is_running, pids))
    assert not list(running.notes.glob("data/**/*.sock"))


@pytest.mark.e2e
def test_run_uses_the_redis_that_it_is_told_to(start, redis_url):
    """REDIS_URL set: no server is started."""
    running = start(REDIS_URL=redis_url)
    wait_until(lambda: running.says("^docs "))

    assert redis_url == running.get().split()[1]
    assert not running.says("^redis ")
    assert not (running.notes / "data").exists()
    assert 0 == running.end(signal.SIGINT)


@pytest.mark.e2e
def test_a_worker_that_dies_is_started_again(start):
    """And it is said."""
    running = start()
    first = running.pid_of("bots")
    (running.notes / "bots").unlink()

    os.kill(first, signal.SIGKILL)

    assert first != running.pid_of("bots")
    wait_until(lambda: running.says("^bots +started again"))
    assert running.says(r"^bots +was killed by SIGKILL; starting it again in 0\.5 s")
    assert 0 == running.end(signal.SIGTERM)


@pytest.mark.e2e
@pytest.mark.slow
def test_a_service_that_cannot_run_gives_up_and_stops_the_rest(start):
    """A worker that ends again and again ends the command with a failure."""
    running = start(STANDIN_BROKEN="hints")
    bots = running.pid_of("bots")

    assert 1 == running.process.wait(60)
    running.close()
    assert running.says(r"^hints +ended unasked with exit code 3, 5 times in a row; giving up")
    assert not is_running(bots)


@pytest.mark.e2e
def test_a_supervisor_that_is_killed_leaves_nothing_behind(start):
    """The kernel tells the children; the next start finds port and data free."""
    running = start()
    wait_until(lambda: running.says("^docs "))
    pids = [int(running.get().split()[0]), running.pid_of("bots"), running.pid_of("hints")]

    running.process.kill()

    wait_until(lambda: not any(map(is_running, pids)))
    again = start()
    wait_until(lambda: again.says("^docs "))
    assert 0 == again.end(signal.SIGINT)


def test_a_taken_port_is_named():
    """Before anything is started."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        answer = CliRunner().invoke(main, ["run", "--port", str(port)])

        assert 1 == answer.exit_code
        assert f"port {port} on 127.0.0.1 is taken" in answer.output
        with pytest.raises(NotStarted):
            check_port_is_free("127.0.0.1", port)


def test_a_missing_redis_is_named(tmp_path):
    """Both the one that was asked for and the one that cannot be found; passwords are not shown."""
    port = str(free_port())
    away = {"REDIS_URL": "redis://:pa55@127.0.0.1:1/0"}
    nowhere = {"REDIS_URL": "", "REDIS_SERVER_BIN": str(tmp_path / "missing")}

    answers = [
        CliRunner().invoke(main, ["run", "--port", port, "--data-dir", str(tmp_path)], env=env)
        for env in (away, nowhere)
    ]

    assert [1, 1] == [answer.exit_code for answer in answers]
    assert "no Redis answers at REDIS_URL (redis://***@127.0.0.1:1/0)" in answers[0].output
    assert "no Redis server found" in answers[1].output


def test_a_wrong_setting_is_named():
    """The same sentence as ConfigError's."""
    answer = CliRunner().invoke(
        main, ["run", "--port", str(free_port())], env={"PERSIAN_RUMMY_AUTH": "maybe"}
    )

    assert 1 == answer.exit_code
    assert "PERSIAN_RUMMY_AUTH: 'maybe' is not usable" in answer.output


def test_the_version_is_told():
    """It is the package's."""
    assert __version__ in CliRunner().invoke(main, ["--version"]).output


def run_in_steps(supervisor: Supervisor, *steps: Callable[[], object]) -> int:
    """Run the supervisor; each time a condition of `steps` is true, stop it once (more)."""

    def watch() -> None:
        for step in steps:
            deadline = time.monotonic() + 20
            try:
                while not step() and time.monotonic() < deadline:
                    time.sleep(0.02)
            finally:
                supervisor.stop()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        return supervisor.run()
    finally:
        watcher.join()


def worker(name: str) -> Command:
    """Return the stand-in worker of a queue."""
    return Command(name=name, argv=(sys.executable, str(STANDIN), name))


def test_what_does_not_stop_is_killed_with_its_children(tmp_path):
    """A work-horse that computes and listens to nothing does not outlive the command."""
    lines: list[str] = []
    supervisor = Supervisor(
        [worker("deaf")],
        env={**os.environ, "STANDIN_DIR": str(tmp_path), "STANDIN_DEAF": "deaf"},
        patience=IMPATIENT,
        say=lines.append,
    )

    code = run_in_steps(supervisor, (tmp_path / "deaf").exists)

    pids = [int((tmp_path / name).read_text()) for name in ("deaf", "deaf-child")]
    assert 0 == code
    assert "deaf    did not stop in time; killed" in lines
    assert not any(map(is_running, pids))


def test_a_second_signal_does_not_wait(tmp_path):
    """Ctrl-C twice ends it at once."""
    lines: list[str] = []
    supervisor = Supervisor(
        [worker("deaf")],
        env={**os.environ, "STANDIN_DIR": str(tmp_path), "STANDIN_DEAF": "deaf"},
        patience=Patience(stop_s=60),
        say=lines.append,
    )

    began = time.monotonic()
    run_in_steps(supervisor, (tmp_path / "deaf").exists, lambda: "stopping deaf" in lines)

    assert time.monotonic() - began < 20
    assert not is_running(int((tmp_path / "deaf").read_text()))


def test_pauses_double_until_the_supervisor_gives_up(tmp_path):
    """Each early end waits longer; three in a row are enough here."""
    lines: list[str] = []
    supervisor = Supervisor(
        [worker("hints")],
        env={**os.environ, "STANDIN_DIR": str(tmp_path), "STANDIN_BROKEN": "hints"},
        patience=IMPATIENT,
        say=lines.append,
    )

    assert 1 == supervisor.run()
    pauses = [line.rpartition(" in ")[2] for line in lines if "starting it again" in line]
    assert ["0.05 s", "0.1 s"] == pauses
    assert lines[-2].endswith("3 times in a row; giving up")


def test_what_was_well_once_is_never_given_up(tmp_path):
    """It ends early more often than is borne of a new one, pauses longer each time, and comes."""
    lines: list[str] = []
    ran, is_broken = tmp_path / "ran", tmp_path / "broken"
    script = (
        f"[ -e {is_broken} ] && exit 3; echo $$ > {ran}.new; mv {ran}.new {ran}; exec sleep 600"
    )
    supervisor = Supervisor(
        [Command(name="web", argv=("sh", "-c", script), is_ready=ran.exists)],
        env=os.environ,
        patience=replace(IMPATIENT, early_s=600.0),
        say=lines.append,
        when_ready=["ready"],
    )

    def break_it() -> None:
        is_broken.touch()
        os.kill(int(ran.read_text()), signal.SIGKILL)

    def has_ended_often() -> bool:
        return sum("exit code 3" in line for line in lines) > IMPATIENT.early_ends + 1

    def mend_it() -> None:
        ran.unlink()
        is_broken.unlink()

    to_do = [(lambda: "ready" in lines, break_it), (has_ended_often, mend_it)]

    def is_over() -> bool:
        if to_do and to_do[0][0]():
            to_do.pop(0)[1]()
        return not to_do and ran.exists()

    assert 0 == run_in_steps(supervisor, is_over)
    pauses = [line.rpartition(" in ")[2] for line in lines if "starting it again" in line]
    assert ["0.05 s", "0.1 s", "0.2 s", "0.2 s"] == pauses[:4]


def test_a_redis_that_dies_is_started_again_with_its_data(tmp_path):
    """The games are in it."""
    lines: list[str] = []
    server = RedisServer(tmp_path / "data")
    supervisor = Supervisor([], env=os.environ, server=server, say=lines.append)
    killed: list[int] = []

    def kill_once() -> bool:
        if not killed and lines and server.process is not None:
            killed.append(server.process.pid)
            os.kill(server.process.pid, signal.SIGKILL)
        return bool(killed) and is_answered(server)

    assert 0 == run_in_steps(supervisor, kill_once)
    assert "redis   was killed by SIGKILL; starting it again in 0.5 s" in lines
    assert not is_running(killed[0])


def is_answered(server: RedisServer) -> bool:
    """Tell whether a server says that it is there."""
    try:
        with redis_py.Redis.from_url(server.url) as client:
            return bool(client.ping())
    except redis_py.RedisError:
        return False


def test_a_redis_that_cannot_be_started_for_a_while_is_tried_again(tmp_path):
    """Its data are in use: by what a killed one has left behind. Then it comes."""
    lines: list[str] = []
    server = RedisServer(tmp_path / "data")
    supervisor = Supervisor([], env=os.environ, server=server, patience=IMPATIENT, say=lines.append)
    holder: list[subprocess.Popen[str]] = []
    lock = tmp_path / "data" / "redis.lock"

    def kill_and_hold() -> None:
        os.kill(server.process.pid, signal.SIGKILL)
        command = ["flock", str(lock), "-c", "echo held; exec sleep 60"]
        holder.append(
            subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True)
        )
        # Else the supervisor's next Redis may have the lock first.
        assert holder[0].stdout is not None
        assert "held\n" == holder[0].stdout.readline()

    def is_refused_often() -> bool:
        return sum("is in use" in line for line in lines) > IMPATIENT.early_ends + 1

    def let_go() -> None:
        os.killpg(holder[0].pid, signal.SIGKILL)
        holder[0].communicate()

    to_do = [(lambda: lines, kill_and_hold), (is_refused_often, let_go)]

    def is_over() -> bool:
        if to_do and to_do[0][0]():
            to_do.pop(0)[1]()
        return not to_do and is_answered(server)

    try:
        assert 0 == run_in_steps(supervisor, is_over)
    finally:
        if holder and holder[0].poll() is None:
            let_go()
    pauses = [line.rpartition(" in ")[2] for line in lines if "starting it again" in line]
    assert ["0.05 s", "0.1 s", "0.2 s", "0.2 s"] == pauses[:4]


def test_the_members_of_a_session_are_found():
    """The leader and its children, and nobody else."""
    leader = subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True)
    try:
        wait_until(lambda: 2 == len(session_members(leader.pid)))

        assert leader.pid in session_members(leader.pid)
        assert os.getpid() not in session_members(leader.pid)
    finally:
        for pid in session_members(leader.pid):
            os.kill(pid, signal.SIGKILL)
        leader.wait()
