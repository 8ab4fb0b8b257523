import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findPresent } from './hosts.sql.ts';
import { viewHosts } from './hosts.view.ts';

export const get = operation(contract.hosts.get, async ({ db, actor }, { params }) => {
  const row = await findPresent(db, actor.accountId, params.device_id);
  const [view] = row ? await viewHosts(db, actor.accountId, [row]) : [];
  if (!view) throw notFound('host');
  return view;
});
