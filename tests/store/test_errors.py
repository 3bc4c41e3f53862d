"""What is told, and to whom, of a Redis that cannot be used."""

from __future__ import annotations

import pytest
from redis.exceptions import OutOfMemoryError, RedisError, ResponseError
from structlog.testing import capture_logs

from service.games.errors import StoreUnavailable
from service.store import errors
from service.store.connecting import connect
from service.store.errors import store_errors
from tests.e2e.harness import free_port


@pytest.fixture(autouse=True)
def not_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what another test let it tell."""
    monkeypatch.setattr(errors, "_told_at", float("-inf"))


def test_the_log_says_why_once_in_a_while() -> None:
    """Each request that is put off would say it again."""
    port = free_port()
    with connect(f"redis://127.0.0.1:{port}/0", 1.0) as client, capture_logs() as lines:
        for _ in range(3):
            with pytest.raises(StoreUnavailable) as away, store_errors():
                client.ping()

    (line,) = lines
    assert ("store_away", "warning", "ConnectionError") == (
        line["event"],
        line["log_level"],
        line["error"],
    )
    assert "refused" in line["why"]
    assert str(port) not in str(away.value)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OutOfMemoryError("Command # 1 (SET k canary) of pipeline caused error: OOM no"), "OOM"),
        (ResponseError("MISCONF canary"), "MISCONF"),
    ],
)
def test_a_command_that_redis_refused_is_not_told(error: RedisError, why: str) -> None:
    """redis-py puts it into the text of the error, with the cards that are in it."""
    with capture_logs() as lines, pytest.raises(StoreUnavailable), store_errors():
        raise error

    (line,) = lines
    assert (type(error).__name__, why) == (line["error"], line["why"])
    assert "canary" not in str(line)
