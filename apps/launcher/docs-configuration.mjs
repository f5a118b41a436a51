// `npm run docs:configuration`: writes docs/configuration.md from the classes that read the environment.
import 'reflect-metadata';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';

const root = resolve(import.meta.dirname, '../..');
await build(root);
const built = join(root, 'dist/libs/platform/src/environment/configuration-page.js');
/** @type {typeof import('../../libs/platform/src/environment/configuration-page.js')} */
const { renderConfigurationDocument } = await import(pathToFileURL(built).href);
const page = join(root, 'docs/configuration.md');
await mkdir(join(root, 'docs'), { recursive: true });
await writeFile(page, renderConfigurationDocument());
console.log('Wrote docs/configuration.md.');
