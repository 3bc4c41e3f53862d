"""Opponents that never change, so that strength can be compared across versions."""
