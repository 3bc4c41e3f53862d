"""The commands `keys create`, `list`, `revoke`: from a key to a request that it opens."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis as redis_py
from click.testing import CliRunner, Result

from service.app import create_app
from service.cli import main
from service.config import Settings
from service.embedded import RedisServer


@pytest.fixture(autouse=True)
def clean(redis: redis_py.Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands find the session's Redis, emptied."""
    monkeypatch.setenv("REDIS_URL", redis_url)


def run(*arguments: str) -> Result:
    """Run `persian-rummy keys …`."""
    return CliRunner().invoke(main, ["keys", *arguments])


def status_with(redis_url: str, key: str | None) -> int:
    """Ask for the list of games where keys are required; return the status."""
    settings = Settings.from_env({"REDIS_URL": redis_url, "PERSIAN_RUMMY_AUTH": "required"})
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return create_app(settings).test_client().get("/games", headers=headers).status_code


def test_a_key_that_was_made_opens_the_service_until_it_is_revoked(redis_url: str) -> None:
    """At once, both times."""
    key = run("create", "my-app").output.strip()
    assert key.startswith("prk_")
    assert (401, 200) == (status_with(redis_url, None), status_with(redis_url, key))
    digits = run("list").output.split()[-1]

    revoked = run("revoke", digits)

    assert (0, "revoked a key of my-app\n") == (revoked.exit_code, revoked.output)
    assert 401 == status_with(redis_url, key)
    assert "" == run("list").output


def test_a_key_is_shown_once_and_not_kept(redis: redis_py.Redis) -> None:
    """Neither the list nor Redis has it."""
    secret = run("create", "my-app").output.strip().removeprefix("prk_")

    assert secret not in run("list").output
    for name in redis.scan_iter("*"):
        assert secret.encode() not in name
        assert secret.encode() not in (redis.dump(name) or b"")


def test_the_list_has_a_line_for_each_key() -> None:
    """By app and age."""
    for app in ("zebra", "ant", "zebra"):
        assert 0 == run("create", app).exit_code

    assert ["ant", "zebra", "zebra"] == [
        line.split()[0] for line in run("list").output.splitlines()
    ]


@pytest.mark.parametrize("app", ["", "local", "My App", "a" * 41, "-a"])
def test_a_name_that_is_none_is_refused(app: str) -> None:
    """With a sentence and nothing made."""
    made = run("create", "--", app)

    assert 1 == made.exit_code
    assert "is no name for an app" in made.output
    assert "" == run("list").output


@pytest.mark.parametrize("digits", ["", "0", "0123456789ab"])
def test_no_key_is_revoked_that_was_not_named_in_full(digits: str) -> None:
    run("create", "my-app")

    refused = run("revoke", "--", digits)

    assert 1 == refused.exit_code
    assert "give the 12 digits" in refused.output
    assert "my-app" in run("list").output


def test_without_redis_the_command_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDIS_URL")

    listed = run("--data-dir", str(tmp_path), "list")

    assert 1 == listed.exit_code
    assert "no Redis answers at unix://" in listed.output
    assert "make run" in listed.output


def test_the_redis_that_run_has_started_is_found_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any variable set, beside `make run`."""
    monkeypatch.delenv("REDIS_URL")
    with RedisServer(tmp_path / "redis", durable=False):
        made = run("--data-dir", str(tmp_path), "create", "my-app")

        assert made.output.startswith("prk_")
        assert "my-app" in run("--data-dir", str(tmp_path), "list").output


def test_a_key_is_made_for_some_scopes_and_listed_with_them(redis_url: str) -> None:
    """`--app` and `--scope`; a key of the sandbox is marked."""
    made = run("create", "--app", "adviser", "--scope", "hints", "--scope", "admin")
    run("create", "tester", "--test")

    assert made.exit_code == 0
    assert 403 == status_with(redis_url, made.output.strip())
    listed = [line.split() for line in run("list").output.splitlines()]
    assert ["hints,admin"] == listed[0][2:-1]
    assert ["play,hints,admin", "test"] == listed[1][2:-1]


@pytest.mark.parametrize(
    "arguments",
    [["app", "--scope", "everything"], ["app", "--app", "app"], [], ["app", "--scope"]],
)
def test_a_key_that_cannot_be_is_not_made(arguments: list[str]) -> None:
    """An unknown scope, an app named twice or not at all."""
    assert run("create", *arguments).exit_code == 2
    assert "" == run("list").output
