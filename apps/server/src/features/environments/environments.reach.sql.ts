import type { Db } from '../../kernel/db/db.ts';
import type { EnvironmentRole, EnvironmentRow, PortRow } from './environments.rows.ts';

/** Somebody who wants to reach a port of an environment, or a terminal there. */
export interface Wanted {
  environmentId: string;
  accountId: string;
  /** Null: a terminal. */
  port: number | null;
  /** It was published when it was reached: it ends when it is not any more, though another one might be opened. */
  isPublished?: boolean;
}

/** What decides whether it may. */
export interface Standing {
  role: EnvironmentRole | null;
  /** Null: no member, or the machine has no Linux user of it: one of that name may be a member's who left a moment ago. */
  linux_username: string | null;
  /** Of the organisation that the environment is in. */
  is_member_of_org: boolean;
  /** Others took them out of the environment, and they are no member again. */
  was_removed: boolean;
  /** Null: a terminal, or a port that is not published. */
  visibility: PortRow['visibility'] | null;
  state: EnvironmentRow['state'];
  /** The account that the environment belongs to. */
  owner_id: string;
}

/** The standing of each, in their order; undefined where there is no such environment. */
export async function standingsOf(db: Db, all: readonly Wanted[]): Promise<(Standing | undefined)[]> {
  const wanted = all.map(({ environmentId: id, accountId: account, port }) => ({ id, account, port }));
  const rows = await db<(Standing & { n: number })[]>`
    select w.n::int as n, m.role, p.visibility, e.state, e.account_id as owner_id,
      case when m.provisioned_at is not null then m.linux_username end as linux_username,
      exists (select from orgs.members_view o where o.org_id = e.org_id and o.account_id = w.account) as is_member_of_org,
      exists (select from environments.removed r where r.environment_id = e.id and r.account_id = w.account) as was_removed
    from rows from (json_to_recordset(${JSON.stringify(wanted)}::json) as (id uuid, account uuid, port int))
      with ordinality as w (id, account, port, n)
    join environments.environments e on e.id = w.id
    left join environments.members m on m.environment_id = e.id and m.account_id = w.account
    left join environments.ports p on p.environment_id = e.id and p.port = w.port`;
  const found = new Map(rows.map((row) => [row.n, row]));
  return all.map((_, at) => found.get(at + 1));
}
