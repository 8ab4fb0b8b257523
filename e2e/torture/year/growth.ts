import type { Counts } from '../counts.ts';

/** Tables that grow by design or by real time, and why. */
const grows: Readonly<Record<string, string>> = {
  'kernel.idempotency': 'answers are kept for a day of the database',
  'kernel.usage_records': 'kept for three months of the database',
  'kernel.usage_counts': 'the same',
  'kernel.changes': 'a week of the database, and 200,000 an account',
  'kernel.rate_windows': 'minutes of the database',
  'kernel.audit': 'kept for 400 days',
  'sessions.sessions': 'kept until they are deleted, up to a quota',
  'sessions.events': 'the same',
  'sessions.controls': 'the same',
  'sessions.turns': 'the same',
};

/** Rows of a table may become so many times what they were, once all that is kept for a time has been for its time. */
const mostTimes = 1.6;
/** Fewer say nothing. */
const mostFew = 150;

/** Tables that grew between two looks, of which the first is later than the longest retention. */
export function growth(before: Counts, after: Counts): string[] {
  const tables = (counts: Counts): Map<string, number> => {
    const sums = new Map<string, number>();
    for (const [name, count] of counts) {
      const table = name.split(':')[0] as string;
      sums.set(table, (sums.get(table) ?? 0) + count);
    }
    return sums;
  };
  const [were, are] = [tables(before), tables(after)];
  return [...are]
    .filter(([name, count]) => !(name in grows) && count > mostFew + mostTimes * (were.get(name) ?? 0))
    .map(([name, count]) => `${name} grew from ${were.get(name) ?? 0} to ${count} rows`);
}
