"""Answers every text that arrives, once. Settings: TIDINGS_URL, TIDINGS_API_KEY, WEBHOOK_SECRET, PORT."""
import base64
import hashlib
import hmac
import json
import os
import re
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

URL = os.environ.get("TIDINGS_URL", "http://127.0.0.1:3000")
API_KEY = os.environ["TIDINGS_API_KEY"]
SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
TOLERANCE_SECONDS = 300
# Statuses with which the gateway rejects a request for good. It would reject it again after another delivery.
REJECTED = (400, 404, 422)


def is_signed(headers, body: bytes) -> bool:
    """Standard Webhooks: HMAC-SHA256 over id, timestamp and body; one signature per valid secret."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    digest = hmac.new(SECRET, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in given)


def call(method: str, path: str, body=None, headers=None):
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": API_KEY, "Content-Type": "application/json", **(headers or {})},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def handle(event) -> None:
    if event["type"] != "message.received":
        return
    text = event["data"]["message"].get("message")
    if not text:
        return
    contact = call("GET", "/v1/contacts/" + urllib.parse.quote(event["contactId"], safe=""))
    if "phoneNumber" not in contact:
        return
    answer = {"phoneNumber": contact["phoneNumber"], "message": f"You wrote: {text}"}
    # A repeated delivery of the event repeats this send, which then does nothing.
    call("POST", "/v1/messages/send", answer, {"Idempotency-Key": event["id"]})


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_signed(self.headers, body):
            return self.answer(401)
        try:
            handle(json.loads(body))
            self.answer(204)
        except OSError as error:  # No answer of the gateway, or an error status. After 500, the event comes again.
            print(error, flush=True)
            self.answer(204 if getattr(error, "code", None) in REJECTED else 500)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    server = ThreadingHTTPServer((host, int(os.environ.get("PORT", "8080"))), Receiver)
    print(f"Listening on port {server.server_port}.", flush=True)
    server.serve_forever()
