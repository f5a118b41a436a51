import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator, SimulatorOptions } from '../create-simulator.js';
import { createSimulator } from '../create-simulator.js';
import type { Settings } from '../settings.js';

const DEADLINE_MS = 5_000;

/** A simulator on a free port, with a client. `stop` closes the simulator. */
export interface RunningSimulator {
  readonly simulator: Simulator;
  readonly baseUrl: string;
  readonly url: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  getJson(path: string): Promise<unknown>;
  send(parts: Record<string, string | Blob>): Promise<Response>;
  control(verb: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  stop(): Promise<void>;
}

/** Settings without delays. */
const NO_DELAYS: Partial<Settings> = { sendVisibleDelayMs: 0, deliveredDelayMs: 0, readDelayMs: 0 };

/** Starts a simulator. Delays are zero unless the options set them. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const simulator = await createSimulator({ ...options, settings: { ...NO_DELAYS, ...options.settings } });
  const { baseUrl, url } = await simulator.listen();
  const key = { 'x-api-key': options.apiKey ?? 'simulator-key' };
  const get = (path: string, headers: Record<string, string> = key): Promise<Response> =>
    fetch(baseUrl + path, { headers, signal: AbortSignal.timeout(DEADLINE_MS) });
  return {
    simulator,
    baseUrl,
    url,
    get,
    async getJson(path) {
      return (await get(path)).json();
    },
    send(parts) {
      const body = new FormData();
      for (const [name, value] of Object.entries(parts))
        if (typeof value === 'string') body.append(name, value);
        else body.append(name, value, 'note.txt');
      const signal = AbortSignal.timeout(DEADLINE_MS);
      return fetch(`${baseUrl}/messages/send`, { method: 'POST', headers: key, body, signal });
    },
    async control(verb, body) {
      const reply = await fetch(`${url}/_simulator/${verb}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body ?? {}),
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      return { status: reply.status, body: await reply.json() };
    },
    stop: () => simulator.close(),
  };
}

/** Calls `look` until the result is not undefined, null or false. */
export async function eventually<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > deadline) throw new Error('the condition was not met in time');
    await pause(10);
  }
}

/** Returns the id of the first listed contact. */
export function onlyContactId(running: RunningSimulator): string {
  const [contact] = running.simulator.core.world.contacts.listed();
  if (contact === undefined) throw new Error('the simulator has no contact');
  return contact.id;
}
