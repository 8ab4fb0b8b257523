import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { uuid } from '@svc/contract';
import { z } from 'zod';
import { CommandError, errnoOf } from './failure.ts';
import { ensureStateDirectory, loadDevice, writePrivate } from './state.ts';

/** What `svc login` keeps of one sign-in. */
const profileFile = z.object({
  /** `{base_url}` of the platform that made the key: no other one is sent it. */
  url: z.url({ protocol: /^https?$/ }),
  key: z.string().regex(/^[\x21-\x7e]{1,200}$/),
  key_id: z.string().max(100),
  /** Null: the platform did not say. */
  account: z.object({ id: z.string(), email: z.string(), name: z.string() }).nullable(),
  scopes: z.array(z.string()),
  /** What the platform knows this machine, user and profile by. */
  device: uuid,
});

/** A sign-in of this machine and user, as its file holds it. */
export type Profile = z.infer<typeof profileFile>;

/** The profile that counts when none is named. */
const defaultProfile = 'default';
/** Files of the same folder that are the daemon's; a profile of the same name would be written over them. */
const taken = new Set(['approvals', 'device', 'environments', 'host', 'native', 'secrets', 'users']);

/** Where `svc` keeps what belongs to this user, unless `--state-dir` says otherwise. Absolute. */
export function configDirectory(environment: NodeJS.ProcessEnv, home = homedir()): string {
  const base = environment['XDG_CONFIG_HOME'];
  // The XDG specification: a relative value is to be ignored.
  return join(base && isAbsolute(base) ? base : join(home, '.config'), 'svc');
}

/** The name of a profile; throws `CommandError` for one that no file can have. */
export function profileName(given: string | undefined): string {
  const name = given || defaultProfile;
  if (!/^[a-z0-9][a-z0-9_-]{0,39}$/.test(name))
    throw new CommandError(`a profile is named by lower-case letters, digits, "-" and "_", 40 at most, not "${name}"`);
  if (taken.has(name)) throw new CommandError(`a profile cannot be called "${name}": the host daemon has such a file`);
  return name;
}

/** The file of a profile. */
export const profilePath = (directory: string, name: string): string => join(directory, `${name}.json`);

/**
 * Reads a profile; undefined when nobody is signed in by it. Throws `CommandError` for a file that is none. `onWarning` hears
 * that other users can read the key.
 */
export function readProfile(
  directory: string,
  name: string,
  onWarning: (line: string) => void = () => {},
): Profile | undefined {
  const path = profilePath(directory, name);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      onWarning(`other users can read ${path}: chmod 600 it`);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw new CommandError(`cannot read ${path}: ${errnoOf(error) ?? 'unknown error'}`);
  }
  try {
    return profileFile.parse(JSON.parse(text));
  } catch {
    // Its text may hold a key.
    throw new CommandError(`${path} is no profile of svc login: remove it, or name another one with --profile`);
  }
}

/** Writes a profile (0600) in a folder that only its owner enters (0700); it is whole or as before at any moment. */
export async function writeProfile(directory: string, name: string, profile: Profile): Promise<void> {
  await openDirectory(directory);
  const path = profilePath(directory, name);
  await writePrivate(path, `${JSON.stringify(profile, null, 2)}\n`, false).catch((error: unknown) => {
    throw new CommandError(`cannot write ${path}: ${errnoOf(error) ?? 'unknown error'}`);
  });
}

/** Removes the file of a profile. */
export async function removeProfile(directory: string, name: string): Promise<void> {
  const path = profilePath(directory, name);
  await rm(path, { force: true }).catch((error: unknown) => {
    throw new CommandError(`cannot remove ${path}: ${errnoOf(error) ?? 'unknown error'}`);
  });
}

/**
 * What a platform knows this machine, user and profile by: a key that is made for it again ends the former one, so each profile
 * has an id of its own. It stays the same after `svc logout`.
 */
export async function deviceOfProfile(directory: string, name: string): Promise<string> {
  await openDirectory(directory);
  const { id } = await loadDevice(directory);
  if (name === defaultProfile) return id;
  const hex = createHash('sha256').update(`${id} ${name}`).digest('hex');
  // Version 8: of our own making (RFC 9562).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

async function openDirectory(directory: string): Promise<void> {
  await ensureStateDirectory(directory);
  await chmod(directory, 0o700).catch(() => {});
}

/** Whether two addresses are one platform: a slash at the end, or a number for `localhost`, makes no other. */
export const sameUrl = (one: string, other: string): boolean => spelled(one) === spelled(other);

const spelled = (url: string): string => {
  const found = new URL(url);
  if (found.hostname === '127.0.0.1' || found.hostname === '[::1]') found.hostname = 'localhost';
  return found.href.replace(/\/+$/, '');
};
