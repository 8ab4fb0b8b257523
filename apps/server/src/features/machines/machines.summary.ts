import { contract } from '@svc/contract';
import type { OverviewPart } from '../../kernel/feature.ts';
import { countMachines, findMachines } from './machines.sql.ts';

/** Machines on the first page: the same that the list has. */
export const machinesOverview: OverviewPart = {
  rights: contract.machines.list,
  summary: async (db, accountId, { iso }) => ({
    counts: { machines: await countMachines(db, { instant: () => iso }, accountId) },
  }),
  find: async (db, accountId, wanted) =>
    (await findMachines(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'machine',
      id,
      title,
      href: `/machines/${id}`,
    })),
};
