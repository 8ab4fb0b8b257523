import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Forwarder } from '../../kernel/forwarder/forwarder.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkServed } from './environments.reach.ts';
import { portUrl } from './published/names.ts';
import { mintTicket, ticketParameter } from './published/visitors.ts';
import { visits } from './published/visits.ts';

/** The address of a published port for a browser: where not everybody may reach it, with a ticket in it. */
export const linkPort = (forwarder: Pick<Forwarder, 'port'>): Operation =>
  operation(contract.environments.linkPort, async (context, { params: { id, port } }) => {
    const { kernel, db, by } = context;
    const { accountId, credentialId } = context.actor;
    const [visit] = await visits(db, [{ of: { id }, port, visitor: { accountId, credentialId } }]);
    if (!visit || (!visit.isOpen && visit.role === null)) throw notFound('published port');
    const { slug, visibility, role } = visit;
    if (!visit.isOpen)
      throw new ApiError('forbidden', `this port is published to others; your role in its environment is ${role}`);
    checkServed(visit);
    const url = portUrl(kernel.config, { slug, port }, forwarder.port);
    if (typeof url !== 'string')
      throw new ApiError('unavailable', url.missing, { headers: { 'x-should-retry': 'false' } });
    if (visibility === 'public') return { url, expires_at: null };
    return context.transaction(async (tx) => {
      const { ticket, expiresAt } = await mintTicket(tx, kernel, { environmentId: id, port, accountId, credentialId });
      await writeAct(tx, { accountId, by, action: 'environments.link_port', subject: id, details: { port } });
      return { url: `${url}?${ticketParameter}=${ticket}`, expires_at: expiresAt };
    });
  });
