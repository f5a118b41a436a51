// Answers every message that arrives, once. Settings: TIDINGS_URL, TIDINGS_API_KEY, WEBHOOK_SECRET, PORT.
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Contact, type Event, Tidings, verifyWebhook, WebhookVerificationError } from '@tidings/client';

const {
  TIDINGS_URL = 'http://127.0.0.1:3000',
  TIDINGS_API_KEY = '',
  WEBHOOK_SECRET = '',
  PORT = '8080',
} = process.env;
const tidings = new Tidings({ baseUrl: TIDINGS_URL, apiKey: TIDINGS_API_KEY });

async function handle(event: Event): Promise<void> {
  if (event.type !== 'message.received') return;
  const contact = (await tidings.call(
    'GET',
    `/v1/contacts/${encodeURIComponent(event.contactId)}`,
  )) as Contact;
  const { phoneNumber } = contact as { phoneNumber?: string };
  if (phoneNumber === undefined) return;
  const message = `You wrote: ${String(event.data.message.message)}`;
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
        // Anything but a wrong signature is worth another attempt, which any status other than 2xx asks for.
        response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
        console.error(error);
      },
    );
}).listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on port ${PORT}.`);
});
