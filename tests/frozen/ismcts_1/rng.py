"""The search's own random numbers: sfc32 (Chris Doty-Humphrey's small fast counter, 32-bit words).

The state is four words in an int64 array; every step masks to 32 bits, so interpreted and compiled
runs give the same numbers. The generator passes the usual batteries (PractRand), which a xorshift
does not, for two more additions."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from tests.frozen.ismcts_1._compile import search_kernel

WORD_BITS = 32
_MASK = (1 << WORD_BITS) - 1
WARM_UP = 12
"""Words thrown away after seeding, as the author advises."""

RngState = NDArray[np.int64]


def new_rng(*parts: object) -> RngState:
    """Return a stream seeded by `parts`, any values with a stable text; shape (4,), int64."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "big") for start in (0, 4, 8)]
    state = np.array([*words, 1], dtype=np.int64)
    for _ in range(WARM_UP):
        next_word(state)
    return state


@search_kernel
def next_word(state):
    """Return the next word, 0 to 2**32 - 1."""
    word = (state[0] + state[1] + state[3]) & _MASK
    state[3] = (state[3] + 1) & _MASK
    state[0] = state[1] ^ (state[1] >> 9)
    state[1] = (state[2] + ((state[2] << 3) & _MASK)) & _MASK
    state[2] = (((state[2] << 21) & _MASK) | (state[2] >> 11)) & _MASK
    state[2] = (state[2] + word) & _MASK
    return word


@search_kernel
def below(state, bound):
    """Return a number from 0 to `bound` - 1 (bound below 2**16; its bias, under 2**-16, is far
    below the search's noise).
    """
    return (next_word(state) * bound) >> WORD_BITS
