"""Build the image and hold it to what its Dockerfile says: `make image-check`.

No container engine is needed, only Linux, root, and Debian's buildah (with debootstrap, where
the base image cannot be pulled: a stand-in of the same packages is made then). What was built runs
as its user on a read-only root, with /tmp and /dev/shm in memory, in name spaces of its own, beside
a Redis of this machine on loopback. Not part of the tests: it takes some minutes and the network.

Prints one line a check, with what was measured; ends with 1 when one fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from service.embedded import find_server_binary  # noqa: E402
from workers.main import QUEUES  # noqa: E402

BASE = "docker.io/library/debian:bookworm-slim"
IMAGE = "localhost/persian-rummy:check"
LARGEST_MB = 400
API_READY_S = 2.0
WORKER_READY_S = 3.0
BUILDAH_ENV = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
# Read-only root, own process ids; what is killed leaves nothing behind.
SANDBOX = """
set -eu
root=$1 ; shift
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root/tmp"
mkdir "$root/tmp/files" && mount --bind "$FILES" "$root/tmp/files"
exec chroot --userspec "$IMAGE_USER" "$root" /usr/bin/env -i "$@"
"""


class CannotCheck(RuntimeError):
    """Something that the check needs is not here; the message is a sentence for a person."""


def buildah(*arguments: str) -> str:
    """Run buildah and return what it prints."""
    done = subprocess.run(
        ["buildah", *arguments], env=BUILDAH_ENV, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotCheck(f"buildah {arguments[0]} failed:\n{done.stderr[-3000:]}")
    return done.stdout.strip()


def check_needs() -> None:
    """Raise CannotCheck unless everything that is needed is here."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise CannotCheck("`make image-check` needs Linux and root: it mounts and changes root.")
    missing = [name for name in ("buildah", "unshare", "chroot") if shutil.which(name) is None]
    if missing:
        raise CannotCheck(
            f"`make image-check` needs {' and '.join(missing)}: "
            "apt-get install buildah debootstrap util-linux"
        )


def make_base() -> str:
    """Have the base image, pulled or made; return which it was."""
    with suppress(CannotCheck):
        buildah("inspect", "--type", "image", BASE)
        return "the base image that is here"
    with suppress(CannotCheck):
        buildah("pull", "--quiet", BASE)
        return "the base image, pulled"
    if shutil.which("debootstrap") is None:
        raise CannotCheck(f"{BASE} cannot be pulled, and there is no debootstrap to make it.")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", "bookworm", str(root)],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if made.returncode:
            raise CannotCheck("debootstrap could not make a base: is Debian's archive reached?")
        # What the slim images leave out.
        for pattern in (
            *("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale"),
            *("var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*"),
        ):
            for path in root.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        container = buildah("from", "--pull-never", "scratch")
        buildah("add", "--quiet", container, str(root), "/")
        buildah("commit", "--quiet", "--rm", container, BASE)
    return "a stand-in for the base image, made by debootstrap"


def build() -> float:
    """Build the image from the project; return the seconds that took."""
    arguments = ["bud", "--pull-never", "--network", "host", "--format", "docker", "--layers"]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        authority = os.environ.get("PIP_CERT")
        if authority:
            # An authority that this machine's pip was told to trust.
            config = Path(folder) / "pip.conf"
            config.write_text("[global]\ncert = /run/authority.crt\n")
            arguments += ["--volume", f"{config}:/etc/pip.conf:ro"]
            arguments += ["--volume", f"{authority}:/run/authority.crt:ro"]
        buildah(*arguments, "--tag", IMAGE, str(ROOT))
    return time.monotonic() - start


