import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ConfigurationError } from '#platform';

/** What this checkout's installation is protected with; made once. */
export interface Secrets {
  /** 32 bytes, base64. Without it what is stored encrypted cannot be read again. */
  encryptionKey: string;
  /** The first key of the gateway. */
  apiKey: string;
  /** What the simulator asks of the gateway. */
  simulatorApiKey: string;
}

/**
 * Reads the secrets, making those that are missing. The file is for its owner alone (mode 0600).
 * @throws {ConfigurationError} for a file that cannot be read: a new encryption key would make the stored data
 * worthless, so that is for a person to decide.
 */
export function keepSecrets(path: string): Secrets {
  const kept = readKept(path);
  const secrets: Secrets = {
    encryptionKey: kept.encryptionKey ?? randomBytes(32).toString('base64'),
    apiKey: kept.apiKey ?? `tk_${randomBytes(24).toString('base64url')}`,
    simulatorApiKey: kept.simulatorApiKey ?? `sim_${randomBytes(24).toString('base64url')}`,
  };
  if (Object.values(kept).length < Object.values(secrets).length) {
    const draft = `${path}.new`;
    writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flush: true });
    renameSync(draft, path);
  }
  chmodSync(path, 0o600);
  return secrets;
}

function readKept(path: string): Partial<Secrets> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  const found = parse(text);
  const damaged = new ConfigurationError([
    `${path} is damaged, and stored data can only be read with its encryption key: put a copy back, or start anew by removing its folder`,
  ]);
  if (typeof found !== 'object' || found === null) throw damaged;
  const entries = Object.entries(found).filter(([name]) =>
    ['encryptionKey', 'apiKey', 'simulatorApiKey'].includes(name),
  );
  if (entries.some(([, value]) => typeof value !== 'string' || value === '')) throw damaged;
  return Object.fromEntries(entries);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
