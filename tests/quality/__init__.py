"""Positions with deep values, made by `python -m workers arena suite`."""

from pathlib import Path

SUITE = Path(__file__).with_name("suite.jsonl")
