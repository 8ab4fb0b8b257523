import { statement } from '../../kernel/db/statement.ts';

/** Environments that the account is a member of, with what matters to the first page. */
export const listMine = statement<{ id: string; name: string; state: string; reason: string | null; since: string }>(`
  select e.id, e.name, e.state, left(e.state_reason, 300) as reason, e.updated_at as since
  from environments.environments e
  where e.state <> 'destroyed' and e.id in (select m.environment_id from environments.members m where m.account_id = $1)
  order by e.updated_at desc limit 1000`);

/** Those of them with a part of the name. */
export const findMine = statement<{ id: string; title: string }>(`
  select e.id, e.name as title from environments.environments e
  where e.state <> 'destroyed' and e.name ilike $2
    and e.id in (select m.environment_id from environments.members m where m.account_id = $1)
  order by (e.name ilike $3) desc, e.name limit $4`);
