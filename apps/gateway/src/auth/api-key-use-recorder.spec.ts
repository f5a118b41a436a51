import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '#platform';
import { ApiKeyUseRecorder } from './api-key-use-recorder.js';

const MINUTE_MS = 60_000;

describe('the recorder of the uses of API keys', () => {
  let recorded: Map<string, number>[];
  let fault: Error | undefined;
  let log: string[];
  let recorder: ApiKeyUseRecorder;

  beforeEach(() => {
    jest.useFakeTimers();
    recorded = [];
    fault = undefined;
    log = [];
    const recordUses = (uses: ReadonlyMap<string, number>): Promise<void> => {
      recorded.push(new Map(uses));
      return fault === undefined ? Promise.resolve() : Promise.reject(fault);
    };
    const logger = createLogger('gateway', 'debug', { write: (line: string) => log.push(line) });
    recorder = new ApiKeyUseRecorder({ recordUses }, { now: () => Date.now() }, logger);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  const ids = (): string[][] => recorded.map((uses) => [...uses.keys()]);

  it('records the first uses of several API keys in one write, within a second', async () => {
    const at = Date.now();
    recorder.note('one');
    recorder.note('two');
    recorder.note('one');
    expect(recorded).toEqual([]);
    await pass(1_000);
    expect(recorded).toEqual([
      new Map([
        ['one', at],
        ['two', at],
      ]),
    ]);
  });

  it('records the use of an API key at most once a minute', async () => {
    for (let i = 0; i < 130; i += 1) {
      recorder.note('one');
      await pass(1_000);
    }
    expect(ids()).toEqual([['one'], ['one'], ['one']]);
    const [first = 0, second = 0] = recorded.map((uses) => uses.get('one') ?? 0);
    expect(second - first).toBeGreaterThanOrEqual(MINUTE_MS);
  });

  it('records the pending uses when the gateway stops', async () => {
    recorder.note('one');
    await recorder.onModuleDestroy();
    await pass(2_000);
    expect(ids()).toEqual([['one']]);
  });

  it('logs a failed write, and still records later uses', async () => {
    fault = new Error('OOM command not allowed');
    recorder.note('one');
    await pass(1_000);
    expect(log.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: expect.anything(), apiKeys: 1 },
    ]);
    expect(log.join('')).toContain('OOM');
    fault = undefined;
    await pass(MINUTE_MS);
    recorder.note('one');
    await pass(1_000);
    expect(ids()).toEqual([['one'], ['one']]);
  });
});
