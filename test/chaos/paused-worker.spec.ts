import { execFile } from 'node:child_process';
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

const NUMBER = '+14155550123';

/** A send's file, and a pipe in its place: whoever opens that waits, after the fence and before the POST. */
class HeldFile {
  private constructor(
    private readonly path: string,
    private readonly aside: string,
  ) {}

  static async of(product: Product): Promise<HeldFile> {
    const directory = join(product.blobDirectory, 'default');
    const names = await readdir(directory);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new Error(`not one file but ${names.join()}`);
    const aside = join(product.blobDirectory, 'aside');
    await mkdir(aside);
    const held = new HeldFile(join(directory, name), join(aside, name));
    await rename(held.path, held.aside);
    await promisify(execFile)('mkfifo', [held.path]);
    return held;
  }

  /** Puts the file where it was; also again, if a send that ended well took it away. */
  async putBack(): Promise<void> {
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

/** Of a product whose worker is stopped between the fence of a send and its POST. */
interface Night {
  product: Product;
  paused: ProductProcess;
  view: () => Promise<View>;
}

/**
 * Stops a worker between `relaying` and the POST, lets others look until `until` holds, wakes it, and lets it show by
 * a further send that it is at work again.
 */
async function sleepThrough(
  settings: Readonly<Record<string, string>>,
  until: (night: Night) => Promise<boolean>,
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
  const file = await HeldFile.of(product);
  const paused = await startProcess('worker', { ...product.environment(), WORKER_PORT: '0' });
  try {
    await eventually('the fence is set', async () => (await view()).status === 'relaying');
    await hasReadAllAnswers(paused);
    paused.child.kill('SIGSTOP');
    await file.putBack();
    await product.startWorker();
    await eventually('others looked', () => until({ product, paused, view }), 60_000);
    // What it opens when it wakes is there for it, whatever the others did with it.
    await file.putBack();

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
    // Only the one that was paused is left.
    await product.json('POST', '/v1/messages/send', { phoneNumber: '+14155550124', message: 'Awake' });
    await eventually('the woken one relays', async () => (await product.texts()).includes('Awake'), 60_000);
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

/** Two rounds of its event loop: what was answered to it before them, it has acted on. */
async function hasReadAllAnswers({ port }: ProductProcess): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(5_000) });
  }
}

it('a worker paused between `relaying` and the POST, and woken after others looked and sent, texts nobody twice', async () => {
  // The others send again what they do not find: the harshest case.
  const { texts, posts, end } = await sleepThrough(
    { SEND_ON_UNKNOWN: 'resend' },
    async ({ product }) => (await product.texts()).length === 1,
  );
  expect(texts).toEqual(['Once', 'Awake']);
  expect(posts).toBe(2);
  expect(end.status).toBe('delivered');
}, 180_000);

it('a worker paused between `relaying` and the POST, and woken after others gave up looking, posts nothing late', async () => {
  const { texts, posts, end } = await sleepThrough(
    { SEND_ON_UNKNOWN: 'hold' },
    async ({ view }) => (await view()).status === 'unknown',
  );
  expect(texts).toEqual(['Awake']);
  expect(posts).toBe(1);
  expect(end).toMatchObject({ status: 'unknown', attempts: [] });
}, 180_000);

it('a worker paused between `relaying` and the POST, and woken while others look, texts nobody twice, and the send ends', async () => {
  const { texts, end } = await sleepThrough({ SEND_CONFIRM_MEDIA_MS: '5000' }, ({ product }) =>
    Promise.resolve(product.worker.output().includes('a POST was left by its process')),
  );
  // It gives its turn back, unless its connection to Redis was cut meanwhile; then the others give up.
  const ends = { delivered: ['Once', 'Awake'], unknown: ['Awake'] };
  expect(texts).toEqual(ends[end.status as keyof typeof ends]);
}, 180_000);
