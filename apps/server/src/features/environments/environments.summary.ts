import { contract } from '@svc/contract';
import type { OverviewPart } from '../../kernel/feature.ts';
import { findMine, listMine } from './environments.summary.sql.ts';

/** Environments on the first page. */
export const environmentsOverview: OverviewPart = {
  rights: contract.environments.list,
  async summary(db, accountId) {
    const rows = await listMine(db, accountId);
    const failed = rows.filter(({ state }) => state === 'failed');
    return {
      counts: {
        environments: { running: rows.filter(({ state }) => state === 'running').length, failed: failed.length },
      },
      attention: failed.slice(0, 10).map(({ id, name, reason, since }) => ({
        id,
        kind: 'environment_failed' as const,
        severity: 'warning' as const,
        title: name,
        ...(reason !== null && { detail: reason }),
        since,
        href: `/environments/${id}`,
        actions: [],
      })),
    };
  },
  find: async (db, accountId, { pattern, prefix, most }) =>
    (await findMine(db, accountId, pattern, prefix, most)).map(({ id, title }) => ({
      kind: 'environment',
      id,
      title,
      href: `/environments/${id}`,
    })),
};
