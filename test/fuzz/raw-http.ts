import { connect } from 'node:net';

/** A request as the bytes of its parts: nothing is corrected on the way. */
export interface RawRequest {
  method: string;
  /** Path and query, as they stand in the first line. */
  target: string;
  headers: readonly (readonly [string, string])[];
  body: Buffer;
  /** How much of the body `Content-Length` speaks of, besides what there is. */
  missing: number;
}

export interface RawReply {
  status: number;
  headers: Headers;
  /** Undefined for a stream, which is left at its head. */
  body: string | undefined;
}

const ANSWERED_WITHIN_MS = 20_000;

/**
 * Sends it on a connection of its own; undefined if the connection was closed without an answer.
 * @throws {Error} if there is neither within 20 s
 */
export async function sendRaw(port: number, request: RawRequest): Promise<RawReply | undefined> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  const closed = new Promise((done) => socket.once('close', done));
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    socket.destroy();
  }, ANSWERED_WITHIN_MS);
  // How it ended is told by what came.
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    // The connection stays open as it does for most clients: who closes it loses what is still on its way.
    if (isWhole(Buffer.concat(chunks), request.method)) socket.destroy();
  });
  socket.write(headOf(request));
  socket.write(request.body);
  if (isOpenEnded(request)) socket.end();
  await closed;
  clearTimeout(timer);
  if (late.signal.aborted) throw new Error(`no answer within ${ANSWERED_WITHIN_MS} ms`);
  return replyIn(Buffer.concat(chunks), request.method);
}

/** Whether nobody has to answer, for the caller hung up or sends on after it was refused. */
export function mayGoUnanswered(request: RawRequest): boolean {
  return (
    isOpenEnded(request) ||
    headOf(request).length > MOST_HEADER_BYTES ||
    request.body.length > MOST_BODY_BYTES
  );
}

/** Beyond them the connection is cut while the rest is still on its way: the answer may be lost with it. */
const MOST_HEADER_BYTES = 16_384;
const MOST_BODY_BYTES = 1_048_576;

/** Whether its end cannot be known, or never comes. */
function isOpenEnded({ headers, missing }: RawRequest): boolean {
  return missing > 0 || isFramed(headers);
}

/** Whether the headers say themselves where the body ends. */
function isFramed(headers: RawRequest['headers']): boolean {
  return headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
}

function headOf({ method, target, headers, body, missing }: RawRequest): Buffer {
  const length = body.length + missing;
  const all = [
    ...headers,
    ...(isFramed(headers) || length === 0 ? [] : [['Content-Length', String(length)] as const]),
  ];
  const lines = [`${method} ${target} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function isWhole(bytes: Buffer, method: string): boolean {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const head = bytes.subarray(0, end).toString('latin1');
  const rest = bytes.subarray(end + 4);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  if (status < 200) return isWhole(rest, method);
  if (method === 'HEAD' || status === 204 || status === 304) return true;
  if (/^content-type: text\/event-stream/im.test(head)) return true;
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) return rest.length >= Number(length);
  return rest.subarray(-5).toString() === '0\r\n\r\n';
}

function replyIn(bytes: Buffer, method: string): RawReply | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
  const rest = bytes.subarray(end + 4);
  // "Go on": the reply itself follows.
  if (status < 200) return replyIn(rest, method);
  const headers = new Headers();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    headers.append(name, value);
  }
  if (headers.get('content-type')?.startsWith('text/event-stream') === true)
    return { status, headers, body: undefined };
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  // What follows answers what the gateway took for a second request.
  const length = Number(headers.get('content-length') ?? rest.length);
  const body = method === 'HEAD' ? '' : (isChunked ? dechunked(rest) : rest.subarray(0, length)).toString();
  return { status, headers, body };
}

function dechunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const size = end < 0 ? 0 : Number.parseInt(bytes.subarray(at, end).toString(), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
