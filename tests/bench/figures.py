"""How a figure is told: what, the command that measures it, the median and the spread."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence


def show(what: str, values: Sequence[float], unit: str, note: str = "") -> float:
    """Print the median of repeated measurements with quartiles and range; return the median."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    print(
        f"\n{what}: {_told(middle)} {unit} (quartiles {_told(low)} to {_told(high)}, "
        f"range {_told(min(values))} to {_told(max(values))}, n={len(values)}){note}",
        end="",
        flush=True,
    )
    return middle


def _told(value: float) -> str:
    """Return a number with four digits, or all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def show_command(test: str) -> None:
    """Print how to measure this alone, and on what it was measured."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"\n\n$ .venv/bin/python -m pytest tests/bench -m bench -s -k {test}"
        f"    # {os.cpu_count()} cores, load {load} at the start",
        end="",
    )


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which that part of `values` lies, the nearest one."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, round(part * (len(ranked) - 1)))]
