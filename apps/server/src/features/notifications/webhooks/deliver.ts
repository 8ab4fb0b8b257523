import { randomUUID } from 'node:crypto';
import { isAllowed } from '@svc/netguard';
import { wordsOf } from '@svc/words';
import { BrokenSeal, type Sealed } from '../../../kernel/base/crypto.ts';
import { ApiError, badRequest } from '../../../kernel/base/errors.ts';
import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { OutboundError } from '../../../kernel/outside/outbound.ts';
import { findLocales } from '../../accounts/index.ts';
import { notify } from '../notifications.notify.ts';
import type { WebhookFormat } from '../notifications.rules.ts';
import {
  type DeliveryRow,
  finishDelivery,
  giveUp,
  type NotificationRow,
  postponeDelivery,
  testType,
} from '../notifications.sql.ts';
import { toRecord } from '../notifications.view.ts';
import {
  askedSeconds,
  failingMs,
  requestOf,
  shortOutageMs,
  signatureHeaders,
  topicOf,
  type WebhookSecrets,
  webhookRetryAfter,
} from './rules.ts';
import {
  type DisabledReason,
  disableWebhook,
  hastenWaiting,
  insertAttempt,
  lockWebhookById,
  noteArrival,
  type WebhookRow,
} from './webhooks.sql.ts';

/** Address, signing secrets and headers of a webhook. */
export const sealedWebhook: Sealed = { purpose: 'webhook', table: 'notifications.webhooks', column: 'sealed' };

type Keys = Pick<Kernel, 'keyring'>;

/** Seals what is secret of a webhook. */
export const sealSecrets = ({ keyring }: Keys, secrets: WebhookSecrets): Buffer =>
  keyring.seal(sealedWebhook, Buffer.from(JSON.stringify(secrets)));

/** Opens it; undefined when that cannot be done, with the master key of now, ever again. */
export function openSecrets({ keyring }: Keys, { sealed }: Pick<WebhookRow, 'sealed'>): WebhookSecrets | undefined {
  try {
    return JSON.parse(keyring.open(sealedWebhook, sealed).toString()) as WebhookSecrets;
  } catch (error) {
    if (error instanceof BrokenSeal) return undefined;
    throw error;
  }
}

const brokenReason = 'what is stored of this webhook cannot be opened any more; send its url anew, or delete it';
/** 400 for what needs the address or the secret of a broken webhook. */
export const refusedBroken = () => refusedUrl(brokenReason);

/** Without TLS only to a host that the operator named: one on the same network. */
const protocolsOf = (config: Kernel['config'], url: string): string[] =>
  URL.canParse(url) && isAllowed(new URL(url), config) ? ['https:', 'http:'] : ['https:'];

/** Throws 400 for an address that no webhook may have. The words are the same whatever the reason. */
export async function checkAddress(
  { outbound, config }: Pick<Kernel, 'outbound' | 'config'>,
  url: string,
): Promise<void> {
  try {
    await outbound.check(url, { protocols: protocolsOf(config, url) });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw refusedUrl(
      'must be an https: URL whose name is found and is on the public internet, or of a host in SVC_FETCH_ALLOW_HOSTS',
    );
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
  /** The pause that the receiver asked for. */
  afterSeconds: number;
  durationMs: number;
}

const timeoutMs = 10_000;

/** The parts of an attempt. */
interface Sent {
  kernel: Kernel;
  format: WebhookFormat;
  secrets: WebhookSecrets;
  /** Ends it: the process stops. */
  signal?: AbortSignal;
}

/** Makes one attempt. */
async function attempt(
  { kernel, format, secrets, signal }: Sent,
  { id, row }: { id: string; row: NotificationRow },
): Promise<Attempt> {
  const { clock, config, outbound } = kernel;
  // As it was announced: the same body under the same id, even if it was read since.
  const record = toRecord(config, { ...row, read_at: null, archived_at: null });
  const { url, body } = requestOf(format, secrets.url, { row, record, config });
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
      protocols: protocolsOf(config, url),
      redirects: 0,
      timeoutMs,
      // The limit above, of the whole, comes first.
      headersTimeoutMs: 12 * timeoutMs,
      answerBody: 'ignore',
      ...(signal && { signal }),
    });
    const ok = status >= 200 && status < 300;
    const isRedirect = status >= 300 && status < 400;
    const reason = ok ? undefined : `it answered ${status}${isRedirect ? '; redirects are not followed' : ''}`;
    return { ok, status, reason, afterSeconds: askedSeconds(headers['retry-after'], now), durationMs: took() };
  } catch (error) {
    const reason = signal?.aborted
      ? 'svc was stopped before it answered'
      : error instanceof OutboundError
        ? error.message
        : 'the request could not be made';
    return { ok: false, status: undefined, reason, afterSeconds: 0, durationMs: took() };
  }
}

