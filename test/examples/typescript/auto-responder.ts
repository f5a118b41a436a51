// Answers every text that arrives, once. Settings: TIDINGS_URL, TIDINGS_API_KEY, WEBHOOK_SECRET, PORT.
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import {
  type Contact,
  type Event,
  Tidings,
  TidingsError,
  verifyWebhook,
  WebhookVerificationError,
} from '@tidings/client';

const {
  TIDINGS_URL = 'http://127.0.0.1:3000',
  TIDINGS_API_KEY = '',
  WEBHOOK_SECRET = '',
  PORT = '8080',
} = process.env;
/** Statuses with which the gateway rejects a request for good. It would reject it again after another delivery. */
const REJECTED = [400, 404, 422];
const tidings = new Tidings({ baseUrl: TIDINGS_URL, apiKey: TIDINGS_API_KEY });

async function handle(event: Event): Promise<void> {
  if (event.type !== 'message.received') return;
  const text = event.data.message.message;
  if (!text) return;
  const contact = (await tidings.call(
    'GET',
    `/v1/contacts/${encodeURIComponent(event.contactId)}`,
  )) as Contact;
  const { phoneNumber } = contact as { phoneNumber?: string };
  if (phoneNumber === undefined) return;
  const message = `You wrote: ${text}`;
  // A repeated delivery of the event repeats this send, which then does nothing.
  await tidings.send({ phoneNumber, message }, { idempotencyKey: event.id });
}

createServer((request, response) => {
  buffer(request)
    .then((body) => verifyWebhook(body, request.headers, WEBHOOK_SECRET))
    .then(handle)
    .then(
      () => response.writeHead(204).end(),
      (error: unknown) => {
        const isRejected = error instanceof TidingsError && REJECTED.includes(error.status);
        // After 500, the event comes again.
        response.writeHead(isRejected ? 204 : error instanceof WebhookVerificationError ? 401 : 500).end();
        console.error(error);
      },
    );
}).listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on port ${PORT}.`);
});
