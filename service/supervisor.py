"""Keep some processes running until told to stop: what ``make run`` is made of.

A small supervisor for one machine and one terminal; in a cluster the chart's deployments do this.
Each process gets a session of its own, so that Ctrl-C reaches only the supervisor, which then
stops them in order, Redis last, and whatever they left behind with them.

A process that ends unasked is started again, Redis too, after a pause that doubles while it keeps
ending early. One that was well once is never given up, however often it is killed: whatever ails it
now may pass. Only one that never was, whose settings are wrong or a part of which is missing, ends
the whole after a few tries.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from service.embedded import RedisServer, RedisServerError, dying_with_parent

TICK_S = 0.05
"""Seconds between two looks at the processes; a signal is acted on within it."""

KILL_S = 2.0
"""Seconds after which a process that was killed and is still there is left to the kernel."""

GAVE_UP = 1
"""Exit code when a process could not be kept running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to keep running."""

    name: str
    """What it is called in the lines that are shown."""

    argv: tuple[str, ...]
    """The command; its first word is a path or a name on PATH."""

    about: str = ""
    """What is shown beside its name when it starts."""

    is_ready: Callable[[], bool] | None = None
    """Tells whether it does its work already; None: as soon as it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the supervisor waits for what; all in seconds but the last."""

    stop_s: float = 5.0
    """From SIGTERM to SIGKILL."""

    first_pause_s: float = 0.5
    """Before a process that ended is started again; doubles each time that it ends early."""

    longest_pause_s: float = 15.0
    """The end of that doubling."""

    early_s: float = 10.0
    """A process that ends sooner than this after its start ended early."""

    early_ends: int = 5
    """So many early ends in a row of a process that never was well, and the supervisor gives up; 1
    or more."""


class _Endings:
    """How often one process has ended early, and what follows from it."""

    def __init__(self, patience: Patience, *, is_well: bool = False) -> None:
        self.is_well = is_well
        """Whether it ever did its work."""
        self.early = 0
        """Early ends in a row."""
        self._patience = patience

    def note(self, lived_s: float) -> None:
        """Note one more, after `lived_s`."""
        if lived_s >= self._patience.early_s:
            self.is_well = True
            self.early = 0
        else:
            self.early += 1

    @property
    def is_hopeless(self) -> bool:
        """Whether to give up."""
        return not self.is_well and self.early >= self._patience.early_ends

    @property
    def pause_s(self) -> float:
        """How long to wait before the next start."""
        # The pause has reached its longest long before a float ends.
        doublings = min(max(self.early - 1, 0), 64)
        return min(self._patience.first_pause_s * 2.0**doublings, self._patience.longest_pause_s)


class _Process:
    """One command while it runs, and its history."""

    def __init__(self, command: Command, patience: Patience) -> None:
        self.command = command
        self.popen: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.start_again_at: float | None = None
        self.endings = _Endings(patience)
        self.is_ready = False

    def start(self, env: Mapping[str, str]) -> None:
        self.popen = subprocess.Popen(
            dying_with_parent(self.command.argv),
            env=env,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.started_at = time.monotonic()
        self.start_again_at = None

    def signal(self, number: int) -> None:
        if self.popen is not None:
            # Never to a process that was waited for: its number may be another's by now.
            with suppress(ProcessLookupError):
                self.popen.send_signal(number)

    def is_running(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def kill_what_is_left(self) -> None:
        """Kill the process and every other one of its session (workers, work-horses)."""
        if self.popen is None:
            return
        # Until none is left: one may have started another meanwhile, and a kill takes a moment.
        deadline = time.monotonic() + KILL_S
        while (members := session_members(self.popen.pid)) and time.monotonic() < deadline:
            for pid in members:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(TICK_S / 10)
        self.popen.kill()
        self.popen.wait()
        self.popen = None


class Supervisor:
    """Runs a Redis of our own, if given, and some commands; ``run`` returns when all have ended."""

    def __init__(
        self,
        commands: Sequence[Command],
        *,
        env: Mapping[str, str],
        server: RedisServer | None = None,
        patience: Patience | None = None,
        say: Callable[[str], None] = print,
        when_ready: Sequence[str] = (),
    ) -> None:
        """Describe what to run, with which environment.

        ``say`` is called with each line for the person at the terminal, at last with those of
        ``when_ready`` once every command is ready.
        """
        self._patience = Patience() if patience is None else patience
        self._processes = [_Process(command, self._patience) for command in commands]
        self._env = dict(env)
        self._server = server
        # It is waited for at the start, so it was well.
        self._server_endings = _Endings(self._patience, is_well=True)
        self._server_started_at = 0.0
        self._start_server_at: float | None = None
        self._say = say
        self._when_ready = tuple(when_ready)
        self._stops_asked = 0

    def run(self) -> int:
        """Start everything and keep it running until SIGINT or SIGTERM; return the exit code.

        0 after a signal, 1 when a process that never was well could not be kept running. Raises
        RedisServerError when the server does not start. In each case nothing is left running. A
        second signal kills what has not stopped yet. To be called in the main thread.
        """
        with self._signals():
            try:
                self._start()
                return self._watch()
            finally:
                self._stop()

    def stop(self) -> None:
        """Ask ``run`` to stop everything; a second time: at once."""
        self._stops_asked += 1

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def handle(_number: int, _frame: FrameType | None) -> None:
            self.stop()

        before = {number: signal.signal(number, handle) for number in _STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self) -> None:
        if self._server is not None:
            self._server.start()
            self._server_started_at = time.monotonic()
            self._show("redis", f"{self._server.binary}, data in {_shown(self._server.data_dir)}")
        for process in self._processes:
            process.start(self._env)
            self._show(process.command.name, process.command.about)

    def _watch(self) -> int:
        announced = False
        while not self._stops_asked:
            for process in self._processes:
                if not self._keep_running(process):
                    return GAVE_UP
            self._keep_server_running()
            if not announced and all(map(_is_ready, self._processes)):
                announced = True
                for line in self._when_ready:
                    self._say(line)
            time.sleep(TICK_S)
        return 0

    def _keep_running(self, process: _Process) -> bool:
        """Start ``process`` again if it ended and its pause is over; False: it ended too often."""
        if process.is_running():
            return True
        now = time.monotonic()
        if process.start_again_at is None:
            return self._plan_restart(process, now)
        if now >= process.start_again_at:
            process.start(self._env)
            self._show(process.command.name, "started again")
        return True

    def _plan_restart(self, process: _Process, now: float) -> bool:
        ending = _ending(process.popen.returncode if process.popen else None)
        process.kill_what_is_left()
        endings = process.endings
        endings.note(now - process.started_at)
        if endings.is_hopeless:
            self._show(process.command.name, f"{ending}, {endings.early} times in a row; giving up")
            return False
        pause_s = endings.pause_s
        process.start_again_at = now + pause_s
        self._show(process.command.name, f"{ending}; starting it again in {pause_s:g} s")
        return True

    def _keep_server_running(self) -> None:
        """Start our Redis again if it ended and its pause is over; nobody waits for it here."""
        server = self._server
        if server is None:
            return
        now = time.monotonic()
        if self._start_server_at is None:
            if (code := server.poll()) is not None:
                server.stop()
                self._plan_server_restart(_ending(code), now)
        elif now >= self._start_server_at:
            self._start_server_at = None
            self._server_started_at = now
            try:
                server.launch()
            except RedisServerError as error:
                self._plan_server_restart(str(error), now)

    def _plan_server_restart(self, why: str, now: float) -> None:
        self._server_endings.note(now - self._server_started_at)
        pause_s = self._server_endings.pause_s
        self._start_server_at = now + pause_s
        self._show("redis", f"{why}; starting it again in {pause_s:g} s")

    def _stop(self) -> None:
        """Stop the commands together, then the server; kill what is slow or asked for twice."""
        asked_before = self._stops_asked
        running = [process for process in self._processes if process.is_running()]
        if running:
            self._say(f"stopping {', '.join(process.command.name for process in running)}")
        for process in running:
            process.signal(signal.SIGTERM)
        deadline = time.monotonic() + self._patience.stop_s
        while any(process.is_running() for process in running):
            if time.monotonic() > deadline or self._stops_asked > max(asked_before, 1):
                break
            time.sleep(TICK_S)
        for process in self._processes:
            if process.is_running():
                self._show(process.command.name, "did not stop in time; killed")
            process.kill_what_is_left()
        if self._server is not None:
            self._server.stop()
        self._say("stopped")

    def _show(self, name: str, text: str) -> None:
        self._say(f"{name:<7} {text}")


_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def session_members(session: int) -> list[int]:
    """Return the living processes of a session, its leader among them (Linux; elsewhere none)."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            # After the name, which may hold blanks and brackets: state, parent, group, session.
            state = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(state[3]) == session and state[0] not in "ZX":
                members.append(int(entry.name))
    return members


def _is_ready(process: _Process) -> bool:
    if not process.is_ready and process.is_running():
        is_ready = process.command.is_ready
        process.is_ready = is_ready is None or is_ready()
        # What can tell that it works has been well from then on; of others their age tells.
        process.endings.is_well |= process.is_ready and is_ready is not None
    return process.is_ready


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended unasked with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"


def _shown(path: Path) -> str:
    """Return the path as seen from here, if it is below."""
    here = Path.cwd()
    return f"{path.relative_to(here)}/" if path.is_relative_to(here) else str(path)
