import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';

const LOOK_EVERY_MS = 5_000;
/** A larger one is no hosts file. */
const MAX_BYTES = 1_000_000;

/** The names that this machine's hosts file knows. Read again when it has changed; without one there are none. */
export class HostsFile {
  private names: ReadonlyMap<string, readonly string[]> = new Map();
  private version = '';
  private lookedAt = -Infinity;

  constructor(private readonly path = '/etc/hosts') {}

  /** The addresses of a name, in the order of the file; none if it does not know it. */
  async addressesOf(hostname: string): Promise<readonly string[]> {
    if (performance.now() - this.lookedAt > LOOK_EVERY_MS) {
      this.lookedAt = performance.now();
      await this.look();
    }
    return this.names.get(hostname.toLowerCase()) ?? [];
  }

  private async look(): Promise<void> {
    try {
      const { mtimeMs, size } = await stat(this.path);
      const version = `${mtimeMs} ${size}`;
      if (version === this.version) return;
      this.names = size > MAX_BYTES ? new Map() : parseHosts(await readFile(this.path, 'utf8'));
      this.version = version;
    } catch {
      // There is none, or it cannot be read: DNS knows the names, or nobody does.
      this.names = new Map();
      this.version = '';
    }
  }
}

/** Lines of an address and its names; `#` begins a comment. */
export function parseHosts(text: string): Map<string, string[]> {
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