/** `webhook-id`: of one delivery, whatever number of attempts it takes. */
const messageId = (deliveryId: string): string => `msg_${deliveryId.replaceAll('-', '')}`;

/** Makes one attempt at a delivery that was taken, and notes how it went and what follows. */
export async function deliverToWebhook(
  kernel: Kernel,
  delivery: DeliveryRow,
  signal: AbortSignal,
): Promise<Pick<Attempt, 'ok' | 'status' | 'reason'>> {
  const { id, notification: row, webhook } = delivery;
  // Gone, or switched off when the delivery was about to be stored.
  if (!row || !webhook?.enabled) {
    await finishDelivery(kernel.sql, id);
    return { ok: false, status: undefined, reason: 'it is switched off' };
  }
  const { format } = webhook;
  // With another key than the database's it would look broken.
  await kernel.gateways.prove();
  const secrets = openSecrets(kernel, { sealed: Buffer.from(webhook.sealed.slice(2), 'hex') });
  const outcome = secrets
    ? await attempt({ kernel, format, secrets, signal }, { id: messageId(id), row })
    : { ok: false, status: undefined, reason: 'what is stored of it cannot be opened', afterSeconds: 0, durationMs: 0 };
  await kernel.gateways.prove();
  const sentTo = secrets && { url: secrets.url, format };
  await inTransaction(kernel.sql, (tx) => note(kernel, tx, { delivery, row, sentTo, outcome }));
  const { ok, status, reason } = outcome;
  return { ok, status, reason };
}

/** Where an attempt went; undefined when there was nothing to send to. */
type SentTo = Pick<WebhookSecrets, 'url'> & { format: WebhookFormat };

/** The consequence of an attempt, for the webhook as it is now. */
interface Conclusion {
  /** Until the next attempt; undefined: no further one. */
  seconds?: number | undefined;
  off?: DisabledReason | undefined;
}

async function note(
  kernel: Kernel,
  tx: Db,
  done: { delivery: DeliveryRow; row: NotificationRow; sentTo: SentTo | undefined; outcome: Attempt },
): Promise<void> {
  const { delivery, row, sentTo, outcome } = done;
  const { clock, log } = kernel;
  const webhook = await lockWebhookById(tx, delivery.webhook?.id ?? '');
  if (!webhook) return finishDelivery(tx, delivery.id);
  const { seconds, off } = await concludeFrom(kernel, tx, { webhook, attempts: delivery.attempts, sentTo, outcome });
  const next = seconds === undefined ? undefined : await postponeDelivery(tx, clock, delivery, seconds);
  await insertAttempt(tx, webhook.id, {
    message_id: messageId(delivery.id),
    notification_id: row.id,
    type: row.type,
    at: (await readNow(tx, clock)).iso,
    attempt: delivery.attempts,
    ...columnsOf(outcome),
    next_attempt_at: next ?? null,
  });
  if (outcome.ok) return finishDelivery(tx, delivery.id);
  if (seconds === undefined && (await giveUp(tx, delivery)))
    log.warn({ webhook: webhook.id, attempts: delivery.attempts, reason: outcome.reason }, 'a webhook is given up');
  if (off !== undefined) await switchOff(kernel, tx, webhook.id, off);
}

