import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative, sep } from 'node:path';
import { ROOT_FOLDER } from '../root-folder.js';
import { UI_CONFIG } from './ui-config.js';

/** A file of Bull Board's pages. */
export interface BoardFile {
  type: string;
  /** True if the name contains a hash of the content, so that a browser may keep the file. */
  isHashed: boolean;
  read: () => Promise<Buffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};

/** The files below `static/`, by their path. Only these can be requested. */
export async function listBoardFiles(): Promise<ReadonlyMap<string, BoardFile>> {
  const folder = join(uiFolder(), 'static');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, BoardFile>();
  for (const entry of entries) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(folder, path).replaceAll(sep, '/'), {
      type,
      isHashed: /\.[0-9a-f]{10}\.(css|js)$/.test(entry.name),
      read: () => readFile(path),
    });
  }
  return files;
}

/**
 * Returns Bull Board's page for the given base path. Its own template loads fonts from another host and contains inline
 * styles, so this page takes only the names of the style sheets and scripts from the template.
 */
export async function renderBoardPage(base: string): Promise<string> {
  const template = await readFile(join(uiFolder(), 'index.ejs'), 'utf8');
  const styles = [...template.matchAll(/<link href="(static\/[\w./-]+\.css)"/g)].map(([, path]) => path);
  const scripts = [...template.matchAll(/<script defer src="(static\/[\w./-]+\.js)"/g)].map(
    ([, path]) => path,
  );
  if (styles.length === 0 || scripts.length === 0)
    throw new Error('No style sheet or no script was found in the HTML template of Bull Board.');
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <base href="${base}/" />
    <title>${UI_CONFIG.boardTitle}</title>
    <link rel="icon" type="image/svg+xml" id="fav-logo" href="static/images/logo.svg" />
${styles.map((path) => `    <link rel="stylesheet" href="${path}" />`).join('\n')}
  </head>
  <body class="preload">
    <script id="__UI_CONFIG__" type="application/json">${JSON.stringify(UI_CONFIG).replaceAll('<', '\\u003c')}</script>
    <div id="root"></div>
    <script defer src="bridge.js"></script>
${scripts.map((path) => `    <script defer src="${path}"></script>`).join('\n')}
  </body>
</html>
`;
}

/** Returns the script that adds the console's credential to the requests of the page. */
export async function readBridge(): Promise<Buffer> {
  return await readFile(join(ROOT_FOLDER, 'apps/gateway/public/queues/bridge.js'));
}

function uiFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json')), 'dist');
}
