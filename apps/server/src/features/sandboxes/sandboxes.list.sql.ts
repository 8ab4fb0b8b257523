import { mostCounted } from '../../kernel/db/counted.ts';
import type { Db } from '../../kernel/db/db.ts';
import { columns, type SandboxRow } from './sandboxes.sql.ts';
import { sandboxStates, type State } from './sandboxes.states.ts';

/**
 * The account's sandboxes in the given states behind the place `after`: the live ones, then the others, each newest first.
 * A place is `1.<ordinal>` of a live one, `0.<ordinal>` of another. Only a sandbox that ends changes its place, to a later
 * one: none is passed over.
 */
export async function listSandboxes(
  db: Db,
  accountId: string,
  { states, after, limit }: { states: readonly State[]; after: string | undefined; limit: number },
) {
  const live = db`(state in ${sandboxStates.sql('made')(db)})::int`;
  const [group = '', ordinal = ''] = after?.split('.') ?? [];
  return db<(SandboxRow & { place: string })[]>`
    select ${columns(db)}, ${live} || '.' || ordinal as place from sandboxes.sandboxes
    where account_id = ${accountId} and state = any(${[...states]})
      ${after === undefined ? db`` : db`and (${live}, ordinal) < (${group}::text::int, ${ordinal}::text::bigint)`}
    order by ${live} desc, ordinal desc limit ${limit}`;
}

/** Sandboxes of all accounts that are not over, for a metric. */
export async function countByState(db: Db): Promise<Record<string, number>> {
  const rows = await db<{ state: string; count: number }[]>`
    select state, count(*)::int as count from (select state from sandboxes.sandboxes
      where state in ${sandboxStates.sql('live')(db)} and account_id is not null limit ${mostCounted}) as counted group by state`;
  return { running: 0, paused: 0, ...Object.fromEntries(rows.map(({ state, count }) => [state, count])) };
}
