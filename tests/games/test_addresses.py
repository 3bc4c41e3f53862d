"""Where may be posted to: fifty ways to name a machine that is not ours to post to."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from service.games.addresses import check_target, is_public, literal_address
from service.games.errors import InvalidRequest

REFUSED = [
    # This machine.
    "http://127.0.0.1/",
    "http://127.0.0.1:6379/",
    "http://127.1/",
    "http://127.255.255.254/",
    "http://0/",
    "http://0.0.0.0/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://0x7f000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://app.localhost/",
    "http://127.0.0.1./",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    # Its neighbours.
    "http://10.0.0.1/",
    "http://167772161/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://[fc00::1]/",
    "http://[fd12:3456:789a::1]/",
    "http://[fec0::1]/",
    "http://printer.local/",
    # Link-local, metadata services among them.
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://168.63.129.16/",
    # IPv6 that leads to IPv4.
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    # To many, to nobody.
    "http://224.0.0.1/",
    "http://[ff02::1]/",
    "http://255.255.255.255/",
    "http://240.0.0.1/",
    "http://198.18.0.1/",
    "http://203.0.113.7/",
    "http://[2001:db8::1]/",
    # Not what it seems, or no URL to post to.
    "http://example.org@127.0.0.1/",
    "http://user:password@example.org/",
    "http://127.0.0.1\\@example.org/",
    "http://exam ple.org/",
    "http://example.org/\r\nHost: 127.0.0.1",
    "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/",
    "http:///path",
    "http://",
    "//example.org/",
    "example.org",
    "file:///etc/passwd",
    "gopher://example.org/",
    "ftp://example.org/",
    "http://example.org:0/",
    "http://example.org:99999/",
    "http://[::1/",
    "http://example.org/" + "x" * 2000,
]
ACCEPTED = [
    "https://example.org/rummy",
    "http://example.org:8080/a?b=c",
    "https://8.8.8.8/",
    "https://[2001:4860:4860::8888]/",
    "https://xn--bcher-kva.example/",
    "https://10.example.org/",
]


@pytest.mark.parametrize("url", REFUSED)
def test_what_is_not_ours_to_post_to_is_refused(url: str) -> None:
    """Naming the field, and without repeating the address."""
    with pytest.raises(InvalidRequest) as caught:
        check_target(url, "url", any_address=False)

    assert caught.value.field == "url"
    assert "127" not in str(caught.value)


def test_there_are_fifty_tricks_at_least() -> None:
    assert len(set(REFUSED)) >= 50


@pytest.mark.parametrize("url", ACCEPTED)
def test_public_addresses_and_names_are_accepted(url: str) -> None:
    """What a name stands for is looked at when something is sent."""
    assert check_target(url, "url", any_address=False) == url


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/", "http://[::1]/", "http://localhost/"])
def test_a_setting_lets_any_address_pass(url: str) -> None:
    """But no other scheme, no user and no nonsense."""
    assert check_target(url, "url", any_address=True) == url
    for bad in ("file:///etc/passwd", "http://a:b@127.0.0.1/", "http://", "x"):
        with pytest.raises(InvalidRequest):
            check_target(bad, "url", any_address=True)


@pytest.mark.parametrize(
    ("host", "address"),
    [("0x7f.1", "127.0.0.1"), ("017700000001", "127.0.0.1"), ("::1", "::1"), ("a.example", None)],
)
def test_an_address_is_read_in_all_its_forms(host: str, address: str | None) -> None:
    found = literal_address(host)

    assert (None if found is None else str(found)) == address


def test_an_address_with_a_zone_is_none_of_the_open_net() -> None:
    assert not is_public(ip_address("fe80::1%eth0"))
