"""How the kernels of the search are compiled: one decorator, cached on disk.

Importing this module registers the rules' functions with numba, so it comes first wherever a kernel
is defined. The cache's folder must be named after the kernels' sources (`workers/warmup.py`): numba
does not notice when a function in another file changes."""

import numba

from service.rules._jit import register_kernels

register_kernels()

search_kernel = numba.njit(cache=True, error_model="numpy")
"""Compile without the interpreter, cached, without checks for division by zero; never with
fast-math, which would make answers differ between machines."""
