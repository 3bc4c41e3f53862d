"""How one body of a rule runs both as plain Python and compiled.

A rule is written as a function over ints and over an object with named fields. The API calls it as
it is: the fields are then those of a dataclass, and numba is not even imported. A search process
calls `register_kernels()` once, before it compiles anything: each function marked `@kernel` then
becomes callable from compiled code, where the fields are those of a numpy record.

The alternative, to decorate with numba wherever numba is installed, would load 100 MB and half a
second into each API process for nothing, and would make what the API runs depend on what happens to
be installed.

This is the only module of `service` that may import numba, and it does so only inside
`register_kernels`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

KERNELS: list[Callable[..., Any]] = []
"""Every function marked `@kernel`, in the order of definition."""

_registered: set[Callable[..., Any]] = set()


def kernel(function: F) -> F:
    """Mark `function` as one that also compiles; return it unchanged.

    A kernel returns codes, raises nothing, allocates nothing, and touches only its arguments and
    constants of its module.
    """
    KERNELS.append(function)
    return function


def popcount(mask: int) -> int:
    """Count the cards in `mask` (a non-negative int below 2**63)."""
    return int(mask).bit_count()


def lowest_card(mask: int) -> int:
    """Return the index of the lowest bit of `mask`, which must not be 0."""
    return int(mask & -mask).bit_length() - 1


def register_kernels() -> None:
    """Make every marked function callable from numba-compiled code. Idempotent; imports numba."""
    from numba.extending import register_jitable

    if not _registered:
        _register_bit_counts()
    for function in KERNELS:
        if function not in _registered:
            _registered.add(function)
            register_jitable(function)


def _register_bit_counts() -> None:
    """Compile the two bit counts to one machine instruction each."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def count_ones(_context, mask):  # type: ignore[no-untyped-def]
        def codegen(_ctx, builder, _signature, args):  # type: ignore[no-untyped-def]
            return builder.ctpop(args[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def count_trailing_zeros(_context, mask):  # type: ignore[no-untyped-def]
        def codegen(_ctx, builder, _signature, args):  # type: ignore[no-untyped-def]
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.int64), codegen

    @overload(popcount, inline="always")
    def _popcount(mask):  # type: ignore[no-untyped-def]
        return lambda mask: count_ones(mask)  # type: ignore[call-arg]

    @overload(lowest_card, inline="always")
    def _lowest_card(mask):  # type: ignore[no-untyped-def]
        return lambda mask: count_trailing_zeros(mask)  # type: ignore[call-arg]
