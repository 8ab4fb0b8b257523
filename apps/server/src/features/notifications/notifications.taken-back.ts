import { isDeepStrictEqual } from 'node:util';
import type { Kernel } from '../../kernel/kernel.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import type { ChangesLeft, Undoes } from '../../kernel/records/app-changes.ts';
import type { TakesBack } from '../../kernel/records/let-in.ts';
import { findRules, storeRules } from './preferences/preferences.sql.ts';
import type { PreferenceRule } from './preferences/rules.ts';
import { deleteSubscriptionById } from './push/subscriptions.sql.ts';
import { openSecrets, sealSecrets } from './webhooks/deliver.ts';
import { newSecret } from './webhooks/rules.ts';
import { deleteWebhook, existingWebhooks, lockWebhook, switchOff, updateWebhook } from './webhooks/webhooks.sql.ts';

/** Takes back where an app had notifications go. A webhook that was there before stays, and sends nothing. */
export const notificationsTakeBack = ({ clock }: Pick<Kernel, 'clock'>): TakesBack => ({
  async webhook(tx, { ids: [id = ''], accountId, by, before }) {
    const isGone = before === undefined;
    if (!(await (isGone ? deleteWebhook(tx, accountId, id) : switchOff(tx, clock, accountId, id)))) return;
    const action = isGone ? 'notifications.removeWebhook' : 'notifications.updateWebhook';
    const details = isGone ? {} : { enabled: false };
    await writeAct(tx, { accountId, by, action, subject: id, details });
  },
  async push(tx, { ids: [id = ''], accountId }) {
    await deleteSubscriptionById(tx, accountId, id);
  },
});

/**
 * Puts rules back that an app changed, and makes secrets of webhooks anew that it was shown: without a while for the
 * one before.
 */
export const notificationsUndo = (kernel: Kernel): Undoes => ({
  async preferences(tx, { accountId, by, before }) {
    const rules = JSON.parse(before ?? '[]') as PreferenceRule[];
    const [now] = await findRules(tx, [accountId]);
    if (isDeepStrictEqual(now?.rules ?? [], rules)) return false;
    await storeRules(tx, kernel.clock, accountId, rules);
    await writeAct(tx, { accountId, by, action: 'notifications.setPreferences', details: { rules } });
    return true;
  },
  async webhook_secret(tx, { ids: [id = ''], accountId, by }) {
    const row = await lockWebhook(tx, accountId, id);
    const stored = row && openSecrets(kernel, row);
    if (!stored) return false;
    const sealed = sealSecrets(kernel, { ...stored, secret: newSecret(), previous: [] });
    await updateWebhook(tx, kernel.clock, row.id, { ...row, sealed });
    await writeAct(tx, { accountId, by, action: 'notifications.rotateWebhookSecret', subject: id });
    return true;
  },
});

/** Which changes of apps are of a webhook that is there. */
export const notificationsChangesLeft: ChangesLeft = {
  webhook_secret: existingWebhooks,
  webhook_terms: existingWebhooks,
};
