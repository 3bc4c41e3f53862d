"""Compiled kernels, ready before the first job.

A kernel that is first called inside a job makes that job wait for its loading or compiling. So the
worker calls every kernel once before it takes a job. Compiled code is kept on disk in a folder
named after the kernels' sources, the versions and the interpreter: numba notices a changed file but
not a changed function in another file. A lock keeps two processes that start together from writing
one cache.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
KERNEL_FOLDERS = ("service/rules", "workers/search")
WARM_UP_SEED = "warm-up"


def kernels_digest() -> str:
    """Return 16 hexadecimal digits of everything that compiled code depends on, but the processor
    (numba's own key has that).
    """
    digest = hashlib.sha256()
    for part in ("numba", "llvmlite", "numpy"):
        digest.update(metadata.version(part).encode())
    digest.update(sys.version.encode())
    for folder in KERNEL_FOLDERS:
        for source in sorted((PROJECT / folder).glob("*.py")):
            digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def choose_cache(base: str = "") -> Path:
    """Point numba at the folder for these sources below `base` (default: the user's cache folder,
    else a temporary one); make it.

    Call before numba is imported. numba refuses a folder that it cannot write to, even to read from
    it; so of one that is there, cannot be written and holds this cache (it is part of an image) a
    copy is used, in a private temporary folder."""
    bases = [Path(base)] if base else [_user_cache(), Path(tempfile.gettempdir()) / "persian-rummy"]
    for candidate in bases:
        folder = candidate / kernels_digest()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if not os.access(folder, os.W_OK):
            if not any(folder.iterdir()):
                continue
            folder = _writable_copy(folder)
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        return folder
    raise OSError(f"no folder for compiled kernels can be written: {', '.join(map(str, bases))}")


def _writable_copy(cache: Path) -> Path:
    """Copy `cache` to a private temporary folder, always the same one, and return that.

    What is there already is kept: a worker that starts again copies nothing. Raises OSError when
    the temporary folder is somebody else's: compiled code is run, so nobody else may put it there.
    """
    private = Path(tempfile.gettempdir()) / f"persian-rummy-{os.getuid()}"
    private.mkdir(mode=0o700, exist_ok=True)
    found = private.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise OSError(f"{private} is not a folder of this user")
    copy = private / cache.name
    copy.mkdir(exist_ok=True)
    with _locked(copy):
        for source in cache.rglob("*.nb[ci]"):
            target = copy / source.relative_to(cache)
            if not target.exists():
                target.parent.mkdir(exist_ok=True)
                half = target.with_name(target.name + ".half")
                shutil.copyfile(source, half)
                half.replace(target)
    return copy


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "persian-rummy"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the cache's lock, where the folder can be written at all."""
    if not os.access(folder, os.W_OK):
        yield
        return
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def warm_up(cache: Path) -> float:
    """Load or compile every kernel by using it once; return the seconds that took."""
    start = time.monotonic()
    with _locked(cache):
        _use_every_kernel()
    return time.monotonic() - start


def _use_every_kernel() -> None:
    from service.rules.match import start_match
    from service.rules.view import view_match
    from workers.bots.registry import BOTS
    from workers.search.endgame import solve_endgame
    from workers.search.search import Search

    match = start_match(WARM_UP_SEED, 3)
    view = view_match(match, match.deal.turn)
    search = Search(view, WARM_UP_SEED, 50)
    search.run(50)
    search.sample([move.code for move in search.ranking()[:2]], 10)
    for level in ("random", "greedy"):
        BOTS[level].decide(view, WARM_UP_SEED)
    counts = tuple(count if seat == view.seat else 0 for seat, count in enumerate(view.hand_counts))
    solve_endgame(replace(view, stock_count=0, hand_counts=counts))
