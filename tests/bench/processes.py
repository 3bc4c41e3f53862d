"""What the kernel says of a process."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_s(pids: list[int]) -> float:
    """Return the processor time that these processes have used."""
    ticks = 0
    for pid in pids:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(state[11]) + int(state[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def children_of(parent: int) -> list[int]:
    """Return the direct children of a process."""
    return [
        int(pid)
        for task in Path(f"/proc/{parent}/task").iterdir()
        for pid in (task / "children").read_text().split()
    ]


def memory_mb(pid: int) -> tuple[float, float]:
    """Return resident and private memory of a process, in MB of 10**6 bytes."""
    sizes: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, kilobytes = line.split()[:2]
        sizes[name.rstrip(":")] = int(kilobytes)
    own = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return sizes["Rss"] * 1024 / 1e6, own * 1024 / 1e6


def peak_mb(pid: int) -> float:
    """Return the most resident memory that a process has had, in MB of 10**6 bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
