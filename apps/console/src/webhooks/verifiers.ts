import type { Webhook } from '#client';

/** A receiver of deliveries in one language. */
export interface Verifier {
  language: string;
  /** What the code needs besides the language. */
  needs: string;
  code: string;
}

/**
 * Returns the code of receivers that verify the deliveries of a webhook, at its path and with its event types. The
 * verification is that of test/examples. The tests of the console run each receiver.
 */
export function verifiersOf({ url, eventTypes }: Pick<Webhook, 'url' | 'eventTypes'>): Verifier[] {
  const { pathname, search } = new URL(url);
  const path = pathname + search;
  const types = eventTypes === null || eventTypes.includes('*') ? [] : eventTypes;
  return [
    { language: 'TypeScript', needs: 'the package @tidings/client', code: typescript(path, types) },
    { language: 'Python', needs: 'no package', code: python(path, types) },
    { language: 'Go', needs: 'no package', code: go(path, types) },
  ];
}

interface Tests {
  is: (type: string) => string;
  startsWith: (start: string) => string;
  or: string;
  all: string;
}

/** Returns the condition for the event types. `JSON.stringify` makes literals that all three languages read. */
function conditionOf(types: readonly string[], { is, startsWith, or, all }: Tests): string {
  if (types.length === 0) return all;
  return types
    .map((type) =>
      type.endsWith('*') ? startsWith(JSON.stringify(type.slice(0, -1))) : is(JSON.stringify(type)),
    )
    .join(or);
}

function typescript(path: string, types: readonly string[]): string {
  const condition = conditionOf(types, {
    is: (type) => `event.type === ${type}`,
    startsWith: (start) => `event.type.startsWith(${start})`,
    or: ' || ',
    all: 'event.type !== "webhook.test"',
  });
  return `import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Event, verifyWebhook, WebhookVerificationError } from '@tidings/client';

const { WEBHOOK_SECRET = '', PORT = '8080' } = process.env;

async function handle(event: Event): Promise<void> {
  // A delivery may arrive more than once: ignore an event.id that you have handled.
  if (${condition}) console.log(event.type, event.id);
}

createServer((request, response) => {
  if (request.url !== ${JSON.stringify(path)}) {
    response.writeHead(404).end();
    return;
  }
  buffer(request)
    .then((body) => verifyWebhook(body, request.headers, WEBHOOK_SECRET))
    .then(handle)
    .then(
      () => response.writeHead(204).end(),
      // Any status other than 2xx asks for another attempt.
      (error: unknown) =>
        response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end(),
    );
}).listen(Number(PORT), () => console.log(\`Listening on port \${PORT}.\`));
`;
}

function python(path: string, types: readonly string[]): string {
  const condition = conditionOf(types, {
    is: (type) => `event["type"] == ${type}`,
    startsWith: (start) => `event["type"].startswith(${start})`,
    or: ' or ',
    all: 'event["type"] != "webhook.test"',
  });
  return `import base64, hashlib, hmac, json, os, re, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
TOLERANCE_SECONDS = 300


def is_signed(headers, body: bytes) -> bool:
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    digest = hmac.new(SECRET, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in given)


def handle(event) -> None:
    # A delivery may arrive more than once: ignore an event["id"] that you have handled.
    if ${condition}:
        print(event["type"], event["id"], flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path != ${JSON.stringify(path)}:
            return self.answer(404)
        if not is_signed(self.headers, body):
            return self.answer(401)
        handle(json.loads(body))
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


server = ThreadingHTTPServer(("", int(os.environ.get("PORT", "8080"))), Receiver)
print(f"Listening on port {server.server_port}.", flush=True)
server.serve_forever()
`;
}

function go(path: string, types: readonly string[]): string {
  const condition = conditionOf(types, {
    is: (type) => `received.Type == ${type}`,
    startsWith: (start) => `strings.HasPrefix(received.Type, ${start})`,
    or: ' || ',
    all: 'received.Type != "webhook.test"',
  });
  return `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

type event struct {
	ID   string          \`json:"id"\`
	Type string          \`json:"type"\`
	Data json.RawMessage \`json:"data"\`
}

func isSigned(header http.Header, body, secret []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(expected), []byte(given)) {
			return true
		}
	}
	return false
}

func handle(received event) {
	// A delivery may arrive more than once: ignore an ID that you have handled.
	if ${condition} {
		fmt.Println(received.Type, received.ID)
	}
}

func main() {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(secret) == 0 {
		log.Fatal("WEBHOOK_SECRET must be the secret of the webhook, whsec_…")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	receive := func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var received event
		switch {
		case request.RequestURI != ${JSON.stringify(path)}:
			response.WriteHeader(http.StatusNotFound)
		case err != nil || !isSigned(request.Header, body, secret):
			response.WriteHeader(http.StatusUnauthorized)
		case json.Unmarshal(body, &received) != nil:
			response.WriteHeader(http.StatusBadRequest)
		default:
			handle(received)
			response.WriteHeader(http.StatusNoContent)
		}
	}
	fmt.Printf("Listening on port %s.\\n", port)
	log.Fatal(http.ListenAndServe(":"+port, http.HandlerFunc(receive)))
}
`;
}
