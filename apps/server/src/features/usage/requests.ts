import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { instantOf } from '../../kernel/db/instant.ts';
import { operation } from '../../kernel/feature.ts';
import { sumRequests } from './usage.sql.ts';

const dayMs = 86_400_000;
/** Days that are looked at at once; records are kept for about as many. */
const mostDays = 92;
const usualDays = 30;
const mostGroups = 1_000;

/** Requests of the account in a span of time, put together. */
export const requests = operation(contract.usage.requests, async ({ db, clock, actor }, { query }) => {
  const to = query.to === undefined ? clock.now() : Date.parse(query.to);
  const from = query.from === undefined ? to - usualDays * dayMs : Date.parse(query.from);
  const fault =
    from >= to ? 'must be before to' : to - from > mostDays * dayMs && `must be within ${mostDays} days of to`;
  if (fault) throw badRequest(`from: ${fault}`, { from: [fault] });
  const span = { from: instantOf(from).iso, to: instantOf(to).iso, by: query.by, most: mostGroups };
  return { usage: await sumRequests(db, actor.accountId, span) };
});
