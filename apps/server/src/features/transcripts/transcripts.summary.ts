import { contract } from '@svc/contract';
import { plus } from '../../kernel/db/instant.ts';
import type { OverviewPart } from '../../kernel/feature.ts';
import { countRecordings, findRecordings, listBroken } from './transcripts.summary.sql.ts';

const mostBroken = 10;
const withinMs = 7 * 86_400_000;

/** Recordings on the first page. */
export const transcriptsOverview: OverviewPart = {
  rights: contract.transcripts.list,
  async summary(db, accountId, now) {
    const since = plus(now, -withinMs).iso;
    const [[row], broken] = await Promise.all([
      countRecordings(db, accountId, since),
      listBroken(db, accountId, since, mostBroken),
    ]);
    return {
      counts: { transcripts: { processing: row?.processing ?? 0, failed: row?.failed ?? 0 } },
      attention: broken.map(({ id, title, error, since: at }) => ({
        id,
        kind: 'transcript_failed' as const,
        severity: 'warning' as const,
        title: title ?? '',
        ...(error !== null && { detail: error }),
        since: at,
        href: `/transcripts/${id}`,
        actions: [],
      })),
    };
  },
  find: async (db, accountId, wanted) =>
    (await findRecordings(db, accountId, wanted)).map(({ id, title }) => ({
      kind: 'transcript',
      id,
      title,
      href: `/transcripts/${id}`,
    })),
};
