"""What a whole run has written, all processes, the most talkative level: no secret is in it."""

from __future__ import annotations

import os
import random
import re
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
import redis as redis_py

from service.store.app_keys import RedisAppKeys
from tests.e2e.harness import Player, Service, is_running, seats, wait_until
from tests.e2e.test_surviving import socket_of
from tests.receivers import SECRET, Answer, Posted, receiving

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
SEED = "canary-of-the-deck"
EXTERNAL_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def last_legal(posted: Posted) -> Answer:
    """Answer a question with a legal action, news with thanks."""
    if posted.message["type"] != "action.wanted":
        return 204, {}, b""
    return 200, {}, orjson.dumps(posted.message["data"]["legal_actions"][-1])


def misplace(player: Player, token: str, game: str) -> None:
    """Send a token where none belongs: in a path, a query, a body, headers, and broken HTTP."""
    player.ask("GET", f"/games/{token}")
    player.ask("GET", f"/{token}?token={token}")
    player.ask("GET", f"{game}?seat={token}")
    player.ask("POST", f"{game}/actions", {"type": token, token: token})
    player.ask("POST", f"{game}/actions", [token])
    headers = {"Idempotency_Key": token, "If_Match": token, "Last_Event_ID": token}
    player.ask("POST", f"{game}/actions", {"type": "pass"}, **headers)
    player.ask("GET", f"{game}/events", **headers)
    player.ask("GET", game, X_Request_Id=token, User_Agent=token, Referer=f"/?t={token}")
    player.ask("GET", game, Cookie=token, Prefer=token, Origin=f"https://{token}")
    port = int(player.base_url.rpartition(":")[2])
    for broken in (f"GET /{token} {token}", f"GET / HTTP/1.1\r\nBad {token}: {token}"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(f"{broken}\r\n\r\n".encode())
            with suppress(OSError):
                connection.recv(4096)


def play_to_the_end(app: Player, path: str, holder: Player) -> None:
    """Play seat 0 of a game to its end, with a hint and a bot's turn on the way."""
    rng, asked = random.Random(1), 0
    game_id = path.rpartition("/")[2]
    while (game := holder.await_turn(game_id, 0))["status"] == "playing":
        if asked < 3:
            asked += 1
            wait = {"Prefer": "wait=20"}
            holder.must(200, "POST", f"{path}/hints", {"iterations": 50}, **wait)
            if game["deal"]["phase"] == "draw":
                body = {"level": "greedy", "seat": 0}
                app.must(200, "POST", f"{path}/bot-moves", body, **wait)
                continue
        action = rng.choice(game["legal_actions"])
        headers = {"Idempotency_Key": secrets.token_urlsafe()}
        holder.must(201, "POST", f"{path}/actions", action, **headers)


def test_no_secret_is_in_the_log_of_a_whole_run(start_service: Callable[..., Service]) -> None:
    """Keys, tokens, webhooks' secrets, a seed before its game's end, anybody's hand."""
    service = start_service(
        PERSIAN_RUMMY_AUTH="required",
        PERSIAN_RUMMY_LOG_LEVEL="debug",
        PERSIAN_RUMMY_WEBHOOK_ADDRESSES="any",
    )
    with receiving() as receiver, redis_py.Redis(unix_socket_path=str(socket_of(service))) as redis:
        receiver.answer = last_legal
        key = RedisAppKeys(redis).create("own", secrets.token_urlsafe, 0.0)
        app = Player(service.base_url, key)
        outside = {"player": "external", "url": receiver.url("/seat"), "secret": EXTERNAL_SECRET}
        order = {
            "seats": [*seats("human", "greedy"), outside, {"player": "open"}],
            "seed": SEED,
            "deals": 1,
            "spectators": True,
            "webhook": {"url": receiver.url("/hook"), "secret": SECRET},
        }
        made = app.must(201, "POST", "/games", order, Idempotency_Key="creation")
        path = f"/games/{made['game']['id']}"
        joined = app.must(201, "POST", f"{path}/seats/3/join", {"name": "Ana"})
        app.must(200, "PUT", f"{path}/seats/3/bot", {"level": "greedy"})
        told = [*made["seat_tokens"].values(), made["spectator_token"], key]
        told += re.findall(r"prs_[\w-]+", orjson.dumps(joined).decode())
        holder = Player(service.base_url, made["seat_tokens"]["0"])
        for token in told:
            misplace(holder, token, path)
            misplace(Player(service.base_url, token[:-3] + "xyz"), token, path)
        play_to_the_end(app, path, holder)
        worker = service.worker("bots")
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not is_running(worker), 10, "the end of a worker")
        app.ask("POST", f"{path}/review", {"level": "casual"}, Prefer="wait=20")
    service.stop()

    files = [service.output, *service.folder.rglob("*.log")]
    text = "\n".join(file.read_text(errors="replace") for file in files)
    print(f"\n{len(text)} bytes of logs in {len(files)} files, {len(told)} tokens and keys")
    assert text.count("\n") > 200
    assert "bot_played" in text
    assert "prs_…" in text, "no token came near the log, so nothing was tried"
    # A token is its game's id, which is no secret, and then the secret.
    hidden = [token.rpartition("_")[2] for token in told if len(token.rpartition("_")[2]) > 15]
    hidden += [re.sub(r"^pr[sk]_(?:[a-z0-9]{24}_)?", "", token) for token in told]
    for secret in (*hidden, SECRET.removeprefix("whsec_"), EXTERNAL_SECRET.removeprefix("whsec_")):
        assert secret
        assert secret not in text
    assert SEED not in text
    assert not re.search(r'"hand"|legal_actions|"stock"', text)
