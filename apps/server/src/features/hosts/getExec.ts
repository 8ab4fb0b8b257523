import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findExec } from './execs/execs.sql.ts';
import { readerOf, viewExec } from './execs/view.ts';

export const getExec = operation(contract.hosts.getExec, async ({ db, actor }, { params }) => {
  const row = await findExec(db, readerOf(actor), params.req_id);
  if (!row) throw notFound('command');
  return viewExec(row, { withResult: true });
});
