import { readdir } from 'node:fs/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { usageOf } from '../support/process-usage.js';
import type { ProductProcess } from '../support/process.js';
import { Product } from '../support/product.js';
import { startTestS3, type TestS3 } from '../support/s3-server.js';

const UPLOADS = 10;
const MEGABYTE = 1_048_576;
const SIZE = 25 * MEGABYTE;
/** Half of the total size of the simultaneous uploads. */
const MAX_GROWTH = (UPLOADS * SIZE) / 2;

let product: Product | undefined;
let s3: TestS3 | undefined;

afterEach(async () => {
  await product?.[Symbol.asyncDispose]();
  await s3?.[Symbol.asyncDispose]();
  product = s3 = undefined;
});

/** Resident memory of a process, in bytes. */
async function memoryOf({ child }: ProductProcess): Promise<number> {
  return (await usageOf(child.pid)).rss;
}

/** Measures repeatedly by how much the memory of a process has grown since the call. */
async function watchGrowth(process: ProductProcess): Promise<() => number> {
  const before = await memoryOf(process);
  let most = 0;
  const timer = setInterval(() => {
    // The process may have exited.
    memoryOf(process).then(
      (now) => (most = Math.max(most, now - before)),
      () => undefined,
    );
  }, 100);
  return () => {
    clearInterval(timer);
    return most;
  };
}

async function upload(running: Product, content: Blob, i: number): Promise<string> {
  const form = new FormData();
  form.append('phoneNumber', `+1415555${1_000 + i}`);
  form.append('file', content, 'film.mov');
  const response = await fetch(`http://127.0.0.1:${running.gateway.port}/v1/messages/send`, {
    method: 'POST',
    headers: { 'X-API-Key': running.apiKey },
    body: form,
    signal: AbortSignal.timeout(90_000),
  });
  const { id } = (await response.json()) as { id: string };
  if (response.status !== 200) throw new Error(`the upload got the status ${response.status}`);
  return id;
}

async function untilAccepted(running: Product, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await eventually(
      `upstream has accepted ${id}`,
      async () => {
        const { status } = await running.json<{ status: string }>('GET', `/v1/sends/${id}`);
        return ['accepted', 'sent', 'delivered'].includes(status);
      },
      90_000,
    );
  }
}

async function acceptedSizes(running: Product): Promise<number[]> {
  const { entries } = await running.simulate<{ entries: { parts: { size?: number }[] }[] }>('ledger', {
    kind: 'send.accepted',
  });
  return entries.flatMap(({ parts }) => parts.flatMap(({ size }) => size ?? []));
}

describe('ten simultaneous uploads of 25 MB each', () => {
  it('reach upstream completely, leave no file behind, and need less memory than half of their total size', async () => {
    const running = await Product.start({ UPSTREAM_TIMEOUT_MS: '60000' });
    product = running;
    await untilAccepted(running, [await upload(running, new Blob([Buffer.alloc(MEGABYTE, 1)]), 0)]);

    const gateway = await watchGrowth(running.gateway);
    const worker = await watchGrowth(running.worker);
    const content = new Blob([Buffer.alloc(SIZE, 7)]);
    const ids = await Promise.all(Array.from({ length: UPLOADS }, (_, i) => upload(running, content, i)));
    await untilAccepted(running, ids);
    const grown = { gateway: gateway(), worker: worker() };
    process.stdout.write(
      `The gateway grew by ${Math.round(grown.gateway / MEGABYTE)} MB, the worker by ${Math.round(grown.worker / MEGABYTE)} MB.\n`,
    );
    expect(grown.gateway).toBeLessThan(MAX_GROWTH);
    expect(grown.worker).toBeLessThan(MAX_GROWTH);
    expect(await acceptedSizes(running)).toEqual([MEGABYTE, ...Array<number>(UPLOADS).fill(SIZE)]);
    const left = async (): Promise<string[]> => readdir(`${running.blobDirectory}/default`);
    await eventually('no file is left', async () => (await left()).length === 0);
  });
});

describe('an upload through an S3 bucket', () => {
  it('reaches upstream completely and leaves no object in the bucket', async () => {
    const server = await startTestS3();
    s3 = server;
    const running = await Product.start({
      ...server.environment,
      UPSTREAM_TIMEOUT_MS: '60000',
      BLOB_STORE: `s3://${server.bucket}/uploads`,
    });
    product = running;
    const size = 12 * MEGABYTE;
    await untilAccepted(running, [await upload(running, new Blob([Buffer.alloc(size, 7)]), 0)]);
    expect(await acceptedSizes(running)).toEqual([size]);
    await eventually('no file is left', async () => {
      const left = await server.files();
      if (left.length === 0) return true;
      const lines = running.allOutput().split('\n');
      throw new Error([...left, ...lines.filter((line) => line.includes('uploaded file'))].join('\n'));
    });
  });
});
