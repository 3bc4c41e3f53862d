"""The settings of one process, read once from the environment.

``Settings.from_env`` is the only reader of environment variables; everything else is handed a
``Settings``. A value that cannot be used stops the start with a ``ConfigError`` that names the
variable and says what is allowed. This module knows no other part of the service.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

Auth = Literal["optional", "required"]
WebhookAddresses = Literal["public", "any"]
LogFormat = Literal["json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]

PREFIX = "PERSIAN_RUMMY_"
DAY_S = 24 * 60 * 60
SENTINEL_SCHEMES = ("redis+sentinel", "rediss+sentinel")
SENTINEL_PORT = 26379
CLUSTER_SCHEMES = ("redis+cluster", "rediss+cluster")
REDIS_PORT = 6379
TLS_OPTIONS = {
    "ssl_ca_certs": r".+",
    "ssl_certfile": r".+",
    "ssl_keyfile": r".+",
    "ssl_cert_reqs": "none|optional|required",
    "ssl_check_hostname": "true|false",
}
"""Options of every ``rediss`` URL by redis-py's names, and what each may be: the authority's
certificate, our own certificate and its key where Redis asks for one, and what is checked of
Redis's."""


class ConfigError(ValueError):
    """A setting that cannot be used.

    Carries the variable, the value given and a sentence about what is allowed. The value is left
    out of the message where it may hold a password.
    """

    def __init__(self, variable: str, value: str, allowed: str, *, secret: bool = False) -> None:
        """Say which variable is wrong, what it holds (unless secret) and what it may hold."""
        self.variable = variable
        self.value = value
        self.allowed = allowed
        given = "the value given" if secret else repr(value)
        super().__init__(f"{variable}: {given} is not usable; allowed: {allowed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that may differ between two installations.

    The defaults are those of ``make run``. Each field is read from ``PERSIAN_RUMMY_`` and its name
    in capitals, but the URLs, which are read from ``REDIS_URL``, ``QUEUE_REDIS_URL`` and
    ``OTEL_EXPORTER_OTLP_ENDPOINT``.
    """

    auth: Auth = "optional"
    """``required``: every caller needs an app key; ``optional``: without one it is ``local``."""

    redis_url: str = "redis://127.0.0.1:6379/0"
    """Where the games are: ``redis://``, ``rediss://``, ``unix:///path/redis.sock?db=0``, or by
    Sentinels: ``redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DB`` (``SentinelUrl``), or a cluster:
    ``redis+cluster://HOST:PORT,HOST:PORT`` (``ClusterUrl``)."""

    queue_redis_url: str = "redis://127.0.0.1:6379/0"
    """Where the queues are, the same forms but a cluster; ``redis_url`` unless given."""

    finished_ttl_s: int = 7 * DAY_S
    """Seconds that a finished or abandoned game is kept; 1 to 10 years."""

    idle_ttl_s: int = 30 * DAY_S
    """Seconds that an open or running game is kept after its last action; 1 to 10 years."""

    hint_ttl_s: int = DAY_S
    """Seconds that a hint, or a turn played on request, can be read; 1 to 10 years."""

    idempotency_ttl_s: int = DAY_S
    """Seconds that the answer to an ``Idempotency-Key`` is kept; 1 to 10 years."""

    max_body_bytes: int = 64 * 1024
    """Bytes of the largest request body; 1,024 to 16 MiB."""

    max_wait_s: float = 30.0
    """Seconds that a request may wait for news (``?wait=``, ``Prefer: wait=``); 0 to 300."""

    max_stream_s: float = 3600.0
    """Seconds after which a stream of events ends; its client takes it up again; 0.05 to 86,400."""

    keep_alive_s: float = 15.0
    """Seconds of silence after which a stream sends a comment; 0.05 to 300."""

    max_queued_jobs: int = 1000
    """Jobs that may wait in one queue before callers are told to come back; 1 to 1,000,000."""

    sweep_interval_s: float = 1.0
    """Seconds between two searches for games whose bot is to move and has no job; 0.05 to 3,600."""

    job_timeout_s: int = 120
    """Seconds that one job may run; 1 to 3,600."""

    review_timeout_s: int = 1800
    """Seconds that the review of one game may take; 1 to 86,400."""

    actions_per_minute: int = 3000
    """Actions that one key or seat may post a minute; 0: no limit. The local app has none."""

    hints_per_minute: int = 300
    """Hints, bot moves, positions and reviews that one may ask for a minute; 0: no limit."""

    requests_per_minute: int = 12_000
    """All other requests of one key or seat a minute; 0: no limit."""

    max_hints: int = 100
    """Hints, bot moves and reviews of one key that may be queued or running, a tenth of them by the
    tokens of one game; 0: no limit."""

    log_level: LogLevel = "info"
    """The least important lines that are written: ``debug``, ``info``, ``warning``, ``error``."""

    log_format: LogFormat = "json"
    """``json``: one object a line, for machines; ``console``: for people."""

    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call the API (commas between them), or ``*``; none by default."""

    webhook_addresses: WebhookAddresses = "public"
    """Where webhooks and external seats may be: at ``public`` addresses only, or at ``any``, this
    machine and its neighbours too: for development, or where only friends have keys."""

    numba_cache_dir: str = ""
    """Folder of the compiled kernels, writable; empty: the workers choose one."""

    wait_replicas: int = 0
    """Replicas that must have a change of a game before it is acknowledged; 0 to 9. With less than
    all that a failover may choose from, what was acknowledged can still be lost."""

    redis_timeout_s: float = 2.0
    """Seconds to wait for Redis before a request is answered 503; 0.05 to 60."""

    metrics_port: int = 0
    """Port that alone serves ``/metrics``, and nothing else; 0: they are beside the API."""

    otlp_endpoint: str = ""
    """Where traces are sent, ``http://HOST:PORT``, as OTLP in JSON; empty: there are none."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from ``env`` (by default the process's); an empty variable is not set.

        Raises ConfigError at the first variable that cannot be used.

        >>> Settings.from_env({"PERSIAN_RUMMY_AUTH": "required"}).auth
        'required'
        """
        env = os.environ if env is None else env
        values: dict[str, Any] = {}
        for field, read in _READERS.items():
            text = env.get(variable_of(field), "").strip()
            if text:
                values[field] = read(variable_of(field), text)
        values.setdefault("queue_redis_url", values.get("redis_url", cls().redis_url))
        if ClusterUrl.parse(values["queue_redis_url"]) is not None:
            # RQ's scripts touch keys of many slots.
            raise ConfigError(
                "QUEUE_REDIS_URL", values["queue_redis_url"], _NO_CLUSTER, secret=True
            )
        return cls(**values)

    def public(self) -> dict[str, Any]:
        """Return the settings fit for a log line: without the passwords of the URLs."""
        shown = asdict(self)
        shown["redis_url"] = without_password(self.redis_url)
        shown["queue_redis_url"] = without_password(self.queue_redis_url)
        shown["otlp_endpoint"] = without_password(self.otlp_endpoint)
        shown["cors_origins"] = list(self.cors_origins)
        return shown


def variable_of(field: str) -> str:
    """Return the environment variable that a field of ``Settings`` is read from."""
    return _URL_VARIABLES.get(field, PREFIX + field.upper())


def without_password(url: str) -> str:
    """Return ``url`` with user and password replaced by ``***``.

    >>> without_password("redis://:secret@cache:6379/0")
    'redis://***@cache:6379/0'
    """
    without_user = re.sub(r"//[^/?#]*@", "//***@", url)
    return re.sub(r"([?&](?:sentinel_)?password=)[^&#]*", r"\1***", without_user)


@dataclass(frozen=True, slots=True)
class SentinelUrl:
    """A Redis that Sentinels know the address of."""

    sentinels: tuple[tuple[str, int], ...]
    """Host and port of each."""
    service: str
    """What they call the master."""
    database: int
    is_tls: bool
    """Whether Redis and the Sentinels are talked to over TLS."""
    username: str
    """At Redis; empty for none, as is the password."""
    password: str
    options: Mapping[str, str]
    """``sentinel_username``, ``sentinel_password`` and `TLS_OPTIONS`, as far as given."""

    @classmethod
    def parse(cls, url: str) -> SentinelUrl | None:
        """Read ``redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT],…/SERVICE[/DB][?OPTIONS]``.

        None for a URL of another scheme; raises ValueError for one that is no such URL. With
        ``rediss+sentinel`` all is TLS.

        >>> SentinelUrl.parse("redis+sentinel://a,b:26380/games/1").sentinels
        (('a', 26379), ('b', 26380))
        """
        parts = urlsplit(url)
        if parts.scheme not in SENTINEL_SCHEMES:
            return None
        username, password, hosts = _login_and_hosts(parts.netloc, SENTINEL_PORT)
        service, _, database = parts.path.removeprefix("/").partition("/")
        if not re.fullmatch(r"[A-Za-z0-9._-]+", service) or not re.fullmatch(r"\d{0,3}", database):
            raise ValueError("no service, or no database")
        is_tls = parts.scheme.startswith("rediss")
        return cls(
            hosts,
            service,
            int(database or 0),
            is_tls,
            username,
            password,
            _options(parts.query, {"sentinel_username", "sentinel_password"}, is_tls=is_tls),
        )


@dataclass(frozen=True, slots=True)
class ClusterUrl:
    """A Redis Cluster, by some of its nodes."""

    nodes: tuple[tuple[str, int], ...]
    """Host and port of each that is asked for the others."""
    is_tls: bool
    username: str
    """Empty for none, as is the password."""
    password: str
    options: Mapping[str, str]
    """`TLS_OPTIONS`, as far as given."""

    @classmethod
    def parse(cls, url: str) -> ClusterUrl | None:
        """Read ``redis+cluster://[[USER]:PASSWORD@]HOST[:PORT],…[?OPTIONS]``.

        None for a URL of another scheme; raises ValueError for one that is no such URL. With
        ``rediss+cluster`` all is TLS. A cluster has no numbered databases.

        >>> ClusterUrl.parse("redis+cluster://a,b:7000").nodes
        (('a', 6379), ('b', 7000))
        """
        parts = urlsplit(url)
        if parts.scheme not in CLUSTER_SCHEMES:
            return None
        if parts.path.strip("/"):
            raise ValueError("a cluster has no numbered databases")
        username, password, nodes = _login_and_hosts(parts.netloc, REDIS_PORT)
        is_tls = parts.scheme.startswith("rediss")
        return cls(nodes, is_tls, username, password, _options(parts.query, set(), is_tls=is_tls))


def _login_and_hosts(netloc: str, port: int) -> tuple[str, str, tuple[tuple[str, int], ...]]:
    """Read ``[[USER]:PASSWORD@]HOST[:PORT],…``: user, password, places; raises ValueError."""
    login, _, hosts = netloc.rpartition("@")
    username, _, password = login.partition(":")
    places = tuple(_host_and_port(host, port) for host in hosts.split(","))
    return unquote(username), unquote(password), places


def _host_and_port(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.netloc != text or "@" in text:
        raise ValueError("no host")
    return parts.hostname, parts.port or port


def _options(query: str, known: Set[str], *, is_tls: bool) -> dict[str, str]:
    """Read the options of a URL, `known` ones and with TLS its own; raises ValueError."""
    allowed = dict.fromkeys(known, r".*") | (TLS_OPTIONS if is_tls else {})
    options = dict(parse_qsl(query, True, strict_parsing=True)) if query else {}
    for name, value in options.items():
        if not re.fullmatch(allowed.get(name, r"(?!)"), value):
            raise ValueError("an option that is not known, or cannot be that")
    if "ssl_keyfile" in options and "ssl_certfile" not in options:
        raise ValueError("a key without its certificate")
    return options


def _within(
    read_as: Callable[[str], float], low: float, high: float, allowed: str
) -> Callable[[str, str], float]:
    def read(variable: str, text: str) -> float:
        try:
            value = read_as(text)
        except ValueError:
            raise ConfigError(variable, text, allowed) from None
        # Written so that "nan" is refused too.
        if not low <= value <= high:
            raise ConfigError(variable, text, allowed)
        return value

    return read


def _whole(low: int, high: int) -> Callable[[str, str], float]:
    return _within(int, low, high, f"a whole number from {low} to {high}")


def _number(low: float, high: float) -> Callable[[str, str], float]:
    return _within(float, low, high, f"a number from {low:g} to {high:g}")


def _one_of(*choices: str) -> Callable[[str, str], str]:
    def read(variable: str, text: str) -> str:
        if text not in choices:
            raise ConfigError(variable, text, " or ".join(choices))
        return text

    return read


def _redis_url(variable: str, text: str) -> str:
    allowed = (
        "redis://HOST:PORT/DB, rediss://HOST:PORT/DB, unix:///PATH?db=DB, "
        "redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DB or redis+cluster://HOST:PORT,HOST:PORT; "
        "with rediss the files ssl_ca_certs, ssl_certfile and ssl_keyfile, like ?ssl_ca_certs=FILE"
    )
    try:
        usable = (
            SentinelUrl.parse(text) is not None
            or ClusterUrl.parse(text) is not None
            or _is_server(text)
        )
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(variable, text, allowed, secret=True)
    return text


def _is_server(url: str) -> bool:
    """Tell whether a URL is one of a single server that redis-py reads; raises ValueError too."""
    parts = urlsplit(url)
    # redis-py takes any option, and fails with a fault of the program when it first connects.
    options = _options(parts.query, {"db", "username", "password"}, is_tls=parts.scheme == "rediss")
    if not re.fullmatch(r"\d{1,3}", options.get("db", "0")):
        return False
    if parts.scheme == "unix":
        return parts.path.startswith("/")
    # Asking for the port is what checks it.
    is_hosted = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    return parts.scheme in ("redis", "rediss") and is_hosted and bool(_DATABASE.match(parts.path))


def _http_url(variable: str, text: str) -> str:
    try:
        parts = urlsplit(text)
        # Asking for the port is what checks it.
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment:
        raise ConfigError(variable, text, "http://HOST:PORT or https://HOST:PORT", secret=True)
    return text


def _origins(variable: str, text: str) -> tuple[str, ...]:
    origins = tuple(item.strip() for item in text.split(",") if item.strip())
    for origin in origins:
        parts = urlsplit(origin)
        is_origin = parts.scheme in ("http", "https") and bool(parts.netloc)
        if origin != "*" and (not is_origin or origin != f"{parts.scheme}://{parts.netloc}"):
            raise ConfigError(
                variable, text, "origins like https://example.org with commas between them, or *"
            )
    return origins


def _text(variable: str, text: str) -> str:
    return text


_URL_VARIABLES = {
    "redis_url": "REDIS_URL",
    "queue_redis_url": "QUEUE_REDIS_URL",
    "otlp_endpoint": "OTEL_EXPORTER_OTLP_ENDPOINT",
}

_DATABASE = re.compile(r"(/\d{0,3})?\Z")
_NO_CLUSTER = (
    "a Redis that is no cluster, for the queues cannot be on one: redis://, rediss://, unix:// or "
    "redis+sentinel://; it must be given where REDIS_URL is a cluster"
)
_TTL = _whole(1, 10 * 365 * DAY_S)

_READERS: dict[str, Callable[[str, str], Any]] = {
    "auth": _one_of("optional", "required"),
    "redis_url": _redis_url,
    "queue_redis_url": _redis_url,
    "finished_ttl_s": _TTL,
    "idle_ttl_s": _TTL,
    "hint_ttl_s": _TTL,
    "idempotency_ttl_s": _TTL,
    "max_body_bytes": _whole(1024, 16 * 1024 * 1024),
    "max_wait_s": _number(0, 300),
    "max_stream_s": _number(0.05, DAY_S),
    "keep_alive_s": _number(0.05, 300),
    "max_queued_jobs": _whole(1, 1_000_000),
    "sweep_interval_s": _number(0.05, 3600),
    "job_timeout_s": _whole(1, 3600),
    "review_timeout_s": _whole(1, DAY_S),
    "actions_per_minute": _whole(0, 10_000_000),
    "hints_per_minute": _whole(0, 10_000_000),
    "requests_per_minute": _whole(0, 10_000_000),
    "max_hints": _whole(0, 1_000_000),
    "log_level": _one_of("debug", "info", "warning", "error"),
    "log_format": _one_of("json", "console"),
    "cors_origins": _origins,
    "webhook_addresses": _one_of("public", "any"),
    "numba_cache_dir": _text,
    "wait_replicas": _whole(0, 9),
    "redis_timeout_s": _number(0.05, 60),
    "metrics_port": _whole(0, 65535),
    "otlp_endpoint": _http_url,
}
