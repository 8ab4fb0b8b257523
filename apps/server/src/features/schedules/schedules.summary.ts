import { contract } from '@svc/contract';
import type { OverviewPart, Summary } from '../../kernel/feature.ts';
import { findPause } from './schedules.account.sql.ts';
import { findSchedules, listNext } from './schedules.summary.sql.ts';

const mostNext = 5;

/** Schedules on the first page. */
export const schedulesOverview: OverviewPart = {
  rights: contract.schedules.get,
  async summary(db, accountId, now): Promise<Summary> {
    const [next, pause] = await Promise.all([listNext(db, accountId, mostNext), findPause(db, accountId)]);
    const isPaused = pause !== undefined && (pause.until === null || Date.parse(pause.until) > now.ms);
    if (!isPaused) return { counts: {}, more: { next } };
    const until = pause.until === null ? {} : { until: pause.until };
    const item = {
      id: accountId,
      kind: 'schedules_paused' as const,
      severity: 'info' as const,
      title: '',
      ...(pause.until !== null && { detail: pause.until }),
      since: pause.paused_at,
      href: '/schedules',
      actions: [{ id: 'resume' as const, method: 'POST' as const, path: '/v1/schedules/resume', body: {} }],
    };
    return { counts: {}, attention: [item], more: { next, paused: until } };
  },
  find: async (db, accountId, wanted) =>
    (await findSchedules(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'schedule',
      id,
      title,
      href: `/schedules/${id}`,
    })),
};
