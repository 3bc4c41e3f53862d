"""Which addresses this service may post to, when others choose them (webhooks, external seats).

Never to this machine or its neighbours: loopback, private, link-local (metadata services),
multicast and whatever else is no address of the open net, in whichever way it is written; an IPv4
address inside an IPv6 one counts as itself. A host's name is looked up by who sends
(`workers/outbound.py`), which holds each address found against `is_public` and connects to that
very address."""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from service.games.errors import InvalidRequest
from service.sentences import Sentence

MAX_URL = 2000
SCHEMES = ("http", "https")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NOT_FOR_US = tuple(
    ipaddress.ip_network(text)
    for text in (
        # Azure's metadata and DNS service: a public address that answers inside only.
        "168.63.129.16/32",
        # Protocol assignments, some of which are called global; Oracle's metadata service is here.
        "192.0.0.0/24",
        # Local-use NAT64 and site-local addresses, which older lists call global.
        "64:ff9b:1::/48",
        "fec0::/10",
        # Addresses of the form ::a.b.c.d, long given up.
        "::/96",
    )
)
_VISIBLE = re.compile(r"[\x21-\x7e]+")


def literal_address(host: str) -> Address | None:
    """Return the address that `host` is itself, None for a name.

    Reads what a resolver would: also decimal, octal, hexadecimal and short forms.

    >>> str(literal_address("0x7f.1")), literal_address("example.org")
    ('127.0.0.1', None)
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        # Reads the forms of old: 2130706433, 0177.0.0.1, 127.1.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def is_public(address: Address) -> bool:
    """Tell whether an address belongs to the open net, so that it may be posted to."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None and not is_public(inner):
            return False
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(
            address in network for network in _NOT_FOR_US if network.version == address.version
        )
    )


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 one leads to, if it is of such a kind."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def check_target(url: str, field: str, *, any_address: bool) -> str:
    """Return `url` if it may be posted to as far as its text tells; raises InvalidRequest.

    With `any_address` addresses are not looked at."""
    if len(url) > MAX_URL or not _VISIBLE.fullmatch(url) or "\\" in url:
        raise InvalidRequest(
            field,
            Sentence("a URL of up to {most} visible ASCII characters is needed", most=MAX_URL),
        )
    try:
        parts = urlsplit(url)
        host = parts.hostname
        # Asking for the port is what checks it.
        is_usable = parts.scheme in SCHEMES and bool(host) and parts.port != 0
    except ValueError:
        host, is_usable = None, False
    if not is_usable or host is None:
        raise InvalidRequest(field, Sentence("an http or https URL with a host is needed"))
    if parts.username is not None or parts.password is not None:
        raise InvalidRequest(field, Sentence("a URL without user and password is needed"))
    if any_address:
        return url
    address = literal_address(host.rstrip("."))
    is_local = host.rstrip(".").rpartition(".")[2] in ("localhost", "local", "internal")
    if is_local or (address is not None and not is_public(address)):
        raise InvalidRequest(field, Sentence("only public addresses are posted to"))
    return url
