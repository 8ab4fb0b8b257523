import { contract } from '@svc/contract';
import type { OverviewPart } from '../../kernel/feature.ts';
import { findTitled } from './sessions.summary.sql.ts';

/** Sessions are found by their titles; none of them needs a person by itself. */
export const sessionsOverview: OverviewPart = {
  rights: contract.sessions.list,
  summary: () => Promise.resolve({ counts: {} }),
  find: async (db, accountId, wanted) =>
    (await findTitled(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'session',
      id,
      title,
      href: `/sessions/${id}`,
    })),
};
