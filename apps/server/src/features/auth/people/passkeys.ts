import { createHash, randomBytes } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Config } from '../../../config.ts';
import { type Who, writeAct } from '../../../kernel/records/audit.ts';
import { ApiError, badRequest, notFound } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { checkQuota } from '../../../kernel/records/quotas.ts';
import { type PeopleParts, within } from './parts.ts';
import {
  deletePasskey,
  findPasskey,
  insertChallenge,
  insertPasskey,
  listPasskeys,
  type PasskeyKeyRow,
  type PasskeyRow,
  passkeysQuota,
  takeChallenge,
  updatePasskeyName,
  usePasskey,
} from './passkeys.sql.ts';
import { findAddress } from './passwords.sql.ts';
import { withoutAttestation } from './attestation.ts';

type Parts = Pick<PeopleParts, 'sql' | 'clock' | 'config'>;

/** Loaded when somebody uses a passkey: a gateway in which nobody does saves its memory. */
const library = () => import('@simplewebauthn/server');

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(host);

/**
 * To whom passkeys belong, and the pages that may ask for them. On this machine that is `localhost`: browsers take no address
 * for a name, so a page on `127.0.0.1` cannot use passkeys and has to send people to `localhost`.
 */
export function relyingParty({ authUrl }: Pick<Config, 'authUrl'>): { id: string; origins: string[] } {
  const { hostname, origin, port } = new URL(authUrl);
  if (!isLoopback(hostname)) return { id: hostname, origins: [origin] };
  const named = `http://localhost${port === '' ? '' : `:${port}`}`;
  return { id: 'localhost', origins: [...new Set([origin, named])] };
}

/** The time that a browser gives people to answer; a challenge is kept for five minutes. */
const timeout = 300_000;

/**
 * What a page needs to make a passkey for an account. Throws 404 for an account that is gone or being deleted, 429
 * `quota_exceeded` for the 21st. `network`: of a visitor who is not signed in.
 */
export async function registrationOptions(
  parts: Parts,
  { accountId, network = null, ...given }: { accountId: string; email?: string; network?: string | null; tx?: Db },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const db = given.tx ?? parts.sql;
  const address = await findAddress(db, accountId);
  if (!address) throw notFound('account');
  await within(parts, given.tx, (tx) => checkQuota(parts.config, tx, passkeysQuota, accountId));
  const email = given.email ?? address.email;
  const known = await listPasskeys(db, accountId);
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: relyingParty(parts.config).id,
    rpID: relyingParty(parts.config).id,
    userID: new Uint8Array(userHandle(accountId)),
    userName: email,
    userDisplayName: address.name === '' ? email : address.name,
    challenge: await newChallenge(parts, db, { purpose: 'register', accountId, network }),
    timeout,
    attestationType: 'none',
    excludeCredentials: known.map(toDescriptor),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/**
 * Keeps a passkey that a browser made. Throws 400 for an answer that is none to a challenge of this account, or of a passkey
 * that is known, and 429 `quota_exceeded` for the 21st.
 */
export async function registerPasskey(
  parts: Parts,
  { accountId, response, name, by, tx: given }: Whose & { response: RegistrationResponseJSON; name: string },
): Promise<PasskeyRow> {
  const { id, origins } = relyingParty(parts.config);
  const { verifyRegistrationResponse } = await library();
  const isOurs = await answered(parts, given ?? parts.sql, 'register', accountId, response);
  const info = isOurs
    ? await withoutAttestation(response)
        .then((plain) =>
          verifyRegistrationResponse({
            response: plain,
            expectedChallenge: challengeOf(response) ?? '',
            expectedOrigin: origins,
            expectedRPID: id,
            requireUserVerification: true,
          }),
        )
        .then(
          ({ registrationInfo }) => registrationInfo,
          () => undefined,
        )
    : undefined;
  if (!info) throw refused();
  const { credential, credentialBackedUp: backedUp } = info;
  return within(parts, given, async (tx) => {
    await checkQuota(parts.config, tx, passkeysQuota, accountId);
    const row = await insertPasskey(tx, parts.clock, {
      account_id: accountId,
      credential_id: Buffer.from(credential.id, 'base64url'),
      public_key: Buffer.from(credential.publicKey),
      counter: credential.counter,
      backed_up: backedUp,
      transports: transportsOf(response),
      name: nameOf(name),
      rp_id: relyingParty(parts.config).id,
    });
    if (!row) throw refused();
    await writeAct(tx, { accountId, by, action: 'auth.addPasskey', subject: row.id, details: { name: row.name } });
    return row;
  });
}

/**
 * What a page needs to ask for a passkey: any that the browser has for us, or with `accountId` one of the account's, for a
 * fresh proof. `network`: of a visitor who is not signed in.
 */
export async function authenticationOptions(
  parts: Parts,
  { accountId, network = null }: { accountId?: string; network?: string | null } = {},
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const known = accountId === undefined ? [] : await listPasskeys(parts.sql, accountId);
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID: relyingParty(parts.config).id,
    challenge: await newChallenge(parts, parts.sql, { purpose: 'prove', accountId: accountId ?? null, network }),
    timeout,
    userVerification: 'required',
    ...(accountId !== undefined && { allowCredentials: known.map(toDescriptor) }),
  });
}