/** Notes whether something arrived at a locked webhook. What an address answered that it has no more says nothing of it. */
async function concludeFrom(
  kernel: Kernel,
  tx: Db,
  done: { webhook: WebhookRow; attempts: number; sentTo: SentTo | undefined; outcome: Attempt },
): Promise<Conclusion> {
  const { webhook, attempts, sentTo, outcome } = done;
  const { clock } = kernel;
  const now = openSecrets(kernel, webhook);
  if (!now && !sentTo) return { off: 'broken' };
  if (now?.url !== sentTo?.url || webhook.format !== sentTo?.format) return outcome.ok ? {} : { seconds: 0 };
  const failingSince = await noteArrival(tx, clock, webhook.id, outcome.ok);
  const { ms } = await readNow(tx, clock);
  const isOutageOver =
    outcome.ok && webhook.failing_since !== null && Date.parse(webhook.failing_since) <= ms - shortOutageMs;
  if (isOutageOver) await hastenWaiting(tx, clock, webhook.id);
  if (outcome.ok) return {};
  if (outcome.status === 410) return { off: 'gone' };
  const seconds = webhookRetryAfter(attempts, outcome.afterSeconds);
  const isFailing = failingSince !== null && Date.parse(failingSince) <= ms - failingMs;
  return { seconds, off: seconds === undefined && isFailing ? 'failing' : undefined };
}

const columnsOf = ({ ok, status, reason, durationMs }: Attempt) => ({
  ok,
  status: status ?? null,
  reason: reason ?? null,
  duration_ms: durationMs,
});

/** Of notifications that a webhook was switched off. */
export const disabledCause = (id: string): string => `webhook:${id}`;

/** Switches a webhook off and tells the account, which reaches it by its other ways only. */
async function switchOff(kernel: Kernel, tx: Db, id: string, reason: DisabledReason): Promise<void> {
  const webhook = await disableWebhook(tx, kernel.clock, id, reason);
  if (!webhook) return;
  await notify(kernel, tx, {
    accountId: webhook.account_id,
    dedupeKey: `notification.webhook_disabled:${randomUUID()}`,
    type: 'notification.webhook_disabled',
    says: ({ webhooks }) => ({ title: webhooks.off(webhook.name), body: webhooks[reason] }),
    severity: 'warning',
    data: { webhook_id: id, reason },
    cause: disabledCause(id),
  });
}

/** Sends a test notification to a webhook at once; it is in its list of attempts, and in no inbox. */
export async function tryWebhook(kernel: Kernel, webhook: WebhookRow): Promise<Attempt> {
  const { sql, clock } = kernel;
  const id = randomUUID();
  const locale = (await findLocales(sql, [webhook.account_id])).get(webhook.account_id);
  const { title, text } = wordsOf(locale ?? 'en').alerts.test;
  const row: NotificationRow = {
    id,
    account_id: webhook.account_id,
    type: testType,
    title,
    body: text,
    url: null,
    severity: 'info',
    data: null,
    created_at: (await readNow(sql, clock)).iso,
    read_at: null,
    archived_at: null,
    resolved_at: null,
    resolution: null,
  };
  const { format } = webhook;
  const secrets = openSecrets(kernel, webhook);
  if (!secrets) return { ok: false, status: undefined, reason: brokenReason, afterSeconds: 0, durationMs: 0 };
  const outcome = await attempt({ kernel, format, secrets }, { id: messageId(id), row });
  await kernel.gateways.prove();
  await inTransaction(sql, async (tx) => {
    const locked = await lockWebhookById(tx, webhook.id);
    const sentTo = { url: secrets.url, format };
    // A failure of a test is no delivery that failed.
    if (locked && outcome.ok) await concludeFrom(kernel, tx, { webhook: locked, attempts: 1, sentTo, outcome });
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

/** Each sends requests to addresses of the caller's choice, and is kept for months. */
const tests = { name: 'notification_tests', perMinute: 30 };

/** Throws 429 when an account tests its channels too often. */
export async function takeTest({ limiter }: Kernel, accountId: string): Promise<void> {
  const { allowed, resetSeconds } = await limiter.take(tests, accountId);
  if (allowed) return;
  const message = `an account may test its channels ${tests.perMinute} times a minute; try again later`;
  throw new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': String(resetSeconds) } });
}
