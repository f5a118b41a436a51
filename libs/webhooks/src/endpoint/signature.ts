import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Returns a new signing secret: `whsec_` and 32 random bytes in base64. */
export function generateSigningSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Returns the signing key of a secret: the bytes that the base64 text after `whsec_` stands for. */
export function signingKeyOf(secret: string): KeyObject {
  return createSecretKey(secret.slice(PREFIX.length), 'base64');
}

/**
 * Returns the value of the `webhook-signature` header, as defined by Standard Webhooks 1.0. Each key yields `v1,` and the
 * base64 HMAC-SHA256 of `id.timestamp.body`. Spaces separate the signatures.
 * @param timestamp seconds since 1970
 */
export function signDelivery(
  keys: readonly KeyObject[],
  id: string,
  timestamp: number,
  body: string,
): string {
  const text = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `v1,${createHmac('sha256', key).update(text).digest('base64')}`).join(' ');
}
