import type { ChangeRecord } from '@svc/contract';
import { wordsOf } from '@svc/words';
import type { Config } from '../../config.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Recorder } from '../../kernel/streams/feed.ts';
import { findAccountByEmail, findLocales } from '../accounts/index.ts';
import { type EndOfCause, resolveByCause } from './notifications.resolved.sql.ts';
import { bounded, boundedKey, type NewNotice, type NewNotification } from './notifications.rules.ts';
import {
  findByKey,
  hasRecipients,
  insertMail,
  insertNotifications,
  type NewMail,
  type NotificationRow,
} from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';
import { findRules } from './preferences/preferences.sql.ts';
import { waysOf } from './preferences/rules.ts';
import { dropBeyond } from './webhooks/webhooks.sql.ts';

type Told = ChangeRecord<'notifications'>;
const topic = 'notifications';
/** Bus topic: something is to be delivered. */
export const dueTopic = 'notifications.due';

type Sender = Pick<Kernel, 'bus' | 'clock' | 'config'> & Recorder;

/**
 * Tells an account something, in the caller's transaction: it is in the inbox exactly when that commits, and is then
 * sent to open streams, subscribed browsers and by e-mail, in the language of the account. A repeat of the dedupe key in the
 * account does nothing.
 */
export async function notify(kernel: Sender, db: Db, notification: NewNotification | NewNotice): Promise<void> {
  await notifyMany(kernel, db, [notification]);
}

/** The same for many at once, in one statement. */
export async function notifyMany(
  kernel: Sender,
  db: Db,
  notifications: readonly (NewNotification | NewNotice)[],
): Promise<void> {
  if (notifications.length === 0) return;
  // In one order over all transactions: two that tell the same things must not wait for each other.
  const order = (one: NewNotification): string => `${one.accountId} ${one.dedupeKey}`;
  const byKey = new Map(
    (await inLanguages(db, notifications))
      .map(bounded)
      .toReversed()
      .map((one) => [order(one), one]),
  );
  const sorted = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  const stored = await insertNotifications(
    db,
    kernel.clock,
    await withWays(kernel, db, sorted),
    kernel.config.mail !== undefined,
  );
  await dropBeyond(db, kernel.clock, [...new Set(stored.flatMap(({ webhooks }) => webhooks))]);
  await recordChanges(kernel, db, 'created', stored);
  if (stored.some(({ due }) => due)) await kernel.bus.publish(db, dueTopic, null);
}

/** Notifications in the languages of their accounts. */
async function inLanguages(db: Db, given: readonly (NewNotification | NewNotice)[]): Promise<NewNotification[]> {
  const ours = given.flatMap((one) => ('says' in one ? [one.accountId] : []));
  const locales = ours.length === 0 ? undefined : await findLocales(db, ours);
  return given.map((one) => {
    if (!('says' in one)) return one;
    const { says, ...rest } = one;
    return { ...rest, ...says(wordsOf(locales?.get(one.accountId) ?? 'en').alerts) };
  });
}

/** Notifications with the ways that each goes, by the rules of its account. */
async function withWays({ clock }: Sender, db: Db, notifications: readonly NewNotification[]) {
  const accounts = [...new Set(notifications.map(({ accountId }) => accountId))];
  const rules = new Map((await findRules(db, accounts)).map((row) => [row.account_id, row.rules]));
  return notifications.map((one) => ({ ...one, ...waysOf(rules.get(one.accountId) ?? [], one, clock.now()) }));
}

/**
 * Sends an e-mail after the caller's transaction commits; a repeat of the dedupe key does nothing. Without a mail server
 * nothing is queued: answers false.
 */
export async function queueMail(kernel: Sender, db: Db, mail: NewMail): Promise<boolean> {
  if (kernel.config.mail === undefined) return false;
  if (await insertMail(db, kernel.clock, { ...mail, dedupeKey: boundedKey(mail.dedupeKey) })) {
    await kernel.bus.publish(db, dueTopic, null);
  }
  return true;
}

/** Records what happened to notifications, for those who follow the inbox. */
export const recordChanges = (
  { feed, config }: Pick<Kernel, 'config'> & Recorder,
  db: Db,
  op: 'created' | 'updated',
  rows: readonly NotificationRow[],
): Promise<void> =>
  feed.record(
    db,
    rows.map((row) => ({
      accountId: row.account_id,
      topic,
      op,
      id: row.id,
      record: toRecord(config, row) satisfies Told,
    })),
  );

/** Id of the change that stands for all notifications: every one was read. */
export const everyOne = 'all';

/** Records that an account read all of its notifications at an instant. */
export const recordReadAll = ({ feed }: Pick<Kernel, 'feed'>, db: Db, accountId: string, at: string): Promise<void> =>
  feed.record(db, [{ accountId, topic, op: 'updated', id: everyOne, record: { read_at: at } satisfies Told }]);

/** Whether an account has a notification under this key. */
export const wasTold = async (db: Db, accountId: string, dedupeKey: string): Promise<boolean> =>
  (await findByKey(db, accountId, boundedKey(dedupeKey))) !== undefined;

/** An address inside the app: `<app_scheme>://prompts/<id>` (document 1, Events). */
export function deepLink(config: Pick<Config, 'appScheme'>, ...segments: string[]): string {
  return `${config.appScheme}://${segments.map(encodeURIComponent).join('/')}`;
}

/** Whether a notification leaves the platform for the account of an address; undefined when there is no such account. */
export async function reachesAnybody(
  { sql, config }: Pick<Kernel, 'sql' | 'config'>,
  email: string,
): Promise<boolean | undefined> {
  const account = await findAccountByEmail(sql, email);
  if (!account) return undefined;
  // No mail gets to the address that an owner has without SVC_OWNER_EMAIL.
  const hasMail = config.mail !== undefined && !/@localhost$/i.test(email);
  return hasMail || hasRecipients(sql, account.id);
}

/**
 * Marks what was told of as resolved, in the transaction that ends its cause: it counts as unread no more and offers nothing, and
 * pushes of it are withdrawn. What is resolved, or was told without a cause, stays as it is.
 */
export async function resolveNotifications(kernel: Sender, db: Db, ends: readonly EndOfCause[]): Promise<void> {
  if (ends.length === 0) return;
  const rows = await resolveByCause(db, kernel.clock, ends);
  if (rows.length === 0) return;
  await recordChanges(kernel, db, 'updated', rows);
  if (rows.some(({ due }) => due)) await kernel.bus.publish(db, dueTopic, null);
}
