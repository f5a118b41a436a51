import { randomUUID } from 'node:crypto';
import { isRecord, productVersion, type TimeLimit } from '#platform';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import axios, { type AxiosInstance, type AxiosRequestConfig, type AxiosResponse, isAxiosError } from 'axios';
import FormData from 'form-data';
import type { BudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import { BudgetExhaustedError } from '../budget/request-budget.js';
import {
  addBudgetTokenRenewalToAgent,
  createTransportWithBudgetTokenRenewal,
} from './http-token-renewing-agent.js';
import {
  type ContactList,
  ContactListReader,
  type ContactReader,
  MAX_CONTACT_LIST_BYTES,
} from '../reply/contact-list.js';
import { GATEWAY_HEADER } from './gateway-header.js';
import {
  assertReplyIsNotFromTidings,
  parseReplyDate,
  toErrorOfExchange,
  isDecompressionError,
  isSuccessfulReply,
  createUpstreamStatusError,
} from './http-failure.js';
import { postOnFreshConnection } from './http-fresh-post.js';
import { type HttpRead, HttpReadClient } from './http-read-client.js';
import { HttpReplyReader } from './http-reply-reader.js';
import { MessagePageReader } from '../reply/message-page.js';
import { UpstreamReplyUnreadableError, UpstreamRequestNotSentError } from '../upstream-error.js';
import type { MessagePage, Upstream, UpstreamAddress, UpstreamQuery, UpstreamSend } from '../upstream.js';
import { hashUpstreamAddress } from '../upstream-address-hash.js';

/**
 * Default maximum size of a reply, in bytes. A page of messages that exceeds the maximum is requested again in
 * smaller pages. A contact list that is read as a stream may be larger: see {@link MAX_CONTACT_LIST_BYTES}.
 */
const MAX_REPLY_BYTES = 16 * 1024 * 1024;
/**
 * Maximum number of elements in a page of messages. The maximum size in bytes is not enough, because many small
 * elements need much more time and memory than their size suggests.
 */
const MAX_PAGE_ELEMENTS = 10_000;

const USER_AGENT = `Tidings/${productVersion()}`;

/** Implements {@link Upstream} over HTTP. Only this class knows the HTTP API of the messaging service. */
export class HttpUpstream implements Upstream {
  private readonly http: AxiosInstance;
  private readonly reads: HttpReadClient;
  private readonly replies: HttpReplyReader;
  private readonly agents = {
    httpAgent: addBudgetTokenRenewalToAgent(new HttpAgent({ keepAlive: true })),
    httpsAgent: addBudgetTokenRenewalToAgent(new HttpsAgent({ keepAlive: true })),
  };

  /**
   * @param timeoutMs time that upstream may take for one request and its whole reply, in milliseconds
   * @param maxReplyBytes maximum size of a reply that is not a contact list, in bytes
   */
  constructor(
    private readonly timeoutMs: number,
    private readonly maxReplyBytes = MAX_REPLY_BYTES,
  ) {
    this.http = axios.create({
      // Ignores proxy settings in environment variables, so that requests go directly to the configured
      // address.
      proxy: false,
      maxRedirects: 0,
      maxContentLength: maxReplyBytes,
      maxBodyLength: Infinity,
      responseType: 'text',
      transformResponse: (body: unknown) => body,
      validateStatus: () => true,
    });
    this.reads = new HttpReadClient(timeoutMs);
    this.replies = new HttpReplyReader(this.reads, timeoutMs);
  }

  async send(address: UpstreamAddress, send: UpstreamSend, limit?: TimeLimit): Promise<void> {
    const form = toForm(send);
    try {
      await renewTokenBeforePost(address.tokenRenewal);
      const reply = await postOnFreshConnection({
        url: `${address.baseUrl}/messages/send`,
        headers: { ...form.getHeaders(), ...headersOf(address) },
        // A form without a file is sent as one buffer, in a single write. A stream would write each field on its own.
        body: send.file === undefined ? form.getBuffer() : form,
        length: form.getLengthSync(),
        timeoutMs: this.timeoutMs,
        limit,
        tokenRenewal: address.tokenRenewal,
        maxBytes: this.maxReplyBytes,
      });
      assertReplyIsNotFromTidings(reply);
      if (!isSuccessfulReply(reply)) throw createUpstreamStatusError(reply, reply.data);
      assertQueued(reply.data);
    } finally {
      send.file?.content.destroy();
    }
  }

  async listContacts<R extends ContactReader>(
    address: UpstreamAddress,
    newReader: () => R,
  ): Promise<ContactList<R>> {
    const reader = new ContactListReader(newReader);
    try {
      const request = readOf(address, '/contacts');
      const limits = { maxBytes: MAX_CONTACT_LIST_BYTES, isBuffered: false };
      const { headers } = await this.replies.read(address, request, reader, limits);
      return {
        ...reader.end(),
        ...parseReplyDate(headers),
        upstream: hashUpstreamAddress(address.baseUrl),
      };
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  async listMessages(
    address: UpstreamAddress,
    contactId: string,
    page: number,
    limit: number,
    knownDigest?: string,
  ): Promise<MessagePage> {
    const query = `?page=${page}&limit=${limit}`;
    const reader = new MessagePageReader(MAX_PAGE_ELEMENTS, knownDigest);
    const request = readOf(address, messagesPath(contactId), query);
    const limits = { maxBytes: this.maxReplyBytes, isBuffered: true };
    const { headers, arrivedAt } = await this.replies.read(address, request, reader, limits);
    return { ...reader.end(), ...parseReplyDate(headers), arrivedAt };
  }

  async readContactsText(address: UpstreamAddress, query: UpstreamQuery): Promise<string> {
    return (await this.get(address, '/contacts', query)).data;
  }

  async readMessagesText(address: UpstreamAddress, contactId: string, query: UpstreamQuery): Promise<string> {
    return (await this.get(address, messagesPath(contactId), query)).data;
  }

  /** Closes the connections that are kept open for reads. */
  close(): void {
    this.reads.close();
    this.agents.httpAgent.destroy();
    this.agents.httpsAgent.destroy();
  }

  private async get(
    address: UpstreamAddress,
    path: string,
    query: UpstreamQuery = [],
  ): Promise<AxiosResponse<string>> {
    const { tokenRenewal } = address;
    await tokenRenewal?.();
    const signal = AbortSignal.timeout(this.timeoutMs);
    const request = getRequest(address, path, query);
    const transport = createTransportWithBudgetTokenRenewal(request.url, tokenRenewal, signal);
    let response: AxiosResponse<string>;
    try {
      response = await this.http.request<string>({ ...request, ...this.agents, transport, signal });
    } catch (error) {
      const reply = errorReplyOf(error);
      if (reply === undefined)
        throw toErrorOfExchange(error, {
          timeoutMs: this.timeoutMs,
          timedOut: signal.aborted,
          maxBytes: this.maxReplyBytes,
        });
      response = reply;
    }
    assertReplyIsNotFromTidings(response);
    if (isSuccessfulReply(response)) return response;
    throw createUpstreamStatusError(response, response.data);
  }
}

/**
 * Returns the error reply whose body could not be decompressed, because the status of the reply is enough. Returns
 * undefined for other errors.
 */
function errorReplyOf(error: unknown): AxiosResponse<string> | undefined {
  if (!isAxiosError<string>(error) || !isDecompressionError(error)) return undefined;
  const { response } = error;
  return response === undefined || isSuccessfulReply(response) ? undefined : response;
}

/**
 * Renews an expired token of the budget before the connection of a POST is opened.
 * @throws {BudgetExhaustedError} if the budget has no token in time
 * @throws {UpstreamRequestNotSentError} if the renewal failed for another reason
 */
async function renewTokenBeforePost(tokenRenewal: BudgetTokenRenewal | undefined): Promise<void> {
  try {
    await tokenRenewal?.();
  } catch (error) {
    throw error instanceof BudgetExhaustedError ? error : new UpstreamRequestNotSentError({ cause: error });
  }
}

function headersOf({ apiKey }: UpstreamAddress): Record<string, string> {
  return {
    'X-API-Key': apiKey,
    Accept: 'application/json',
    // Some servers reject requests without a `User-Agent` header.
    'User-Agent': USER_AGENT,
    [GATEWAY_HEADER.name]: GATEWAY_HEADER.value,
  };
}

function getRequest(
  address: UpstreamAddress,
  path: string,
  query: UpstreamQuery = [],
): AxiosRequestConfig & { url: string } {
  const params = new URLSearchParams();
  for (const [name, value] of query) params.append(name, value);
  return { method: 'GET', url: address.baseUrl + path, params, headers: headersOf(address) };
}

/** Returns the URL and headers of a read. The headers allow upstream to compress the reply. */
function readOf(address: UpstreamAddress, path: string, query = ''): Pick<HttpRead, 'url' | 'headers'> {
  return {
    url: new URL(address.baseUrl + path + query),
    headers: { ...headersOf(address), 'Accept-Encoding': 'gzip, deflate, br' },
  };
}

function messagesPath(contactId: string): string {
  return `/contacts/${encodeURIComponent(contactId)}/messages`;
}

function toForm({ phoneNumber, type, message, fileUrl, extraFields = {}, file }: UpstreamSend): FormData {
  const form = new FormData();
  // This boundary cannot be guessed, so a caller cannot put it into a field. The default boundary of `form-data` is
  // slower, because it reads random bytes from the system for each form.
  form.setBoundary(`----${randomUUID()}`);
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

/**
 * Checks that the reply to a send says `queued`. Another reply with status 200 may come from a different
 * server, such as a proxy.
 * @throws {UpstreamReplyUnreadableError} if the reply does not say `queued`
 */
function assertQueued(text: string): void {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new UpstreamReplyUnreadableError('the reply to a send is not JSON', { cause: error });
  }
  if (!isRecord(body) || body.status !== 'queued') {
    throw new UpstreamReplyUnreadableError('the reply to a send does not say that the send is queued');
  }
}
