"""Kept answers, readable only to who makes the same request again.

The answer that is kept for an `Idempotency-Key` may hold a token, which is shown once and stored
nowhere else: whoever reads Redis, or a copy of it, must not find tokens there for a day. So answers
are encrypted by a key made of what only their caller has (`RequestKey.secret`): the app key or
token that the request carries and the text of its Idempotency-Key. Of all of these Redis has hashes
only. Where a caller shows neither, as one does who joins an open seat, the text alone protects the
answer and should be hard to guess, which is what clients are told.

The cipher is AES-GCM of the library `cryptography`. Tokens could be derived from that secret
instead, with nothing to encrypt; but then each use case would have to take its tokens out of what
is kept and put them back, and whoever forgets it would store them in clear again. Answers also show
hands. An answer is compressed first: what is encrypted cannot be."""

import hashlib
import os
import zlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from service.games.ports import RequestKey

SEALED = b"\1"
"""What sealed answers begin with; those of releases before were JSON."""
NONCE_BYTES = 12
_FAST = 1
"""Level of compression: an answer is written with each keyed request and hardly ever read."""


def seal(key: RequestKey, answer: bytes) -> bytes:
    """Return `answer` as it is kept for `key`: a mark, a nonce, then what `unseal` opens."""
    nonce = os.urandom(NONCE_BYTES)
    packed = zlib.compress(answer, _FAST)
    return SEALED + nonce + _cipher(key).encrypt(nonce, packed, key.name.encode())


def unseal(key: RequestKey, sealed: bytes) -> bytes | None:
    """Return the answer that was kept for `key`; None for one that another secret has sealed.

    >>> kept = seal(RequestKey("name", "", b"secret"), b"answer")
    >>> unseal(RequestKey("name", "", b"secret"), kept)
    b'answer'
    """
    if not sealed.startswith(SEALED):
        return sealed
    begin = len(SEALED) + NONCE_BYTES
    nonce, encrypted = sealed[len(SEALED) : begin], sealed[begin:]
    try:
        return zlib.decompress(_cipher(key).decrypt(nonce, encrypted, key.name.encode()))
    except InvalidTag:
        return None


def _cipher(key: RequestKey) -> AESGCM:
    return AESGCM(hashlib.sha256(key.secret).digest())
