import { EventEmitter } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import { ConfigurationError } from '../environment/configuration-error.js';
import { explainListenError, runUntilStopSignal, type StartContext } from './process-lifecycle.js';

/** A process handle that only records its calls. */
class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  readonly sent: unknown[] = [];
  written = '';
  readonly stderr = {
    write: (text: string): void => {
      this.written += text;
    },
  };

  exit(code: number): void {
    this.exits.push(code);
  }

  send(message: unknown): void {
    this.sent.push(message);
  }
}

/** Waits until all pending promises are settled. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const running = (stop = (): Promise<void> => Promise.resolve()) => ({ port: 3000, stop });

describe('A Tidings process', () => {
  it('sends its port to its parent when it accepts requests', async () => {
    const handle = new FakeProcess();
    await runUntilStopSignal(() => Promise.resolve(running()), handle);
    expect(handle.sent).toEqual([{ type: 'ready', port: 3000 }]);
    expect(handle.exits).toEqual([]);
  });

  it('prints each configuration fault on its own line and exits with 78', async () => {
    const fault = new ConfigurationError(['A is required', 'B is required']);
    const atStart = new FakeProcess();
    await runUntilStopSignal(() => Promise.reject(fault), atStart);
    const later = new FakeProcess();
    await runUntilStopSignal(({ fail }) => {
      fail(fault);
      return Promise.resolve(running());
    }, later);
    for (const { written, exits } of [atStart, later]) {
      expect([written, exits]).toEqual(['A is required\nB is required\n', [78]]);
    }
  });

  it.each(['SIGTERM', 'SIGINT', 'disconnect'])(
    'stops only once and exits with 0 on %s, even if another signal follows',
    async (event) => {
      const handle = new FakeProcess();
      let stops = 0;
      const stop = (): Promise<void> => {
        stops++;
        return Promise.resolve();
      };
      await runUntilStopSignal(() => Promise.resolve(running(stop)), handle);
      handle.emit(event);
      handle.emit('SIGTERM');
      await settled();
      expect([stops, handle.exits]).toEqual([1, [0]]);
    },
  );

  it('that gets SIGTERM during its start stops as soon as the start is complete', async () => {
    const handle = new FakeProcess();
    let stops = 0;
    await runUntilStopSignal(({ signal }: StartContext) => {
      handle.emit('SIGTERM');
      expect(signal.aborted).toBe(true);
      return Promise.resolve(
        running(() => {
          stops++;
          return Promise.resolve();
        }),
      );
    }, handle);
    expect([stops, handle.exits, handle.sent]).toEqual([1, [0], []]);
  });

  it('that gets SIGTERM during a start that never ends exits with 1 after 19 seconds', () => {
    jest.useFakeTimers();
    try {
      const handle = new FakeProcess();
      void runUntilStopSignal(() => new Promise(() => undefined), handle);
      handle.emit('SIGTERM');
      jest.advanceTimersByTime(18_999);
      expect(handle.exits).toEqual([]);
      jest.advanceTimersByTime(1);
      expect(handle.exits).toEqual([1]);
    } finally {
      jest.useRealTimers();
    }
  });

  it.each(['uncaughtException', 'unhandledRejection'])(
    'logs the error of an %s event and exits with 1',
    async (event) => {
      const handle = new FakeProcess();
      const logged: object[] = [];
      await runUntilStopSignal(({ setLog }) => {
        setLog({ info: () => undefined, fatal: (details) => logged.push(details) });
        return Promise.resolve(running());
      }, handle);
      handle.emit(event, new Error('nobody caught me'));
      expect(handle.exits).toEqual([1]);
      expect(JSON.stringify(logged)).toContain('nobody caught me');
    },
  );

  it('exits with 1 if an error occurs while it stops', async () => {
    const handle = new FakeProcess();
    await runUntilStopSignal(
      () => Promise.resolve(running(() => Promise.reject(new Error('stuck')))),
      handle,
    );
    handle.emit('SIGTERM');
    await settled();
    expect([handle.exits, handle.written]).toEqual([[1], expect.stringContaining('stuck')]);
  });
});

describe('The error of a process that cannot listen on its address', () => {
  const address = { host: '::1', port: 3000, hostVariable: 'HOST', portVariable: 'PORT' };
  const fault = (code: string): unknown =>
    explainListenError(Object.assign(new Error(code), { code }), address);

  it('names the address that is in use and the variable to change', () => {
    expect(fault('EADDRINUSE')).toEqual(
      new ConfigurationError([
        'PORT: the address [::1]:3000 is already in use by another process; choose another port, for example PORT=3010',
      ]),
    );
  });

  it('is a configuration error if the process lacks permission for the port, or if the machine does not have the address, but not for another cause', () => {
    expect(fault('EACCES')).toBeInstanceOf(ConfigurationError);
    expect(fault('EADDRNOTAVAIL')).toMatchObject({ faults: [expect.stringMatching(/^HOST: ::1 is not/)] });
    expect(fault('EMFILE')).not.toBeInstanceOf(ConfigurationError);
  });
});
