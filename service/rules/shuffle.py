"""From a seed to an order of the 56 cards, in a way that any language can repeat.

The algorithm, named `ALGORITHM`:

1. *Bytes.* Block number i (0, 1, 2, ...) is SHA-256 of the UTF-8 text `LABEL ":" i ":" HEX(client
   seed) ":" SEED`, where LABEL says what the cards are for (`deal-1`, `deal-2`, `draw-1`), i is
   decimal, and HEX is the lower-case hexadecimal of the client seed's UTF-8 bytes (nothing when
   there is no client seed). The blocks follow each other without a gap.
2. *Numbers.* Four bytes at a time, big-endian, give a number w below 2**32. For a number below n, w
   is thrown away when w >= 2**32 - (2**32 mod n); else it is w mod n. So every outcome has the same
   chance.
3. *Shuffle.* Start with the cards in the order of their ids: clubs two to ace, diamonds, hearts,
   spades, jokers X1 to X4. For i from 55 down to 1, draw j below i + 1 and exchange places i and j
   (Fisher and Yates, in Durstenfeld's form). Place 0 is the top of the pack.

The commitment published before the game is the SHA-256 of the seed's UTF-8 bytes in hexadecimal.
The label in front keeps every block's input different from the commitment's, so that the commitment
tells nothing of the cards, provided the seed cannot be guessed: the service makes its own of 192
bits; a seed chosen by the game's creator is for tests and replays.
"""

import hashlib
from collections.abc import Iterator

from service.rules.cards import CARD_COUNT, CardId

ALGORITHM = "sha256-counter-fisher-yates-1"
_WORD_RANGE = 1 << 32


def commitment(seed: str) -> str:
    """Return the 64 hexadecimal digits that commit to `seed`."""
    return hashlib.sha256(seed.encode()).hexdigest()


def words(seed: str, label: str, client_seed: str = "") -> Iterator[int]:
    """Yield the endless stream of numbers below 2**32 (steps 1 and 2)."""
    tail = f"{client_seed.encode().hex()}:{seed}"
    block = 0
    while True:
        digest = hashlib.sha256(f"{label}:{block}:{tail}".encode()).digest()
        for start in range(0, len(digest), 4):
            yield int.from_bytes(digest[start : start + 4], "big")
        block += 1


def below(stream: Iterator[int], bound: int) -> int:
    """Take a number from 0 to `bound` - 1 from the stream, each with the same chance (step 2)."""
    limit = _WORD_RANGE - _WORD_RANGE % bound
    word = next(stream)
    while word >= limit:
        word = next(stream)
    return word % bound


def shuffled_deck(seed: str, label: str, client_seed: str = "") -> list[CardId]:
    """Return the 56 cards shuffled, the top one first (step 3)."""
    stream = words(seed, label, client_seed)
    deck = list(range(CARD_COUNT))
    for place in range(CARD_COUNT - 1, 0, -1):
        other = below(stream, place + 1)
        deck[place], deck[other] = deck[other], deck[place]
    return deck
