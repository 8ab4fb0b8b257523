import type { Db } from '../../../kernel/db/db.ts';
import type { Standing } from '../environments.reach.sql.ts';
import type { EnvironmentRow } from '../environments.rows.ts';

/** Who comes to a published port: an account, by a key or a login, or by what was made with it. */
export interface Visitor {
  readonly accountId: string;
  readonly credentialId: string;
}

/** A published port that somebody asks for. */
export interface Visit {
  /** Its environment, by either. */
  readonly of: { readonly slug: string } | { readonly id: string };
  readonly port: number;
  /** Undefined: nobody says who. */
  readonly visitor: Visitor | undefined;
}

/** What decides about a visit. */
export type VisitRow = Standing &
  Pick<EnvironmentRow, 'id' | 'slug' | 'account_id' | 'provider'> & {
    port: number;
    visibility: NonNullable<Standing['visibility']>;
    /** The credential and the account of the visitor may be used; false when there is none. */
    is_known: boolean;
    /** It is a signed-in person. */
    is_login: boolean;
  };

/** What decides about each, in their order; undefined where no such port is published. */
export async function visitRows(db: Db, all: readonly Visit[]): Promise<(VisitRow | undefined)[]> {
  const asked = all.map(({ of, port, visitor }) => ({
    id: 'id' in of ? of.id : null,
    slug: 'slug' in of ? of.slug : null,
    port,
    account: visitor?.accountId ?? null,
    key: visitor?.credentialId ?? null,
  }));
  const rows = await db<(VisitRow & { n: number })[]>`
    select a.n::int as n, e.id, e.slug, e.account_id, e.provider, e.state, p.port, p.visibility, m.role,
      exists (select from orgs.members_view o where o.org_id = e.org_id and o.account_id = a.account) as is_member_of_org,
      exists (select from environments.removed r where r.environment_id = e.id and r.account_id = a.account) as was_removed,
      (exists (select from keys.usable_view k where k.id = a.key and k.account_id = a.account)
        or exists (select from auth.usable_view l where l.id = a.key and l.account_id = a.account))
        and exists (select from accounts.standing_view s where s.id = a.account and s.may_run) as is_known,
      exists (select from auth.usable_view l where l.id = a.key) as is_login
    from rows from (json_to_recordset(${JSON.stringify(asked)}::json) as (id uuid, slug text, port int, account uuid, key uuid))
      with ordinality as a (id, slug, port, account, key, n)
    join environments.environments e on e.id = a.id or e.slug = a.slug
    join environments.ports p on p.environment_id = e.id and p.port = a.port
    left join environments.members m on m.environment_id = e.id and m.account_id = a.account`;
  const found = new Map(rows.map((row) => [row.n, row]));
  return all.map((_, at) => found.get(at + 1));
}
