import { contract } from '@svc/contract';
import { badRequest, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { viewHosts } from './hosts.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { updateHostRow } from './claims/hosts.sql.ts';

/** Changes what a person says of a machine. */
export const updateHost = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.updateHost, async (context, { params, body }) => {
    const { accountId } = context.actor;
    const change = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    if (Object.keys(change).length === 0) throw badRequest('send name, tags, paused or max_parallel');
    const { iso: now } = await readNow(context.db, context.clock);
    const row = await updateHostRow(context.db, accountId, params.id, change, now);
    if (!row) throw notFound('host');
    await parts.changes.wake(context.db, accountId);
    const [host] = await viewHosts(context.db, accountId, [row]);
    return host as NonNullable<typeof host>;
  });
