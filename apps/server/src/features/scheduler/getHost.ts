import { contract } from '@svc/contract';
import { readNow } from '../../kernel/db/instant.ts';
import { operation } from '../../kernel/feature.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { viewHosts } from './hosts.ts';
import { findHost } from './claims/hosts.sql.ts';

export const getHost = operation(contract.scheduler.getHost, async ({ db, clock, actor }, { params }) => {
  const { iso: now } = await readNow(db, clock);
  const row = await findHost(db, actor.accountId, params.id, now);
  const [view] = row ? await viewHosts(db, actor.accountId, [row]) : [];
  if (!view) throw notFound('host');
  return view;
});
