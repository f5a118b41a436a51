import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';

/** Min time between two checks whether the hosts file has changed, in milliseconds. */
const CHECK_INTERVAL_MS = 5_000;
/** Max size of the hosts file, in bytes. A larger file is ignored. */
const MAX_BYTES = 1_000_000;

/**
 * Looks up names in this machine's hosts file. Reads the file again when it changes. Treats a missing, unreadable or
 * too large file as empty.
 */
export class HostsFile {
  private names: ReadonlyMap<string, readonly string[]> = new Map();
  private version = '';
  private checkedAt = -Infinity;
  /** The last check whether the file has changed. */
  private check: Promise<void> = Promise.resolve();

  constructor(private readonly path = '/etc/hosts') {}

  /** Returns the IP addresses of a name in the order of the file, or an empty list for an unknown name. */
  async addressesOf(hostname: string): Promise<readonly string[]> {
    if (performance.now() - this.checkedAt > CHECK_INTERVAL_MS) {
      this.checkedAt = performance.now();
      this.check = this.rereadIfChanged();
    }
    await this.check;
    return this.names.get(hostname.toLowerCase()) ?? [];
  }

  private async rereadIfChanged(): Promise<void> {
    try {
      const { mtimeMs, size } = await stat(this.path);
      const version = `${mtimeMs} ${size}`;
      if (version === this.version) return;
      this.names = size > MAX_BYTES ? new Map() : parseHostsFile(await readFile(this.path, 'utf8'));
      this.version = version;
    } catch {
      // The file is missing or unreadable. Without names from the file, the caller asks DNS.
      this.names = new Map();
      this.version = '';
    }
  }
}

/**
 * Parses the text of a hosts file: each line consists of an IP address and its names, and `#` starts a comment.
 * Returns a map from each name, in lower case, to its IP addresses.
 */
export function parseHostsFile(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...hostnames] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of hostnames) {
      const addresses = names.get(name.toLowerCase()) ?? [];
      if (!addresses.includes(address)) names.set(name.toLowerCase(), [...addresses, address]);
    }
  }
  return names;
}
