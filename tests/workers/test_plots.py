"""Pictures of what the arena has measured, from its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from workers.arena import PairResult, load_results, save_result
from workers.cli import main
from workers.quality import Calibration, load_calibrations, save_calibration

DECISIONS = [Calibration(10.0 * n, 5.0, 10.0 * n + 2, 1.0, 10.0 * n + 3) for n in range(5)]


def write_pairs(path: Path, first: str, second: str) -> None:
    """Write some pairs of games that went this way and that."""
    for number in range(6):
        margins = (40.0 - 30 * (number % 3), 20.0)
        result = PairResult(f"s{number}", margins, 1 + number % 2, (50, 50), (0.5, 0.25))
        save_result(path, first, second, result)


def draw(*words: str | Path) -> str:
    """Run `plot`, and return what it said."""
    result = CliRunner().invoke(main, ["plot", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_ladder_is_drawn_from_its_file(tmp_path: Path) -> None:
    """A bar a level that played; a file of matches will do."""
    file, picture = tmp_path / "ladder.jsonl", tmp_path / "ladder.png"
    write_pairs(file, "greedy", "novice")
    write_pairs(file, "casual", "greedy")

    said = draw("ladder", file, picture)

    assert len(load_results(file)) == 2
    assert "ladder.png" in said
    with Image.open(picture) as drawn:
        assert drawn.format == "PNG"
        colours = {colour for _, colour in drawn.convert("RGB").getcolors(1 << 20) or []}
    assert (0x2A, 0x7F, 0x78) in colours


def test_the_calibration_is_drawn_from_its_file(tmp_path: Path) -> None:
    """What was written is read back as it was."""
    file, picture = tmp_path / "calibration.jsonl", tmp_path / "calibration.png"
    for one in DECISIONS:
        save_calibration(file, one)

    draw("calibration", file, picture)

    assert load_calibrations(file) == DECISIONS
    with Image.open(picture) as drawn:
        assert drawn.format == "PNG"


@pytest.mark.parametrize(
    ("kind", "reason"), [("ladder", "has no game of 'greedy'"), ("calibration", "has no decision")]
)
def test_a_file_without_what_is_wanted_is_refused(tmp_path: Path, kind: str, reason: str) -> None:
    """In one line, and nothing is drawn."""
    file = tmp_path / "empty.jsonl"
    file.write_text("")

    result = CliRunner().invoke(main, ["plot", kind, str(file), str(tmp_path / "none.png")])

    assert result.exit_code == 1
    assert reason in result.output
    assert not (tmp_path / "none.png").exists()
