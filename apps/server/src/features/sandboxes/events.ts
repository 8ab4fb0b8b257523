import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { listEvents } from './shown/events.sql.ts';
import { findSandbox } from './sandboxes.sql.ts';

export const events = operation(contract.sandboxes.events, async ({ db, actor }, { params: { id }, query }) => {
  const { limit, cursor } = query;
  if (!(await findSandbox(db, actor.accountId, id))) throw notFound('sandbox');
  const rows = await listEvents(db, id, { before: cursor, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { events: page, ...(last && { next_cursor: last.id }) };
});
