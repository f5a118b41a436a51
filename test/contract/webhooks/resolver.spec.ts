import { pbkdf2 } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Resolver, createHostNameResolver } from '#webhooks';

/** Parses a DNS query: the name in lower case, the record type, and the end of the question. */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/**
 * Starts a DNS server that knows one address, answers `nobody` with "not found", and ignores all other names. It also
 * knows `ipv4-only` with the same address, but ignores queries for its IPv6 addresses.
 */
async function startDns(): Promise<{ socket: Socket; server: string }> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, type, end } = questionOf(query);
    const isKnown = name === 'known.test' || (name === 'ipv4-only.test' && type === 1);
    if (!isKnown && name !== 'nobody.test') return;
    const isHere = isKnown && type === 1;
    const head = Buffer.from(query.subarray(0, end));
    head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(isHere ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 1, 2, 3]);
    socket.send(isHere ? Buffer.concat([head, answer]) : head, from.port, from.address);
  });
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound));
  return { socket, server: `127.0.0.1:${socket.address().port}` };
}

let dns: Awaited<ReturnType<typeof startDns>>;
let directory: string;
let resolve: Resolver;

beforeEach(async () => {
  dns = await startDns();
  directory = await mkdtemp(join(tmpdir(), 'tidings-resolver-'));
  const hostsFile = join(directory, 'hosts');
  await writeFile(hostsFile, '10.9.8.7 listed.test known-here.test\n');
  resolve = createHostNameResolver({ servers: [dns.server], hostsFile });
});
afterEach(async () => {
  dns.socket.close();
  await rm(directory, { recursive: true, force: true });
});

describe('a host name', () => {
  it('is resolved from the hosts file if the file contains the name', async () => {
    expect(await resolve('listed.test')).toEqual(['10.9.8.7']);
  });

  it('is resolved from the hosts file even while the file is being read for another name', async () => {
    const both = await Promise.all([resolve('listed.test'), resolve('known-here.test')]);
    expect(both).toEqual([['10.9.8.7'], ['10.9.8.7']]);
  });

  it('is resolved by DNS if the hosts file does not contain the name', async () => {
    expect(await resolve('known.test')).toEqual(['10.1.2.3']);
  });

  it('is resolved within two seconds if DNS answers only the query for its IPv4 addresses', async () => {
    const began = performance.now();
    expect(await resolve('ipv4-only.test')).toEqual(['10.1.2.3']);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('is rejected if neither DNS nor the operating system can resolve the name', async () => {
    await expect(resolve('nobody.test')).rejects.toThrow(/nobody\.test/);
  });

  it('is resolved without delay while DNS queries for 50 other names get no answer, and the thread pool stays free', async () => {
    const hanging = Array.from({ length: 50 }, (_, n) => resolve(`hanging-${n}.test`).catch(String));
    const began = performance.now();
    expect(await resolve('known.test')).toEqual(['10.1.2.3']);
    await promisify(pbkdf2)('password', 'salt', 1, 32, 'sha256');
    expect(performance.now() - began).toBeLessThan(1_000);
    for (const failure of await Promise.all(hanging)) expect(failure).toMatch(/TIMEOUT|took longer/);
  }, 20_000);
});
