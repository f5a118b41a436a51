import { WebSocket } from 'undici';
import type { ProductProcess } from './process.js';

/** Environment variables that {@link liveHeapOf} needs in a process. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

/** Heap size of a process after a garbage collection, in bytes, from its inspector. */
export async function liveHeapOf(process: ProductProcess): Promise<number> {
  const address = /Debugger listening on (ws:\S+)/.exec(process.output())?.[1];
  if (address === undefined) throw new Error('the process was not started with INSPECTABLE');
  const socket = new WebSocket(address);
  try {
    await new Promise<void>((opened, failed) => {
      socket.addEventListener('open', () => {
        opened();
      });
      socket.addEventListener('error', () => {
        failed(new Error('cannot connect to the inspector'));
      });
    });
    // A second collection frees what finalizers released in the first one.
    await ask(socket, 1, 'HeapProfiler.collectGarbage');
    await ask(socket, 2, 'HeapProfiler.collectGarbage');
    const { usedSize } = (await ask(socket, 3, 'Runtime.getHeapUsage')) as { usedSize: number };
    return usedSize;
  } finally {
    socket.close();
  }
}

async function ask(socket: WebSocket, id: number, method: string): Promise<unknown> {
  const answer = new Promise<unknown>((resolve) => {
    const listen = ({ data }: { data: unknown }): void => {
      const message = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (message.id !== id) return;
      socket.removeEventListener('message', listen);
      resolve(message.result);
    };
    socket.addEventListener('message', listen);
  });
  socket.send(JSON.stringify({ id, method }));
  return await answer;
}
