"""Posting to addresses that others chose: webhooks and external seats.

The name of a host is looked up once, every address found must be one of the open net
(`service/games/addresses.py`), and the connection goes to the address that was checked: a name that
changes its mind between the two gains nothing. Redirects are not followed, nor are proxies of the
environment used. A try ends after `TOTAL_S` whatever the other side does, and no more than
`MAX_ANSWER` bytes of its answer are read."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import ip_address
from typing import Any

import httpx
import orjson
from standardwebhooks import Webhook

from service import __version__
from service.games.addresses import check_target, is_public
from service.games.errors import InvalidRequest
from service.tracing import span

CONNECT_S = 3.0
READ_S = 5.0
TOTAL_S = 10.0
MAX_ANSWER = 64 * 1024
MOST_RETRY_AFTER_S = 86_400.0
"""Whoever asks for more is asked again after a day."""
AGENT = f"persian-rummy/{__version__}"
Resolve = Callable[[str, int], Iterable[str]]


class NotReached(Exception):
    """There was no whole answer. `str(error)` is a few words that tell nothing of our network."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    body: bytes
    """Its beginning."""
    retry_after_s: float = 0.0
    """Seconds for which the other side wants to be left alone: `Retry-After` of a 429 or 503."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where to connect, once looked up and checked."""

    url: httpx.URL
    address: str


@cache
def trusted() -> ssl.SSLContext:
    """Return whose certificates are trusted. Reading the list takes tens of milliseconds."""
    return httpx.create_ssl_context()


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def find_target(url: str, *, any_address: bool, resolve: Resolve = resolve) -> Target:
    """Look the host of `url` up and check what is found; raises NotReached."""
    try:
        check_target(url, "url", any_address=any_address)
        parsed = httpx.URL(url)
    except (InvalidRequest, httpx.InvalidURL):
        raise NotReached("address not allowed") from None
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    try:
        addresses = list(resolve(parsed.host, port))
    except (OSError, UnicodeError):
        raise NotReached("host not found") from None
    if not addresses:
        raise NotReached("host not found")
    if not any_address and not all(is_public(ip_address(address)) for address in addresses):
        raise NotReached("address not allowed")
    return Target(parsed, addresses[0])


def retry_after_s(status: int, header: str, at_s: float) -> float:
    """Return the seconds of a `Retry-After` (RFC 9110, 10.2.3: a number, or a date); 0 where there
    is none that can be read, or where the status is not one that asks to wait.

    >>> retry_after_s(503, "120", 0.0), retry_after_s(200, "120", 0.0)
    (120.0, 0.0)
    """
    text = header.strip()
    if status not in (429, 503):
        return 0.0
    if text.isascii() and text.isdigit():
        return float(min(int(text[:10]), MOST_RETRY_AFTER_S))
    try:
        left_s = parsedate_to_datetime(text).timestamp() - at_s
    except (ValueError, OverflowError):
        return 0.0
    return min(max(left_s, 0.0), MOST_RETRY_AFTER_S)


def signed_headers(secret: str, message_id: str, body: str, at_s: float) -> dict[str, str]:
    """Return the headers of a message by the Standard Webhooks scheme."""
    at = datetime.fromtimestamp(int(at_s), UTC)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at_s)),
        "webhook-signature": Webhook(secret).sign(message_id, at, body),
    }


def post(
    url: str,
    secret: str,
    message_id: str,
    message: dict[str, Any],
    *,
    any_address: bool,
    at_s: float,
    total_s: float = TOTAL_S,
    read_s: float = READ_S,
    resolve: Resolve = resolve,
    tls: ssl.SSLContext | None = None,
    link: Mapping[str, str] | None = None,
) -> Reply:
    """Post a signed message and return the answer, whatever its status; raises NotReached.

    The certificate must be of the host that `url` names, not of the address connected to. Its span
    points to the trace that `link` names; where it is posted to is not told, nor is the trace told
    to who is there."""
    deadline = time.monotonic() + total_s
    with span("POST", "client", {"http.request.method": "POST"}, link=link) as traced:
        target = find_target(url, any_address=any_address, resolve=resolve)
        body = orjson.dumps(message).decode()
        headers = signed_headers(secret, message_id, body, at_s)
        with _Line(deadline, read_s, tls or trusted()) as line:
            reply = line.send(target, headers, body, at_s)
        if traced is not None:
            traced.tell({"http.response.status_code": reply.status})
            if reply.status >= 400:
                traced.fail(str(reply.status))
    return reply


class _Line:
    """One connection, cut at its deadline: what keeps sending a byte now and then is cut too."""

    def __init__(self, deadline: float, read_s: float, tls: ssl.SSLContext) -> None:
        self._socket: Any = None
        self._timer = threading.Timer(max(deadline - time.monotonic(), 0.001), self._cut)
        self._timer.daemon = True
        self._is_cut = False
        self._client = httpx.Client(
            follow_redirects=False,
            trust_env=False,
            verify=tls,
            timeout=httpx.Timeout(read_s, connect=CONNECT_S),
            headers={"User-Agent": AGENT, "Connection": "close"},
        )

    def __enter__(self) -> "_Line":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._client.close()

    def send(self, target: Target, headers: dict[str, str], body: str, at_s: float) -> Reply:
        """Send to the address of `target` in the name of its host; raises NotReached."""
        host = target.url.host
        request = self._client.build_request(
            "POST",
            target.url.copy_with(host=target.address),
            content=body,
            headers={
                **headers,
                "Host": target.url.netloc.decode(),
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            extensions={"sni_hostname": host, "trace": self._trace},
        )
        try:
            answer = self._client.send(request, stream=True)
            try:
                wanted = answer.headers.get("Retry-After", "")
                return Reply(
                    answer.status_code,
                    self._read(answer),
                    retry_after_s(answer.status_code, wanted, at_s),
                )
            finally:
                answer.close()
        except httpx.TimeoutException:
            raise NotReached("timeout") from None
        except httpx.ConnectError:
            raise NotReached(
                "timeout" if self._is_cut else "no connection, or its certificate is wrong"
            ) from None
        except httpx.HTTPError:
            raise NotReached("timeout" if self._is_cut else "connection broken") from None

    def _read(self, answer: httpx.Response) -> bytes:
        """Return the beginning of the answer's body."""
        read = b""
        for chunk in answer.iter_raw():
            read += chunk
            if len(read) >= MAX_ANSWER:
                break
        return read[:MAX_ANSWER]

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember the connection's socket, to be able to cut it."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")
            if self._is_cut:
                self._cut()

    def _cut(self) -> None:
        self._is_cut = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
