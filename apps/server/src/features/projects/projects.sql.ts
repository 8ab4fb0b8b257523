import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';

/** A project as it is stored. */
export interface ProjectRow {
  id: string;
  account_id: string;
  org_id: string | null;
  name: string;
  slug: string;
  repo_url: string | null;
  default_branch: string;
  devcontainer_path: string | null;
  isolation: 'shared_vm' | 'container' | 'vm_per_dev';
  settings: Record<string, unknown>;
  created_at: string;
  updated_at: string;
}

/** A project, and whether the caller may change it. */
export type SeenProject = ProjectRow & { may_change: boolean };

/** Fields that can be changed. */
export type ProjectChange = Partial<
  Pick<ProjectRow, 'name' | 'repo_url' | 'default_branch' | 'devcontainer_path' | 'isolation' | 'settings'>
>;

/** Limit of the projects of an account. */
export const projectsQuota: Quota = {
  name: 'projects',
  remedy: 'delete one that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from projects.projects where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

const columns = (db: Db) => db`
  p.id, p.account_id, p.org_id, p.name, p.slug, p.repo_url, p.default_branch, p.devcontainer_path, p.isolation, p.settings,
  p.created_at, p.updated_at`;

/** Projects of an account: its own, those of its organisations, and those in whose environments it has a role. */
const seenBy = (db: Db, accountId: string) => db`(
  p.account_id = ${accountId}
  or p.org_id in (select m.org_id from orgs.members_view m where m.account_id = ${accountId})
  or p.id in (select m.project_id from environments.members_view m
    where m.account_id = ${accountId} and m.state <> 'destroyed'))`;

/** Its owner, and owners and admins of its organisation. */
const changedBy = (db: Db, accountId: string) => db`(
  p.account_id = ${accountId}
  or exists (select from orgs.members_view m
    where m.org_id = p.org_id and m.account_id = ${accountId} and m.role in ('owner', 'admin')))`;

/** Stores a project; undefined when the account has one with this slug. */
export async function insertProject(
  db: Db,
  time: Time,
  one: Omit<ProjectRow, 'id' | 'created_at' | 'updated_at'>,
): Promise<ProjectRow | undefined> {
  const now = nowOf(db, time);
  const [row] = await db<ProjectRow[]>`
    insert into projects.projects as p (account_id, org_id, name, slug, repo_url, default_branch, devcontainer_path, isolation,
      settings, created_at, updated_at)
    values (${one.account_id}, ${one.org_id}, ${one.name}, ${one.slug}, ${one.repo_url}, ${one.default_branch},
      ${one.devcontainer_path}, ${one.isolation}, ${JSON.stringify(one.settings)}::text::jsonb, ${now}, ${now})
    on conflict (account_id, slug) do nothing
    returning ${columns(db)}`;
  return row;
}

/** A project that the account sees. `lock`: it is neither changed nor deleted until the transaction ends. */
export async function findProject(
  db: Db,
  accountId: string,
  id: string,
  lock?: 'share' | 'update',
): Promise<SeenProject | undefined> {
  const locking = { none: db``, share: db`for share of p`, update: db`for update of p` }[lock ?? 'none'];
  const [row] = await db<SeenProject[]>`
    select ${columns(db)}, ${changedBy(db, accountId)} as may_change
    from projects.projects p where p.id = ${id} and ${seenBy(db, accountId)} ${locking}`;
  return row;
}

/** Projects that an account sees, newest first. */
export async function listProjects(db: Db, accountId: string, page: PageQuery): Promise<(ProjectRow & PagedRow)[]> {
  return db<(ProjectRow & PagedRow)[]>`
    select ${columns(db)}, p.created_at::text as page_at from projects.projects p
    where ${seenBy(db, accountId)} ${pageEnd(db, page, { at: db`p.created_at`, id: db`p.id` })}`;
}

/** Changes a locked project. */
export async function changeProject(db: Db, time: Time, id: string, change: ProjectChange): Promise<ProjectRow> {
  const { settings, ...plain } = change;
  const [row] = await db<ProjectRow[]>`
    update projects.projects p set ${db({ ...plain, updated_at: nowOf(db, time) } as never)}
      ${settings === undefined ? db`` : db`, settings = ${JSON.stringify(settings)}::text::jsonb`}
    where p.id = ${id} returning ${columns(db)}`;
  return row as ProjectRow;
}

/** Environments of one account that stand in a project, of which the caller may destroy some. */
interface Standing {
  email: string;
  total: number;
  /** How many of these the caller owns, and may destroy. */
  own: number;
}

/** Whose environments stand in a project that are not destroyed. */
export async function environmentsIn(db: Db, accountId: string, id: string): Promise<Standing[]> {
  return db<Standing[]>`
    select coalesce(a.email, '') as email, count(*)::int as total, count(m.account_id)::int as own
    from environments.environments_view e
    left join accounts.people_view a on a.id = e.account_id
    left join environments.members_view m on m.environment_id = e.id and m.account_id = ${accountId} and m.role = 'owner'
    where e.project_id = ${id} and e.state <> 'destroyed'
    group by a.email order by total desc, email`;
}

/** Deletes a locked project. */
export async function deleteProject(db: Db, id: string): Promise<void> {
  await db`delete from projects.projects where id = ${id}`;
}

/**
 * Before an account goes: projects in which somebody else has an environment go to them, those of an organisation to an owner or
 * admin of it; who may sign in before who is suspended, and nobody who is being deleted. The others stay, to be deleted
 * with the account.
 */
export async function passOnProjects(db: Db, accountId: string): Promise<void> {
  await db`
    update projects.projects p set account_id = heir.account_id, slug = case when exists (
      select from projects.projects o where o.account_id = heir.account_id and o.slug = p.slug) then p.id::text else p.slug end
    from (
      select q.id, coalesce(
        (select e.account_id from environments.environments_view e join accounts.standing_view a on a.id = e.account_id
          where e.project_id = q.id and e.account_id <> ${accountId} and e.state <> 'destroyed' and not a.deleting
          order by a.suspended, e.id limit 1),
        (select m.account_id from orgs.members_view m join accounts.standing_view a on a.id = m.account_id
          where m.org_id = q.org_id and m.account_id <> ${accountId} and m.role in ('owner', 'admin') and not a.deleting
          order by a.suspended, m.role = 'owner' desc, m.account_id limit 1)) as account_id
      from projects.projects q where q.account_id = ${accountId}) heir
    where p.id = heir.id and heir.account_id is not null`;
}

/** Gives the projects of an organisation that an account made to another account, its heir. */
export async function passOnOfOrg(
  db: Db,
  { orgId, accountId, heir }: { orgId: string; accountId: string; heir: string },
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    update projects.projects p set account_id = ${heir}, slug = case when exists (
      select from projects.projects o where o.account_id = ${heir} and o.slug = p.slug) then p.id::text else p.slug end
    where p.org_id = ${orgId} and p.account_id = ${accountId} returning p.id`;
  return rows.map(({ id }) => id);
}
