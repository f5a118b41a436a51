import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import axios, { type AxiosInstance, type AxiosRequestConfig, type AxiosResponse, isAxiosError } from 'axios';
import FormData from 'form-data';
import { systemClock } from '#platform';
import { parseContact } from './contact.js';
import { admitting, whenAdmitted } from './http-admitting-agent.js';
import { FreshConnection } from './http-fresh-connection.js';
import { isRecord, parseMessage } from './message.js';
import { parseReplyList } from './reply-list.js';
import { parseRetryAfter } from './retry-after.js';
import {
  UpstreamConnectionLostError,
  type UpstreamError,
  UpstreamReplyError,
  UpstreamReplyTooLargeError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamTooLateError,
  UpstreamUnreachableError,
} from './upstream-error.js';
import type {
  ContactList,
  MessagePage,
  Upstream,
  UpstreamAddress,
  UpstreamQuery,
  UpstreamSend,
} from './upstream.js';

/** A larger reply is not read: a page of it is asked for in smaller parts. */
const LARGEST_REPLY_BYTES = 16 * 1024 * 1024;
const LONGEST_WORDS = 500;

/** Errors of the network that mostly come before any connection stood; an old one can end with some of them, too. */
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** {@link Upstream} over HTTP: the one place that knows the vendor's interface. */
export class HttpUpstream implements Upstream {
  private readonly http: AxiosInstance;
  private readonly agents = {
    httpAgent: admitting(new HttpAgent({ keepAlive: true })),
    httpsAgent: admitting(new HttpsAgent({ keepAlive: true })),
  };

  /** @param timeoutMs deadline of a whole exchange, body included */
  constructor(private readonly timeoutMs: number) {
    this.http = axios.create({
      // An address from the environment must be the one that is dialled.
      proxy: false,
      maxRedirects: 0,
      maxContentLength: LARGEST_REPLY_BYTES,
      maxBodyLength: Infinity,
      responseType: 'text',
      transformResponse: (body: unknown) => body,
      validateStatus: () => true,
    });
  }

  async send(address: UpstreamAddress, send: UpstreamSend, beginBy?: number): Promise<void> {
    const form = toForm(send);
    const connection = new FreshConnection(address.baseUrl.startsWith('https:'), beginBy, address.admission);
    try {
      const response = await this.exchange(
        address,
        {
          method: 'POST',
          url: `${address.baseUrl}/messages/send`,
          data: form,
          httpAgent: connection.agent,
          httpsAgent: connection.agent,
        },
        form.getHeaders(),
        () => connection.established,
      );
      assertQueued(response.data);
    } catch (error) {
      throw connection.tooLate ? new UpstreamTooLateError() : error;
    } finally {
      connection.close();
      send.file?.content.destroy();
    }
  }

  async listContacts(address: UpstreamAddress): Promise<ContactList> {
    const { data, headers } = await this.get(address, '/contacts');
    return { ...parseReplyList(data, 'contacts', parseContact), ...dateOf(headers) };
  }

  async listMessages(
    address: UpstreamAddress,
    contactId: string,
    page: number,
    limit: number,
  ): Promise<MessagePage> {
    const query = [
      ['page', String(page)],
      ['limit', String(limit)],
    ] as const;
    const { data, headers } = await this.get(address, messagesPath(contactId), query);
    return { ...parseReplyList(data, 'messages', parseMessage), ...dateOf(headers) };
  }

  async showContacts(address: UpstreamAddress, query: UpstreamQuery): Promise<string> {
    return (await this.get(address, '/contacts', query)).data;
  }

  async showMessages(address: UpstreamAddress, contactId: string, query: UpstreamQuery): Promise<string> {
    return (await this.get(address, messagesPath(contactId), query)).data;
  }

  /** Closes the connections that are kept for reads. */
  close(): void {
    this.agents.httpAgent.destroy();
    this.agents.httpsAgent.destroy();
  }

