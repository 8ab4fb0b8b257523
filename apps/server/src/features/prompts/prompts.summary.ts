import { contract } from '@svc/contract';
import type { OverviewPart } from '../../kernel/feature.ts';
import { countDue, findPrompts, listDue } from './prompts.summary.sql.ts';

const mostDue = 10;

/** Prompts on the first page. */
export const promptsOverview: OverviewPart = {
  rights: contract.prompts.list,
  async summary(db, accountId, now) {
    const [[row], due] = await Promise.all([
      countDue(db, accountId, now.iso),
      listDue(db, accountId, now.iso, mostDue),
    ]);
    return {
      counts: { prompts: { due: row?.n ?? 0 } },
      attention: due.map(({ id, title, since }) => ({
        id,
        kind: 'prompt_due' as const,
        severity: 'info' as const,
        title,
        since,
        href: `/prompts/${id}`,
        actions: [],
      })),
    };
  },
  find: async (db, accountId, wanted) =>
    (await findPrompts(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'prompt',
      id,
      title,
      href: `/prompts/${id}`,
    })),
};
