import type { Event } from './api-types.js';

/** Default maximum difference between the time in the header `webhook-timestamp` and now, in seconds. */
const DEFAULT_TOLERANCE_SECONDS = 300;
const SECRET_PREFIX = 'whsec_';

/**
 * Thrown if a request cannot be verified as a delivery of Tidings: a header is missing or invalid, no signature is
 * valid, or `webhook-timestamp` differs too much from the current time. Answer such a request with status 401.
 */
export class WebhookVerificationError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'WebhookVerificationError';
  }
}

/** Options of {@link verifyWebhook} and {@link verifyWebhookRequest}. */
export interface VerificationOptions {
  /** Maximum difference between the time in the header `webhook-timestamp` and now, in seconds. Default: 300. */
  toleranceSeconds?: number;
  /** Current time, in milliseconds since 1970. Default: the time of this machine's clock. */
  nowMs?: number;
}

/**
 * Verifies the signature of a delivery and returns its event. Ignore an event whose `id` you have handled before:
 * a delivery may arrive more than once.
 *
 * @example
 * ```ts
 * const event = await verifyWebhook(rawBody, request.headers, process.env.WEBHOOK_SECRET);
 * if (event.type === 'message.received') await answer(event.data.message);
 * ```
 * @param body the body exactly as it was received, not parsed and serialized again
 * @param headers headers of the request, in any letter case
 * @param secrets the signing secret of the webhook (`whsec_…`), or several secrets during a rotation
 * @throws {WebhookVerificationError}
 * @throws {TypeError} if a secret does not have the form of a signing secret
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  secrets: string | readonly string[],
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, nowMs = Date.now() }: VerificationOptions = {},
): Promise<Event> {
  const [id, timestamp, signatures] = (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const).map(
    (name) => headerOf(headers, name),
  ) as [string, string, string];
  const seconds = Number(timestamp);
  if (!Number.isInteger(seconds)) throw new WebhookVerificationError('webhook-timestamp is not a number');
  if (Math.abs(nowMs / 1_000 - seconds) > toleranceSeconds)
    throw new WebhookVerificationError(`webhook-timestamp is more than ${toleranceSeconds} s from now`);

  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const given = signatures
    .split(' ')
    .flatMap((each) => (each.startsWith('v1,') ? [bytesOf(each.slice('v1,'.length))] : []));
  for (const secret of [secrets].flat()) {
    const key = await keyOf(secret);
    for (const signature of given)
      if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, signed)))
        return JSON.parse(text) as Event;
  }
  throw new WebhookVerificationError('no signature is valid for the given secrets');
}

/** Options of {@link signWebhook}. */
export interface SigningOptions {
  /** Id of the event, for the header `webhook-id`. */
  id: string;
  /** Signing secret of the webhook, `whsec_…`. */
  secret: string;
  /** Time for the header `webhook-timestamp`, in milliseconds since 1970. Default: now. */
  atMs?: number;
}

/**
 * Returns the signature headers that the gateway would send with this body. Use this function to test code
 * that receives deliveries.
 *
 * @example
 * ```ts
 * const body = JSON.stringify(event);
 * const headers = { 'content-type': 'application/json', ...(await signWebhook(body, { id: event.id, secret })) };
 * const response = await fetch(receiverUrl, { method: 'POST', headers, body });
 * ```
 * @throws {TypeError} if the secret does not have the form of a signing secret
 */
export async function signWebhook(
  body: string,
  { id, secret, atMs = Date.now() }: SigningOptions,
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', await keyOf(secret), signed));
  const base64 = btoa(String.fromCharCode(...signature));
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${base64}` };
}

/**
 * Verifies a delivery on a server whose requests are `Request` objects of the Fetch API, such as Bun, Deno,
 * Hono or a Next.js route. Reads the body of the request, and returns the event of the delivery.
 * @param secrets the signing secret of the webhook (`whsec_…`), or several secrets during a rotation
 * @throws {WebhookVerificationError}
 * @throws {TypeError} if a secret does not have the form of a signing secret
 */
export async function verifyWebhookRequest(
  request: Request,
  secrets: string | readonly string[],
  options: VerificationOptions = {},
): Promise<Event> {
  return await verifyWebhook(await request.text(), request.headers, secrets, options);
}

function headerOf(
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  name: string,
): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const first = typeof value === 'string' ? value : value?.[0];
  if (first === undefined || first === '')
    throw new WebhookVerificationError(`the header ${name} is missing`);
  return first;
}

/**
 * Type of a Web Crypto key. It is derived from a function, because the name of the type differs between
 * environments.
 */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

async function keyOf(secret: string): Promise<HmacKey> {
  const bytes = secret.startsWith(SECRET_PREFIX) ? bytesOf(secret.slice(SECRET_PREFIX.length)) : undefined;
  if (bytes === undefined || bytes.length === 0)
    throw new TypeError(
      'a webhook secret must be `whsec_` followed by base64 text, as returned by the gateway',
    );
  return await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ]);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    // The text is not base64.
    return undefined;
  }
}
