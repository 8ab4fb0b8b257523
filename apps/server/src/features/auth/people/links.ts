import { randomUUID } from 'node:crypto';
import { bySystem, type Who, writeAct } from '../../../kernel/records/audit.ts';
import { notFound } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import {
  deleteOlder,
  endLinksOf,
  findLink,
  insertLink,
  isUsedLink,
  type LinkPurpose,
  type LinkRow,
  lockLinksOf,
  type NewLink,
  takeLink,
} from './links.sql.ts';
import { type PeopleParts, within } from './parts.ts';
import { hashOfSecret, newSecret } from './secrets.ts';

/** Purposes of links that are opened once; a phone's link is taken by `phones.ts`. */
export type PlainPurpose = Exclude<LinkPurpose, 'phone' | 'mail'>;

/** A link that is open, or was used just now. */
export interface OpenLink {
  id: string;
  accountId: string | null;
  email: string | null;
  /** RFC 3339. */
  expiresAt: string;
  details: Record<string, unknown>;
}

/** Seconds that an invitation lives. */
export const inviteSeconds = 7 * 86_400;
/** Seconds that a link lives; `recover` by mail. */
const lives: Readonly<Record<LinkPurpose, number>> = {
  setup: 86_400,
  invite: inviteSeconds,
  recover: 1_800,
  phone: 300,
  mail: 600,
};
/** Of a link to recover that a command made: its operator has to hand it on. */
const byHandSeconds = 86_400;
/** Open links of one purpose of an account, or of an address without one, from one network: the oldest makes place. */
const mostOpen = 5;

/**
 * Makes a link: `token` is told once, and belongs into the fragment of a URL. `details` are answered again by `lookAtLink` and
 * `takeOpenLink`, 4 kB at most. Throws 404 for an account that is gone or being deleted.
 */
export async function createLink(
  parts: Pick<PeopleParts, 'sql' | 'clock'>,
  link: {
    purpose: PlainPurpose;
    /** Unset: it is for somebody without an account. */
    accountId?: string;
    email?: string;
    details?: object;
    /** Where a stranger asked for it: it takes the place of links that were asked for there alone. */
    network?: string;
    /** A person hands it on: a link to recover lives for 24 h, not for 30 min. */
    byHand?: boolean;
    by: Who;
    tx?: Db;
  },
): Promise<OpenLink & { token: string }> {
  const { purpose, accountId = null, email = null, details = {}, by } = link;
  const token = newSecret();
  const lifeSeconds = purpose === 'recover' && link.byHand ? byHandSeconds : lives[purpose];
  const row = await within(parts, link.tx, async (tx) => {
    const made = await insertOpen(tx, parts, {
      id: randomUUID(),
      purpose,
      accountId,
      email,
      tokenHash: hashOfSecret(token) as Buffer,
      codeHash: null,
      lifeSeconds,
      details,
      network: link.network,
    });
    await writeAct(tx, { accountId, by, action: 'auth.createLink', subject: made.id, details: { purpose } });
    return made;
  });
  return { ...toOpenLink(row), token };
}

/** Inserts a link of any purpose, and deletes what is over the five of its account or address, purpose and network. */
export async function insertOpen(
  tx: Db,
  { clock }: Pick<PeopleParts, 'clock'>,
  { network, ...link }: Omit<NewLink, 'lifeSeconds'> & { lifeSeconds?: number; network?: string | undefined },
): Promise<LinkRow> {
  const { accountId, email } = link;
  const lifeSeconds = link.lifeSeconds ?? lives[link.purpose];
  if (accountId === null && email === null && link.purpose !== 'invite' && link.purpose !== 'setup') {
    throw new Error('a link is of an account, or for an address');
  }
  const whose = accountId ?? email?.toLowerCase();
  if (whose !== undefined) await lockLinksOf(tx, whose);
  const details = network === undefined ? link.details : { ...link.details, network };
  const row = await insertLink(tx, clock, { ...link, details, lifeSeconds });
  if (!row) throw notFound('account');
  if (whose !== undefined) await deleteOlder(tx, clock, { ...link, lifeSeconds, network: network ?? null }, mostOpen);
  return row;
}

/** Looks at a link without using it; undefined for one that is unknown, over, used, ended, or of another purpose. */
export async function lookAtLink(
  parts: Pick<PeopleParts, 'sql' | 'clock'>,
  { purpose, token }: { purpose: PlainPurpose; token: string },
): Promise<OpenLink | undefined> {
  const hash = hashOfSecret(token);
  const row = hash && (await findLink(parts.sql, parts.clock, purpose, hash));
  return row && toOpenLink(row);
}

/** Whether a link was used: whoever has it made the account, or is told that somebody did. */
export async function wasUsed(
  { sql }: Pick<PeopleParts, 'sql'>,
  { purposes, token }: { purposes: readonly PlainPurpose[]; token: string },
): Promise<boolean> {
  const hash = hashOfSecret(token);
  return hash !== undefined && (await isUsedLink(sql, purposes, hash));
}

/**
 * Uses a link, once; undefined for one that is unknown, over, used, ended, or of another purpose. Give the transaction of what it
 * is used for: if that fails, the link stays open.
 */
export async function takeOpenLink(
  parts: Pick<PeopleParts, 'sql' | 'clock'>,
  { purpose, token, by = bySystem, tx: given }: { purpose: PlainPurpose; token: string; by?: Who; tx?: Db },
): Promise<OpenLink | undefined> {
  const hash = hashOfSecret(token);
  if (!hash) return undefined;
  return within(parts, given, async (tx) => {
    const row = await takeLink(tx, parts.clock, purpose, hash);
    if (!row) return undefined;
    const { account_id: accountId, id } = row;
    await writeAct(tx, { accountId, by, action: 'auth.useLink', subject: id, details: { purpose } });
    return toOpenLink(row);
  });
}

/** Ends the open links of an account, codes by mail and phones among them; answers how many. */
export async function endLinks(
  parts: Pick<PeopleParts, 'sql' | 'clock'>,
  { accountId, by, tx: given }: { accountId: string; by: Who; tx?: Db },
): Promise<number> {
  return within(parts, given, async (tx) => {
    const ended = await endLinksOf(tx, parts.clock, accountId);
    if (ended > 0) await writeAct(tx, { accountId, by, action: 'auth.endLinks', details: { ended } });
    return ended;
  });
}

const toOpenLink = (row: LinkRow): OpenLink => ({
  id: row.id,
  accountId: row.account_id,
  email: row.email,
  expiresAt: row.expires_at,
  details: row.details,
});
