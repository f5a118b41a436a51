import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import type { Readable } from 'node:stream';
import type FormData from 'form-data';
import { TimeLimit } from '#platform';
import type { BudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import { decompressBody } from './http-decompression.js';
import { hasKnownEnd, isDecompressionError, isSuccessfulReply, toErrorOfExchange } from './http-failure.js';
import { UpstreamReplyTooLargeError, UpstreamRequestNotSentError } from '../upstream-error.js';

/** A POST that must not be repeated. */
export interface FreshPost {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The whole body; or, if the POST contains a file, the form that streams the body. */
  body: FormData | Buffer;
  /** Length of the body, in bytes. */
  length: number;
  /** Time that the connection, the request and the whole reply may take together, in milliseconds. */
  timeoutMs: number;
  /** Time limit for the start of the POST. After it is over, no connection is opened. */
  limit?: TimeLimit | undefined;
  /**
   * Renewal of the budget token. It is awaited after the connection is established. If it rejects, the request is not
   * written.
   */
  tokenRenewal?: BudgetTokenRenewal | undefined;
  /** Maximum size of the reply's body, in bytes. */
  maxBytes: number;
}

export interface FreshPostReply {
  status: number;
  headers: IncomingHttpHeaders;
  data: string;
}

/**
 * Makes a POST on a new connection. If a new connection cannot be established, upstream certainly did not receive the
 * request. If a reused connection breaks, upstream may have received the request.
 *
 * No connection is opened after `post.limit` is over. The request is not written after `post.timeoutMs` has passed,
 * even if the process was suspended meanwhile.
 * @throws {UpstreamRequestNotSentError} if the request was not written because of one of these limits, or because the
 * renewal of the budget token rejected
 * @throws {UpstreamError} if no connection was established or no whole reply was received
 */
export async function postOnFreshConnection(post: FreshPost): Promise<FreshPostReply> {
  const exchange = new FreshExchange(post);
  try {
    return await exchange.run();
  } catch (error) {
    throw toErrorOfExchange(error, {
      timeoutMs: post.timeoutMs,
      timedOut: exchange.timedOut,
      connected: exchange.established,
      maxBytes: post.maxBytes,
      hasKnownEnd: exchange.hasKnownEnd,
    });
  } finally {
    exchange.close();
  }
}

/** One POST, with a connection that is used only for this POST. */
class FreshExchange {
  /**
   * Becomes true right before the request is written. The connection is then established and, for HTTPS, the TLS
   * handshake is complete. While this is false, no part of the request has been written.
   */
  established = false;
  timedOut = false;
  /** True if the headers of the reply say where its body ends. False before the reply. */
  hasKnownEnd = false;
  private readonly wholeExchange: TimeLimit;
  private readonly url: URL;
  private readonly socket: Socket;
  private readonly timer: NodeJS.Timeout;
  private fail!: (error: unknown) => void;
  private readonly failed: Promise<never>;

  constructor(private readonly post: FreshPost) {
    this.failed = new Promise((_, reject) => {
      this.fail = reject;
    });
    // Prevents an unhandled rejection if this promise rejects before `run` is called.
    this.failed.catch(() => undefined);
    this.wholeExchange = new TimeLimit(post.timeoutMs);
    // Check the limit only after `wholeExchange` has started. Otherwise, a suspension of the process between the two
    // steps would not count towards the timeout.
    if (post.limit?.isOver() === true) throw new UpstreamRequestNotSentError();
    this.url = new URL(post.url);
    this.socket = openConnection(this.url);
    this.socket.on('error', this.fail);
    this.timer = setTimeout(() => {
      this.timedOut = true;
      this.fail(new Error('timeout'));
    }, post.timeoutMs);
  }

  run(): Promise<FreshPostReply> {
    return Promise.race([this.exchange(), this.failed]);
  }

  close(): void {
    clearTimeout(this.timer);
    this.socket.destroy();
  }

  private async exchange(): Promise<FreshPostReply> {
    await this.connected();
    try {
      await this.post.tokenRenewal?.();
    } catch (error) {
      throw new UpstreamRequestNotSentError({ cause: error });
    }
    if (this.wholeExchange.isOver()) throw new UpstreamRequestNotSentError();
    if (this.timedOut || this.socket.destroyed) throw new Error('the connection was closed');
    this.established = true;
    const reply = await this.reply(this.write());
    const { statusCode: status = 0, headers } = reply;
    this.hasKnownEnd = hasKnownEnd(reply);
    const body = await this.bodyOf(decompressBody(reply, headers), isSuccessfulReply({ status }));
    return { status, headers, data: body.toString() };
  }

  private connected(): Promise<void> {
    const event = this.url.protocol === 'https:' ? 'secureConnect' : 'connect';
    return new Promise((resolve) => this.socket.once(event, resolve));
  }

  private write(): ClientRequest {
    const { headers, body, length } = this.post;
    const { pathname, search, host } = this.url;
    const written = request({
      method: 'POST',
      path: pathname + search,
      setHost: false,
      headers: { Host: host, ...headers, 'Content-Length': length },
      createConnection: () => this.socket,
    });
    written.on('error', this.fail);
    if (Buffer.isBuffer(body)) written.end(body);
    else {
      body.on('error', this.fail);
      body.pipe(written);
    }
    return written;
  }

  private reply(written: ClientRequest): Promise<IncomingMessage> {
    return new Promise((resolve) => written.once('response', resolve));
  }

  /**
   * Reads a body. If the body of an error reply cannot be decompressed or is too large, returns its beginning, which may
   * be empty.
   */
  private bodyOf(body: Readable, isRequired: boolean): Promise<Buffer> {
    const { maxBytes } = this.post;
    const chunks: Buffer[] = [];
    let bytes = 0;
    return new Promise((resolve) => {
      body.on('error', (error) => {
        // The status of an error reply is enough, so the text of the reply may be missing.
        if (isDecompressionError(error) && !isRequired) resolve(Buffer.concat(chunks));
        else this.fail(error);
      });
      body.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else if (isRequired) this.fail(new UpstreamReplyTooLargeError(maxBytes));
        else resolve(Buffer.concat(chunks));
      });
      body.on('end', () => {
        resolve(Buffer.concat(chunks));
      });
    });
  }
}

function openConnection({ protocol, hostname, port }: URL): Socket {
  // A URL encloses an IPv6 address in brackets, which are not part of the address.
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return connectPlain({ host, port: port === '' ? 80 : Number(port) });
  return connectSecure({
    host,
    port: port === '' ? 443 : Number(port),
    ALPNProtocols: ['http/1.1'],
    // TLS does not allow an IP address as a server name.
    ...(isIP(host) === 0 ? { servername: host } : {}),
  });
}
