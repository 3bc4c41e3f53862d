"""Receive webhooks: `python webhook_receiver.py 8080 whsec_...` prints each event once, if genuine.

Signed by the Standard Webhooks scheme: HMAC-SHA256 of id, timestamp and body, keyed by the secret.
A seat ordered as `{"player": "external", ...}` is asked here as well (`action.wanted`): the answer
is its action."""

import base64
import hashlib
import hmac
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_S = 300


def is_genuine(secret, headers, body, now_s):
    """Tell whether the message is signed with the secret, and not an old one sent again."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    name, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(now_s - int(sent_at)) > TOLERANCE_S:
        return False
    digest = hmac.digest(key, f"{name}.{sent_at}.".encode() + body, hashlib.sha256)
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected.encode(), one.encode()) for one in given)


def serve(port, secret, show):
    """Return a server that calls `show` with each genuine message, repetitions left out."""
    seen = set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not is_genuine(secret, self.headers, body, time.time()):
                self.send_error(401)
                return
            message, answer = json.loads(body), b""
            if message["type"] == "action.wanted":  # play anything: the first legal action
                answer = json.dumps(message["data"]["legal_actions"][0]).encode()
            self.send_response(200 if answer else 204)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            if self.headers["webhook-id"] not in seen:
                seen.add(self.headers["webhook-id"])
                show(message)

        def log_message(self, *_):
            """Say nothing: events are printed."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    with serve(int(sys.argv[1]), sys.argv[2], lambda m: print(json.dumps(m), flush=True)) as server:
        server.serve_forever()
