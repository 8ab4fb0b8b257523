import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { CommandError, errnoOf } from './failure.ts';

/** Options that every command takes. */
export interface CommonOptions {
  key?: string;
  keyFile?: string;
  url?: string;
  stateDir?: string;
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
  readonly home: string;
  /** Environment of the commands that the daemon runs: this process's own without anything that holds the key. */
  readonly childEnvironment: Readonly<Record<string, string>>;
  /** Things a person should know, one line each. */
  readonly warnings: readonly string[];
}

const defaultUrl = 'http://127.0.0.1:8787';
/** Set by `./svc` of a clone: where the platform of this machine answers. */
const localUrlName = 'SVC_LOCAL_URL';
const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Resolves options, environment and defaults; throws `CommandError` naming what is missing or malformed. With
 * `keyOptional` a missing key is an empty one.
 */
export function loadConfig(
  options: CommonOptions,
  environment: NodeJS.ProcessEnv = process.env,
  keyOptional = false,
): Config {
  const warnings: string[] = [];
  const keyFile = options.keyFile === undefined ? undefined : resolve(options.keyFile);
  const given = options.key ?? keyFromFile(keyFile, warnings) ?? (environment['SVC_API_KEY'] || undefined);
  const key = given === undefined && keyOptional ? '' : checkKey(given);
  const url = readUrl(
    options.url ?? (environment['SVC_BASE_URL'] || environment[localUrlName] || defaultUrl),
    warnings,
  );
  const home = homedir();
  return Object.freeze({
    key,
    url,
    relayUrl: (environment['SVC_RELAY_URL'] || `${url}/relay`).replace(/\/+$/, ''),
    stateDir: stateDirectory(options, environment, home),
    keyFile,
    home,
    childEnvironment: Object.freeze(withoutKey(environment, key)),
    warnings,
  });
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

function checkKey(given: string | undefined): string {
  if (given === undefined) throw new CommandError('no API key: give --key-file, SVC_API_KEY or --key');
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

function readUrl(text: string, warnings: string[]): string {
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

function stateDirectory(options: CommonOptions, environment: NodeJS.ProcessEnv, home: string): string {
  if (options.stateDir !== undefined) return resolve(options.stateDir);
  const base = environment['XDG_CONFIG_HOME'];
  // The XDG specification: a relative value is to be ignored.
  return join(base && isAbsolute(base) ? base : join(home, '.config'), 'svc');
}