class Image:
    """The built image: its configuration, and its files at `root`."""

    def __init__(self, root: Path, files: Path) -> None:
        """Read the configuration; `files` are put into each container at /tmp/files."""
        self.root = root
        self.files = files
        told = json.loads(buildah("inspect", "--type", "image", IMAGE))
        self.config: dict[str, Any] = told["Docker"]["config"]
        (listed,) = json.loads(buildah("images", "--json", IMAGE))
        self.size = listed["size"]

    def start(
        self, command: Sequence[str], env: dict[str, str], log: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Run a command in a container of its own, behind the image's entry point."""
        variables = self.config["Env"] + [f"{name}={value}" for name, value in env.items()]
        argv = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "sh", "-c"]
        argv += [SANDBOX, "sh", str(self.root), *variables, *self.config["Entrypoint"], *command]
        out = subprocess.PIPE if log is None else log.open("wb")
        return subprocess.Popen(
            argv,
            env={**os.environ, "IMAGE_USER": self.config["User"], "FILES": str(self.files)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )

    def run(self, command: Sequence[str], env: dict[str, str] | None = None) -> str:
        """Run a command to its end; return what it prints, raise AssertionError when it fails."""
        process = self.start(command, env or {})
        told = process.communicate(timeout=180)[0].decode()
        assert process.returncode == 0, f"{' '.join(command)[:80]} ended so:\n{told}"
        return told


@contextmanager
def mounted() -> Iterator[Path]:
    """Mount the image's files and return where."""
    container = buildah("from", "--pull-never", IMAGE)
    try:
        yield Path(buildah("mount", container))
    finally:
        buildah("rm", container)


@contextmanager
def redis_on_loopback() -> Iterator[str]:
    """Run a Redis on a free port of this machine; return its URL."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [str(find_server_binary().path), "--bind", "127.0.0.1", "--port", str(port)]
        server = subprocess.Popen(
            [*command, "--save", "", "--dir", folder], stdout=subprocess.DEVNULL
        )
        url = f"redis://127.0.0.1:{port}/0"
        try:
            with redis.Redis.from_url(url) as client:
                wait_for(lambda: is_up(client), 10)
            yield url
        finally:
            server.terminate()
            server.wait()


def is_up(client: Any) -> bool:
    """Tell whether Redis answers."""
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(is_so: Callable[[], Any], timeout_s: float) -> float:
    """Wait until it is so; return the seconds that took; AssertionError when it takes longer."""
    start = time.monotonic()
    while not is_so():
        assert time.monotonic() - start < timeout_s, f"not so after {timeout_s:g} s"
        time.sleep(0.01)
    return time.monotonic() - start


def answers(url: str) -> bool:
    """Tell whether a GET is answered with 200."""
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def descendants(pid: int) -> list[int]:
    """Return all processes below one."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found[1:]


def loaded(pid: int, library: str) -> bool:
    """Tell whether a process below `pid` has a library in its memory."""
    maps = []
    for each in descendants(pid):
        with suppress(OSError):
            maps.append(Path(f"/proc/{each}/maps").read_text())
    return any(library in text for text in maps)


def memory_mb(pid: int) -> float:
    """Return the memory of all processes below `pid`, what they share counted once."""
    total = 0
    for each in descendants(pid):
        with suppress(OSError):
            (line,) = re.findall(
                r"(?m)^Pss:\s+(\d+)", Path(f"/proc/{each}/smaps_rollup").read_text()
            )
            total += int(line)
    return total / 1024


def end(process: subprocess.Popen[bytes]) -> int:
    """Tell the container's first process to stop, as an engine does; return its exit code."""
    (first, *_) = descendants(process.pid)
    os.kill(first, signal.SIGTERM)
    return process.wait(timeout=60)


def is_raised(path: Path) -> bool:
    """Tell whether a file makes whoever runs it its owner."""
    return path.is_file() and not path.is_symlink() and bool(path.stat().st_mode & 0o6000)


def check_files(image: Image) -> Iterator[str]:
    """Check what is in the image and what is not."""
    megabytes = float(re.sub(r"[^0-9.]", "", image.size))
    assert image.size.endswith(" MB"), image.size
    assert megabytes < LARGEST_MB, image.size
    yield f"{image.size}, below {LARGEST_MB}"
    assert image.config["User"] == "10001:10001"
    labels = image.config["Labels"]
    wanted = ("title", "description", "licenses", "version", "revision", "created")
    assert {f"org.opencontainers.image.{name}" for name in wanted} <= labels.keys()
    yield "user 10001, labels"
    tools = [
        *("gcc", "cc", "ld", "as", "strip", "make", "pip", "pip3", "uv", "curl", "wget", "git"),
        *(
            "apt",
            "apt-get",
            "dpkg",
            "perl",
            "su",
            "mount",
            "pytest",
            "valkey-server",
            "redis-server",
        ),
    ]
    image.run(["sh", "-c", f"! command -v {' || command -v '.join(tools)}"])
    grown = [path for path in image.root.rglob("*") if is_raised(path)]
    assert not grown, grown
    yield "no build tool, no installer, no server of Redis, nothing that runs as its owner"
    missing = image.run(["sh", "-c", LIBRARIES]).split("\n")
    assert [each for each in missing if each and "_dbm." not in each] == [], missing
    assert "ca-certificates" in (image.root / "var/lib/dpkg/status").read_text()
    yield "every library is there, and the list of packages"
    yield f"{image.run(['python', '-c', AUTHORITIES]).strip()} public authorities are trusted"
    packages = image.root.glob("opt/**/*.py")
    cached = {
        path.parent.parent / f"{path.name.split('.')[0]}.py"
        for path in image.root.glob("opt/**/*.pyc")
    }
    bare = [path for path in packages if path not in cached and path.stat().st_size]
    assert len(bare) < 10, bare[:10]
    yield f"byte-compiled ({len(cached)} modules, {len(bare)} that are no modules)"
    writable = image.run(
        [
            "sh",
            "-c",
            "find / -xdev -writable -not -type l -not -path '/proc/*' -not -path '/dev/*' "
            "-not -path '/tmp*' 2>/dev/null || true",
        ]
    )
    assert writable.split() == [], writable[:500]
    for path in ("/", "/opt", "/var/tmp", "/home"):
        image.run(["sh", "-c", f"! touch {path}/x 2>/dev/null"])
    yield "nothing to write to but /tmp and /dev/shm"


LIBRARIES = """
for file in $(find /usr /opt -type f -name '*.so*') $(find /usr/bin -type f); do
  if ldd "$file" 2> /dev/null | grep -q 'not found'; then echo "$file"; fi
done
"""
AUTHORITIES = """
import ssl
from pathlib import Path
places = ssl.get_default_verify_paths()
named = list(Path(places.capath).glob("*.0"))
assert len(named) > 100, places
print(len(named))
"""
WARM = """
import os, time
from workers.warmup import choose_cache, warm_up
start = time.monotonic()
cache = choose_cache(os.environ["PERSIAN_RUMMY_NUMBA_CACHE_DIR"])
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    warm_up(cache)
compiled = [each for _, each in recorder.buffer if each.is_start]
print(len(compiled), round(time.monotonic() - start, 2), cache)
"""


def check_kernels(image: Image) -> Iterator[str]:
    """Check that the baked kernels are found and nothing is compiled."""
    compiled, seconds, cache = image.run(["python", "-c", WARM]).split()
    assert compiled == "0", f"{compiled} kernels were compiled anew"
    yield f"kernels are found: 0 compiled, {seconds} s with the imports, from a copy in {cache}"


def check_api(image: Image, redis_url: str, logs: Path) -> Iterator[str]:
    """Check the API's role with the image's own command; its port is 8000."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 8000)) == 0:
            raise CannotCheck("port 8000 is taken on this machine; the image's command wants it.")
    command = image.config["Cmd"]
    seconds = []
    for _ in range(3):
        process = image.start(command, {"REDIS_URL": redis_url}, logs / "api.log")
        seconds.append(wait_for(lambda: answers("http://127.0.0.1:8000/readyz"), 60))
        healthy = subprocess.run(
            ["nsenter", "--target", str(descendants(process.pid)[0]), "--pid", "--mount", "--root",
             "--wd", "/opt/venv/bin/python", *image.config["Healthcheck"]["Test"][2:]], check=False
        )  # fmt: skip
        assert healthy.returncode == 0, "HEALTHCHECK fails"
        assert answers("http://127.0.0.1:8000/metrics")
        assert not loaded(process.pid, "llvmlite"), "the API has loaded the compiler"
        assert not loaded(process.pid, "numpy"), "the API has loaded numpy"
        megabytes = memory_mb(process.pid)
        code = end(process)
        assert code == 0, f"the API ended with {code} after SIGTERM"
    told = ", ".join(f"{each:.2f}" for each in seconds)
    assert min(seconds) < 3 * API_READY_S, told
    yield (
        f"API: ready after {told} s (aim {API_READY_S:g}), {megabytes:.0f} MB, no numba; "
        "ends with 0"
    )


def check_workers(image: Image, redis_url: str, logs: Path) -> Iterator[str]:
    """Check the workers' role: ready, a job of each queue done, ended with 0."""
    command = image.config["Cmd"]
    api = image.start(command, {"REDIS_URL": redis_url}, logs / "api.log")
    workers = {}
    with redis.Redis.from_url(redis_url) as client:
        for queue in QUEUES:
            work = ["python", "-m", "workers", "work", queue]
            workers[queue] = image.start(work, {"REDIS_URL": redis_url}, logs / f"{queue}.log")
            key = f"rq:workers:{queue}"
            seconds = wait_for(lambda key=key: client.scard(key), 60)  # type: ignore[misc]
            alive = image.run(
                ["python", "/tmp/files/worker_probe.py", "alive"], {"REDIS_URL": redis_url}
            )
            assert alive == ""
            megabytes = memory_mb(workers[queue].pid)
            assert seconds < 3 * WORKER_READY_S
            yield (
                f"worker of {queue}: ready after {seconds:.2f} s (aim {WORKER_READY_S:g}), "
                f"{megabytes:.0f} MB"
            )
    wait_for(lambda: answers("http://127.0.0.1:8000/readyz"), 60)
    for what in ("game", "hint"):
        told = image.run(
            ["python", "/tmp/files/smoke.py", what], {"API_URL": "http://127.0.0.1:8000"}
        )
        yield f"smoke test {what}: {told.strip()}"
    for queue, process in workers.items():
        code = end(process)
        assert code == 0, f"the worker of {queue} ended with {code} after SIGTERM"
    assert end(api) == 0
    yield "all end with 0 after SIGTERM"


def main() -> int:
    """Build, check, say."""
    try:
        check_needs()
        print(f"ok  {make_base()}", flush=True)
        print(f"ok  built in {build():.0f} s", flush=True)
        with mounted() as root, redis_on_loopback() as url, tempfile.TemporaryDirectory() as logs:
            image = Image(root, ROOT / "helm" / "files")
            for checks in (
                check_files(image),
                check_kernels(image),
                check_api(image, url, Path(logs)),
                check_workers(image, url, Path(logs)),
            ):
                for line in checks:
                    print(f"ok  {line}", flush=True)
    except CannotCheck as error:
        print(error, file=sys.stderr)
        return 2
    except AssertionError as error:
        print(f"FAILED  {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
