import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { errorAnswer, sendAnswer } from './answers.js';
import { controlApi } from './control-api.js';
import { verbs } from './control/verbs.js';
import { HeldExchanges } from './held-exchanges.js';
import type { Ledger } from './ledger.js';
import { pageFiles } from './page-files.js';
import { phoneApi } from './phone-api.js';
import { NotFound } from './refusals.js';
import type { Settings } from './settings.js';
import { SimulatorCore } from './simulator-core.js';
import { StateKeeper } from './state/state-keeper.js';
import { upstreamApi } from './upstream-api.js';
import { statusOf, wordsOf } from './error-words.js';

export interface SimulatorOptions {
  /** What clients must send as `X-API-Key`. Default `simulator-key`. */
  readonly apiKey?: string;
  /** The account's own number, E.164. Default +15550000000. */
  readonly phoneNumber?: string;
  /** The same seed and the same calls give the same ids and draws. Default 1. */
  readonly seed?: number;
  /** Knobs that differ from the defaults, at the start and after each reset. */
  readonly settings?: Partial<Settings>;
  /** Where the state is kept; left out: in memory only. A new file begins with the demo's contacts. */
  readonly stateFile?: string;
  /** Takes a line about trouble that the simulator survives. Default: standard error. */
  readonly report?: (line: string) => void;
}

export interface Simulator {
  readonly core: SimulatorCore;
  readonly ledger: Ledger;
  /** Listens; port 0 takes a free one. */
  listen(at?: { readonly host?: string; readonly port?: number }): Promise<SimulatorAddress>;
  /** A control verb without HTTP: `control('contacts', {count: 2})`. @throws InvalidInput, NotFound */
  control(verb: string, body?: unknown): object;
  /** Drops every connection, saves, and leaves nothing running. May be called twice. */
  close(): Promise<void>;
}

export interface SimulatorAddress {
  readonly host: string;
  readonly port: number;
  /** Where the phone page is, such as http://127.0.0.1:4010. */
  readonly url: string;
  /** The base address of the simulated upstream: `url` with /v1. */
  readonly baseUrl: string;
}

/**
 * Makes a simulator; it does not listen yet.
 * @throws CorruptState when the state file is damaged, InvalidInput for a setting that makes no sense.
 */
export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { apiKey = 'simulator-key', phoneNumber = '+15550000000', seed = 1, stateFile } = options;
  const core = new SimulatorCore({ accountNumber: phoneNumber, seed, settings: options.settings });
  const report =
    options.report ??
    ((line: string): void => {
      console.error(line);
    });
  const keeper = stateFile === undefined ? null : new StateKeeper(core, stateFile, report);
  try {
    const restored = (await keeper?.load()) ?? false;
    const fresh = keeper !== null && !restored;
    if (fresh && options.settings?.demo !== false)
      core.act((world) => {
        world.fillForDemo();
      });
    const held = new HeldExchanges();
    core.onReset(() => {
      held.releaseAll();
    });
    const server = await createServer(core, apiKey, held);
    return simulatorOf(core, keeper, held, server);
  } catch (error) {
    core.close();
    throw error;
  }
}

async function createServer(
  core: SimulatorCore,
  apiKey: string,
  held: HeldExchanges,
): Promise<FastifyInstance> {
  const server = fastify({
    forceCloseConnections: true,
    // A contact's id is any string, and it stands in the path.
    routerOptions: { maxParamLength: 2_048 },
  });
  server.setErrorHandler((error, _request, reply) => {
    const words = wordsOf(error);
    const status = statusOf(error) ?? 500;
    const known = status >= 400 && status < 500;
    sendAnswer(
      reply,
      errorAnswer(known ? status : 500, known ? 'Bad Request' : 'Internal Server Error', words),
    );
  });
  await server.register(upstreamApi, { prefix: '/v1', core, apiKey, held });
  await server.register(controlApi, { prefix: '/_simulator', core });
  await server.register(phoneApi, { prefix: '/_simulator/phone', core });
  await server.register(pageFiles);
  await server.ready();
  return server;
}

function simulatorOf(
  core: SimulatorCore,
  keeper: StateKeeper | null,
  held: HeldExchanges,
  server: FastifyInstance,
): Simulator {
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    held.releaseAll();
    await server.close();
    // A request that was still on its way may have been held anew meanwhile.
    held.releaseAll();
    core.close();
    await keeper?.close();
  };
  return {
    core,
    ledger: core.ledger,
    async listen({ host = '127.0.0.1', port = 0 } = {}) {
      await server.listen({ host, port });
      await keeper?.watch();
      const address = server.server.address();
      const bound = address !== null && typeof address === 'object' ? address.port : port;
      const url = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
      return { host, port: bound, url, baseUrl: `${url}/v1` };
    },
    control(verb, body) {
      const chosen = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
      if (chosen === undefined) throw new NotFound('verb', `control verb ${verb}`);
      return chosen(core, body);
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}
