import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandFault } from '../failure.js';

/** A gateway that the user has signed in to. */
export interface Profile {
  /** Address of the gateway. */
  url: string;
  apiKey: string;
}

/** The stored profiles, by name. */
export interface Profiles {
  /** Name of the profile that is used unless another is named. Empty, or the name of no profile, if none is current. */
  current: string;
  profiles: Readonly<Record<string, Profile>>;
}

const NAME = /^[\w.-]{1,64}$/;

/** Keeps the profiles in a file that only its owner can read. */
export class ProfileStore {
  constructor(readonly path: string) {}

  /** Returns the store of this user: in `$XDG_CONFIG_HOME`, or in `~/.config`. */
  static ofUser(environment: NodeJS.ProcessEnv): ProfileStore {
    const base = environment['XDG_CONFIG_HOME'] ?? '';
    const home = environment['HOME'] ?? homedir();
    return new ProfileStore(join(base === '' ? join(home, '.config') : base, 'tidings', 'profiles.json'));
  }

  /** @throws {CommandFault} if the file is damaged, or if others can read it */
  async read(): Promise<Profiles> {
    let text: string;
    try {
      const { mode } = await stat(this.path);
      // Windows has no such permissions and reports these bits as set.
      if (process.platform !== 'win32' && (mode & 0o077) !== 0)
        throw new CommandFault(
          `other users can read ${this.path}, which contains API keys; run: chmod 600 ${this.path}`,
        );
      text = await readFile(this.path, 'utf8');
    } catch (error) {
      if (isAbsent(error)) return { current: 'default', profiles: {} };
      throw error;
    }
    const stored = parse(text);
    if (stored === undefined)
      throw new CommandFault(`${this.path} is damaged; delete it and sign in again with \`tidings login\``);
    return stored;
  }

  /** Stores a profile, and makes it the current one. @throws {CommandFault} if the name is not allowed */
  async save(name: string, profile: Profile): Promise<void> {
    if (!NAME.test(name))
      throw new CommandFault('a profile name has 1 to 64 letters, digits, dots, hyphens or underscores');
    const { profiles } = await this.read();
    await this.write({ current: name, profiles: { ...profiles, [name]: profile } });
  }

  /**
   * Removes a profile. If it is the current one, none is current afterwards: commands must not go to another gateway
   * without being asked to.
   * @returns the profiles that are left
   * @throws {CommandFault} if there is none with this name
   */
  async remove(name: string): Promise<Profiles> {
    const { current, profiles } = await this.read();
    if (!Object.hasOwn(profiles, name)) throw unknownProfile(name, profiles);
    const left = {
      current: current === name ? '' : current,
      profiles: Object.fromEntries(Object.entries(profiles).filter(([each]) => each !== name)),
    };
    await this.write(left);
    return left;
  }

  /** Makes a profile the current one. @throws {CommandFault} if there is none with this name */
  async use(name: string): Promise<void> {
    const { profiles } = await this.read();
    if (!Object.hasOwn(profiles, name)) throw unknownProfile(name, profiles);
    await this.write({ current: name, profiles });
  }

  private async write(profiles: Profiles): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const draft = `${this.path}.${process.pid}.tmp`;
    try {
      const file = await open(draft, 'w', 0o600);
      try {
        await file.writeFile(`${JSON.stringify(profiles, null, 2)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await chmod(draft, 0o600);
      await rename(draft, this.path);
    } finally {
      await rm(draft, { force: true });
    }
  }
}

export function unknownProfile(name: string, profiles: Profiles['profiles']): CommandFault {
  const names = Object.keys(profiles);
  return new CommandFault(
    `there is no profile ${name}; ${names.length === 0 ? 'sign in with `tidings login`' : `stored: ${names.join(', ')}`}`,
  );
}

/** Returns true for the error of a file that does not exist; its folder may be below something that is no folder. */
function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

function parse(text: string): Profiles | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || typeof value['current'] !== 'string' || !isRecord(value['profiles']))
    return undefined;
  const profiles = Object.entries(value['profiles']).map(([name, each]) => [name, profileOf(each)] as const);
  if (profiles.some(([, profile]) => profile === undefined)) return undefined;
  return { current: value['current'], profiles: Object.fromEntries(profiles) as Record<string, Profile> };
}

function profileOf(value: unknown): Profile | undefined {
  if (!isRecord(value)) return undefined;
  const { url, apiKey } = value;
  return typeof url === 'string' && typeof apiKey === 'string' ? { url, apiKey } : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
