import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { errorAnswer, sendAnswer } from './answers.js';
import { controlApi } from './control-api.js';
import { verbs } from './control/verbs.js';
import { HeldExchanges } from './held-exchanges.js';
import type { Ledger } from './ledger.js';
import { pageFiles } from './page-files.js';
import { phoneApi } from './phone-api.js';
import { NotFound } from './input-errors.js';
import type { Settings } from './settings.js';
import { SimulatorCore } from './simulator-core.js';
import { StateKeeper } from './state/state-keeper.js';
import { upstreamApi } from './upstream-api.js';
import { statusOf, messageOf } from './error-properties.js';

/** Options of a simulator. */
export interface SimulatorOptions {
  /** API key that clients must send as `X-API-Key`. Default: `simulator-key`. */
  readonly apiKey?: string;
  /** Phone number of the account, in E.164 format. Default: +15550000000. */
  readonly phoneNumber?: string;
  /** Seed of ids and random decisions. The same seed and the same calls give the same results. Default: 1. */
  readonly seed?: number;
  /** Settings that differ from the defaults, applied at the start and after each reset. */
  readonly settings?: Partial<Settings>;
  /**
   * File for the state. Default: the state is in memory only. A new file starts with the demo contacts, unless the
   * setting `demo` is false.
   */
  readonly stateFile?: string;
  /** Receives one line per error that does not stop the simulator. Default: standard error. */
  readonly report?: (line: string) => void;
}

/** A simulator of the messaging service. */
export interface Simulator {
  readonly core: SimulatorCore;
  readonly ledger: Ledger;
  /** Starts listening. Port 0 selects a free port. */
  listen(at?: { readonly host?: string; readonly port?: number }): Promise<SimulatorAddress>;
  /**
   * Runs a control verb without HTTP, for example `control('contacts', {count: 2})`. @throws InvalidInput,
   * NotFound
   */
  control(verb: string, body?: unknown): object;
  /** Drops all connections, saves the state and stops everything. May be called twice. */
  close(): Promise<void>;
}

/** Addresses of a listening simulator. */
export interface SimulatorAddress {
  readonly host: string;
  readonly port: number;
  /** Address of the phone page, such as http://127.0.0.1:4010. */
  readonly url: string;
  /** Base address of the simulated upstream: `url` with /v1. */
  readonly baseUrl: string;
}

/**
 * Creates a simulator, which does not listen yet.
 * @throws CorruptState if the state file is damaged, InvalidInput for an invalid setting.
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
    // The path contains the contact id, which may be any string.
    routerOptions: { maxParamLength: 2_048 },
  });
  server.setErrorHandler((error, _request, reply) => {
    const words = messageOf(error);
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
    // A request that arrived during the close may have been held in the meantime.
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
