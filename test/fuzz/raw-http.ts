import { connect } from 'node:net';

/** A request in raw bytes, which no library corrects. */
export interface RawRequest {
  method: string;
  /** Path and query in the request line. */
  target: string;
  headers: readonly (readonly [string, string])[];
  body: Buffer;
  /** Number of body bytes that `Content-Length` announces but that are not sent. */
  missing: number;
}

export interface RawReply {
  status: number;
  headers: Headers;
  /** Undefined for a stream, whose body is not read. */
  body: string | undefined;
}

const RESPONSE_TIMEOUT_MS = 20_000;

/**
 * Sends a request on a new connection. Returns undefined if the connection was closed without a response. @throws
 * {Error} if neither happens within 20 s
 */
export async function sendRaw(port: number, request: RawRequest): Promise<RawReply | undefined> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  const closed = new Promise((done) => socket.once('close', done));
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    socket.destroy();
  }, RESPONSE_TIMEOUT_MS);
  // The received bytes show how the connection ended.
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    // The connection stays open, because closing it could lose the rest of the response.
    if (isWhole(Buffer.concat(chunks), request.method)) socket.destroy();
  });
  socket.write(headOf(request));
  socket.write(request.body);
  if (isOpenEnded(request)) socket.end();
  await closed;
  clearTimeout(timer);
  if (late.signal.aborted) throw new Error(`no response within ${RESPONSE_TIMEOUT_MS} ms`);
  return replyIn(Buffer.concat(chunks), request.method);
}

/**
 * True if the gateway may close the connection without a response: the request never ends, or continues after its
 * rejection.
 */
export function mayGoUnanswered(request: RawRequest): boolean {
  return (
    isOpenEnded(request) || headOf(request).length > MAX_HEADER_BYTES || request.body.length > MAX_BODY_BYTES
  );
}

/** Above these limits, the gateway closes the connection during the request, and the response may be lost. */
const MAX_HEADER_BYTES = 16_384;
const MAX_BODY_BYTES = 1_048_576;

/** True if the request has no recognizable end. */
function isOpenEnded({ headers, missing }: RawRequest): boolean {
  return missing > 0 || isFramed(headers);
}

/** True if the headers define the end of the body. */
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
  // 100 Continue: the final response follows.
  if (status < 200) return replyIn(rest, method);
  const headers = new Headers();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    headers.append(name, value);
  }
  if (headers.get('content-type')?.startsWith('text/event-stream') === true)
    return { status, headers, body: undefined };
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  // The gateway may have treated later bytes as a second request; its response is ignored.
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
