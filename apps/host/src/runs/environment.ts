import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import { withoutKey } from '../config.ts';
import { errnoOf, OpError } from '../failure.ts';

/** Environment of a run's processes, and the secrets to keep out of its output. */
interface RunEnvironment {
  env: Record<string, string>;
  /** Values by name of those that the run asked for: of `secrets.json`. */
  secrets: Map<string, string>;
  /** The same of the environment, in which ports and user names stand beside secrets. */
  likely: Map<string, string>;
}

/** Where values come from. */
export interface EnvironmentOptions {
  /** The daemon's own environment, without the key. */
  environment: Readonly<Record<string, string>>;
  /** `secrets.json`: `{ "NAME": "value" }`; stands before the environment. */
  secretsPath: string;
  key: string;
}

/** Variables that every run gets: paths, files and language. A run has to name all others. */
const plainNames = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'XDG_RUNTIME_DIR'];
const secretsFile = z.record(z.string(), z.string().regex(/^[^\0]*$/, 'must not hold NUL'));

/** Collects the values of `names`; throws `OpError` naming one that this machine does not have. */
export async function collectEnvironment(
  names: readonly string[],
  added: Readonly<Record<string, string>>,
  options: EnvironmentOptions,
): Promise<RunEnvironment> {
  const own = options.environment;
  const stored = names.length === 0 ? {} : withoutKey(await readSecrets(options.secretsPath), options.key);
  const plain = Object.entries(own).filter(([name]) => plainNames.includes(name) || name.startsWith('LC_'));
  const secrets = new Map<string, string>();
  const likely = new Map<string, string>();
  for (const name of names) {
    const value = stored[name] ?? own[name];
    if (value === undefined) throw new OpError(`the variable ${name} is not set on this host`);
    (stored[name] === undefined ? likely : secrets).set(name, value);
  }
  return { env: Object.fromEntries([...plain, ...secrets, ...likely, ...Object.entries(added)]), secrets, likely };
}

async function readSecrets(path: string): Promise<Record<string, string>> {
  let text: string;
  try {
    if (((await stat(path)).mode & 0o077) !== 0) throw new OpError('other users can read secrets.json: chmod 600 it');
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return {};
    throw error;
  }
  try {
    return secretsFile.parse(JSON.parse(text));
  } catch {
    // The parser's own words would quote the file.
    throw new OpError('secrets.json is not an object of names and texts');
  }
}
