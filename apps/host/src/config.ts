import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { CommandError, errnoOf } from './failure.ts';
import { configDirectory, type Profile, profileName, readProfile, sameUrl } from './profile.ts';

/** Options that every command takes. */
export interface CommonOptions {
  key?: string;
  keyFile?: string;
  url?: string;
  stateDir?: string;
  profile?: string;
  json?: boolean;
}

/** Who this machine is to the gateway, and where it keeps its files. */
export interface Config {
  readonly key: string;
  /** `{base_url}` of the gateway. */
  readonly url: string;
  /** `{relay_url}`: what `SVC_RELAY_URL` says, as of the client of the SDK, else below the gateway. */
  readonly relayUrl: string;
  /** Directory of `device.json`, `host.json` and the lock. Absolute. */
  readonly stateDir: string;
  /** The file the key came from, absolute. */
  readonly keyFile: string | undefined;
  /** The profile of `svc login` that the key came from. */
  readonly profile: string | undefined;
  /** Directory of the profiles. Absolute. */
  readonly profilesDir: string;
  readonly home: string;
  /** Environment of the commands that the daemon runs: this process's own without anything that holds the key. */
  readonly childEnvironment: Readonly<Record<string, string>>;
  /** Things a person should know, one line each. */
  readonly warnings: readonly string[];
}

const defaultUrl = 'http://localhost:8787';
/** Set by `./svc` of a clone: where the platform of this machine answers. */
const localUrlName = 'SVC_LOCAL_URL';
const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Whose key counts: `signed-in` takes that of `svc login` when none is given; `given` does not, as a person's login serves no
 * host; `optional` is `given`, and empty when there is none.
 */
type WantedKey = 'signed-in' | 'given' | 'optional';

/** Resolves options, environment, profile and defaults; throws `CommandError` naming what is missing or malformed. */
export function loadConfig(
  options: CommonOptions,
  environment: NodeJS.ProcessEnv = process.env,
  wanted: WantedKey = 'signed-in',
): Config {
  const warnings: string[] = [];
  const home = homedir();
  const keyFile = options.keyFile === undefined ? undefined : resolve(options.keyFile);
  const fromFlag = options.key ?? keyFromFile(keyFile, warnings);
  // A profile that is named on the command line wins over the environment, as any flag does.
  const isNamed = wanted === 'signed-in' && options.profile !== undefined;
  const given = fromFlag ?? (isNamed ? undefined : environment['SVC_API_KEY'] || undefined);
  const takesLogin = wanted === 'signed-in' && given === undefined;
  const login = takesLogin ? findLogin(options, environment, home, warnings) : undefined;
  const isMissing = given === undefined && wanted === 'optional';
  const key = login?.profile.key ?? (isMissing ? '' : checkKey(given, wanted));
  const url = readUrl(
    login?.profile.url ?? options.url ?? (environment['SVC_BASE_URL'] || environment[localUrlName] || defaultUrl),
    warnings,
  );
  return Object.freeze({
    key,
    url,
    relayUrl: relayOf(url, environment, login, warnings),
    stateDir: options.stateDir === undefined ? configDirectory(environment, home) : resolve(options.stateDir),
    keyFile,
    profile: login?.name,
    profilesDir: configDirectory(environment, home),
    home,
    childEnvironment: Object.freeze(withoutKey(environment, key)),
    warnings,
  });
}

/** A sign-in of `svc login`, by its profile. */
interface Login {
  name: string;
  profile: Profile;
  /** The caller named the platform too, and it is this one. */
  isNamed: boolean;
}

/** The sign-in that counts; undefined when there is none. Throws `CommandError` when the caller names another platform. */
function findLogin(
  options: CommonOptions,
  environment: NodeJS.ProcessEnv,
  home: string,
  warnings: string[],
): Login | undefined {
  const name = profileName(options.profile ?? environment['SVC_PROFILE']);
  const profile = readProfile(configDirectory(environment, home), name, (line) => warnings.push(line));
  const named = options.url ?? (options.profile === undefined ? environment['SVC_BASE_URL'] || undefined : undefined);
  if (!profile) {
    if (options.profile === undefined && !environment['SVC_PROFILE']) return undefined;
    throw new CommandError(`nobody is signed in as the profile "${name}": svc login --profile ${name}`);
  }
  if (named === undefined) return { name, profile, isNamed: false };
  // A key goes to nobody but the platform that made it.
  if (!sameUrl(readUrl(named, []), profile.url))
    throw new CommandError(
      `the profile "${name}" is signed in at ${profile.url}, not at ${named}: svc login ${named}, with a --profile of its own`,
    );
  return { name, profile, isNamed: true };
}

function relayOf(url: string, environment: NodeJS.ProcessEnv, login: Login | undefined, warnings: string[]): string {
  const usual = `${url}/relay`;
  const named = environment['SVC_RELAY_URL']?.replace(/\/+$/, '') || usual;
  // A relay gets the key too, and the variable alone does not say of which platform it is.
  if (!login || login.isNamed || named === usual) return named;
  warnings.push(`SVC_RELAY_URL is left aside: give --url ${url} too, so that it is the relay of that platform`);
  return usual;
}

