import { execFile } from 'node:child_process';
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

const NUMBER = '+14155550123';

/**
 * Replaces a send's file by a named pipe. A worker that opens the pipe blocks between the fence and the POST.
 */
class BlockedFile {
  private constructor(
    private readonly path: string,
    private readonly aside: string,
  ) {}

  static async of(product: Product): Promise<BlockedFile> {
    const directory = join(product.blobDirectory, 'default');
    const names = await readdir(directory);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new Error(`expected one file, found: ${names.join()}`);
    const aside = join(product.blobDirectory, 'aside');
    await mkdir(aside);
    const held = new BlockedFile(join(directory, name), join(aside, name));
    await rename(held.path, held.aside);
    await promisify(execFile)('mkfifo', [held.path]);
    return held;
  }

  /** Restores the file, even if a completed send has deleted it. */
  async restore(): Promise<void> {
    const copy = `${this.aside}.copy`;
    await rm(copy, { force: true });
    await link(this.aside, copy);
    await rename(copy, this.path);
  }
}

interface View {
  status: string;
  attempts: unknown[];
}

/** A product with a worker that is paused between the fence of a send and its POST. */
interface PausedProduct {
  product: Product;
  paused: ProductProcess;
  view: () => Promise<View>;
}

/**
 * Pauses a worker between `relaying` and the POST, lets other workers run until `until` holds, and resumes
 * the worker. A second send proves that the worker runs again.
 */
async function runWithPausedWorker(
  settings: Readonly<Record<string, string>>,
  until: (night: PausedProduct) => Promise<boolean>,
): Promise<{ texts: string[]; posts: number; end: View; log: string }> {
  await using product = await Product.start({
    UPSTREAM_TIMEOUT_MS: '1000',
    SEND_CONFIRM_MEDIA_MS: '1000',
    ...settings,
  });
  await product.worker.stop();
  const form = new FormData();
  form.append('phoneNumber', NUMBER);
  form.append('message', 'Once');
  form.append('file', new Blob(['picture']), 'a.png');
  const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', form);
  const view = (): Promise<View> => product.json<View>('GET', `/v1/sends/${id}`);
  const file = await BlockedFile.of(product);
  const paused = await startProcess('worker', { ...product.environment(), WORKER_PORT: '0' });
  try {
    await eventually('the fence is set', async () => (await view()).status === 'relaying');
    await waitForEventLoop(paused);
    paused.child.kill('SIGSTOP');
    await file.restore();
    await product.startWorker();
    await eventually('the other workers have acted', () => until({ product, paused, view }), 60_000);
    // The resumed worker finds the file, whatever the other workers did with it.
    await file.restore();

    paused.child.kill('SIGCONT');
    const end = await eventually(
      'the send has ended',
      async () => {
        const seen = await view();
        return ['delivered', 'unknown'].includes(seen.status) && seen;
      },
      60_000,
    );
    expect(await product.worker.stop()).toBe(0);
    // The resumed worker is now the only worker.
    await product.json('POST', '/v1/messages/send', { phoneNumber: '+14155550124', message: 'Awake' });
    await eventually(
      'the resumed worker relays',
      async () => (await product.texts()).includes('Awake'),
      60_000,
    );
    expect(await paused.stop()).toBe(0);
    const { entries } = await product.simulate<{ entries: { method: string }[] }>('ledger', {
      kind: 'request',
    });
    return {
      texts: await product.texts(),
      posts: entries.filter(({ method }) => method === 'POST').length,
      end,
      log: paused.output(),
    };
  } finally {
    paused.child.kill('SIGCONT');
    await paused.stop('SIGKILL');
  }
}

/** Waits for two health checks. The worker has then processed all replies that it received earlier. */
async function waitForEventLoop({ port }: ProductProcess): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(5_000) });
  }
}

it('a worker that is paused before its POST and resumed sends no duplicate if another worker has posted the send meanwhile', async () => {
  // The other workers resend a message that they do not find: the hardest case.
  const { texts, posts, end } = await runWithPausedWorker(
    { SEND_ON_UNKNOWN: 'resend' },
    async ({ product }) => (await product.texts()).length === 1,
  );
  expect(texts).toEqual(['Once', 'Awake']);
  expect(posts).toBe(2);
  expect(end.status).toBe('delivered');
}, 180_000);

it('a worker that is paused before its POST and resumed does not post the send if the send has become unknown meanwhile', async () => {
  const { texts, posts, end } = await runWithPausedWorker(
    { SEND_ON_UNKNOWN: 'hold' },
    async ({ view }) => (await view()).status === 'unknown',
  );
  expect(texts).toEqual(['Awake']);
  expect(posts).toBe(1);
  expect(end).toMatchObject({ status: 'unknown', attempts: [] });
}, 180_000);

it('a worker that is paused before its POST, and resumed while another worker looks up the send, sends no duplicate, and the send is finished', async () => {
  const { texts, end } = await runWithPausedWorker({ SEND_CONFIRM_MEDIA_MS: '5000' }, ({ product }) =>
    Promise.resolve(
      product.worker.output().includes('a process ended or hung while it posted a send; looking up'),
    ),
  );
  // The resumed worker releases the send. If its Redis connection was lost, the other workers end the send as
  // unknown.
  const ends = { delivered: ['Once', 'Awake'], unknown: ['Awake'] };
  expect(texts).toEqual(ends[end.status as keyof typeof ends]);
}, 180_000);
