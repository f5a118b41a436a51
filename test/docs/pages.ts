import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

const SKIPPED = new Set(['node_modules', 'dist', '.git', '.data']);

/** Every file of the repository, relative to its root. */
export function filesOfTheRepository(folder = ROOT): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesOfTheRepository(path) : [relative(ROOT, path)];
  });
}

export function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** Text without its fenced blocks, which show commands and output. */
export function prose(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '');
}

/** The targets of a page's links, without those to other sites. */
export function localLinks(text: string): string[] {
  return [...prose(text).matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** Returns the file and the heading to which a link of a page leads. Without a file, it leads to the page itself. */
export function targetOf(page: string, link: string): { file: string; anchor: string | undefined } {
  const [path = '', anchor] = link.split('#', 2);
  return { file: path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path)), anchor };
}

/** The anchors that GitHub gives the headings of a page. */
export function anchorsOf(text: string): Set<string> {
  return new Set(
    [...prose(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}
