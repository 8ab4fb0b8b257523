import { contract } from '@svc/contract';
import type { OverviewPart, Summary } from '../../kernel/feature.ts';
import { countMonitors, findMonitors, listTroubled } from './heartbeats.summary.sql.ts';

const mostTroubled = 50;

/** Monitors on the first page. */
export const heartbeatsOverview: OverviewPart = {
  rights: contract.heartbeats.list,
  async summary(db, accountId, now): Promise<Summary> {
    const [rows, troubled] = await Promise.all([
      countMonitors(db, accountId, now.iso),
      listTroubled(db, accountId, now.iso, mostTroubled),
    ]);
    const of = (status: string): number => rows.find((row) => row.status === status)?.n ?? 0;
    const late = rows.find(({ status }) => status === 'up')?.late ?? 0;
    const counts = { up: of('up') - late, late, down: of('down'), paused: of('paused'), new: of('new') };
    const attention = troubled.map(({ id, name, is_down: isDown, since, muted_until: until }) => ({
      id,
      kind: isDown ? ('heartbeat_down' as const) : ('heartbeat_late' as const),
      severity: until !== null ? ('info' as const) : isDown ? ('critical' as const) : ('warning' as const),
      ...(until !== null && { muted_until: until }),
      title: name,
      since,
      href: `/heartbeats/${id}`,
      actions: [
        { id: 'pause' as const, method: 'PATCH' as const, path: `/v1/heartbeats/${id}`, body: { paused: true } },
      ],
    }));
    return { counts: { heartbeats: counts }, attention };
  },
  find: async (db, accountId, wanted) =>
    (await findMonitors(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'heartbeat',
      id,
      title,
      href: `/heartbeats/${id}`,
    })),
};
