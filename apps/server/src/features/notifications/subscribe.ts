import { createECDH } from 'node:crypto';
import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { Answer, operation } from '../../kernel/feature.ts';
import { noteLetIn } from '../../kernel/records/let-in.ts';
import { OutboundError } from '../../kernel/outside/outbound.ts';
import { findFirstOperator } from '../accounts/index.ts';
import { contactOf, needsContact } from './push/contact.ts';
import { trimSubscriptions, upsertSubscription } from './push/subscriptions.sql.ts';

/** Browsers of an account; the oldest goes when one more comes. */
const mostBrowsers = 50;

export const subscribe = operation(contract.notifications.subscribe, async (context, { body }) => {
  const { endpoint, keys } = body;
  if (!isPublicKey(keys.p256dh))
    throw badRequest('keys: p256dh is no public key', { keys: ['p256dh is no public key'] });
  try {
    await context.kernel.outbound.check(endpoint, { protocols: ['https:'] });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    // One message, whatever the reason: the route must not tell what there is on this network.
    const message = 'must be an https: URL of a push service on the public internet';
    throw badRequest(`endpoint: ${message}`, { endpoint: [message] });
  }
  if (needsContact(endpoint) && contactOf(context.kernel.config, await findFirstOperator(context.db)) === undefined) {
    const message = 'Apple takes no push from an installation without a contact: its operator sets SVC_PUSH_CONTACT';
    throw badRequest(`endpoint: ${message}`, { endpoint: [message] });
  }
  return context.transaction(async (tx) => {
    const { accountId, kind, credentialId } = context.actor;
    const { isNew, ...subscription } = await upsertSubscription(tx, context.clock, {
      accountId,
      loginId: kind === 'login' ? credentialId : undefined,
      endpoint,
      p256dh: keys.p256dh,
      auth: keys.auth,
      deviceName: body.device_name,
      hideContents: body.hide_contents,
    });
    const name = body.device_name ?? new URL(endpoint).host;
    await noteLetIn(tx, context.actor, { kind: 'push', subject: subscription.id, name });
    if (isNew) await trimSubscriptions(tx, accountId, mostBrowsers);
    return new Answer({ subscription }, { status: isNew ? 201 : 200 });
  });
});

/** Whether the bytes are a point of P-256: nothing can be encrypted for another one. */
function isPublicKey(text: string): boolean {
  try {
    const own = createECDH('prime256v1');
    own.generateKeys();
    own.computeSecret(Buffer.from(text, 'base64url'));
    return true;
  } catch {
    return false;
  }
}
