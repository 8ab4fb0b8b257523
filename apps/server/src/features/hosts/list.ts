import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listPresent } from './hosts.sql.ts';
import { viewHosts } from './hosts.view.ts';

export const list = operation(contract.hosts.list, async ({ db, actor }) => ({
  hosts: await viewHosts(db, actor.accountId, await listPresent(db, actor.accountId)),
}));
