import { ApiError, badRequest } from '../../../kernel/base/errors.ts';
import { lookAtLink } from '../people/links.ts';
import { authenticationOptions, registrationOptions } from '../people/passkeys.ts';
import type { FlowParts } from './parts.ts';
import type { PageVisit } from './visit.ts';

/** Passkeys that a network may ask for in a minute. */
const mostOptions = 60;

/** What the script of our pages needs to use a passkey, or to make one for the account of a link. */
export async function passkeyOptions(visit: PageVisit, { kernel }: FlowParts, kind: 'get' | 'create'): Promise<void> {
  if (visit.method !== 'POST') throw badRequest('ask with POST');
  visit.checkOwn();
  const { allowed } = await kernel.limiter.take({ name: 'passkey_options', perMinute: mostOptions }, visit.network);
  if (!allowed)
    throw new ApiError('rate_limit_exceeded', 'too many tries came from this network; wait a minute', {
      headers: { 'retry-after': '60' },
    });
  const { carry } = await visit.jsonBody();
  const { network } = visit;
  if (kind === 'get') return visit.json(200, await authenticationOptions(kernel, { network }));
  const token = typeof carry === 'string' ? carry : '';
  for (const purpose of ['setup', 'invite', 'recover'] as const) {
    const link = await lookAtLink(kernel, { purpose, token });
    if (link?.accountId)
      return visit.json(200, await registrationOptions(kernel, { accountId: link.accountId, network }));
  }
  throw badRequest('this link was used before, or its time is over');
}
