import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addressFor, KNOWN_ENVIRONMENT_VARIABLES, SECRET_ENVIRONMENT_VARIABLES } from '#platform';
import { fetchFault } from '../fetch-fault.js';
import { productVersion } from '../product-version.js';
import type { Finding } from './finding.js';
import type { GatewayAddress } from './gateway-checks.js';

/** Time limit for each answer, in milliseconds. */
const TIMEOUT_MS = 10_000;
/** Maximum length of an answer in the bundle, in UTF-16 code units; the rest is cut off. */
const MAX_ANSWER_BYTES = 2_000_000;
/** Number of bytes at the end of a log that are read, and maximum number of its warnings and errors in the bundle. */
const LOG_BYTES = 2_000_000;
const MAX_LOG_LINES = 100;
/** Level from which a line of the log is a warning or an error. */
const WARNING_LEVEL = 40;

/** What the bundle is made of. */
export interface BundleSources {
  environment: NodeJS.ProcessEnv;
  findings: readonly Finding[];
  gateway: GatewayAddress;
}

/**
 * Writes a support bundle to a new file that only the user can read.
 * @throws {Error} if the file exists or cannot be written
 */
export async function writeSupportBundle(file: string, sources: BundleSources): Promise<void> {
  await writeFile(file, `${await supportBundleOf(sources)}\n`, { mode: 0o600, flag: 'wx' });
}

/**
 * Returns the text of a support bundle, for a person who helps with a problem: versions, configuration, findings,
 * readiness, status, metrics and the last warnings and errors. It contains no secret, and no text or phone number of
 * a message.
 */
export async function supportBundleOf({ environment, findings, gateway }: BundleSources): Promise<string> {
  const { url, apiKey } = gateway;
  const headers = apiKey === undefined ? {} : { 'x-api-key': apiKey };
  const worker = addressFor(environment['WORKER_HOST'], environment['WORKER_PORT'] || '3001');
  const [readiness, status, gatewayMetrics, workerMetrics, logs] = await Promise.all([
    answerOf(`${url}/health/ready`, {}),
    apiKey === undefined ? undefined : answerOf(`${url}/v1/status`, headers),
    answerOf(`${url}/metrics`, headers),
    answerOf(`${worker}/metrics`, {}),
    lastTrouble(environment['TIDINGS_CHECKOUT_DATA']),
  ]);
  const bundle = {
    createdAt: new Date().toISOString(),
    versions: {
      tidings: productVersion(),
      node: process.version,
      platform: process.platform,
      arch: process.arch,
    },
    configuration: configurationOf(environment),
    findings: findings.map(withoutQuotes),
    ...{ readiness, status, gatewayMetrics, workerMetrics, logs },
  };
  return JSON.stringify(bundle, null, 2);
}

/**
 * Returns the variables of the product that are set, without the values of secrets and the credentials in addresses.
 */
function configurationOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  const shown = Object.entries(environment)
    .filter(([name, value]) => KNOWN_ENVIRONMENT_VARIABLES.has(name) && (value ?? '') !== '')
    .map(([name, value = '']) => [
      name,
      SECRET_ENVIRONMENT_VARIABLES.has(name) ? '(set)' : withoutCredentials(value),
    ]);
  return Object.fromEntries(shown) as Record<string, string>;
}

/**
 * Returns a value without the credentials of the addresses in it. A password may contain an `@`. In the address of a
 * Redis that cannot be parsed, it may also contain a `/`, `?` or `#`.
 */
export function withoutCredentials(value: string): string {
  return value
    .replace(/\b(rediss?[a-z-]*:\/\/).*@/gis, '$1(set)@')
    .replace(/\/\/[^/?#]*@/g, '//(set)@')
    .replace(/([?&]password=)[^&#]*/gi, '$1(set)');
}

/** An error of the messaging service may quote anything, such as the text of a message. So its text is left out. */
function withoutQuotes(finding: Finding): Finding {
  if (finding.check !== 'messaging service') return finding;
  return { ...finding, text: finding.text.replace(/: .*/s, '') };
}

/** Returns the status and the body of an answer, or why there is none. */
async function answerOf(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: unknown } | { error: string }> {
  try {
    const options = { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
    const response = await fetch(url, options);
    const text = (await response.text()).slice(0, MAX_ANSWER_BYTES);
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, body: isJson ? (JSON.parse(text) as unknown) : text.split('\n') };
  } catch (error) {
    return { error: fetchFault(error) };
  }
}

/** Returns the last warnings and errors that `npm start` logged. Logs contain no secret and no text of a message. */
async function lastTrouble(data: string | undefined): Promise<Record<string, unknown[]>> {
  if (data === undefined) return {};
  const logs = ['gateway', 'worker'].map(async (name) => [
    name,
    await troubleIn(join(data, 'logs', `${name}.log`)),
  ]);
  return Object.fromEntries(await Promise.all(logs)) as Record<string, unknown[]>;
}

async function troubleIn(file: string): Promise<unknown[]> {
  let text: string;
  try {
    await using log = await open(file);
    const { size } = await log.stat();
    const { buffer, bytesRead } = await log.read({
      buffer: Buffer.alloc(Math.min(size, LOG_BYTES)),
      position: Math.max(size - LOG_BYTES, 0),
    });
    text = buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap(troubleOf).slice(-MAX_LOG_LINES);
}

function troubleOf(line: string): object[] {
  try {
    const entry = JSON.parse(line) as { level?: unknown };
    return typeof entry.level === 'number' && entry.level >= WARNING_LEVEL ? [entry] : [];
  } catch {
    // The first line may have been cut off.
    return [];
  }
}
