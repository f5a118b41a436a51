import { CommandFault } from '../failure.js';
import { ExitCode } from '../exit-code.js';
import { type Profile, type ProfileStore, unknownProfile } from './profile-store.js';

/** Options that select the gateway. */
export interface ConnectionSelection {
  url?: string | undefined;
  profile?: string | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** Returns what the user has selected. An option takes precedence over `TIDINGS_URL` or `TIDINGS_PROFILE`. */
export function selectionOf(
  { url, profile }: ConnectionSelection,
  environment: NodeJS.ProcessEnv,
): ConnectionSelection {
  return {
    url: url ?? nonEmpty(environment['TIDINGS_URL']),
    profile: profile ?? nonEmpty(environment['TIDINGS_PROFILE']),
  };
}

/**
 * Finds the gateway and its API key. The address comes from the selection, otherwise from the profile, otherwise from
 * `npm start`. The key comes from `TIDINGS_API_KEY`, otherwise from the profile, otherwise from the installation of
 * this checkout.
 *
 * A stored key is sent only to the address for which it was stored: `--url` with another address needs
 * `TIDINGS_API_KEY`.
 * @throws {CommandFault}
 */
export async function findConnection(
  selection: ConnectionSelection,
  environment: NodeJS.ProcessEnv,
  store: ProfileStore,
): Promise<Profile> {
  const { url, profile: name } = selectionOf(selection, environment);
  const key = nonEmpty(environment['TIDINGS_API_KEY']);
  // A system service may be unable to read profiles, for example because its HOME belongs to another user.
  if (url !== undefined && key !== undefined && name === undefined)
    return { url: originOf(url), apiKey: key };
  const stored = await findProfile(name, store);
  const localUrl = localUrlOf(environment);
  const address = originOf(url ?? stored?.url ?? localUrl);
  if (key !== undefined) return { url: address, apiKey: key };
  if (stored !== undefined && originOf(stored.url) === address)
    return { url: address, apiKey: stored.apiKey };
  // Set by the checkout's own `tidings` for the installation that `npm start` runs.
  const local = nonEmpty(environment['TIDINGS_CHECKOUT_KEY']);
  if (local !== undefined && address === originOf(localUrl)) return { url: address, apiKey: local };
  throw new CommandFault(
    `there is no API key for ${address}: sign in with \`tidings login\`, or set TIDINGS_API_KEY`,
    ExitCode.unauthenticated,
  );
}

/** Returns the address of the gateway on this machine, which commands use if no other is selected or stored. */
export function localUrlOf(environment: NodeJS.ProcessEnv): string {
  return nonEmpty(environment['TIDINGS_CHECKOUT_URL']) ?? DEFAULT_URL;
}

async function findProfile(name: string | undefined, store: ProfileStore): Promise<Profile | undefined> {
  const { current, profiles } = await store.read();
  const found = Object.hasOwn(profiles, name ?? current) ? profiles[name ?? current] : undefined;
  if (found === undefined && name !== undefined) throw unknownProfile(name, profiles);
  return found;
}

/** Returns an address in a form that can be compared. @throws {CommandFault} */
export function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new CommandFault(
      `${address} is not the address of a gateway; an example is https://tidings.internal`,
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
