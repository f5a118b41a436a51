import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { checkOf } from './container-check.js';

/** Returns the commands of the image and of the compose file, as they appear in /proc/1/cmdline. */
function commandsIn(path: string, pattern: RegExp): string[] {
  return [...readFileSync(path, 'utf8').matchAll(pattern)].map(([, parts = '']) =>
    parts
      .split(',')
      .map((part) => part.replaceAll('"', '').trim())
      .join('\0'),
  );
}

describe('the health check of a container', () => {
  it('sends its request to the port of the gateway, the worker or the simulator, depending on the command of the container', () => {
    const image = commandsIn('Dockerfile', /^CMD \[(.*)\]$/gm);
    const services = commandsIn('docker-compose.yml', /^ {4}command: \[(node.*)\]$/gm);
    expect([...image, ...services].map((command) => [command, checkOf(command).variable])).toEqual([
      ['node\0dist/gateway.js', 'PORT'],
      ['node\0dist/worker.js', 'WORKER_PORT'],
      ['node\0dist/simulator.js', 'SIMULATOR_PORT'],
    ]);
  });
});
