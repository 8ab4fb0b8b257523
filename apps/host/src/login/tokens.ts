import { createHash, randomBytes } from 'node:crypto';
import { CommandError } from '../failure.ts';
import { isAddress, type Platform } from './discovery.ts';
import { type Answer, faultOf, postForm, Unreachable } from './request.ts';

/** What the identity provider knows this program by. */
const clientId = 'svc-cli';
/** Characters of an address whose QR code is still below 60 columns. */
const mostOfQr = 200;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** A secret of one sign-in, and its hash as the browser shows it (PKCE, RFC 7636). */
export function newVerifier(): { verifier: string; challenge: string } {
  const verifier = newSecret();
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** 256 random bits, for an address. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** The address at which a person signs in and decides. */
export function authorizeUrl(
  { authorize, resource }: Platform,
  given: { scopes: readonly string[]; redirectUri: string; state: string; challenge: string },
): string {
  const address = new URL(authorize);
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: given.redirectUri,
    scope: given.scopes.join(' '),
    resource,
    state: given.state,
    code_challenge: given.challenge,
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address.href;
}

/** The access token for the code that the browser brought. Throws `CommandError`. */
export async function redeemCode(
  { token, resource }: Platform,
  { code, redirectUri, verifier }: { code: string; redirectUri: string; verifier: string },
): Promise<string> {
  const fields = { code, redirect_uri: redirectUri, client_id: clientId, code_verifier: verifier, resource };
  return tokenOf(await postForm(token, { grant_type: 'authorization_code', ...fields }));
}

/** A code that a person types on another device (RFC 8628). */
interface DeviceCode {
  secret: string;
  /** As it is shown: `BCDF-GHJK`. */
  userCode: string;
  address: string;
  /** The address with the code in it; undefined when the provider has none, or one too long for a QR code on a terminal. */
  wholeAddress: string | undefined;
  intervalMs: number;
  /** Of `performance.now()`. */
  endsAt: number;
}

/** Asks for a code. `device`: the name of this machine, for the page on which it is typed. Throws `CommandError`. */
export async function askForDeviceCode(
  { device, url, resource }: Platform,
  { scopes, name, signal }: { scopes: readonly string[]; name: string; signal: AbortSignal },
): Promise<DeviceCode> {
  if (device === undefined) throw new CommandError(`${url} has no codes for devices: sign in where a browser is`);
  const fields = { client_id: clientId, scope: scopes.join(' '), resource };
  const asked = performance.now();
  const answer = await postForm(device, fields, { signal, headers: { 'x-svc-device-name': headerOf(name) } });
  const { device_code: secret, user_code: userCode, verification_uri: address, ...rest } = answer.body;
  const isWhole =
    typeof secret === 'string' && typeof userCode === 'string' && /^.{1,40}$/.test(userCode) && isAddress(address);
  if (answer.status !== 200 || !isWhole) throw new CommandError(`the platform gave no code: ${faultOf(answer)}`);
  const whole = rest['verification_uri_complete'];
  return {
    secret,
    userCode,
    address,
    wholeAddress: isAddress(whole) && whole.length <= mostOfQr ? whole : undefined,
    intervalMs: secondsOf(rest['interval'], 5, 60) * 1000,
    endsAt: asked + secondsOf(rest['expires_in'], 600, 3_600) * 1000,
  };
}

/** Header values are bytes: a name in UTF-8 travels as that many characters, which the gateway decodes. */
const headerOf = (text: string): string => Buffer.from(text.replace(/[\r\n\0]/g, ' ')).toString('latin1');

const secondsOf = (value: unknown, usual: number, most: number): number =>
  typeof value === 'number' && value > 0 ? Math.min(value, most) : usual;

/** Asked too often, or not able to answer now: wait longer from then on (RFC 8628, 3.5). */
const slowerMs = 5_000;

/**
 * Asks again and again until a person has decided, at the pace that the provider wants. Throws `CommandError` when they refused,
 * and when the code is over. `pause` waits for so many milliseconds.
 */
export async function awaitDevice(
  { token, resource }: Platform,
  { secret, intervalMs, endsAt }: DeviceCode,
  { signal, pause }: { signal: AbortSignal; pause: (ms: number) => Promise<void> },
): Promise<string> {
  const fields = { grant_type: deviceGrant, device_code: secret, client_id: clientId, resource };
  const over = new CommandError('the code is over: nobody typed it in time; svc login makes another');
  for (let waitMs = intervalMs; ; ) {
    await pause(waitMs);
    if (performance.now() > endsAt) throw over;
    const answer = await postForm(token, fields, { signal }).catch((error: unknown) => {
      if (error instanceof Unreachable) return undefined;
      throw error;
    });
    const error = answer?.body['error'];
    if (answer?.status === 200) return tokenOf(answer);
    if (error === 'authorization_pending') continue;
    if (error === 'expired_token') throw over;
    if (error === 'access_denied') throw new CommandError('it was refused on the other device; nothing was signed in');
    const isPassing = !answer || error === 'slow_down' || answer.status === 429 || answer.status >= 500;
    if (!isPassing) throw new CommandError(`the platform refused: ${faultOf(answer)}`);
    waitMs += slowerMs;
  }
}

function tokenOf(answer: Answer): string {
  const { access_token: token, token_type: type } = answer.body;
  const isToken = typeof token === 'string' && /^[\x21-\x7e]+$/.test(token) && /^bearer$/i.test(String(type));
  if (answer.status === 200 && isToken) return token;
  throw new CommandError(`the platform gave no token: ${faultOf(answer)}`);
}
