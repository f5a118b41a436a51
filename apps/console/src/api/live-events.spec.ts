import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Tidings } from '#client';
import { LiveEvents, type LiveState } from './live-events.js';

/** A connection to the event stream that the gateway accepted. */
interface Connection {
  /** Cursor after which the events are wanted. */
  after: string | null;
  isAborted: () => boolean;
  /** Sends a line of the stream. */
  send: (text: string) => void;
}

let connections: Connection[];
/** Statuses with which the next requests are rejected. If the list is empty, the gateway accepts a request. */
let rejections: number[];
let live: LiveEvents;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  connections = [];
  rejections = [];
  const client = new Tidings({
    baseUrl: 'http://gateway.example',
    fetch: (url, init) => {
      const status = rejections.shift();
      if (status !== undefined) return Promise.resolve(new Response('', { status }));
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          init?.signal?.addEventListener('abort', () => {
            controller.error(new Error('aborted'));
          });
          connections.push({
            isAborted: () => init?.signal?.aborted === true,
            after: new URL(url instanceof Request ? url.url : url).searchParams.get('after'),
            send: (text) => {
              controller.enqueue(new TextEncoder().encode(text));
            },
          });
        },
      });
      return Promise.resolve(new Response(body));
    },
  });
  live = new LiveEvents(client, true);
});

afterEach(() => {
  live.close();
  jest.useRealTimers();
});

const settle = (): Promise<void> => jest.advanceTimersByTimeAsync(60);

/** Waits until the state is reached. The streams may need many microtasks for it. */
async function reached(state: LiveState): Promise<void> {
  for (let turn = 0; turn < 10_000 && live.snapshot !== state; turn += 1) await Promise.resolve();
  expect(live.snapshot).toBe(state);
}

describe('the live events of the console', () => {
  it('tell a listener to read its data again when the first connection opens, because events before the connection are not received', async () => {
    const onGap = jest.fn();
    live.listen({ types: ['message.*'], onGap });
    await settle();
    expect(connections.map(({ after }) => after)).toEqual(['now']);
    expect(onGap).toHaveBeenCalledTimes(1);
  });

  it('continue after the last received event when another listener is added, and tell no listener to read its data again', async () => {
    const onGap = jest.fn();
    live.listen({ types: ['message.*'], onGap });
    await settle();
    connections[0]?.send('id: 7\n\n');
    await settle();
    live.listen({ types: ['webhook.disabled'], onGap });
    await settle();
    expect(connections.map(({ after }) => after)).toEqual(['now', '7']);
    expect(onGap).toHaveBeenCalledTimes(1);
  });

  it('contain only new events after a period without listeners, and tell the new listener to read its data again', async () => {
    const stop = live.listen({ types: ['message.*'] });
    await settle();
    connections[0]?.send('id: 7\n\n');
    await settle();
    stop();
    await settle();
    const onGap = jest.fn();
    live.listen({ types: ['message.*'], onGap });
    await settle();
    expect(connections.map(({ after }) => after)).toEqual(['now', 'now']);
    expect(onGap).toHaveBeenCalledTimes(1);
  });

  it('are requested again after a wait if a proxy rejected the request', async () => {
    rejections = [404];
    const onGap = jest.fn();
    live.listen({ types: ['message.*'], onGap });
    await settle();
    await reached('lost');
    await jest.advanceTimersByTimeAsync(15_000);
    await reached('open');
    expect(onGap).toHaveBeenCalledTimes(1);
  });

  it('remove their abort listener after each wait before they repeat a rejected request', async () => {
    const add = jest.spyOn(AbortSignal.prototype, 'addEventListener');
    const remove = jest.spyOn(AbortSignal.prototype, 'removeEventListener');
    live = new LiveEvents(
      {
        events: () => {
          throw new Error('rejected');
        },
      },
      true,
    );
    live.listen({ types: ['message.*'] });
    await settle();
    for (let n = 0; n < 5; n += 1) await jest.advanceTimersByTimeAsync(15_000);
    expect(add.mock.calls.length).toBeGreaterThan(5);
    // Only the listener of the current wait is not removed yet.
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length - 1);
    add.mockRestore();
    remove.mockRestore();
  });

  it('use no connection while paused, then continue after the last received event, and tell listeners of changes that the gateway does not store to read their data again', async () => {
    const onGap = jest.fn();
    live.listen({ types: ['message.*'], onGap });
    live.listen({ types: ['conversation.updated'], onGap });
    await settle();
    connections[0]?.send('id: 7\n\n');
    await settle();
    expect(onGap).toHaveBeenCalledTimes(2);
    live.pause();
    await settle();
    expect(connections[0]?.isAborted()).toBe(true);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(connections).toHaveLength(1);
    live.resume();
    await settle();
    expect(connections.map(({ after }) => after)).toEqual(['now', '7']);
    // Changes that the gateway does not store may have been missed during the pause.
    expect(onGap).toHaveBeenCalledTimes(3);
  });
});
