import { describe, expect, it } from '@jest/globals';
import { CoalescingTaskRunner } from './coalescing-task-runner.js';

/** Starts runs that a test ends with `end`, in the order in which they began. */
function controlled(): {
  runs: CoalescingTaskRunner;
  begun: string[];
  end: (error?: Error) => Promise<void>;
} {
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const runs = new CoalescingTaskRunner((name) => {
    begun.push(name);
    return new Promise<void>((resolve, reject) => {
      ends.push((error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  });
  const end = async (error?: Error): Promise<void> => {
    ends.shift()?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { runs, begun, end };
}

describe('a requested run of a task', () => {
  it('begins at once if no run is under way', async () => {
    const { runs, begun, end } = controlled();
    const run = runs.run('a');
    expect(begun).toEqual(['a']);
    await end();
    await run;
  });

  it('begins after the current run, and is shared by all callers that requested a run in the meantime', async () => {
    const { runs, begun, end } = controlled();
    const first = runs.run('a');
    const later = [runs.run('a'), runs.run('a'), runs.run('a')];
    expect(begun).toEqual(['a']);
    await end();
    await first;
    expect(begun).toEqual(['a', 'a']);
    await end();
    await Promise.all(later);
    expect(begun).toHaveLength(2);
  });

  it('never runs at the same time as another one, even if a caller requests it between two runs', async () => {
    const calls: Promise<void>[] = [];
    const callInEachMicrotask = (left: number): void => {
      calls.push(runs.run('a'));
      if (left > 1) queueMicrotask(callInEachMicrotask.bind(undefined, left - 1));
    };
    let [begun, running, maxRunning] = [0, 0, 0];
    const runs = new CoalescingTaskRunner(async () => {
      begun += 1;
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (begun === 1) callInEachMicrotask(20);
    });
    calls.push(runs.run('a'), runs.run('a'));
    await calls[1];
    await Promise.all(calls);
    expect(maxRunning).toBe(1);
    expect(begun).toBe(3);
  });

  it('does not wait for runs of another task', async () => {
    const { runs, begun, end } = controlled();
    const both = [runs.run('a'), runs.run('b')];
    expect(begun).toEqual(['a', 'b']);
    await end();
    await end();
    await Promise.all(both);
  });

  it('that fails returns the error to all callers that share the run, and the next run still begins', async () => {
    const { runs, begun, end } = controlled();
    const first = runs.run('a').catch((error: unknown) => error);
    const later = [runs.run('a'), runs.run('a')].map((run) => run.catch((error: unknown) => error));
    await end(new Error('one'));
    expect(await first).toEqual(new Error('one'));
    await end(new Error('two'));
    expect(await Promise.all(later)).toEqual([new Error('two'), new Error('two')]);
    const next = runs.run('a');
    expect(begun).toHaveLength(3);
    await end();
    await next;
  });
});
