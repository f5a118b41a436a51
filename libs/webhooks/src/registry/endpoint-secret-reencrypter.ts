import { ReencryptionCounts, type SecretCipher } from '#accounts';
import type { Clock } from '#platform';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { encryptionContextOfHeaders, type StoredEndpoint } from '../endpoint/stored-endpoint.js';

/** Counts the results of re-encrypting the secrets and headers of endpoints. */
export interface EndpointReencryptionCounts {
  secrets: ReencryptionCounts;
  headers: ReencryptionCounts;
}

/** Encrypts the stored secrets and headers of endpoints again after a change of the encryption key. */
export class EndpointSecretReencrypter {
  constructor(
    private readonly store: Pick<EndpointStore, 'list' | 'rewrite'>,
    private readonly cipher: SecretCipher,
    private readonly clock: Clock,
  ) {}

  /**
   * Encrypts the signing secrets and headers of an account's endpoints with the current key. Each endpoint is
   * replaced in one atomic step. The method can therefore be interrupted and called again, and can run while
   * endpoints change.
   */
  async reencryptAll(account: string): Promise<EndpointReencryptionCounts> {
    const all = empty();
    for (const read of await this.store.list(account)) {
      let counts = empty();
      const after = this.reencrypted(account, read, counts);
      if (!same(after, read)) {
        const stored = await this.store.rewrite(account, read.id, (before) => {
          counts = empty();
          return this.reencrypted(account, before, counts);
        });
        // The endpoint was removed after it was read.
        if (stored === undefined) continue;
      }
      all.secrets.add(counts.secrets);
      all.headers.add(counts.headers);
    }
    return all;
  }

  private reencrypted(
    account: string,
    endpoint: StoredEndpoint,
    counts: EndpointReencryptionCounts,
  ): StoredEndpoint {
    const { id, secrets, sealedHeaders } = endpoint;
    const subject = `webhook ${id} of the account ${account}`;
    const now = this.clock.now();
    return {
      ...endpoint,
      // Also encrypt expired secrets again, because they may still be valid by the clock of another machine. A failure
      // to decrypt an expired secret is not counted.
      secrets: secrets.map(({ sealed, expiresAt }) => {
        const counted = expiresAt === null || expiresAt > now ? counts.secrets : new ReencryptionCounts();
        return { sealed: counted.reencrypt(this.cipher, sealed, id, subject), expiresAt };
      }),
      sealedHeaders:
        sealedHeaders &&
        counts.headers.reencrypt(this.cipher, sealedHeaders, encryptionContextOfHeaders(id), subject),
    };
  }
}

function empty(): EndpointReencryptionCounts {
  return { secrets: new ReencryptionCounts(), headers: new ReencryptionCounts() };
}

function same(a: StoredEndpoint, b: StoredEndpoint): boolean {
  return (
    a.sealedHeaders === b.sealedHeaders && a.secrets.every(({ sealed }, i) => sealed === b.secrets[i]?.sealed)
  );
}
