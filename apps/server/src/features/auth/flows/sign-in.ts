import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Provider } from 'oidc-provider';
import { ApiError, badRequest } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { redirectPage } from '../pages/notes.ts';
import { mailCodePage, signInPage } from '../pages/sign-in.ts';
import type { PasskeyPlace } from '../pages/page.ts';
import { relyingParty, signInByPasskey } from '../people/passkeys.ts';
import { isKnownPerson } from '../people/passwords.sql.ts';
import { signInByPassword } from '../people/passwords.ts';
import { hubClient, nameOfApp } from '../provider/clients.ts';
import { alike } from '../../../kernel/base/spellings.ts';
import { mailCodeOf, sendMailCode } from './mail-code.ts';
import type { FlowParts } from './parts.ts';
import { signUpDomain } from './sign-up.ts';
import type { PageVisit } from './visit.ts';

/** A sign-in or consent under way, as the library keeps it. */
export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** Binds the rest of a sign-in to the browser in which the person proved who they are. */
const proofCookie = '__Host-svc_proof';
const proofSeconds = 600;
/**
 * Passwords that a network may send in a minute, those among them that are not looked at: more than people behind it
 * type. Over it only who signed in from there lately is let in.
 */
const mostPasswords = 600;

/** The interaction of this browser with this name; undefined when it is over, or another browser's. */
export async function interactionOf(
  visit: PageVisit,
  provider: Provider,
  uid: string,
): Promise<Interaction | undefined> {
  const found = await provider.interactionDetails(visit.request, visit.response).catch((error: unknown) => {
    if ((error as { error?: string }).error === 'invalid_request') return undefined;
    // A database that does not answer is no page that was open for too long.
    throw error;
  });
  return found?.uid === uid ? found : undefined;
}

/** Where passkeys work for this browser. */
export function passkeysOf(visit: PageVisit, elsewhere: (origin: string) => string): PasskeyPlace {
  const { config } = visit.kernel;
  const { id } = relyingParty(config);
  if (visit.hostname === id) return 'here';
  const other = alike(config.authUrl).find((url) => new URL(url).hostname === id);
  return other === undefined ? 'never' : { at: elsewhere(other) };
}

/** The sign-in page, and what it sends: password, passkey or mail code. */
export async function signIn(visit: PageVisit, parts: FlowParts, uid: string): Promise<void> {
  const { provider } = await parts.identity.open();
  const interaction = await interactionOf(visit, provider, uid);
  if (!interaction) return visit.html(400, parts.identity.expiredPage(visit));
  if (interaction.prompt.name === 'consent') return visit.redirect(`${visit.page.base}/consent/${uid}`);
  if (visit.method !== 'POST') return visit.html(200, await signInHtml(visit, parts, interaction));
  visit.checkOwn();
  const form = await visit.form();
  const proof = await prove(visit, parts, form);
  countTry(visit.kernel, form, proof);
  if ('accountId' in proof) return finishSignIn(visit, parts, interaction, proof);
  if ('sent' in proof) {
    const { problem } = proof;
    return visit.html(
      problem ? 400 : 200,
      mailCodePage(visit.page, { action: actionOf(visit), email: proof.sent, ...(problem && { problem }) }),
    );
  }
  const { status, ...problem } = proof;
  visit.html(status, await signInHtml(visit, parts, interaction, { email: form.get('email') ?? '', ...problem }));
}

const actionOf = (visit: PageVisit): string => visit.page.base + visit.path;

