import { spellingsOf } from '../../../kernel/base/mailboxes.ts';
import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { countHeld, makeRoom } from './room.sql.ts';

/** Purposes of links; `mail` is a code by mail, without a link. */
export type LinkPurpose = 'setup' | 'invite' | 'recover' | 'phone' | 'mail';

/** A link as it is looked at and used. */
export interface LinkRow {
  id: string;
  account_id: string | null;
  email: string | null;
  created_at: string;
  expires_at: string;
  details: Record<string, unknown>;
}

/** A phone's link as the device sees it that made it. */
interface PhoneRow extends LinkRow {
  claimed_at: string | null;
  confirmed_at: string | null;
  used_at: string | null;
}

/** Fields of a new link. */
export interface NewLink {
  id: string;
  purpose: LinkPurpose;
  accountId: string | null;
  email: string | null;
  tokenHash: Buffer | null;
  codeHash: Buffer | null;
  lifeSeconds: number;
  details: object;
}

/** Links of no account that strangers asked for, in all: invitations, and codes by mail to addresses that nobody has. */
const mostOfNobody = 100_000;

const columns = (db: Db) => db`l.id, l.account_id, l.email, l.created_at, l.expires_at, l.details`;

/** Links that can still be used, of accounts that stay. */
const open = (db: Db, time: Time) => db`
  l.used_at is null and l.ended_at is null and l.expires_at > ${nowOf(db, time)}
  and (l.account_id is null or exists (
    select from accounts.standing_view s where s.id = l.account_id and not s.deleting))`;

