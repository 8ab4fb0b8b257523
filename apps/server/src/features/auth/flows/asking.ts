import type { Kernel } from '../../../kernel/kernel.ts';
import { plainAddress } from '../people/mails.ts';
import type { PageVisit } from './visit.ts';

/** Mails of one kind that a network may ask for in a minute for one address, and of all kinds for all addresses. */
const mostOfAddress = 3;
const mostOfNetwork = 10;

/**
 * Counts a request for a mail; undefined, or the seconds to wait when the visitor's network asked for too many. An address
 * is never counted without the network: a stranger who asks again and again keeps nobody else from a mail.
 */
export async function waitForMail(
  { limiter }: Pick<Kernel, 'limiter'>,
  { network }: Pick<PageVisit, 'network'>,
  kind: 'sign_in_mail' | 'recovery_mail' | 'sign_up_mail',
  email: string,
): Promise<number | undefined> {
  const ofNetwork = await limiter.take({ name: 'mail', perMinute: mostOfNetwork }, network);
  if (!ofNetwork.allowed) return ofNetwork.resetSeconds;
  const subject = JSON.stringify([network, plainAddress(email)]);
  const ofAddress = await limiter.take({ name: kind, perMinute: mostOfAddress }, subject);
  return ofAddress.allowed ? undefined : ofAddress.resetSeconds;
}