async function signInHtml(
  visit: PageVisit,
  { identity, mail }: FlowParts,
  interaction: Interaction,
  said: Partial<Parameters<typeof signInPage>[1]> = {},
): Promise<string> {
  const { page } = visit;
  const { params } = interaction;
  const { provider } = await identity.open();
  const client = await provider.Client.find(String(params['client_id']));
  const query = new URLSearchParams(
    Object.entries(params).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
  const hint = params['login_hint'];
  // Signed in, and asked for a newer proof, or for one more sign-in after another device ended the last.
  const known = interaction.session?.accountId;
  const account = known === undefined ? undefined : await identity.account(known);
  return signInPage(page, {
    action: actionOf(visit),
    ...(typeof hint === 'string' ? { email: hint } : account && { email: account.email, isKnown: true }),
    ...(client && client.clientId !== hubClient && { clientName: nameOfApp(client.clientName ?? client.clientId) }),
    passkeys: passkeysOf(visit, (origin) => `${origin}/authorize?${query.toString()}`),
    mailCode: mail !== undefined,
    recoverHref: `${page.base}/recover`,
    ...(signUpDomain(visit.kernel.config) !== undefined && { signUpHref: `${page.base}/sign-up` }),
    passkeyOptionsHref: `${page.base}/passkeys/options`,
    ...said,
  });
}

type Proof =
  | { accountId: string; amr: string[] }
  | { sent: string; problem?: 'wrong' | 'slow' }
  | { status: number; problem: 'wrong' | 'slow' | 'busy' | 'passkey' | 'expired'; waitSeconds?: number };

/** For the operator's alarms: many wrong ones are somebody who guesses. */
function countTry({ metrics }: Pick<Kernel, 'metrics'>, form: URLSearchParams, proof: Proof): void {
  const way = form.get('passkey') ? 'passkey' : form.has('code') || form.get('way') === 'mail' ? 'mail' : 'password';
  const outcome = 'accountId' in proof ? 'right' : (proof.problem ?? 'sent');
  metrics.counter('svc_sign_ins_total', 'Tries to sign in, by way and outcome', ['way', 'outcome'])({ way, outcome });
}

/** Who signs in, by what the form brings. */
async function prove(visit: PageVisit, parts: FlowParts, form: URLSearchParams): Promise<Proof> {
  const { kernel, hashing, guesses, mail } = parts;
  const people = { ...kernel, hashing, guesses };
  const { network } = visit;
  // Nobody has a longer address.
  const email = (form.get('email') ?? '').trim().slice(0, 254);
  const passkey = form.get('passkey');
  if (passkey) {
    const response = parsePasskey(passkey) as AuthenticationResponseJSON;
    const found = await signInByPasskey(people, { response });
    return found === 'refused'
      ? { status: 401, problem: 'passkey' }
      : { accountId: found.accountId, amr: ['hwk', 'user'] };
  }
  const code = form.get('code');
  if (mail && code !== null) {
    const found = await mailCodeOf(visit, parts, code);
    if (found === undefined) return { status: 400, problem: 'expired' };
    return 'accountId' in found ? { ...found, amr: ['otp'] } : { sent: found.email, problem: 'wrong' };
  }
  if (mail && form.get('way') === 'mail') {
    const wait = await sendMailCode(visit, { kernel, mail }, email);
    return wait ? { status: 429, problem: 'slow', ...wait } : { sent: email };
  }
  // A flood costs one read each. What is guessed is bounded by account and network, and for a network as a whole, by
  // `Guesses`.
  const { allowed } = await kernel.limiter.take({ name: 'password', perMinute: mostPasswords }, network);
  const slow = { status: 429, problem: 'slow', waitSeconds: 60 } as const;
  if (!allowed && !(await isKnownPerson(kernel.sql, kernel.clock, email, network))) return slow;
  try {
    const answer = await signInByPassword(people, { email, password: form.get('password') ?? '', network });
    // One answer to all that is refused in a flood: nobody learns who signs in from there.
    if (!allowed && (answer === 'wrong' || 'waitSeconds' in answer)) return slow;
    if (answer === 'wrong') return { status: 401, problem: 'wrong' };
    if ('waitSeconds' in answer) return { status: 429, problem: 'slow', waitSeconds: answer.waitSeconds };
    return { accountId: answer.accountId, amr: ['pwd'] };
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return { status: 503, problem: 'busy' };
    throw error;
  }
}

/** The answer of a browser to a passkey request. Throws 400 for text that is none. */
export function parsePasskey(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below.
  }
  throw badRequest('passkey: must be the JSON of a credential', { passkey: ['must be the JSON of a credential'] });
}

/** Notes who signed in, binds what follows to this browser, and sends it on. */
async function finishSignIn(
  visit: PageVisit,
  { identity, kernel }: FlowParts,
  interaction: Interaction,
  { accountId, amr }: { accountId: string; amr: string[] },
): Promise<void> {
  const { provider } = await identity.open();
  const before = interaction.session;
  if (before && before.accountId !== accountId) {
    // Somebody else was signed in: their session ends, and this one does not go on in it.
    await (await provider.Session.findByUid(before.uid))?.destroy();
    Reflect.deleteProperty(interaction, 'session');
  }
  const proof = randomBytes(24).toString('base64url');
  const now = Math.floor(kernel.clock.now() / 1000);
  const login = { accountId, amr, ts: now, remember: true };
  interaction.result = { ...interaction.lastSubmission, login, proof: hashOfProof(proof) };
  await interaction.save(interaction.exp - now);
  visit.setCookie(proofCookie, proof, { maxAge: proofSeconds, sameSite: 'Lax' });
  visit.html(200, redirectPage(visit.page, { to: interaction.returnTo }));
}

const hashOfProof = (proof: string): string => createHash('sha256').update(proof).digest('base64url');

/**
 * Whether this browser may go on with an interaction: the one in which the person proved who they are. Whoever planted the
 * interaction's cookies in it has no such proof, and would be signed in as that person.
 */
export function mayResume(visit: PageVisit, result: unknown): boolean {
  const { proof } = (result ?? {}) as { proof?: string };
  if (proof === undefined) return true;
  const own = Buffer.from(hashOfProof(visit.cookie(proofCookie) ?? ''));
  const expected = Buffer.from(proof);
  return own.length === expected.length && timingSafeEqual(own, expected);
}
