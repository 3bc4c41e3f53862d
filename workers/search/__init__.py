"""The search: kernels that play the rules millions of times from what one seat knows.

Pure: no clock, no environment, no source of randomness but the words of `rng.py` passed in, no
input or output. Every kernel also runs interpreted (NUMBA_DISABLE_JIT=1) with the same result to
the last bit: numbers are 64-bit ints, or floats made by the four operations and the square root,
which IEEE 754 fixes."""
