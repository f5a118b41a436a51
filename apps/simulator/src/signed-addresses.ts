import { createHash } from 'node:crypto';
import type { Json, JsonObject } from './json.js';
import type { Settings } from './settings.js';

/** Signs file addresses with a new signature for each read, like addresses that expire. */
export class AddressSigner {
  readonly #signature: string;

  /** @param requestId id of the read; determines the signature */
  constructor(
    private readonly placement: Settings['signedAddresses'],
    requestId: string,
  ) {
    this.#signature = createHash('sha256').update(requestId).digest('hex').slice(0, 32);
  }

  /** Returns a message with signed attachment addresses. */
  message(shown: JsonObject): JsonObject {
    const { attachments } = shown;
    if (this.placement === 'off' || !Array.isArray(attachments)) return shown;
    return { ...shown, attachments: attachments.map((attachment) => this.#attachment(attachment)) };
  }

  /** Returns a contact with a signed address of its picture. */
  contact(shown: JsonObject): JsonObject {
    if (this.placement === 'off') return shown;
    const name = encodeURIComponent(JSON.stringify(shown['id'] ?? null));
    return { ...shown, avatarUrl: this.#signed(`https://files.example/avatars/${name}.png`) };
  }

  #attachment(attachment: Json): Json {
    if (typeof attachment === 'string') return this.#signed(attachment);
    if (typeof attachment !== 'object' || attachment === null || Array.isArray(attachment)) return attachment;
    const { url } = attachment;
    return typeof url === 'string' ? { ...attachment, url: this.#signed(url) } : attachment;
  }

  #signed(address: string): string {
    const host = /^https?:\/\/[^/?#]+/i.exec(address)?.[0];
    if (host === undefined) return address;
    if (this.placement === 'path') return `${host}/signed-${this.#signature}${address.slice(host.length)}`;
    const expires = parseInt(this.#signature.slice(0, 8), 16);
    return `${address}${address.includes('?') ? '&' : '?'}Expires=${expires}&Signature=${this.#signature}`;
  }
}
