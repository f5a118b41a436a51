import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HostsFile, parseHostsFile } from './hosts-file.js';

describe('a hosts file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tidings-hosts-'));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  it('may contain several names per line, comments, invalid lines, and names in upper case', () => {
    const text =
      '# local\n127.0.0.1\tlocalhost Box # me\n::1 localhost\r\n\nnonsense here\n10.0.0.7 hooks.internal';
    expect(Object.fromEntries(parseHostsFile(text))).toEqual({
      localhost: ['127.0.0.1', '::1'],
      box: ['127.0.0.1'],
      'hooks.internal': ['10.0.0.7'],
    });
  });

  it('resolves no names if the file is missing', async () => {
    expect(await new HostsFile(join(directory, 'hosts')).addressesOf('localhost')).toEqual([]);
  });

  it('resolves a name in upper or lower case', async () => {
    const path = join(directory, 'hosts');
    await writeFile(path, '10.0.0.7 Hooks.Internal\n');
    expect(await new HostsFile(path).addressesOf('HOOKS.internal')).toEqual(['10.0.0.7']);
  });
});