  private get(
    address: UpstreamAddress,
    path: string,
    query: UpstreamQuery = [],
  ): Promise<AxiosResponse<string>> {
    const params = new URLSearchParams();
    for (const [name, value] of query) params.append(name, value);
    return this.exchange(address, { method: 'GET', url: address.baseUrl + path, params, ...this.agents }, {});
  }

  private async exchange(
    address: UpstreamAddress,
    request: Omit<AxiosRequestConfig, 'headers'>,
    headers: Record<string, string>,
    wasConnected?: () => boolean,
  ): Promise<AxiosResponse<string>> {
    await address.admission?.();
    const deadline = AbortSignal.timeout(this.timeoutMs);
    let response: AxiosResponse<string>;
    try {
      response = await whenAdmitted(address.admission, () =>
        this.http.request<string>({
          ...request,
          headers: { ...headers, 'X-API-Key': address.apiKey, Accept: 'application/json' },
          signal: deadline,
        }),
      );
    } catch (error) {
      throw this.classify(error, deadline.aborted, wasConnected?.());
    }
    const { status, data } = response;
    if (status >= 200 && status < 300) return response;
    throw new UpstreamStatusError(
      status,
      wordsOf(data),
      parseRetryAfter(headerOf(response.headers, 'retry-after'), systemClock.now()),
    );
  }

  /** @param connected absent where it is not known, and nothing hangs on it; then the error is taken at its word */
  private classify(error: unknown, timedOut: boolean, connected?: boolean): UpstreamError {
    const code = isAxiosError(error) ? error.code : undefined;
    const reason = code ?? (error instanceof Error ? error.message : 'unknown');
    if (!(connected ?? (code === undefined || !NEVER_CONNECTED.has(code)))) {
      const words = timedOut ? `no connection within ${this.timeoutMs} ms` : reason;
      return new UpstreamUnreachableError(words, { cause: error });
    }
    if (timedOut) return new UpstreamTimeoutError(this.timeoutMs, { cause: error });
    if (error instanceof Error && error.message.includes('maxContentLength')) {
      return new UpstreamReplyTooLargeError(LARGEST_REPLY_BYTES, { cause: error });
    }
    return new UpstreamConnectionLostError(reason, { cause: error });
  }
}

function messagesPath(contactId: string): string {
  return `/contacts/${encodeURIComponent(contactId)}/messages`;
}

function toForm({ phoneNumber, type, message, fileUrl, extraFields = {}, file }: UpstreamSend): FormData {
  const form = new FormData();
  form.append('phoneNumber', phoneNumber);
  form.append('type', type);
  if (message !== undefined) form.append('message', message);
  if (fileUrl !== undefined) form.append('fileUrl', fileUrl);
  for (const [name, value] of Object.entries(extraFields)) form.append(name, value);
  if (file !== undefined) {
    form.append('file', file.content, {
      filename: file.name,
      contentType: file.contentType,
      knownLength: file.size,
    });
  }
  return form;
}

/** A 200 that does not say `queued` may be anything, such as a proxy's page. */
function assertQueued(text: string): void {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new UpstreamReplyError('the reply to a send is not JSON', { cause: error });
  }
  if (!isRecord(body) || body.status !== 'queued') {
    throw new UpstreamReplyError('the reply to a send does not say that it is queued');
  }
}

/** What an error body says, for people: its `message`, `error` or `detail`, else its text; on one line. */
function wordsOf(text: unknown): string {
  if (typeof text !== 'string') return '';
  let words = text;
  try {
    const body: unknown = JSON.parse(text);
    const said = isRecord(body)
      ? [body.message, body.detail, body.error].find((part) => typeof part === 'string')
      : undefined;
    words = said ?? text;
  } catch {
    // Not JSON: its text is all there is.
  }
  return words.replace(/\s+/g, ' ').trim().slice(0, LONGEST_WORDS);
}

function headerOf(headers: AxiosResponse['headers'], name: string): string | undefined {
  const value: unknown = headers[name];
  return typeof value === 'string' ? value : undefined;
}

function dateOf(headers: AxiosResponse['headers']): { date?: number } {
  const date = Date.parse(headerOf(headers, 'date') ?? '');
  return Number.isNaN(date) ? {} : { date };
}
