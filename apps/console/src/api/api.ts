import { Tidings, TidingsError } from '#client';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Attention } from '../sign-in/attention.js';
import { headersOf } from '../sign-in/credential.js';
import type { SignIn } from '../sign-in/sign-ins.js';
import type { Scope } from './caller.js';
import { LiveEvents } from './live-events.js';

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The API of the gateway, called with one sign-in. */
export class Api {
  /** The client library. Used directly for sends, which may have a file. */
  readonly client: Tidings;
  /** The events of the account as they happen. */
  readonly live: LiveEvents;

  /** @param onUnauthenticated called if the gateway no longer accepts the sign-in, with the reason */
  constructor(
    readonly signIn: SignIn,
    private readonly onUnauthenticated: (reason: string) => void,
    attention: Pick<Attention, 'headers'>,
  ) {
    this.client = new Tidings({
      baseUrl: location.origin,
      headers: headersOf(signIn.credential),
      maxRetries: 2,
      fetch: async (input, init) => {
        const headers = { ...Object.fromEntries(new Headers(init?.headers)), ...attention.headers };
        const response = await fetch(input, { ...init, headers });
        if (response.status === 401) this.unauthenticated();
        return await withReadiness(response);
      },
    });
    this.live = new LiveEvents(this.client, this.may('events:read'));
  }

  /** Headers that authenticate a request. */
  get headers(): Record<string, string> {
    return headersOf(this.signIn.credential);
  }

  /** True if the API key has the scope. */
  may(scope: Scope): boolean {
    return this.signIn.caller.scopes.includes(scope);
  }

  /**
   * Makes a GET request.
   * @throws {TidingsError | TidingsConnectionError}
   */
  async get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    return (await this.client.call('GET', withQuery(path, query), undefined, optional(signal))) as T;
  }

  /**
   * Makes a request that changes something.
   * @throws {TidingsError | TidingsConnectionError}
   */
  async change<T = void>(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<T> {
    return (await this.client.call(method, path, body)) as T;
  }

  private unauthenticated(): void {
    const { keyName, keyId } = this.signIn.caller;
    this.onUnauthenticated(
      `The sign-in with the API key “${keyName ?? keyId}” has ended: the key was revoked or has expired, or the session was idle for too long.`,
    );
  }
}

/** Encodes one segment of a path. */
export const part = encodeURIComponent;

/** Returns true if the error says that the object does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof TidingsError && error.code === 'not_found';
}

const ApiContext = createContext<Api | undefined>(undefined);

/** Provides the API to the pages. */
export const ApiProvider = ApiContext.Provider;

/** Returns the API of the sign-in that is in use. */
export function useApi(): Api {
  const api = useContext(ApiContext);
  if (api === undefined) throw new Error('useApi is used outside of ApiProvider.');
  return api;
}

/** Turns a 503 of `GET /health/ready` into a success: its body says why the gateway is not available. */
async function withReadiness(response: Response): Promise<Response> {
  if (response.status !== 503) return response;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return typeof body === 'object' && body !== null && 'reasons' in body ? Response.json(body) : response;
}

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

function optional(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
