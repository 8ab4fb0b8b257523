import { contract } from '@svc/contract';
import { plus } from '../../../kernel/db/instant.ts';
import type { OverviewPart, Summary } from '../../../kernel/feature.ts';
import { waitsOf } from '../runs.ts';
import type { RunRow } from '../scheduler.sql.ts';
import { countRuns, listAwaiting, listFailed, listLatest, listPending } from './summary.sql.ts';

type Wait = NonNullable<ReturnType<Awaited<ReturnType<typeof waitsOf>>['get']>>;

const failedWithinMs = 86_400_000;
const most = 50;
const mostRecent = 10;

/** Runs on the first page. */
export const schedulerOverview: OverviewPart = {
  rights: contract.scheduler.runs,
  async summary(db, accountId, now): Promise<Summary> {
    const dayAgo = plus(now, -failedWithinMs).iso;
    const [[runs], awaiting, pending, failed, recent] = await Promise.all([
      countRuns(db, accountId, dayAgo),
      listAwaiting(db, accountId, most),
      listPending(db, accountId, now.iso, most),
      listFailed(db, accountId, dayAgo, most),
      listLatest(db, accountId, mostRecent),
    ]);
    const waits = pending.length === 0 ? undefined : await waitsOf(db, accountId, pending, now);
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
        ...pending.flatMap((run) => {
          const wait = waits?.get(run.id);
          return wait && needsPerson.has(wait.reason) ? [stuckItem(run, wait)] : [];
        }),
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

/** Reasons that do not pass by themselves. */
const needsPerson: ReadonlySet<string> = new Set(['no_host', 'tags', 'host_paused', 'not_approved']);

/** A run that no machine starts: the page of the machine that it waits on, and its end. */
const stuckItem = ({ id, name, created_at: since }: RunRow, { reason, on: [device] }: Wait) => ({
  id,
  kind: 'run_stuck' as const,
  severity: 'warning' as const,
  title: name,
  waiting_for: reason,
  since,
  href: `/schedule-runs/${id}`,
  actions: [
    ...(device === undefined ? [] : [{ id: 'open' as const, method: 'GET' as const, path: `/machines/${device}` }]),
    { id: 'cancel' as const, method: 'POST' as const, path: `/v1/schedule-runs/${id}/cancel` },
  ],
});

const decision = (id: string, decided: 'approve' | 'skip') => ({
  id: decided,
  method: 'POST' as const,
  path: `/v1/schedule-runs/${id}/decision`,
  body: { decision: decided },
});
