import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LogFile } from './log-file.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidings-log-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe('a log file', () => {
  it('continues in a new file when the current file is full, and keeps the full file', () => {
    const path = join(directory, 'worker.log');
    const log = new LogFile(path, 10);
    for (const line of ['one two three', 'four']) expect(log.write(line)).toBe(true);
    log.close();
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('one two three\n');
    expect(readFileSync(path, 'utf8')).toBe('four\n');
  });

  it('continues in a new file when the current file is full, even if the full file was deleted', () => {
    const path = join(directory, 'worker.log');
    const log = new LogFile(path, 10);
    log.write('one two three');
    rmSync(path);
    expect(log.write('four')).toBe(true);
    log.close();
    expect(readFileSync(path, 'utf8')).toBe('four\n');
  });
});
