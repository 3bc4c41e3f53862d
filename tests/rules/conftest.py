"""The fixture `engine`: every test that takes it is run interpreted and compiled."""

from __future__ import annotations

import pytest

from tests.rules.engines import COMPILED, INTERPRETED, Engine


@pytest.fixture(params=[INTERPRETED, COMPILED], ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Return the rules as plain Python, then compiled; what is compiled stays so for the session."""
    chosen: Engine = request.param
    return chosen
