import { wordsOf } from '@svc/words';
import type { Sealed } from '../../kernel/base/crypto.ts';
import { readOrCreateFact } from '../../kernel/db/facts.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type OutboundAnswer, OutboundError } from '../../kernel/outside/outbound.ts';
import { findFirstOperator, findLocales } from '../accounts/index.ts';
import { tagOf } from './notifications.actions.ts';
import { pushTerms, secondsOf } from './notifications.rules.ts';
import { countUnread, type DeliveryRow } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';
import { contactOf } from './push/contact.ts';
import { pushPayload } from './push/payload.ts';

/** How a delivery failed. The reason is for the log: it holds no address and no secret. `said`: the same for its person. */
interface Failure {
  done: false;
  reason: string;
  said?: string;
  status?: number;
}
/** How a delivery went. */
export type DeliveryOutcome =
  | { done: true }
  | (Failure & { retry: true; afterSeconds?: number })
  | (Failure & { retry: false; targetIsGone?: boolean });

/**
 * Sends one notification to one browser: encrypted for it alone (RFC 8291), signed as from this installation (RFC 8292).
 * The topic is the notification's id, so a repeat replaces what the push service still holds.
 */
export async function push(
  kernel: Kernel,
  vapid: () => Promise<VapidKeys>,
  delivery: DeliveryRow,
): Promise<DeliveryOutcome> {
  const { notification, subscription } = delivery;
  if (!notification || !subscription) return { done: false, retry: false, reason: 'its target is gone' };
  const { endpoint, p256dh, auth } = subscription;
  try {
    const { account_id: accountId, resolution } = notification;
    const [webPush, keys, unread, locales, operator] = await Promise.all([
      loadWebPush(),
      vapid(),
      countUnread(kernel.sql, accountId),
      findLocales(kernel.sql, [accountId]),
      findFirstOperator(kernel.sql),
    ]);
    const record = toRecord(kernel.config, notification);
    const words = wordsOf(locales.get(accountId) ?? 'en').alerts;
    const details = webPush.generateRequestDetails(
      { endpoint, keys: { p256dh, auth } },
      pushPayload({
        record,
        subscription: subscription.id,
        tag: tagOf(notification),
        navigate: record.web_url ?? `${kernel.config.hubUrl}/notifications`,
        unread,
        hideContents: subscription.hide_contents,
        words,
        ...(resolution !== null && { over: words.resolutions[resolution] }),
      }),
      {
        ...pushTerms[notification.severity],
        // Who takes pushes without a contact is told of none that is another's.
        vapidDetails: { subject: contactOf(kernel.config, operator) ?? nobody, ...keys },
        topic: notification.id.replaceAll('-', ''),
        contentEncoding: 'aes128gcm',
      },
    );
    const answer = await kernel.outbound.request(endpoint, {
      method: 'POST',
      headers: details.headers,
      body: details.body,
      protocols: ['https:'],
      redirects: 0,
      answerBody: 'ignore',
    });
    return outcomeOf(answer);
  } catch (error) {
    if (!(error instanceof OutboundError)) return { done: false, retry: true, reason: 'it could not be made' };
    // An address that is refused only now was changed by the owner of the name; it is not asked again.
    if (error.kind === 'refused') return { done: false, retry: false, reason: error.message };
    return { done: false, retry: true, reason: error.message };
  }
}

function outcomeOf({ status, headers }: OutboundAnswer): DeliveryOutcome {
  if (status >= 200 && status < 300) return { done: true };
  const reason = `the push service answered ${status}`;
  if (status === 404 || status === 410) return { done: false, retry: false, reason, status, targetIsGone: true };
  if (status === 408 || status === 429 || status >= 500) {
    return { done: false, retry: true, reason, status, afterSeconds: secondsOf(headers['retry-after']) };
  }
  return { done: false, retry: false, reason, status };
}

/** A name that is nobody's (RFC 2606). */
const nobody = 'mailto:nobody@svc.invalid';

/** The installation's identity towards push services (RFC 8292), base64url. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

const fact = 'vapid';
/** The keys. */
export const sealedVapid: Sealed = {
  purpose: fact,
  table: 'kernel.facts',
  column: 'value',
  where: `name = '${fact}'`,
};

/** Reads the keys, which the first to ask makes; sealed with the master key. Kept once read. */
export function createVapid({
  sql,
  keyring,
  gateways,
}: Pick<Kernel, 'sql' | 'keyring' | 'gateways'>): () => Promise<VapidKeys> {
  let kept: VapidKeys | undefined;
  return async () => {
    if (kept) return kept;
    const webPush = await loadWebPush();
    await gateways.prove();
    const sealed = await readOrCreateFact(sql, fact, () =>
      keyring.seal(sealedVapid, Buffer.from(JSON.stringify(webPush.generateVAPIDKeys()))),
    );
    await gateways.prove();
    return (kept = JSON.parse(keyring.open(sealedVapid, sealed).toString()) as VapidKeys);
  };
}

/** Loaded on first use: with what it brings along it takes 8 MB. */
const loadWebPush = async () => (await import('web-push')).default;
