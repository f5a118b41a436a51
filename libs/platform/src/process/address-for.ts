/**
 * Returns the HTTP address under which a process that listens on `host` is reachable from this machine. A process
 * whose `host` is undefined or empty listens on all addresses of the machine.
 */
export function addressFor(host: string | undefined, port: number | string): string {
  const open = host === undefined || ['', '0.0.0.0', '::', '::0', '127.0.0.1'].includes(host);
  const name = open ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