/** Names that never reach a child: the key, the directory where systemd puts it, and what this process alone was told. */
const hiddenNames = new Set(['SVC_API_KEY', 'CREDENTIALS_DIRECTORY', localUrlName]);

/** `environment` without the names and values that would hand the key to a child. */
export function withoutKey(environment: NodeJS.ProcessEnv, key: string): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || hiddenNames.has(name)) continue;
    // A copy under another name is still the key; shorter texts occur in values by chance.
    if (key.length >= 16 && value.includes(key)) continue;
    kept[name] = value;
  }
  return kept;
}

function checkKey(given: string | undefined, wanted: WantedKey): string {
  if (given === undefined) {
    const login =
      wanted === 'signed-in' ? ', or sign in: svc login' : '; a host has one of its own, not that of svc login';
    throw new CommandError(`no API key: give --key-file, SVC_API_KEY or --key${login}`);
  }
  const key = given.trim();
  // A header could not carry anything else, and its error message would quote the key.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CommandError('the API key is empty or holds characters a key cannot have');
  return key;
}

function keyFromFile(keyFile: string | undefined, warnings: string[]): string | undefined {
  if (keyFile === undefined) return undefined;
  try {
    const text = readFileSync(keyFile, 'utf8');
    // Group bits are left alone: systemd grants a service its credential through an access list that shows there.
    if ((statSync(keyFile).mode & 0o007) !== 0) warnings.push(`every user can read ${keyFile}: chmod 600 it`);
    return text;
  } catch (error) {
    throw new CommandError(`cannot read the key file ${keyFile}: ${errnoOf(error) ?? 'unknown error'}`);
  }
}

/** The address of a platform without a slash at its end; throws `CommandError` for what is none. */
export function readUrl(text: string, warnings: string[]): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new CommandError(`the gateway's URL must start with http:// or https://, not "${text}"`);
  }
  if (url.username || url.password) throw new CommandError("the gateway's URL cannot hold a user or password");
  if (url.protocol === 'http:' && !loopback.test(url.hostname)) {
    warnings.push(`the key travels unencrypted to ${url.host}: use https`);
  }
  return text.replace(/\/+$/, '');
}

/** Options of `svc login`, `svc logout` and `svc whoami` that say whose sign-in is meant. */
export interface ProfileOptions {
  profile?: string;
  json?: boolean;
}

/** A profile, where it lies, and what is known of it before anybody is asked. */
export interface SignIn {
  name: string;
  /** Directory of the profiles. Absolute. */
  directory: string;
  /** Undefined: nobody is signed in by it. */
  profile: Profile | undefined;
  /** `SVC_API_KEY` is set, and no profile is named: commands take that key. */
  hasOtherKey: boolean;
  /** Things a person should know, one line each. */
  warnings: string[];
}

/** Finds a profile; throws `CommandError` when its name or its file is none. */
export function findSignIn(options: ProfileOptions, environment: NodeJS.ProcessEnv = process.env): SignIn {
  const name = profileName(options.profile ?? environment['SVC_PROFILE']);
  const directory = configDirectory(environment);
  const warnings: string[] = [];
  const profile = readProfile(directory, name, (line) => warnings.push(line));
  const hasOtherKey = options.profile === undefined && Boolean(environment['SVC_API_KEY']);
  return { name, directory, profile, hasOtherKey, warnings };
}

/** Where to sign in; throws `CommandError` when nothing says it. */
export function loginUrl(
  given: string | undefined,
  { profile, warnings }: Pick<SignIn, 'profile' | 'warnings'>,
  environment: NodeJS.ProcessEnv = process.env,
): string {
  const url = given ?? (environment['SVC_BASE_URL'] || environment[localUrlName] || profile?.url);
  if (url === undefined) throw new CommandError('give the address of the platform: svc login https://svc.example.com');
  return readUrl(url, warnings);
}

/** What a process knows of the screen before it. */
export interface Screen {
  /** A browser can be shown here: there is a desktop, and the person sits before it. */
  hasBrowser: boolean;
  /** Commands that open an address, of the variable `BROWSER`. */
  browsers: string[];
  /** Of the processes that it starts, without a key. */
  environment: Readonly<Record<string, string>>;
}

/** Looks at the screen. `isTerminal`: standard output is one. */
export function lookAtScreen(
  isTerminal: boolean,
  environment: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): Screen {
  const has = (name: string): boolean => Boolean(environment[name]);
  const isDesktop = platform === 'win32' || platform === 'darwin' || has('DISPLAY') || has('WAYLAND_DISPLAY');
  const browsers = (environment['BROWSER'] ?? '')
    .split(platform === 'win32' ? ';' : ':')
    .filter((one) => one.trim() !== '');
  return {
    hasBrowser: isTerminal && isDesktop && !has('SSH_CONNECTION'),
    browsers,
    environment: withoutKey(environment, ''),
  };
}
