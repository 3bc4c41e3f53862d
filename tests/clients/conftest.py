"""Clients made by generators, tools of their own: `make clients` fetches them and runs this."""

from __future__ import annotations

import os

# Without the tools there is nothing to try: the tests of the service do not need them.
collect_ignore = [] if os.environ.get("CLIENT_TOOLS") else ["test_clients.py"]
