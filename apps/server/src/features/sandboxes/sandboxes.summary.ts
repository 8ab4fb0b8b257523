import { contract } from '@svc/contract';
import type { OverviewPart } from '../../kernel/feature.ts';
import { countLive, findSandboxes } from './sandboxes.summary.sql.ts';

/** Sandboxes on the first page. */
export const sandboxesOverview: OverviewPart = {
  rights: contract.sandboxes.list,
  async summary(db, accountId) {
    const rows = await countLive(db, accountId);
    const all = rows.reduce((sum, { n }) => sum + n, 0);
    const paused = rows.find(({ state }) => state === 'paused')?.n ?? 0;
    return { counts: { sandboxes: { running: all - paused, paused } } };
  },
  find: async (db, accountId, wanted) =>
    (await findSandboxes(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'sandbox',
      id,
      title,
      href: `/sandboxes/${id}`,
    })),
};
