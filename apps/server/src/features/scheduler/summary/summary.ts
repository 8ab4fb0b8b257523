import { contract } from '@svc/contract';
import { plus } from '../../../kernel/db/instant.ts';
import type { OverviewPart, Summary } from '../../../kernel/feature.ts';
import { countRuns, listAwaiting, listFailed, listLatest } from './summary.sql.ts';

const failedWithinMs = 86_400_000;
const most = 50;
const mostRecent = 10;

/** Runs on the first page. */
export const schedulerOverview: OverviewPart = {
  rights: contract.scheduler.runs,
  async summary(db, accountId, now): Promise<Summary> {
    const dayAgo = plus(now, -failedWithinMs).iso;
    const [[runs], awaiting, failed, recent] = await Promise.all([
      countRuns(db, accountId, dayAgo),
      listAwaiting(db, accountId, most),
      listFailed(db, accountId, dayAgo, most),
      listLatest(db, accountId, mostRecent),
    ]);
    return {
      counts: {
        runs: { awaiting_approval: runs?.awaiting ?? 0, running: runs?.running ?? 0, failed_24h: runs?.failed ?? 0 },
      },
      attention: [
        ...awaiting.map(({ id, name, command, since }) => ({
          id,
          kind: 'run_approval' as const,
          severity: 'warning' as const,
          title: name,
          ...(command !== null && { detail: command }),
          since,
          href: `/schedule-runs/${id}`,
          actions: [decision(id, 'approve'), decision(id, 'skip')],
        })),
        ...failed.map(({ id, name, error, since }) => ({
          id,
          kind: 'run_failed' as const,
          severity: 'warning' as const,
          title: name,
          ...(error !== null && { detail: error }),
          since,
          href: `/schedule-runs/${id}`,
          actions: [{ id: 'rerun' as const, method: 'POST' as const, path: `/v1/schedule-runs/${id}/rerun` }],
        })),
      ],
      more: { recent },
    };
  },
};

const decision = (id: string, decided: 'approve' | 'skip') => ({
  id: decided,
  method: 'POST' as const,
  path: `/v1/schedule-runs/${id}/decision`,
  body: { decision: decided },
});
