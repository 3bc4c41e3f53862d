"""The settings: where they come from, what is refused, what may be shown."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from service.config import (
    ClusterUrl,
    ConfigError,
    SentinelUrl,
    Settings,
    variable_of,
    without_password,
)

UNUSABLE = [
    ("PERSIAN_RUMMY_AUTH", "none"),
    ("REDIS_URL", "127.0.0.1:6379"),
    ("REDIS_URL", "http://127.0.0.1/"),
    ("REDIS_URL", "redis://127.0.0.1:port/0"),
    ("REDIS_URL", "unix:redis.sock"),
    ("QUEUE_REDIS_URL", "redis://"),
    ("REDIS_URL", "redis+sentinel://a:26379,b:26379"),
    ("REDIS_URL", "redis+sentinel:///games/0"),
    ("REDIS_URL", "redis+sentinel://a:26379,/games/0"),
    ("REDIS_URL", "redis+sentinel://a:port/games"),
    ("REDIS_URL", "redis+sentinel://a/games/zero"),
    ("REDIS_URL", "redis+sentinel://a/games?sentinel=b"),
    ("REDIS_URL", "redis+cluster://"),
    ("REDIS_URL", "redis+cluster://a:port"),
    ("REDIS_URL", "redis+cluster://a,b/1"),
    ("REDIS_URL", "redis+cluster://a?db=0"),
    ("QUEUE_REDIS_URL", "redis+cluster://a,b:7000"),
    # What redis-py would fail with at each connection, and not at the start.
    ("REDIS_URL", "redis://cache/zero"),
    ("REDIS_URL", "redis://cache/0?ssl_ca_certs=/etc/ca.crt"),
    ("REDIS_URL", "rediss://cache/0?ssl_ca_cert=/etc/ca.crt"),
    ("REDIS_URL", "rediss://cache/0?ssl_cert_reqs=maybe"),
    ("REDIS_URL", "rediss://cache/0?ssl_check_hostname=off"),
    ("REDIS_URL", "rediss://cache/0?ssl_keyfile=/etc/client.key"),
    ("REDIS_URL", "rediss+sentinel://a/games?ssl_keyfile=/etc/client.key"),
    ("REDIS_URL", "redis+sentinel://a/games?ssl_ca_certs=/etc/ca.crt"),
    ("REDIS_URL", "rediss+cluster://a?ssl_ca_certs="),
    ("REDIS_URL", "unix:///run/redis.sock?db=zero"),
    ("PERSIAN_RUMMY_WAIT_REPLICAS", "-1"),
    ("PERSIAN_RUMMY_FINISHED_TTL_S", "0"),
    ("PERSIAN_RUMMY_IDLE_TTL_S", "7d"),
    ("PERSIAN_RUMMY_HINT_TTL_S", "-1"),
    ("PERSIAN_RUMMY_IDEMPOTENCY_TTL_S", "1.5"),
    ("PERSIAN_RUMMY_MAX_BODY_BYTES", "10"),
    ("PERSIAN_RUMMY_MAX_WAIT_S", "nan"),
    ("PERSIAN_RUMMY_MAX_STREAM_S", "0"),
    ("PERSIAN_RUMMY_KEEP_ALIVE_S", "301"),
    ("PERSIAN_RUMMY_MAX_QUEUED_JOBS", "0"),
    ("PERSIAN_RUMMY_SWEEP_INTERVAL_S", "0"),
    ("PERSIAN_RUMMY_JOB_TIMEOUT_S", "inf"),
    ("PERSIAN_RUMMY_LOG_LEVEL", "INFO"),
    ("PERSIAN_RUMMY_LOG_FORMAT", "text"),
    ("PERSIAN_RUMMY_CORS_ORIGINS", "example.org"),
    ("PERSIAN_RUMMY_CORS_ORIGINS", "https://example.org/app"),
    ("PERSIAN_RUMMY_REDIS_TIMEOUT_S", "soon"),
    ("PERSIAN_RUMMY_REVIEW_TIMEOUT_S", "0"),
    ("PERSIAN_RUMMY_ACTIONS_PER_MINUTE", "-1"),
    ("PERSIAN_RUMMY_HINTS_PER_MINUTE", "some"),
    ("PERSIAN_RUMMY_REQUESTS_PER_MINUTE", "1.5"),
    ("PERSIAN_RUMMY_MAX_HINTS", "none"),
    ("PERSIAN_RUMMY_WEBHOOK_ADDRESSES", "private"),
    ("PERSIAN_RUMMY_METRICS_PORT", "65536"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:port"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"),
]


def test_without_variables_the_defaults_hold():
    """An empty environment is that of `make run`."""
    assert Settings() == Settings.from_env({})


def test_an_empty_variable_is_not_set():
    """As in a compose file that passes on what is not there."""
    env = {"PERSIAN_RUMMY_AUTH": "", "REDIS_URL": " ", "PERSIAN_RUMMY_JOB_TIMEOUT_S": ""}

    assert Settings() == Settings.from_env(env)


def test_every_variable_is_read():
    """Each field has a variable and takes its value from it."""
    settings = Settings.from_env(
        {
            "PERSIAN_RUMMY_AUTH": "required",
            "REDIS_URL": "redis://cache:6379/1",
            "QUEUE_REDIS_URL": "unix:///run/redis.sock?db=2",
            "PERSIAN_RUMMY_FINISHED_TTL_S": "1",
            "PERSIAN_RUMMY_IDLE_TTL_S": "2",
            "PERSIAN_RUMMY_HINT_TTL_S": "3",
            "PERSIAN_RUMMY_IDEMPOTENCY_TTL_S": "4",
            "PERSIAN_RUMMY_MAX_BODY_BYTES": "2048",
            "PERSIAN_RUMMY_MAX_WAIT_S": "0",
            "PERSIAN_RUMMY_MAX_STREAM_S": "60",
            "PERSIAN_RUMMY_KEEP_ALIVE_S": "5",
            "PERSIAN_RUMMY_MAX_QUEUED_JOBS": "5",
            "PERSIAN_RUMMY_SWEEP_INTERVAL_S": "0.25",
            "PERSIAN_RUMMY_JOB_TIMEOUT_S": "6",
            "PERSIAN_RUMMY_REVIEW_TIMEOUT_S": "600",
            "PERSIAN_RUMMY_ACTIONS_PER_MINUTE": "60",
            "PERSIAN_RUMMY_HINTS_PER_MINUTE": "6",
            "PERSIAN_RUMMY_REQUESTS_PER_MINUTE": "0",
            "PERSIAN_RUMMY_MAX_HINTS": "5",
            "PERSIAN_RUMMY_LOG_LEVEL": "debug",
            "PERSIAN_RUMMY_LOG_FORMAT": "console",
            "PERSIAN_RUMMY_CORS_ORIGINS": "https://example.org, http://127.0.0.1:3000",
            "PERSIAN_RUMMY_WEBHOOK_ADDRESSES": "any",
            "PERSIAN_RUMMY_NUMBA_CACHE_DIR": "/var/cache/kernels",
            "PERSIAN_RUMMY_WAIT_REPLICAS": "1",
            "PERSIAN_RUMMY_REDIS_TIMEOUT_S": "0.5",
            "PERSIAN_RUMMY_METRICS_PORT": "9090",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318",
        }
    )

    unchanged = [
        field.name
        for field in dataclasses.fields(Settings)
        if getattr(settings, field.name) == field.default
    ]
    assert [] == unchanged
    assert ("https://example.org", "http://127.0.0.1:3000") == settings.cors_origins
    assert 0.25 == settings.sweep_interval_s


def test_the_queue_is_in_the_same_redis_unless_told_otherwise():
    """QUEUE_REDIS_URL defaults to REDIS_URL, not to REDIS_URL's default."""
    settings = Settings.from_env({"REDIS_URL": "redis://cache:6379/1"})

    assert "redis://cache:6379/1" == settings.queue_redis_url


