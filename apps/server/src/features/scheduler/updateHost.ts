import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { viewHosts } from './hosts.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { changeMachine } from './claims/change.ts';

/** Changes what a person says of a machine. */
export const updateHost = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.updateHost, async ({ db, actor: { accountId } }, { params, body }) => {
    const row = await changeMachine(parts, db, accountId, { id: params.id }, body);
    if (!row) throw notFound('host');
    const [host] = await viewHosts(db, accountId, [row]);
    return host as NonNullable<typeof host>;
  });
