import { contract } from '@svc/contract';
import type { OverviewPart } from '../../kernel/feature.ts';
import { findNamed } from './devices.summary.sql.ts';

/** Devices are found by their names; how they are is told by those that they serve. */
export const devicesOverview: OverviewPart = {
  rights: contract.devices.list,
  summary: () => Promise.resolve({ counts: {} }),
  find: async (db, accountId, wanted) =>
    (await findNamed(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'machine',
      id,
      title,
      href: `/machines/${id}`,
    })),
};
