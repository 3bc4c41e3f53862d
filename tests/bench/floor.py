"""The least that a write costs here: Flask under the same gunicorn, one Redis GET, one SET.

`tests.bench.floor:app`; what `tests/bench/test_http.py` measures actions against. The values are
as long as a stored game.
"""

from __future__ import annotations

import os

from flask import Flask, Response

from service.store.connecting import connect

VALUE = b"x" * 2_000

app = Flask("floor")
redis = connect(os.environ["REDIS_URL"], 2.0)


@app.post("/games/<game_id>/actions")
def write(game_id: str) -> Response:
    """Read one key and write it."""
    redis.get(f"floor:{game_id}")
    redis.set(f"floor:{game_id}", VALUE)
    return Response(b'{"status": "ok"}', 201, content_type="application/json")


@app.get("/healthz")
def health() -> Response:
    """Tell that the process answers."""
    return Response(b"{}", content_type="application/json")
