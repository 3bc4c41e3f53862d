"""Persian Rummy over HTTP: rules, use cases, state in Redis, the API.

This package never imports ``workers``: jobs are enqueued by dotted name. The version below is the
only one; ``pyproject.toml`` and ``workers`` read it from here.
"""

__version__ = "0.1.0"
