import { randomUUID } from 'node:crypto';
import type { Sealed } from '../../kernel/crypto.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { badRequest } from '../../kernel/http/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { OutboundError } from '../../kernel/outbound.ts';
import { notify } from './notifications.notify.ts';
import type { WebhookFormat } from './notifications.rules.ts';
import {
  type DeliveryRow,
  finishDelivery,
  type NotificationRow,
  postponeDelivery,
  testType,
  type WaitingWebhook,
} from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';
import {
  askedSeconds,
  failingMs,
  requestOf,
  signatureHeaders,
  topicOf,
  webhookRetryAfter,
  type WebhookSecrets,
} from './notifications.webhooks.rules.ts';
import { disableWebhook, insertAttempt, noteArrival, type WebhookRow } from './notifications.webhooks.sql.ts';

/** Address, signing secrets and headers of a webhook. */
export const sealedWebhook: Sealed = { purpose: 'webhook', table: 'notifications.webhooks', column: 'sealed' };

type Keys = Pick<Kernel, 'keyring'>;

/** Seals what is secret of a webhook. */
export const sealSecrets = ({ keyring }: Keys, secrets: WebhookSecrets): Buffer =>
  keyring.seal(sealedWebhook, Buffer.from(JSON.stringify(secrets)));

/** Opens it. */
export const openSecrets = ({ keyring }: Keys, { sealed }: Pick<WebhookRow, 'sealed'>): WebhookSecrets =>
  JSON.parse(keyring.open(sealedWebhook, sealed).toString()) as WebhookSecrets;

/** Throws 400 for an address that no webhook may have. The words are the same whatever the reason. */
export async function checkAddress({ outbound }: Pick<Kernel, 'outbound'>, url: string): Promise<void> {
  try {
    await outbound.check(url, { protocols: ['https:'] });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw refusedUrl('must be an https: URL on the public internet');
  }
}

/** Throws 400 for an address that the format can do nothing with. */
export function checkFormat(url: string, format: WebhookFormat): void {
  if (format === 'ntfy' && topicOf(url) === undefined) {
    throw refusedUrl('must be the address of an ntfy topic, such as https://ntfy.sh/my-topic');
  }
}

const refusedUrl = (message: string) => badRequest(`url: ${message}`, { url: [message] });

/** How an attempt went. The reason holds no address and no secret. */
interface Attempt {
  ok: boolean;
  status: number | undefined;
  reason: string | undefined;
  /** What the receiver asked for. */
  afterSeconds: number;
  durationMs: number;
}

const timeoutMs = 10_000;
/** An answer has nothing to say: a status is enough. */
const mostAnswerBytes = 1_024;

/** Makes one attempt. */
async function attempt(
  { kernel, format, secrets }: { kernel: Kernel; format: WebhookFormat; secrets: WebhookSecrets },
  { id, row }: { id: string; row: NotificationRow },
): Promise<Attempt> {
  const { clock, config, outbound } = kernel;
  const { url, body } = requestOf(format, secrets.url, { row, record: toRecord(config, row), config });
  const [began, now] = [clock.monotonic(), clock.now()];
  const took = () => Math.round(clock.monotonic() - began);
  try {
    const { status, headers } = await outbound.request(url, {
      method: 'POST',
      headers: {
        ...secrets.headers,
        'content-type': 'application/json',
        ...signatureHeaders(secrets, { id, now, body }),
      },
      body,
      protocols: ['https:'],
      redirects: 0,
      timeoutMs,
      // The limit above, of the whole, comes first.
      headersTimeoutMs: 12 * timeoutMs,
      maxBytes: mostAnswerBytes,
    });
    const ok = status >= 200 && status < 300;
    const isRedirect = status >= 300 && status < 400;
    const reason = ok ? undefined : `it answered ${status}${isRedirect ? '; redirects are not followed' : ''}`;
    return { ok, status, reason, afterSeconds: askedSeconds(headers['retry-after'], now), durationMs: took() };
  } catch (error) {
    const reason = error instanceof OutboundError ? error.message : 'the request could not be made';
    return { ok: false, status: undefined, reason, afterSeconds: 0, durationMs: took() };
  }
}

/** `webhook-id`: of one delivery, whatever number of attempts it takes. */
const messageId = (deliveryId: string): string => `msg_${deliveryId.replaceAll('-', '')}`;