@pytest.mark.parametrize(("variable", "value"), UNUSABLE)
def test_an_unusable_value_is_refused_by_its_variables_name(variable, value):
    """The message names the variable and says what is allowed."""
    with pytest.raises(ConfigError, match=rf"^{variable}: .*allowed: ") as caught:
        Settings.from_env({variable: value})

    assert variable == caught.value.variable
    assert caught.value.allowed in str(caught.value)


def test_each_field_can_be_refused_or_takes_any_text():
    """UNUSABLE above forgets no field."""
    tried = {variable for variable, _ in UNUSABLE}
    untried = {variable_of(field.name) for field in dataclasses.fields(Settings)} - tried

    assert {"PERSIAN_RUMMY_NUMBA_CACHE_DIR"} == untried


def test_a_password_is_neither_shown_nor_in_an_error():
    """public() is logged at the start, and errors are printed."""
    url = "redis://user:pa55@cache:6379/0"
    collector = "https://user:pa55@collector:4318"
    settings = Settings.from_env({"REDIS_URL": url, "OTEL_EXPORTER_OTLP_ENDPOINT": collector})

    with pytest.raises(ConfigError) as caught:
        Settings.from_env({"REDIS_URL": "http://user:pa55@cache"})

    assert "pa55" not in repr(settings.public())
    assert "pa55" not in str(caught.value)
    assert "redis://***@cache:6379/0" == settings.public()["redis_url"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("rediss://:p%40ss@[::1]:6379/0", "rediss://***@[::1]:6379/0"),
        ("unix:///run/redis.sock?db=0", "unix:///run/redis.sock?db=0"),
        ("unix:///run/redis.sock?password=pa55&db=0", "unix:///run/redis.sock?password=***&db=0"),
        (
            "redis+sentinel://u:p@a,b:1/games/0?sentinel_username=s&sentinel_password=pa55",
            "redis+sentinel://***@a,b:1/games/0?sentinel_username=s&sentinel_password=***",
        ),
    ],
)
def test_a_url_is_shown_without_its_password(url, shown):
    """User names go too: some providers put the key there."""
    assert shown == without_password(url)


