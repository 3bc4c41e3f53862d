"""Kernels that were compiled into an image are found again where nothing can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.charts import ROOT

NOBODY = 65534
# Root may write everywhere: it gives that right up. Other users have none to give.
BOUND = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
FIND = "import sys; from workers.warmup import choose_cache; print(choose_cache(sys.argv[1]))"
# Compiles nothing: numba tells of each kernel that it compiles.
USE = """
import sys
from pathlib import Path
from workers.warmup import choose_cache, warm_up
cache = choose_cache(sys.argv[1])
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    warm_up(cache)
print(len([each for _, each in recorder.buffer if each.is_start]))
"""


def python(code, *arguments, **env):
    """Run code with arguments; return what it prints."""
    done = subprocess.run(
        [*BOUND, sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def baked(tmp_path):
    """Return a folder as an image has it: compiled kernels, not to be written to."""
    warmed = python("from workers.warmup import *; c = choose_cache(); warm_up(c); print(c)")
    base = tmp_path / "kernels"
    shutil.copytree(warmed, base / Path(warmed).name)
    for path in (base, *base.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield base
    for path in (base, *base.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_baked_cache_is_used_by_a_copy_and_nothing_is_compiled(baked, tmp_path):
    """numba wants to write even where it only reads."""
    private = tmp_path / "tmp"
    private.mkdir()

    copy = Path(python(FIND, baked, TMPDIR=str(private)))

    (digest,) = baked.iterdir()
    assert copy.is_relative_to(private)
    assert digest.name == copy.name
    files = {path.relative_to(digest) for path in digest.rglob("*.nb[ci]")}
    assert files == {path.relative_to(copy) for path in copy.rglob("*.nb[ci]")}
    assert 0o700 == copy.parent.stat().st_mode & 0o777
    assert "0" == python(USE, baked, TMPDIR=str(private))


def test_a_second_start_copies_nothing(baked, tmp_path):
    """A container that starts again finds its copy; what is half there is finished."""
    private = tmp_path / "tmp"
    private.mkdir()
    copy = Path(python(FIND, baked, TMPDIR=str(private)))
    first, *others = sorted(copy.rglob("*.nb[ci]"))
    first.unlink()
    before = {path: path.stat().st_mtime_ns for path in others}

    again = Path(python(FIND, baked, TMPDIR=str(private)))

    assert copy == again
    assert first.exists()
    assert before == {path: path.stat().st_mtime_ns for path in others}


def test_a_folder_of_somebody_else_is_not_used(baked, tmp_path):
    """Compiled code is run: nobody else may put it there."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder that is somebody else's")
    private = tmp_path / "tmp"
    private.mkdir()
    theirs = private / f"persian-rummy-{os.getuid()}"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)

    with pytest.raises(AssertionError, match="not a folder of this user"):
        python(FIND, baked, TMPDIR=str(private))