/** Makes one attempt at a delivery that was taken, and notes how it went and what follows. */
export async function deliverToWebhook(kernel: Kernel, delivery: DeliveryRow): Promise<void> {
  const { id, notification: row, webhook } = delivery;
  // Gone, or switched off when the delivery was about to be stored.
  if (!row || !webhook?.enabled) return finishDelivery(kernel.sql, id);
  const sealed = Buffer.from(webhook.sealed.slice(2), 'hex');
  const secrets = openSecrets(kernel, { sealed });
  const outcome = await attempt({ kernel, format: webhook.format, secrets }, { id: messageId(id), row });
  await inTransaction(kernel.sql, (tx) => note(kernel, tx, { delivery, row, webhook, outcome }));
}

async function note(
  kernel: Kernel,
  tx: Db,
  done: { delivery: DeliveryRow; row: NotificationRow; webhook: WaitingWebhook; outcome: Attempt },
): Promise<void> {
  const { delivery, row, webhook, outcome } = done;
  const { clock, log } = kernel;
  const { ms: now, iso: at } = await readNow(tx, clock);
  const failingSince = await noteArrival(tx, clock, webhook.id, outcome.ok);
  const isGone = outcome.status === 410;
  const seconds = outcome.ok || isGone ? undefined : webhookRetryAfter(delivery.attempts, outcome.afterSeconds);
  await insertAttempt(tx, webhook.id, {
    message_id: messageId(delivery.id),
    notification_id: row.id,
    type: row.type,
    at,
    attempt: delivery.attempts,
    ...columnsOf(outcome),
    next_attempt_at: seconds === undefined ? null : new Date(now + seconds * 1000).toISOString(),
  });
  if (seconds !== undefined) return postponeDelivery(tx, clock, delivery.id, seconds);
  await finishDelivery(tx, delivery.id);
  if (outcome.ok) return;
  log.warn({ webhook: webhook.id, attempts: delivery.attempts, reason: outcome.reason }, 'a webhook is given up');
  const isFailing = failingSince !== null && Date.parse(failingSince) <= now - failingMs;
  if (isGone) await switchOff(kernel, tx, webhook.id, 'gone');
  else if (isFailing) await switchOff(kernel, tx, webhook.id, 'failing');
}

const columnsOf = ({ ok, status, reason, durationMs }: Attempt) => ({
  ok,
  status: status ?? null,
  reason: reason ?? null,
  duration_ms: durationMs,
});

const why = {
  gone: 'Its receiver answered 410: it is gone.',
  failing: 'Nothing arrived there for three days.',
};

/** Switches a webhook off and tells the account, which reaches it by its other ways only. */
async function switchOff(kernel: Kernel, tx: Db, id: string, reason: 'gone' | 'failing'): Promise<void> {
  const webhook = await disableWebhook(tx, kernel.clock, id, reason);
  if (!webhook) return;
  await notify(kernel, tx, {
    accountId: webhook.account_id,
    dedupeKey: `notification.webhook_disabled:${randomUUID()}`,
    type: 'notification.webhook_disabled',
    title: `Webhook ${webhook.name} is switched off`,
    body: `${why[reason]} Mend the receiver, test it, and switch the webhook on again.`,
    severity: 'warning',
    data: { webhook_id: id, reason },
  });
}

/** Sends a test notification to a webhook at once; it is in its list of attempts, and in no inbox. */
export async function tryWebhook(kernel: Kernel, webhook: WebhookRow): Promise<Attempt> {
  const { sql, clock } = kernel;
  const id = randomUUID();
  const row: NotificationRow = {
    id,
    account_id: webhook.account_id,
    type: testType,
    title: 'Test notification',
    body: 'Somebody with a key of this account asked for it. Alerts reach you the same way.',
    url: null,
    severity: 'info',
    data: null,
    created_at: (await readNow(sql, clock)).iso,
    read_at: null,
    archived_at: null,
  };
  const { format } = webhook;
  const outcome = await attempt({ kernel, format, secrets: openSecrets(kernel, webhook) }, { id: messageId(id), row });
  await inTransaction(sql, async (tx) => {
    if (outcome.ok) await noteArrival(tx, clock, webhook.id, true);
    await insertAttempt(tx, webhook.id, {
      message_id: messageId(id),
      notification_id: null,
      type: testType,
      at: (await readNow(tx, clock)).iso,
      attempt: 1,
      ...columnsOf(outcome),
      next_attempt_at: null,
    });
  });
  return outcome;
}
