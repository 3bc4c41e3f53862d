"""The fixture `engine`: every test that takes it is run interpreted and compiled."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.rules.engines import COMPILED, INTERPRETED, Engine

# The first example of a property may compile kernels, which takes seconds.
settings.register_profile("rules", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rules")


@pytest.fixture(
    scope="session", params=[INTERPRETED, COMPILED], ids=lambda engine: str(engine.name)
)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Return the rules as plain Python, then compiled (once a session)."""
    chosen: Engine = request.param
    return chosen