/**
 * Checks what a browser answered to `authenticationOptions`, once. `accountId`: the same as there. `refused` for a challenge
 * that is unknown, used or over, a passkey that is unknown or of another account, a wrong signature, a person that was not
 * verified, a counter that does not go on, an account that is suspended or being deleted.
 */
export async function signInByPasskey(
  parts: Parts,
  { response, accountId }: { response: AuthenticationResponseJSON; accountId?: string },
): Promise<{ accountId: string; passkeyId: string } | 'refused'> {
  if (!(await answered(parts, parts.sql, 'prove', accountId ?? null, response))) return 'refused';
  const known = await findPasskey(parts.sql, bytesOf(response.id));
  if (!known || (accountId !== undefined && known.account_id !== accountId)) return 'refused';
  const handle = response.response.userHandle;
  if (handle && !bytesOf(handle).equals(userHandle(known.account_id))) return 'refused';
  const info = await verified(parts, response, known);
  if (!info || !known.may_sign_in) return 'refused';
  if (!(await usePasskey(parts.sql, parts.clock, { id: known.id, ...info }))) return 'refused';
  return { accountId: known.account_id, passkeyId: known.id };
}

async function verified(
  { config }: Parts,
  response: AuthenticationResponseJSON,
  known: PasskeyKeyRow,
): Promise<{ counter: number; backedUp: boolean } | undefined> {
  const { id, origins } = relyingParty(config);
  const { verifyAuthenticationResponse } = await library();
  try {
    const { verified: isRight, authenticationInfo: info } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challengeOf(response) ?? '',
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: known.credential_id.toString('base64url'),
        publicKey: new Uint8Array(known.public_key),
        counter: known.counter,
      },
    });
    return isRight ? { counter: info.newCounter, backedUp: info.credentialBackedUp } : undefined;
  } catch {
    // It throws for everything that an answer may have wrong.
    return undefined;
  }
}

/** Whose passkey, and who changes it. */
interface Whose {
  accountId: string;
  by: Who;
  tx?: Db;
}

/** Renames a passkey. Throws 404. */
export async function renamePasskey(
  parts: Pick<Parts, 'sql'>,
  { accountId, id, name, by, tx: given }: Whose & { id: string; name: string },
): Promise<void> {
  await within(parts, given, async (tx) => {
    if (!(await updatePasskeyName(tx, accountId, id, nameOf(name)))) throw notFound('passkey');
    await writeAct(tx, { accountId, by, action: 'auth.renamePasskey', subject: id, details: { name: nameOf(name) } });
  });
}

/** Removes a passkey: it signs nobody in from now on. Throws 404. The caller makes sure that the person can still sign in. */
export async function removePasskey(
  parts: Pick<Parts, 'sql'>,
  { accountId, id, by, tx: given }: Whose & { id: string },
): Promise<void> {
  await within(parts, given, async (tx) => {
    if (!(await deletePasskey(tx, accountId, id))) throw notFound('passkey');
    await writeAct(tx, { accountId, by, action: 'auth.removePasskey', subject: id });
  });
}

const refused = (): ApiError =>
  badRequest(
    'this passkey was not taken: its answer is over, was used, or it is known already; try again from the start',
  );

/** A passkey says by these bytes whose it is. */
const userHandle = (accountId: string): Buffer => Buffer.from(accountId.replaceAll('-', ''), 'hex');

const mostName = 120;
const nameOf = (name: string): string => name.replaceAll('\0', '').toWellFormed().slice(0, mostName).toWellFormed();

const toDescriptor = (key: PasskeyRow & { credential_id: Buffer }) => ({
  id: key.credential_id.toString('base64url'),
  transports: key.transports,
});

const transports = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);
const transportsOf = ({ response }: RegistrationResponseJSON): string[] => {
  const given: unknown = response.transports;
  return Array.isArray(given)
    ? [...new Set(given)].filter((each): each is string => transports.has(each as string))
    : [];
};

/** A browser may send anything. */
const bytesOf = (text: unknown): Buffer => Buffer.from(typeof text === 'string' ? text : '', 'base64url');

const hashOf = (challenge: Buffer): Buffer => createHash('sha256').update(challenge).digest();

async function newChallenge(
  { clock }: Pick<Parts, 'clock'>,
  db: Db,
  of: { purpose: 'register' | 'prove'; accountId: string | null; network: string | null },
): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = new Uint8Array(randomBytes(32));
  await insertChallenge(db, clock, { hash: hashOf(Buffer.from(challenge)), ...of });
  return challenge;
}

/** The challenge that an answer names, as the library compares it; undefined for what is no answer. */
function challengeOf({ response }: { response: { clientDataJSON: string } }): string | undefined {
  try {
    const text = Buffer.from(response.clientDataJSON, 'base64url').toString();
    const { challenge } = JSON.parse(text) as { challenge?: unknown };
    return typeof challenge === 'string' ? challenge : undefined;
  } catch {
    return undefined;
  }
}

/** Takes the challenge that an answer names: no second answer to it counts, whatever becomes of this one. */
async function answered(
  { clock }: Pick<Parts, 'clock'>,
  db: Db,
  purpose: 'register' | 'prove',
  accountId: string | null,
  answer: { response: { clientDataJSON: string } },
): Promise<boolean> {
  const challenge = challengeOf(answer);
  if (challenge === undefined) return false;
  return takeChallenge(db, clock, { hash: hashOf(bytesOf(challenge)), purpose, accountId });
}
