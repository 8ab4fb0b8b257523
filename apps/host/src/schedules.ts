import type { Client } from '@svc/sdk';

/** The account's schedules, or those that this machine's key may see, and whether the account is paused. */
export type ScheduleList = Awaited<ReturnType<typeof listSchedules>>;

/** Reads every page: a schedule that is missing would be taken for one that was deleted. */
export async function listSchedules(client: Client, signal?: AbortSignal) {
  const call = signal ? { signal } : {};
  const first = await client.schedules.list({}, call);
  const { schedules } = first;
  let cursor = first.next_cursor;
  while (cursor !== undefined) {
    const page = await client.schedules.list({ query: { cursor } }, call);
    schedules.push(...page.schedules);
    cursor = page.next_cursor;
  }
  return { schedules, pause: first.pause };
}
