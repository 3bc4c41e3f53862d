"""Compiled kernels: one folder for one state of their sources, made once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers.warmup import choose_cache, kernels_digest

ROOT = Path(__file__).resolve().parents[2]


def files_of(folder: Path) -> dict[str, int]:
    """Return when each compiled file was written."""
    return {
        str(file.relative_to(folder)): file.stat().st_mtime_ns for file in folder.rglob("*.nb[ci]")
    }


def test_a_second_warm_up_compiles_nothing() -> None:
    """In a process of its own, from what this one's has left."""
    folder = choose_cache()
    before = files_of(folder)

    warmed = subprocess.run(
        [sys.executable, "-m", "workers", "warm"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )

    assert str(folder) in warmed.stdout
    assert before
    assert before == files_of(folder)


def test_the_folder_is_named_after_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a changed kernel never runs from an old cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")

    folder = choose_cache(str(tmp_path / "deep" / "below"))

    assert kernels_digest() == folder.name
    assert folder.is_dir()
    assert str(folder) == os.environ["NUMBA_CACHE_DIR"]


def test_no_folder_to_write_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(OSError, match="no folder for compiled kernels can be written"):
        choose_cache(str(tmp_path / "file" / "cache"))
