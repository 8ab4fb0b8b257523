import { contract, type overviewParts, type RouteResult } from '@svc/contract';
import { readNow } from '../../kernel/db/instant.ts';
import { type Feature, type Operation, operation, type Summary } from '../../kernel/feature.ts';
import { type NamedPart, partsOf } from './overview.parts.ts';

type Overview = RouteResult<typeof contract.overview.get>;

const mostItems = 50;
const ranks = { critical: 0, warning: 1, info: 2 };

export const get = (features: () => readonly Feature[]): Operation =>
  operation(contract.overview.get, async ({ kernel, actor, db, clock }) => {
    const now = await readNow(db, clock);
    const parts = partsOf(features(), actor);
    const told = await Promise.allSettled(parts.map(async (part) => part.summary(db, actor.accountId, now)));
    const summaries: Summary[] = [];
    const unavailable: string[] = [];
    for (const [at, one] of told.entries()) {
      const { name } = parts[at] as NamedPart;
      if (one.status === 'fulfilled') summaries.push(one.value);
      else {
        unavailable.push(name);
        kernel.log.warn({ err: one.reason as unknown, part: name }, 'a part of the overview could not be read');
      }
    }
    return { ...together(summaries), at: now.iso, unavailable: unavailable as (typeof overviewParts)[number][] };
  });

/** One overview of what all features say, worst first. */
function together(summaries: readonly Summary[]): Omit<Overview, 'at' | 'unavailable'> {
  const attention = summaries
    .flatMap((summary) => summary.attention ?? [])
    .sort(
      (one, other) => ranks[one.severity] - ranks[other.severity] || Date.parse(other.since) - Date.parse(one.since),
    )
    .slice(0, mostItems);
  const status = attention.some(({ severity }) => severity === 'critical')
    ? 'down'
    : attention.length > 0
      ? 'attention'
      : 'ok';
  const counts: Record<string, Record<string, number>> = {};
  for (const summary of summaries)
    for (const [group, values] of Object.entries(summary.counts)) counts[group] = { ...counts[group], ...values };
  const empty: Pick<Overview, 'next' | 'recent'> = { next: [], recent: [] };
  return Object.assign({ ...empty, status, counts, attention }, ...summaries.map(({ more }) => more)) as Overview;
}
