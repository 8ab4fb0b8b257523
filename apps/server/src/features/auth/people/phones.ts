import { randomInt, randomUUID } from 'node:crypto';
import { type Who, writeAct } from '../../../kernel/records/audit.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { notFound } from '../../../kernel/base/errors.ts';
import { insertOpen } from './links.ts';
import { claimPhone, confirmPhoneBy, findPhone, isPhoneWaiting, takePhone } from './links.sql.ts';
import { type PeopleParts, within } from './parts.ts';
import { handedOn } from './logins.sql.ts';
import { hashOfSecret, letters, newCode, newSecret, shownCode, typedCode } from './secrets.ts';

type Parts = Pick<PeopleParts, 'sql' | 'clock' | 'keyring'>;

/** How a phone shows itself to the person at the signed-in device; texts of 120 characters at most. */
interface PhoneDevice {
  name: string;
  platform: string;
  network: string;
}

/** A phone's link as the signed-in device sees it. */
type PhoneState =
  /** No phone took it yet. */
  | { state: 'open'; expiresAt: string }
  /** A phone took it: one of the numbers is on its screen. */
  | { state: 'claimed'; expiresAt: string; phone: PhoneDevice; numbers: number[] }
  /** The right number was picked. */
  | { state: 'confirmed'; expiresAt: string; phone: PhoneDevice }
  /** The phone is signed in. */
  | { state: 'used'; expiresAt: string; phone: PhoneDevice };

/** Codes of eight letters are few enough to be tried from a plain hash: this one is under a lasting key. */
const hashOfCode = ({ keyring }: Pick<Parts, 'keyring'>, code: string): Buffer =>
  keyring.mac('link-code', typedCode(code));

/**
 * Makes a link for a phone, five minutes long: a token for the QR code, and the same as eight letters to type. The phone gets no
 * younger proof than the login that makes it, and goes no later. The caller bounds how many codes an address may try in a minute.
 */
export async function createPhoneLink(
  parts: Parts,
  { accountId, loginId, by, tx: given }: { accountId: string; loginId: string; by: Who; tx?: Db },
): Promise<{ id: string; token: string; code: string; expiresAt: string }> {
  const token = newSecret();
  const code = newCode(letters, 8);
  const row = await within(parts, given, async (tx) => {
    const provedAt = await handedOn(tx, accountId, loginId);
    if (provedAt === undefined) throw notFound('login');
    const made = await insertOpen(tx, parts, {
      id: randomUUID(),
      purpose: 'phone',
      accountId,
      email: null,
      tokenHash: hashOfSecret(token) as Buffer,
      codeHash: hashOfCode(parts, code),
      details: { proved_at: provedAt },
    });
    await writeAct(tx, { accountId, by, action: 'auth.createLink', subject: made.id, details: { purpose: 'phone' } });
    return made;
  });
  return { id: row.id, token, code: shownCode(code), expiresAt: row.expires_at };
}

/**
 * Lets a phone take a link by its token or its code; of two at once one gets it. The phone shows `number`, keeps `claim` (32
 * random bytes, told once) and asks `finishPhone` with it. Undefined for a link that is unknown, over, ended or taken.
 */
export async function claimPhoneLink(
  parts: Parts,
  given: { token: string } | { code: string },
  phone: PhoneDevice,
): Promise<{ claim: string; number: number; expiresAt: string } | undefined> {
  const tokenHash = 'token' in given ? hashOfSecret(given.token) : undefined;
  if ('token' in given && !tokenHash) return undefined;
  const by = 'code' in given ? { codeHash: hashOfCode(parts, given.code) } : { tokenHash: tokenHash as Buffer };
  const claim = newSecret();
  const numbers = threeNumbers();
  const number = numbers[randomInt(numbers.length)] as number;
  const details = { number, numbers, phone: shortened(phone) };
  const row = await claimPhone(parts.sql, parts.clock, by, { claimHash: hashOfSecret(claim) as Buffer, details });
  return row && { claim, number, expiresAt: row.expires_at };
}

/** A phone's link of an account; undefined for one that is unknown, over or ended. */
export async function phoneState(
  parts: Parts,
  { accountId, id }: { accountId: string; id: string },
): Promise<PhoneState | undefined> {
  const row = await findPhone(parts.sql, parts.clock, accountId, id);
  if (!row) return undefined;
  const { expires_at: expiresAt } = row;
  if (row.claimed_at === null) return { state: 'open', expiresAt };
  const { phone, numbers } = row.details as { phone: PhoneDevice; numbers: number[] };
  if (row.used_at !== null) return { state: 'used', expiresAt, phone };
  return row.confirmed_at === null
    ? { state: 'claimed', expiresAt, phone, numbers }
    : { state: 'confirmed', expiresAt, phone };
}

/**
 * The person at the signed-in device picked a number. True: the phone may sign in. False: it was another one, and the link is
 * ended. Undefined: no phone waits.
 */
export async function confirmPhone(
  parts: Parts,
  { accountId, id, number, by }: { accountId: string; id: string; number: number; by: Who },
): Promise<boolean | undefined> {
  return within(parts, undefined, async (tx) => {
    const isRight = await confirmPhoneBy(tx, parts.clock, { accountId, id, number });
    if (isRight === undefined) return undefined;
    await writeAct(tx, { accountId, by, action: 'auth.confirmPhone', subject: id, details: { right: isRight } });
    return isRight;
  });
}

/** Whom the phone signs in, once, and the proof that it gets (milliseconds since the epoch); `waiting` until a number was picked, undefined when nothing comes any more. */
export async function finishPhone(
  parts: Parts,
  { claim, tx }: { claim: string; tx?: Db },
): Promise<{ accountId: string; linkId: string; provedAt: number | undefined } | 'waiting' | undefined> {
  const claimHash = hashOfSecret(claim);
  if (!claimHash) return undefined;
  const db = tx ?? parts.sql;
  const row = await takePhone(db, parts.clock, claimHash);
  if (row) {
    const { proved_at: provedAt } = row.details as { proved_at?: string };
    return {
      accountId: row.account_id as string,
      linkId: row.id,
      provedAt: provedAt === undefined ? undefined : Date.parse(provedAt),
    };
  }
  return (await isPhoneWaiting(db, parts.clock, claimHash)) ? 'waiting' : undefined;
}

/** Three different numbers of two digits. */
function threeNumbers(): number[] {
  const numbers = new Set<number>();
  while (numbers.size < 3) numbers.add(randomInt(10, 100));
  return [...numbers];
}

const mostText = 120;
const short = (text: string): string => text.replaceAll('\0', '').toWellFormed().slice(0, mostText).toWellFormed();
const shortened = ({ name, platform, network }: PhoneDevice): PhoneDevice => ({
  name: short(name),
  platform: short(platform),
  network: short(network),
});
