import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';
import { contactsIn, FILE, exerciseClient } from './as-a-client.js';
import { GeneratedClient } from './generated-client.js';

let product: Product;
let plain: ProductProcess;

beforeAll(async () => {
  product = await Product.start();
  await product.simulate('settings', { extraMessageFields: true, extraContactFields: true });
  plain = await startProcess('gateway', {
    ...product.environment(),
    CONTACTS_SHAPE: 'upstream',
    PORT: '0',
    API_KEY: product.apiKey,
  });
});

afterAll(async () => {
  await plain.stop();
  await product[Symbol.asyncDispose]();
});

/** Upstream itself, and the servers that can replace it. */
const SERVERS = [
  ['upstream itself', '+14155550101', () => [product.simulator, product.upstreamKey] as const],
  ['the gateway', '+14155550102', () => [product.gateway, product.apiKey] as const],
  ['the gateway with CONTACTS_SHAPE=upstream', '+14155550103', () => [plain, product.apiKey] as const],
] as const;

const clientAt = ({ port }: ProductProcess, key: string): Promise<GeneratedClient> =>
  GeneratedClient.at(`http://127.0.0.1:${port}/v1`, key);

interface AcceptedSend {
  phoneNumber: string;
  parts: { name: string; value?: string; size?: number; sha256?: string }[];
}

describe("a client generated from upstream's API description", () => {
  it.each(SERVERS)('works without changes if its server is %s', async (_, phoneNumber, place) => {
    const [process, key] = place();
    await exerciseClient(await clientAt(process, key), await clientAt(process, `${key}-x`), phoneNumber);
    const { entries } = await product.simulate<{ entries: AcceptedSend[] }>('ledger', {
      kind: 'send.accepted',
    });
    const parts = entries.filter((entry) => entry.phoneNumber === phoneNumber).map((entry) => entry.parts);
    expect(parts).toHaveLength(5);
    const sha256 = createHash('sha256').update(FILE).digest('hex');
    expect(parts.flat()).toContainEqual(expect.objectContaining({ name: 'file', size: FILE.length, sha256 }));
    expect(parts.flat()).toContainEqual(expect.objectContaining({ name: 'priority', value: 'high' }));
  });

  it.each(['array', 'contacts', 'data', 'items'])(
    'gets the same contacts from the gateway as from upstream if upstream’s contact list has the form "%s"',
    async (contactsShape) => {
      await product.simulate('settings', { contactsShape });
      const bodies = await Promise.all(
        SERVERS.map(async ([, , place]) => {
          const client = await clientAt(...place());
          // The additional parameter bypasses the read cache of the gateway.
          return client.call('listContacts', { shape: contactsShape });
        }),
      );
      const [upstream, gateway, untouched] = bodies;
      expect(contactsIn(upstream)).toHaveLength(3);
      expect(contactsIn(upstream)[0]).toHaveProperty('lastMessageAt');
      expect(gateway).toEqual({ contacts: contactsIn(upstream) });
      expect(untouched).toEqual(upstream);
    },
  );
});
