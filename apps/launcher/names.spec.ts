import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const LIBS = readdirSync(join(REPOSITORY, 'libs')).sort();

interface Compiler {
  compilerOptions: { paths: Record<string, string[]> };
}
interface Package {
  imports: Record<string, string>;
}
interface Build {
  projects: Record<string, { type: string; sourceRoot: string; entryFile: string }>;
}

describe('the configuration of libs', () => {
  it('maps each import name to the same module in Node.js and in the compiler', () => {
    const { paths } = (read('tsconfig.json') as Compiler).compilerOptions;
    const built = Object.entries(paths).map(([name, [source = '']]) => [
      name,
      source.replace(/^\.\//, './dist/').replace(/\.ts$/, '.js'),
    ]);
    expect((read('package.json') as Package).imports).toEqual(Object.fromEntries(built));
  });

  it('lists each folder under libs as a library in nest-cli.json, and no other library', () => {
    const projects = Object.entries((read('nest-cli.json') as Build).projects);
    const libs = projects.filter(([, { type }]) => type === 'library');
    expect(libs.map(([name]) => name).sort()).toEqual(LIBS);
    expect(libs.map(([, { sourceRoot, entryFile }]) => `${sourceRoot}/${entryFile}.ts`).sort()).toEqual(
      LIBS.map((lib) => `libs/${lib}/src/index.ts`),
    );
  });
});

function read(file: string): unknown {
  return JSON.parse(readFileSync(join(REPOSITORY, file), 'utf8'));
}
