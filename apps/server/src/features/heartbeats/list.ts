import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listMonitors } from './heartbeats.sql.ts';
import { toRecord } from './heartbeats.view.ts';

export const list = operation(contract.heartbeats.list, async ({ db, clock, actor }) => ({
  heartbeats: (await listMonitors(db, clock, actor.accountId)).map(toRecord),
}));
