import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExitCode } from '../exit-code.js';
import { CommandFault } from '../failure.js';

/** A gateway that the user has signed in to. */
export interface Profile {
  /** Address of the gateway. */
  url: string;
  apiKey: string;
}

/** The stored profiles, by name. */
export interface Profiles {
  /**
   * Name of the current profile, which commands use unless the user selects another one. If no profile is current,
   * this text is empty or names a profile that is not stored.
   */
  current: string;
  profiles: Readonly<Record<string, Profile>>;
}

const NAME = /^[\w.-]{1,64}$/;
/** Time limit for changes of the profiles by other commands, in milliseconds. A change takes some milliseconds. */
const LOCK_TIMEOUT_MS = 10_000;
const LOCK_CHECK_MS = 20;

/** Stores the profiles in a file that only the user can read. */
export class ProfileStore {
  constructor(
    readonly path: string,
    private readonly lockTimeoutMs = LOCK_TIMEOUT_MS,
  ) {}

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

  /** Stores a profile, and makes it the current one. @throws {CommandFault} if the name is invalid */
  async save(name: string, profile: Profile): Promise<void> {
    assertProfileName(name);
    await this.change(({ profiles }) => ({ current: name, profiles: { ...profiles, [name]: profile } }));
  }

  /**
   * Removes a profile. If it was the current one, no profile is current afterwards: no command may use another
   * profile that the user has not selected.
   * @returns the profiles that are left
   * @throws {CommandFault} if no stored profile has this name
   */
  async remove(name: string): Promise<Profiles> {
    return await this.change(({ current, profiles }) => {
      if (!Object.hasOwn(profiles, name)) throw unknownProfile(name, profiles);
      return {
        current: current === name ? '' : current,
        profiles: Object.fromEntries(Object.entries(profiles).filter(([each]) => each !== name)),
      };
    });
  }

  /** Makes a profile the current one. @throws {CommandFault} if no stored profile has this name */
  async use(name: string): Promise<void> {
    await this.change(({ profiles }) => {
      if (!Object.hasOwn(profiles, name)) throw unknownProfile(name, profiles);
      return { current: name, profiles };
    });
  }

  /** Changes the stored profiles, and returns them. Other commands wait meanwhile, so that no change is lost. */
  private async change(changed: (stored: Profiles) => Profiles): Promise<Profiles> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const lock = `${this.path}.lock`;
    await this.take(lock);
    try {
      const profiles = changed(await this.read());
      await this.write(profiles);
      return profiles;
    } finally {
      await rm(lock, { force: true });
    }
  }

  /** Creates the lock file once it does not exist. @throws {CommandFault} if it still exists after the time limit */
  private async take(lock: string): Promise<void> {
    const deadline = performance.now() + this.lockTimeoutMs;
    for (;;) {
      try {
        await (await open(lock, 'wx', 0o600)).close();
        return;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
      if (performance.now() > deadline)
        throw new CommandFault(
          `another command seems to be changing the profiles; if no other tidings command is running, delete ${lock}`,
          ExitCode.failure,
        );
      await sleep(LOCK_CHECK_MS);
    }
  }

  private async write(profiles: Profiles): Promise<void> {
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

/** @throws {CommandFault} if the name is invalid */
export function assertProfileName(name: string): void {
  if (!NAME.test(name))
    throw new CommandFault('a profile name has 1 to 64 letters, digits, dots, hyphens or underscores');
}

export function unknownProfile(name: string, profiles: Profiles['profiles']): CommandFault {
  const names = Object.keys(profiles);
  return new CommandFault(
    `there is no profile ${name}; ${names.length === 0 ? 'sign in with `tidings login`' : `stored profiles: ${names.join(', ')}`}`,
  );
}

/**
 * Returns true if the error means that a file does not exist. `ENOTDIR` means that a part of its path is not a
 * folder.
 */
function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

/** Returns the code of an error of the file system, or an empty text. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
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
