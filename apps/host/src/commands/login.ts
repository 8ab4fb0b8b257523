import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { renderUnicodeCompact } from 'uqr';
import { openInBrowser } from '../browser.ts';
import {
  findSignIn,
  loginUrl,
  lookAtScreen,
  type ProfileOptions,
  readUrl,
  type Screen,
  type SignIn,
} from '../config.ts';
import { CommandError } from '../failure.ts';
import { discover, type Platform } from '../login/discovery.ts';
import { askWho, connect, endKey } from '../login/keys.ts';
import { openLoopback } from '../login/loopback.ts';
import { askForDeviceCode, authorizeUrl, awaitDevice, newSecret, newVerifier, redeemCode } from '../login/tokens.ts';
import { createOutput, type Output } from '../output.ts';
import { deviceOfProfile, type Profile, profilePath, sameUrl, writeProfile } from '../profile.ts';

/** Options of `svc login`. */
export interface LoginOptions extends ProfileOptions {
  device?: boolean;
  scopes?: string;
  name?: string;
}

/** All that a command of this program needs, but to serve as a host, which a person's login never does. */
const usualScopes = [
  'devices:read',
  'environments',
  'environments:terminal',
  'hosts:exec',
  'hosts:read',
  'prompts',
  'schedules',
  'sessions',
] as const;
/** A person who has not decided by then does not come back. */
const patienceMs = 10 * 60_000;
const interruptedCode = 130;

/** A sign-in that is under way. */
interface Attempt {
  platform: Platform;
  scopes: readonly string[];
  /** Of this machine, for pages and the list of keys. */
  name: string;
  screen: Screen;
  output: Output;
  /** Data goes to standard output: a person reads the other one. */
  isJson: boolean;
  signal: AbortSignal;
}

/** `svc login`: signs this machine in, by a browser that shows the platform's page, or by a code for another device. */
export async function login(given: string | undefined, options: LoginOptions): Promise<void> {
  const output = createOutput();
  const before = findSignIn(options);
  const scopes = scopesOf(options.scopes);
  const url = loginUrl(given, before);
  for (const warning of before.warnings) output.log(warning);
  const stop = new AbortController();
  const interrupted = new CommandError('interrupted; nothing was signed in', interruptedCode);
  const onSignal = (): void => stop.abort(interrupted);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, onSignal);
  const platform = await discover(url, stop.signal);
  if (!sameUrl(platform.url, url)) {
    const warnings = [`${url} calls itself ${platform.url}: signing in there`];
    readUrl(platform.url, warnings);
    for (const warning of warnings) output.log(warning);
  }
  const name = options.name ?? hostname();
  const screen = lookAtScreen(process.stdout.isTTY);
  const attempt = { platform, scopes, name, screen, output, isJson: options.json === true, signal: stop.signal };
  const token = options.device || !screen.hasBrowser ? await byDevice(attempt) : await byBrowser(attempt);
  stop.signal.throwIfAborted();
  // From here on a signal would leave a key that nobody has.
  const profile = await settle(attempt, before, token);
  tell(attempt, before, profile);
}

function scopesOf(given: string | undefined): readonly string[] {
  if (given === undefined) return usualScopes;
  const scopes = given.split(/[\s,]+/).filter((scope) => scope !== '');
  const wrong = scopes.find((scope) => !/^[a-z_]+(:[a-z_]+)?$/.test(scope));
  if (wrong !== undefined || scopes.length === 0)
    throw new CommandError(`--scopes are names such as ${usualScopes.slice(0, 2).join(',')}, not "${wrong ?? given}"`);
  return [...new Set(scopes)];
}