/** Holds until the transaction ends: nobody else makes a link or code for the same account or address. */
export async function lockLinksOf(db: Db, whose: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`auth.links:${whose}`}, 0))`;
}

/** Inserts a link; undefined when its account is gone. Where too many wait that are of no account, the largest crowd makes room. */
export async function insertLink(db: Db, time: Time, link: NewLink): Promise<LinkRow | undefined> {
  const now = nowOf(db, time);
  const ofNobody = {
    table: db`auth.links`,
    held: db`account_id is null and details ? 'network' and expires_at > ${now}`,
    network: db`details ->> 'network'`,
    since: db`created_at`,
  };
  if (link.accountId === null && (await countHeld(db, ofNobody, mostOfNobody)) >= mostOfNobody)
    await makeRoom(db, ofNobody, mostOfNobody / 100);
  const isAllowed =
    link.accountId === null
      ? db`true`
      : db`exists (select from accounts.standing_view where id = ${link.accountId} and not deleting)`;
  const [row] = await db<LinkRow[]>`
    insert into auth.links as l
      (id, purpose, account_id, email, token_hash, code_hash, created_at, expires_at, details)
    select ${link.id}::uuid, ${link.purpose}, ${link.accountId}::uuid, ${link.email}::text, ${link.tokenHash}::bytea,
      ${link.codeHash}::bytea, ${now}, ${now} + make_interval(secs => ${link.lifeSeconds}::int), ${db.json(link.details as never)}::jsonb
    where ${isAllowed} returning ${columns(db)}`;
  return row;
}

/**
 * Deletes all but the newest open links of an account, or of an address without one, that have the purpose, life and network of
 * `kept`: strangers who ask for mail must not end what the owner asked for, or an operator made.
 */
export async function deleteOlder(
  db: Db,
  time: Time,
  kept: Pick<NewLink, 'id' | 'accountId' | 'email' | 'purpose' | 'lifeSeconds'> & { network: string | null },
  most: number,
): Promise<void> {
  const ofWhom =
    kept.accountId === null
      ? db`l.account_id is null and lower(l.email) = lower(${kept.email})`
      : db`l.account_id = ${kept.accountId}`;
  await db`
    delete from auth.links where id in (
      select l.id from auth.links l where ${ofWhom} and l.purpose = ${kept.purpose} and l.id <> ${kept.id}
        and l.details ->> 'network' is not distinct from ${kept.network}::text
        and l.expires_at - l.created_at = make_interval(secs => ${kept.lifeSeconds}::int) and ${open(db, time)}
      order by l.created_at desc, l.id offset ${most - 1})`;
}

/** The open link with this hash of its token. */
export async function findLink(
  db: Db,
  time: Time,
  purpose: LinkPurpose,
  tokenHash: Buffer,
): Promise<LinkRow | undefined> {
  const [row] = await db<LinkRow[]>`
    select ${columns(db)} from auth.links l
    where l.token_hash = ${tokenHash} and l.purpose = ${purpose} and ${open(db, time)}`;
  return row;
}

/** Whether this hash is that of a link that was used, of an account that stays. */
export async function isUsedLink(db: Db, purposes: readonly LinkPurpose[], tokenHash: Buffer): Promise<boolean> {
  const rows = await db`
    select 1 from auth.links l
    where l.token_hash = ${tokenHash} and l.purpose = any(${purposes}::text[]) and l.used_at is not null
      and exists (select from accounts.standing_view s where s.id = l.account_id and not s.deleting)`;
  return rows.length > 0;
}

/** Uses an open link: of two at once one gets it. */
export async function takeLink(
  db: Db,
  time: Time,
  purpose: LinkPurpose,
  tokenHash: Buffer,
): Promise<LinkRow | undefined> {
  const [row] = await db<LinkRow[]>`
    update auth.links l set used_at = ${nowOf(db, time)}
    where l.token_hash = ${tokenHash} and l.purpose = ${purpose} and ${open(db, time)} returning ${columns(db)}`;
  return row;
}

/** Gives an open link that was of no account to one. */
export async function giveLink(db: Db, time: Time, id: string, accountId: string): Promise<void> {
  await db`
    update auth.links l set account_id = ${accountId}
    where l.id = ${id} and l.account_id is null and ${open(db, time)}`;
}

/** Ends the open links of an account, or one of them; answers how many. */
export async function endLinksOf(db: Db, time: Time, accountId: string, id?: string): Promise<number> {
  const { count } = await db`
    update auth.links l set ended_at = ${nowOf(db, time)}
    where l.account_id = ${accountId} and ${open(db, time)} ${id === undefined ? db`` : db`and l.id = ${id}`}`;
  return count;
}

/** Lets one phone take an open link, by its token or its code. */
export async function claimPhone(
  db: Db,
  time: Time,
  by: { tokenHash: Buffer } | { codeHash: Buffer },
  { claimHash, details }: { claimHash: Buffer; details: object },
): Promise<LinkRow | undefined> {
  const which = 'tokenHash' in by ? db`l.token_hash = ${by.tokenHash}` : db`l.code_hash = ${by.codeHash}`;
  const [row] = await db<LinkRow[]>`
    update auth.links l set claimed_at = ${nowOf(db, time)}, claim_hash = ${claimHash},
      details = l.details || ${db.json(details as never)}::jsonb
    where ${which} and l.purpose = 'phone' and l.claimed_at is null and ${open(db, time)} returning ${columns(db)}`;
  return row;
}

/** A phone's link of an account, while it is open, and once it was used until it is over. */
export async function findPhone(db: Db, time: Time, accountId: string, id: string): Promise<PhoneRow | undefined> {
  const [row] = await db<PhoneRow[]>`
    select ${columns(db)}, l.claimed_at, l.confirmed_at, l.used_at from auth.links l
    where l.id = ${id} and l.account_id = ${accountId} and l.purpose = 'phone' and l.ended_at is null
      and l.expires_at > ${nowOf(db, time)}`;
  return row;
}

/** Notes the number that was picked on the signed-in device: the right one confirms, a wrong one ends the link. */
export async function confirmPhoneBy(
  db: Db,
  time: Time,
  { accountId, id, number }: { accountId: string; id: string; number: number },
): Promise<boolean | undefined> {
  const now = nowOf(db, time);
  const isRight = db`(l.details->>'number')::int = ${number}::int`;
  const [row] = await db<{ right: boolean }[]>`
    update auth.links l set confirmed_at = case when ${isRight} then ${now} end,
      ended_at = case when ${isRight} then null else ${now} end
    where l.id = ${id} and l.account_id = ${accountId} and l.purpose = 'phone' and l.claimed_at is not null
      and l.confirmed_at is null and ${open(db, time)}
    returning l.confirmed_at is not null as right`;
  return row?.right;
}

/** Gives a confirmed link to the phone that took it, once. */
export async function takePhone(db: Db, time: Time, claimHash: Buffer): Promise<LinkRow | undefined> {
  const [row] = await db<LinkRow[]>`
    update auth.links l set used_at = ${nowOf(db, time)}
    where l.claim_hash = ${claimHash} and l.purpose = 'phone' and l.confirmed_at is not null and ${open(db, time)}
    returning ${columns(db)}`;
  return row;
}

/** Whether a phone still waits for the signed-in device. */
export async function isPhoneWaiting(db: Db, time: Time, claimHash: Buffer): Promise<boolean> {
  const rows = await db`
    select 1 from auth.links l where l.claim_hash = ${claimHash} and l.purpose = 'phone' and ${open(db, time)}`;
  return rows.length > 0;
}

/** Tries a code by mail: counts the try and, when it is right, uses the code. Undefined: there is none, or it had its tries. */
export async function tryMailCode(
  db: Db,
  time: Time,
  { id, email, codeHash, most }: { id: string; email: string; codeHash: Buffer; most: number },
): Promise<LinkRow | undefined> {
  const isRight = db`l.code_hash = ${codeHash}`;
  const [row] = await db<(LinkRow & { right: boolean })[]>`
    update auth.links l set tries = l.tries + 1, used_at = case when ${isRight} then ${nowOf(db, time)} end
    where l.id = ${id} and l.purpose = 'mail' and lower(l.email) = lower(${email}) and l.tries < ${most}
      and ${open(db, time)}
    returning ${columns(db)}, l.used_at is not null as right`;
  if (!row?.right) return undefined;
  const { right: _, ...link } = row;
  return link;
}

/** Deletes links that are over: codes by mail and those for phones at once, others after a day. */
export async function forgetLinks(db: Db, time: Time): Promise<void> {
  const now = nowOf(db, time);
  await db`
    delete from auth.links
    where expires_at <= ${now} and (purpose in ('mail', 'phone') or expires_at <= ${now} - interval '1 day')`;
}

/** Deletes what was sent to an address; answers how many. */
export async function deleteLinksTo(db: Db, email: string): Promise<number> {
  return (
    await db`delete from auth.links where lower(email) in (select lower(given) from unnest(${spellingsOf(email)}::text[]) given)`
  ).count;
}
