"""The examples are run as they stand: the bot, the receiver of webhooks, the page of curl."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from standardwebhooks import Webhook

EXAMPLES = Path(__file__).parents[2] / "openapi" / "examples"
SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
Json = dict[str, Any]


def load(name: str) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def post(url: str, body: Any, **headers: str) -> tuple[int, Any]:
    """Post JSON; return status and answer, also of a refusal."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, raw, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            content = answer.read()
            return answer.status, json.loads(content) if content else None
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, None


@pytest.mark.parametrize("name", ["bot", "webhook_receiver", "verify_record"])
def test_an_example_needs_nothing_but_python(name: str) -> None:
    """Whoever copies one need not install anything; and it is short enough to be read."""
    text = (EXAMPLES / f"{name}.py").read_text("utf-8")
    imported = {
        alias.name.partition(".")[0] if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    assert {module.partition(".")[0] for module in imported} <= sys.stdlib_module_names
    assert len(text.splitlines()) <= {"bot": 49, "verify_record": 59}.get(name, 60)


def test_four_bots_play_a_game_to_its_end(server_url: str) -> None:
    """Each a process of its own with nothing but its seat's token; all tell the same scores."""
    _, made = post(f"{server_url}/games", {"seats": [{"player": "human"}] * 4, "seed": "bots"})
    game_id = made["game"]["id"]
    bots = [
        subprocess.Popen(
            [sys.executable, "-I", str(EXAMPLES / "bot.py"), server_url, game_id, token],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for token in made["seat_tokens"].values()
    ]
    ended = [bot.communicate(timeout=120) for bot in bots]

    assert [bot.returncode for bot in bots] == [0] * 4, ended
    (scores,) = {output.strip() for output, _ in ended}
    with urllib.request.urlopen(f"{server_url}/games/{game_id}/record", timeout=30) as answer:
        record = json.load(answer)
    assert json.loads(scores) == record["scores"]
    check = subprocess.run(
        [sys.executable, "-I", str(EXAMPLES / "verify_record.py")],
        input=json.dumps(record),
        text=True,
        check=False,
        capture_output=True,
    )
    assert check.returncode == 0, check.stderr


def test_the_bot_knows_a_good_throw() -> None:
    """The dearest card without another of its rank; and it lays what it can."""
    bot = load("bot")
    throws = [{"type": "discard", "card": card} for card in ("KD", "KS", "9C", "2H")]
    game: Json = {"deal": {"hand": ["KD", "KS", "9C", "2H"]}, "legal_actions": throws}
    meld = {"type": "meld", "cards": ["4S", "4D", "4H"]}

    assert bot.choose(game) == {"type": "discard", "card": "9C"}
    assert bot.choose({**game, "legal_actions": [*throws, meld]}) == meld


# The receiver of webhooks.


class Receiving:
    """The example's receiver, running."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.shown: list[Json] = []
        self.server = load("webhook_receiver").serve(0, SECRET, self.shown.append)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def __enter__(self) -> Receiving:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def send(self, message: Json, *, message_id: str = "m1", **changes: str) -> tuple[int, Any]:
        """Send a message signed by the signing library; `changes` are to its headers."""
        now = time.time()
        body = json.dumps(message).encode()
        headers = {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now)),
            "webhook-signature": sign(message_id, now, body),
        }
        return post(self.url, body, **headers | changes)


def sign(message_id: str, at_s: float, body: bytes) -> str:
    """Return the signature that the library makes."""
    from datetime import UTC, datetime

    return Webhook(SECRET).sign(message_id, datetime.fromtimestamp(at_s, UTC), body.decode())


MESSAGE: Json = {"type": "turn.started", "data": {"game_id": "g", "seat": 2}}


def test_the_receiver_shows_what_is_genuine_once() -> None:
    """A message that is sent again is answered and not shown again."""
    with Receiving() as receiver:
        assert [receiver.send(MESSAGE)[0] for _ in range(2)] == [204, 204]
        assert receiver.send(MESSAGE, message_id="m2")[0] == 204
        rotated = sign("m3", time.time(), json.dumps(MESSAGE).encode())
        assert receiver.send(
            MESSAGE, message_id="m3", **{"webhook-signature": f"v1,AAAA {rotated}"}
        )

    assert receiver.shown == [MESSAGE] * 3


@pytest.mark.parametrize(
    "changes",
    [
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": ""},
        {"webhook-id": "another"},
        {"webhook-timestamp": "1"},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "²"},
    ],
)
def test_the_receiver_refuses_what_is_not_genuine(changes: dict[str, str]) -> None:
    """401 for another signature, id or time, and for an old message sent again."""
    changes = {name: value.encode().decode("latin-1") for name, value in changes.items()}
    with Receiving() as receiver:
        assert receiver.send(MESSAGE, **changes)[0] == 401

    assert receiver.shown == []


def test_the_receiver_plays_a_seat_that_asks_for_its_action() -> None:
    """`action.wanted` is answered with a legal action."""
    action = {"type": "draw_stock"}
    message = {"type": "action.wanted", "data": {"legal_actions": [action]}}
    with Receiving() as receiver:
        assert receiver.send(message) == (200, action)


def test_the_receiver_is_a_command(tmp_path: Path) -> None:
    """It prints an event a line."""
    port = free_port()
    command = [sys.executable, "-I", str(EXAMPLES / "webhook_receiver.py"), str(port), SECRET]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        now, body = time.time(), json.dumps(MESSAGE).encode()
        headers = {
            "webhook-id": "m1",
            "webhook-timestamp": str(int(now)),
            "webhook-signature": sign("m1", now, body),
        }
        for _ in range(100):
            try:
                assert post(f"http://127.0.0.1:{port}", body, **headers)[0] == 204
                break
            except OSError:
                time.sleep(0.05)
        assert running.stdout is not None
        assert json.loads(running.stdout.readline()) == MESSAGE
        running.terminate()


def free_port() -> int:
    """Return a port on which nobody listens."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# The page of curl.


def blocks_of_curl() -> str:
    """Return all commands of the page, in order."""
    text = (EXAMPLES / "curl.md").read_text("utf-8")
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_page_of_curl_runs_from_top_to_bottom(server_url: str) -> None:
    """In one shell that stops at the first command that fails."""
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", blocks_of_curl()],
        env={**os.environ, "BASE": server_url, "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "event: game" in ran.stdout
    lines = ran.stdout.splitlines()
    assert '"KS"' not in lines[0]
    assert lines.count("1") >= 2
    assert lines[-1] == "abandoned"


def test_every_command_of_the_page_is_in_a_block_that_is_run() -> None:
    """No call stands in the text around them."""
    text = (EXAMPLES / "curl.md").read_text("utf-8")
    outside = re.sub(r"^```sh\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)

    assert "curl -" not in outside
    assert blocks_of_curl().count("curl -") > 12
