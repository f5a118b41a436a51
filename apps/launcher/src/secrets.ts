import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigurationError } from '#platform';

/** Secrets of this checkout's installation. Generated once. */
export interface Secrets {
  /** Encryption key, 32 bytes in base64. Without this key the encrypted data cannot be read. */
  encryptionKey: string;
  /** First API key of the gateway. */
  apiKey: string;
  /** API key that the simulator requires from the gateway. */
  simulatorApiKey: string;
}

/**
 * Reads the secrets and generates missing ones. Only the owner can read the file (mode 0600).
 * @throws {ConfigurationError} if the file is damaged. A new encryption key would make the stored data
 * unreadable, so the user must decide.
 */
export function loadSecrets(path: string): Secrets {
  const kept = readStored(path);
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

function readStored(path: string): Partial<Secrets> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  const found = parse(text);
  const damaged = new ConfigurationError([
    `${path} is damaged. It contains the encryption key of the stored data. Restore the file from a backup. Or delete the folder ${dirname(path)} with all data in it, to start again without data`,
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
