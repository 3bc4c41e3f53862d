"""Posting to addresses that others chose: what is signed, what is refused, when it ends."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.receivers import SECRET, Receiver, receiving
from workers import outbound
from workers.outbound import NotReached, Reply, find_target, post, retry_after_s


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Run a receiver for one test."""
    with receiving() as running:
        yield running


def send(url: str, **more: Any) -> Reply:
    """Post a message, to whatever address unless said otherwise."""
    settings = {"any_address": True, "at_s": time.time(), **more}
    return post(url, SECRET, "m1", {"type": "test", "data": {"ö": 1}}, **settings)


def test_a_message_is_signed_by_the_scheme(receiver: Receiver) -> None:
    """Its own library accepts it; another secret does not."""
    reply = send(receiver.url())
    (posted,) = receiver.got

    assert reply.status == 204
    posted.check_signature()
    assert posted.headers["webhook-id"] == "m1"
    assert posted.headers["content-type"] == "application/json"
    assert posted.message == {"type": "test", "data": {"ö": 1}}
    with pytest.raises(Exception, match="signature"):
        posted.check_signature("whsec_" + "A" * 32)


def test_the_host_is_named_though_its_address_is_connected_to(receiver: Receiver) -> None:
    """So that a server of many names answers for the right one."""
    send(f"http://hooks.example:{receiver.port}/a?b=c", resolve=lambda _host, _port: ["127.0.0.1"])
    (posted,) = receiver.got

    assert posted.headers["host"] == f"hooks.example:{receiver.port}"
    assert posted.path == "/a?b=c"


def test_a_name_that_changes_its_mind_gains_nothing(receiver: Receiver) -> None:
    """It is looked up once; what was found then is checked, and connected to."""
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])
    target = find_target(
        f"http://rebound.example:{receiver.port}/",
        any_address=False,
        resolve=lambda _host, _port: next(answers),
    )

    assert target.address == "8.8.8.8"
    assert receiver.got == []


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["8.8.8.8", "10.0.0.1"],
        ["::1"],
        ["::ffff:169.254.169.254"],
        ["fe80::1%eth0"],
        ["169.254.169.254"],
    ],
)
def test_names_of_addresses_that_are_not_public_are_refused(
    receiver: Receiver, found: list[str]
) -> None:
    """All that a name stands for must be public, after the look-up."""
    with pytest.raises(NotReached, match="address not allowed"):
        send(
            f"http://hooks.example:{receiver.port}/",
            any_address=False,
            resolve=lambda _host, _port: found,
        )
    assert receiver.got == []


def test_the_resolver_of_the_system_is_checked_too(receiver: Receiver) -> None:
    """Decimal and short forms are addresses to it."""
    for host in ("2130706433", "127.1", "0x7f.1", "localhost"):
        with pytest.raises(NotReached, match="address not allowed"):
            send(f"http://{host}:{receiver.port}/", any_address=False)
    assert receiver.got == []


def test_the_certificate_is_held_against_the_hosts_name() -> None:
    """Though the connection goes to an address; one of another host, or of nobody, is refused."""
    pem = Path(__file__).parent / "samples" / "hooks.example.pem"
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(pem)
    trusting = ssl.create_default_context(cafile=str(pem))
    with receiving(offered) as receiver:

        def send_to(host: str, tls: ssl.SSLContext | None) -> Reply:
            url = f"https://{host}:{receiver.port}/"
            return send(url, tls=tls, resolve=lambda _host, _port: ["127.0.0.1"])

        assert send_to("hooks.example", trusting).status == 204
        for host, tls in (("other.example", trusting), ("hooks.example", None)):
            with pytest.raises(NotReached, match="certificate"):
                send_to(host, tls)
        (posted,) = receiver.got

    assert posted.headers["host"] == f"hooks.example:{receiver.port}"


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    """Wherever it leads: its status is the answer."""
    inner = f"{receiver.url('/inner')}"
    receiver.answer = lambda _posted: (307, {"Location": inner}, b"")

    assert send(receiver.url()).status == 307
    assert [posted.path for posted in receiver.got] == ["/hook"]


def test_proxies_of_the_environment_are_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would connect to what they find themselves."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")

    assert send(receiver.url()).status == 204


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
    [
        (503, "120", 120.0),
        (429, " 0 ", 0.0),
        (429, "Thu, 01 Jan 1970 00:01:40 GMT", 100.0),
        (503, "Wed, 31 Dec 1969 23:59:59 GMT", 0.0),
        (503, "9" * 400, 86_400.0),
        (503, "Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        (500, "120", 0.0),
        (200, "120", 0.0),
        (503, "", 0.0),
        (503, "-5", 0.0),
        (503, "1.5", 0.0),
        (503, "soon", 0.0),
        (503, "\u0662", 0.0),
    ],
)
def test_a_pause_that_is_asked_for_is_read(status: int, header: str, seconds: float) -> None:
    """Seconds or a date, of a 429 or 503, a day at most; junk is no pause."""
    assert seconds == retry_after_s(status, header, 0.0)


def test_an_answer_tells_of_its_pause(receiver: Receiver) -> None:
    receiver.answer = lambda _posted: (503, {"Retry-After": "7"}, b"")

    assert 7.0 == send(receiver.url()).retry_after_s


def test_a_long_answer_is_read_in_part(receiver: Receiver) -> None:
    receiver.answer = lambda _posted: (200, {}, b"x" * 10_000_000)

    assert len(send(receiver.url()).body) == outbound.MAX_ANSWER


def test_a_slow_answer_is_given_up(receiver: Receiver) -> None:
    def answer(_posted: object) -> tuple[int, dict[str, str], bytes]:
        time.sleep(3)
        return 204, {}, b""

    receiver.answer = answer
    began = time.monotonic()
    with pytest.raises(NotReached, match="timeout"):
        send(receiver.url(), read_s=0.3)

    assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"])
def test_an_answer_that_trickles_is_cut_at_the_deadline(part: bytes) -> None:
    """A byte now and then keeps every single read in time; the whole is not."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(part)
                for _ in range(100):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return
                    time.sleep(0.1)

        thread = threading.Thread(target=trickle)
        thread.start()
        began = time.monotonic()
        with pytest.raises(NotReached, match="timeout"):
            send(f"http://127.0.0.1:{server.getsockname()[1]}/", total_s=0.7)
        taken_s = time.monotonic() - began
        thread.join()

    assert taken_s < 1.5


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1/", "no connection"),
        ("http://nowhere.invalid/", "host not found"),
        ("http://" + "a" * 300 + ".example/", "host not found"),
        ("file:///etc/passwd", "address not allowed"),
    ],
)
def test_what_cannot_be_reached_is_said_in_few_words(url: str, why: str) -> None:
    with pytest.raises(NotReached, match=why):
        send(url)


def test_the_worker_of_webhooks_loads_neither_numba_nor_the_search() -> None:
    """It waits for others; a hundred megabytes would be a waste."""
    code = (
        "import sys, workers.main, workers.webhooks; "
        "print(workers.main.jobs_of('webhooks')); "
        "print([name for name in sys.modules if name.partition('.')[0] in ('numba', 'numpy') "
        "or name.startswith('workers.search')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.splitlines()[-1] == "[]"
