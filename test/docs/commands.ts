/** A command in a document, and the output that the document shows below it. */
export interface DocumentedCommand {
  command: string;
  output: string;
}

/** The commands of a page's `console` blocks, in order. A command begins with `$ `; a `\` continues it. */
export function commandsOf(page: string): DocumentedCommand[] {
  return [...page.matchAll(/^```console\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => commandsIn(block));
}

function commandsIn(block: string): DocumentedCommand[] {
  const commands: DocumentedCommand[] = [];
  let continued = false;
  for (const line of block.trimEnd().split('\n')) {
    const current = commands.at(-1);
    if (continued && current !== undefined) current.command += `\n${line}`;
    else if (line.startsWith('$ ')) commands.push({ command: line.slice(2), output: '' });
    else if (current !== undefined) current.output += `${line}\n`;
    continued = line.endsWith('\\') && (continued || line.startsWith('$ '));
  }
  return commands;
}

/** Matches texts that differ from run to run: ids, secrets, keys and cursors. */
const OWN = /^(?:(?:whk|snd|con|msg|evt|dlv|key|req|whsec|tk|tidings)_\S+|[A-Za-z0-9_-]{30,})$/;
/** Flags of a message, which may be set before or after it is first seen. */
const FLAG = /\.status\.(?:delivered|read)$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** Maps each text of a document that differs from run to run to the text of this run. */
export type Names = Map<string, string>;

/**
 * Returns the differences between an output and the documented one. Ids, secrets, times and numbers may differ. The
 * ids and secrets are added to `names`. Both outputs are lines of JSON or server-sent events.
 */
export function differences(documented: string, actual: string, names: Names): string[] {
  const [before, now] = [valuesOf(documented), valuesOf(actual)];
  const count =
    before.length === now.length ? [] : [`${now.length} values instead of ${before.length}: ${actual}`];
  return [...count, ...before.flatMap((value, n) => compare(value, now[n], names, '$'))];
}

/** Returns the JSON values in an output. In a stream of events, these are the values of the `data:` lines. */
function valuesOf(output: string): unknown[] {
  return output
    .split('\n')
    .map((line) => line.replace(/^data: /, ''))
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as unknown);
}

function compare(documented: unknown, actual: unknown, names: Names, at: string): string[] {
  if (typeof documented === 'string' && typeof actual === 'string') {
    if (OWN.test(documented) && OWN.test(actual)) names.set(documented, actual);
    else if (!(TIME.test(documented) && TIME.test(actual)) && renamed(documented, names) !== actual)
      return [`${at}: ${actual} instead of ${documented}`];
    return [];
  }
  if (isObject(documented) && isObject(actual)) {
    const keys = new Set([...Object.keys(documented), ...Object.keys(actual)]);
    return [...keys].flatMap((key) =>
      key in documented && key in actual
        ? compare(documented[key], actual[key], names, `${at}.${key}`)
        : [`${at}.${key}: only in one of them`],
    );
  }
  if (typeof documented === 'number' && typeof actual === 'number') return [];
  if (typeof documented === 'boolean' && typeof actual === 'boolean' && FLAG.test(at)) return [];
  return documented === actual ? [] : [`${at}: ${String(actual)} instead of ${String(documented)}`];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns a text of the document in which the texts of this run replace those of the document. */
export function renamed(text: string, names: Names): string {
  let result = text;
  for (const [before, now] of names) result = result.replaceAll(before, now);
  return result;
}
