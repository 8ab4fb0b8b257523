import type { Config } from '../../config.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import { findAccountByEmail } from '../accounts/index.ts';
import { bounded, boundedKey, type NewNotification } from './notifications.rules.ts';
import { hasRecipients, insertMail, insertNotifications, type NewMail } from './notifications.sql.ts';
import { dropOldest } from './webhooks/webhooks.sql.ts';

/** Bus topic: something changed in inboxes, or something is to be delivered. */
export const changed = 'notifications.changed';

/** Ids only: the bus carries 8,000 bytes. */
export interface InboxChange {
  /** New or changed notifications and their accounts. */
  ids?: { id: string; accountId: string }[];
  op?: 'created' | 'updated';
  /** The account read all of its notifications at this instant. */
  readAll?: { accountId: string; at: string };
  /** The outbox has work. */
  due?: boolean;
}

/** About 4,500 bytes. */
const idsInMessage = 50;

type Sender = Pick<Kernel, 'bus' | 'clock' | 'config'>;

/**
 * Tells an account something, in the caller's transaction: it is in the inbox exactly when that commits, and is then
 * sent to open streams, subscribed browsers and by e-mail. A repeat of the dedupe key in the account does nothing.
 */
export async function notify(kernel: Sender, db: Db, notification: NewNotification): Promise<void> {
  await notifyMany(kernel, db, [notification]);
}

/** The same for many at once, in one statement. */
export async function notifyMany(kernel: Sender, db: Db, notifications: readonly NewNotification[]): Promise<void> {
  if (notifications.length === 0) return;
  // In one order over all transactions: two that tell the same things must not wait for each other.
  const order = (one: NewNotification): string => `${one.accountId} ${one.dedupeKey}`;
  const sorted = notifications.map(bounded).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const stored = await insertNotifications(db, kernel.clock, sorted, kernel.config.mail !== undefined);
  await dropOldest(db, kernel.clock, [...new Set(stored.flatMap(({ webhooks }) => webhooks))]);
  for (let at = 0; at < stored.length; at += idsInMessage) {
    const part = stored.slice(at, at + idsInMessage);
    const ids = part.map(({ id, accountId }) => ({ id, accountId }));
    await publish(kernel, db, { ids, op: 'created', due: part.some(({ due }) => due) });
  }
}

/**
 * Sends an e-mail after the caller's transaction commits; a repeat of the dedupe key does nothing. Without a mail server
 * nothing is queued: answers false.
 */
export async function queueMail(kernel: Sender, db: Db, mail: NewMail): Promise<boolean> {
  if (kernel.config.mail === undefined) return false;
  if (await insertMail(db, kernel.clock, { ...mail, dedupeKey: boundedKey(mail.dedupeKey) })) {
    await publish(kernel, db, { due: true });
  }
  return true;
}

/** Tells every process, once the transaction commits. */
export const publish = (kernel: Pick<Kernel, 'bus'>, db: Db, change: InboxChange): Promise<void> =>
  kernel.bus.publish(db, changed, change);

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