def test_a_url_of_sentinels_is_read():
    """Hosts with or without a port, percent-encoded passwords, TLS, the Sentinels' own login."""
    url = (
        "rediss+sentinel://me:p%40%2Fs@s1.example.org,[::1]:26380/games-1/3"
        "?sentinel_password=q%26&ssl_ca_certs=/etc/ca.crt"
    )

    read = SentinelUrl.parse(Settings.from_env({"REDIS_URL": url}).redis_url)

    assert read == SentinelUrl(
        (("s1.example.org", 26379), ("::1", 26380)),
        "games-1",
        3,
        True,
        "me",
        "p@/s",
        {"sentinel_password": "q&", "ssl_ca_certs": "/etc/ca.crt"},
    )
    assert SentinelUrl.parse("rediss://cache:6379/0") is None


def test_a_url_of_a_cluster_is_read():
    """Some of its nodes, percent-encoded passwords, TLS; no number of a database."""
    url = "rediss+cluster://me:p%40%2Fs@n1.example.org,[::1]:7000/?ssl_ca_certs=/etc/ca.crt"
    env = {"REDIS_URL": url, "QUEUE_REDIS_URL": "redis://cache"}

    read = ClusterUrl.parse(Settings.from_env(env).redis_url)

    assert read == ClusterUrl(
        (("n1.example.org", 6379), ("::1", 7000)),
        True,
        "me",
        "p@/s",
        {"ssl_ca_certs": "/etc/ca.crt"},
    )
    assert ClusterUrl.parse("redis+sentinel://cache/games") is None


def test_queues_are_not_put_on_a_cluster_for_want_of_another_place():
    """RQ cannot be on one; the message says so, and shows no password."""
    with pytest.raises(ConfigError) as refused:
        Settings.from_env({"REDIS_URL": "redis+cluster://:pa55@a,b"})

    assert refused.value.variable == "QUEUE_REDIS_URL"
    assert "REDIS_URL is a cluster" in str(refused.value)
    assert "pa55" not in str(refused.value)


def test_settings_cannot_be_changed():
    """They are read once."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().auth = "required"


def test_every_field_has_a_line_about_it():
    """Unit and range stand below each field."""
    lines = [line.strip() for line in inspect.getsource(Settings).splitlines()]

    for field in dataclasses.fields(Settings):
        place = next(i for i, line in enumerate(lines) if line.startswith(f"{field.name}: "))
        assert lines[place + 1].startswith('"""'), field.name
