"""An authority of the tests' own, with a certificate for servers and one for clients."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "LocalHost"
"""What the servers call themselves. Written so, for redis-py makes 127.0.0.1 of a cluster's node
that is called `localhost`, and their certificate is not about that address."""
DOOR = "127.0.0.2"
"""The one address that it is about, at which a cluster can be asked for its nodes' names."""


@dataclass(frozen=True)
class Certificates:
    """Files in PEM."""

    authority: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path

    @property
    def options(self) -> dict[str, str]:
        """redis-py's options for a client that trusts the authority and shows its certificate."""
        return {
            "ssl_ca_certs": str(self.authority),
            "ssl_certfile": str(self.client),
            "ssl_keyfile": str(self.client_key),
        }

    @property
    def query(self) -> str:
        """The same as a URL of the settings has them."""
        return "&".join(f"{name}={value}" for name, value in self.options.items())


def make_certificates(folder: Path) -> Certificates:
    """Write a new authority and its certificates into `folder`; they are good for a day."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("authority", authority_key.public_key(), None, authority_key)
    made = Certificates(
        *(
            folder / name
            for name in ("ca.crt", "server.crt", "server.key", "client.crt", "client.key")
        )
    )
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for name, file, key_file in (
        (HOST, made.server, made.server_key),
        ("client", made.client, made.client_key),
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(name, key.public_key(), authority, authority_key)
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return made


def _certificate(
    name: str,
    key: ec.EllipticCurvePublicKey,
    authority: x509.Certificate | None,
    authority_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    """Return a certificate of `name`, by the authority, or of the authority itself."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if authority is None else authority.subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
    )
    if authority is not None:
        builder = builder.add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address(DOOR))]
            ),
            critical=False,
        )
    return builder.sign(authority_key, hashes.SHA256())
