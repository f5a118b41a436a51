import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { startProcess, type ProductProcess } from './process.js';

it('a process of the product that was ended by a signal fails its test, unless the test sent the signal', async () => {
  const start = (): Promise<ProductProcess> =>
    startProcess('simulator', { SIMULATOR_PORT: '0', SIMULATOR_API_KEY: 'key' });
  const [crashed, killed] = await Promise.all([start(), start()]);
  try {
    const ended = once(crashed.child, 'exit');
    // As Node.js ends when its memory runs out.
    process.kill(crashed.child.pid ?? 0, 'SIGABRT');
    await ended;
    await expect(crashed.stop()).rejects.toThrow('was ended by SIGABRT, which no test sent');
    expect(await killed.stop('SIGKILL')).toBeNull();
    expect(await killed.stop()).toBeNull();
  } finally {
    killed.child.kill('SIGKILL');
  }
});