/** By the browser of this machine, which comes back to a port of this process. */
async function byBrowser(attempt: Attempt): Promise<string> {
  const { platform, scopes, screen, output, signal } = attempt;
  const { verifier, challenge } = newVerifier();
  const state = newSecret();
  const loopback = await openLoopback(platform, state);
  const address = authorizeUrl(platform, { scopes, redirectUri: loopback.redirectUri, state, challenge });
  say(attempt, ['Sign in with the browser of this machine. If none opens, open this address in it:', `  ${address}`]);
  const opening = openInBrowser(address, screen);
  void opening.taken.then((isTaken) => {
    if (!isTaken && !signal.aborted) output.log('no browser opens here: open the address, or svc login --device');
  });
  try {
    const code = await ended(loopback.code, signal);
    return await redeemCode(platform, { code, redirectUri: loopback.redirectUri, verifier });
  } finally {
    opening.leave();
    loopback.close();
  }
}

/** Waits for a person, for ten minutes or until a signal comes. */
function ended(answer: Promise<string>, signal: AbortSignal): Promise<string> {
  const late = AbortSignal.timeout(patienceMs);
  const over = new CommandError('nobody signed in within 10 minutes; svc login begins anew');
  return new Promise((resolve, reject) => {
    late.addEventListener('abort', () => reject(over), { once: true });
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    answer.then(resolve, reject);
  });
}

/** By a code that the person types on any device. */
async function byDevice(attempt: Attempt): Promise<string> {
  const { platform, scopes, name, isJson, signal } = attempt;
  const code = await askForDeviceCode(platform, { scopes, name, signal });
  say(attempt, [
    `Open this address on any device, and type the code there:`,
    `  ${code.address}`,
    `  ${code.userCode}`,
  ]);
  if (!isJson && process.stdout.isTTY && code.wholeAddress !== undefined) process.stdout.write(qrOf(code.wholeAddress));
  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal }).catch(() => {
      signal.throwIfAborted();
    });
  return awaitDevice(platform, code, { signal, pause });
}

function say({ output, isJson }: Attempt, lines: readonly string[]): void {
  for (const line of lines) (isJson ? output.log : output.line)(line);
}

/** Light on dark, in every theme of a terminal, as cameras expect it. Ours alone: nothing of it comes from the platform as text. */
function qrOf(address: string): string {
  const lines = renderUnicodeCompact(address, { border: 2 }).split('\n');
  return `${lines.map((line) => `\u001b[97;40m${line}\u001b[0m`).join('\n')}\n`;
}

/** Has a key made for the token, and keeps it; what it replaces ends. */
async function settle({ platform: { url }, name, output }: Attempt, before: SignIn, token: string): Promise<Profile> {
  const { directory, profile: former } = before;
  const device = await deviceOfProfile(directory, before.name);
  const made = await connect(url, token, { name, device });
  const who = await askWho({ url, key: made.key }).catch(() => undefined);
  const account = typeof who === 'object' ? who.account : null;
  const profile: Profile = { url, key: made.key, key_id: made.id, account, scopes: made.scopes, device };
  await writeProfile(directory, before.name, profile).catch(async (error: unknown) => {
    // Nobody has it now.
    await endKey(profile);
    throw error;
  });
  // The platform ends the former key of a device by itself: one of its own, and of the same account.
  const isElsewhere = former && (!sameUrl(former.url, url) || (former.account && former.account.id !== account?.id));
  if (isElsewhere) {
    const { isOver, why } = await endKey(former);
    if (!isOver) output.log(`the former key at ${former.url} may live on: ${why}`);
  }
  return profile;
}

function tell({ scopes, output, isJson }: Attempt, { name, directory }: SignIn, profile: Profile): void {
  const { url, key_id: keyId, account, scopes: given } = profile;
  const file = profilePath(directory, name);
  if (isJson) return output.json({ profile: name, url, key_id: keyId, account, scopes: given, file });
  output.line(`signed in at ${url}${account ? ` as ${account.email}` : ''}; the key is in ${file}`);
  const missing = scopes.filter((scope) => !given.includes(scope));
  if (missing.length > 0) output.log(`not allowed: ${missing.join(', ')}`);
}
