import type { Clock } from '../../kernel/base/clock.ts';
import { type Db, nowOf } from '../../kernel/db/db.ts';
import type { Rule } from './rules.decide.ts';

/** A rule as it is stored. */
export interface RuleRow extends Rule {
  readonly id: string;
  readonly created_at: string;
}

const columns = (db: Db) => db`id, account_id, effect, domain, tool, created_at`;

/** The rules that hold for an account: the operator's and its own. */
export async function rulesFor(db: Db, accountId: string): Promise<RuleRow[]> {
  return db<RuleRow[]>`
    select ${columns(db)} from rules.rules where account_id is null or account_id = ${accountId}`;
}

/** The rules of one level, by domain; null: the operator's. */
export async function listRules(db: Db, accountId: string | null): Promise<RuleRow[]> {
  return db<RuleRow[]>`
    select ${columns(db)} from rules.rules where account_id is not distinct from ${accountId}
    order by domain, tool nulls first limit ${mostRules}`;
}

/** Rules that an account may have, and as many for the operator. */
export const mostRules = 1_000;

/** Adds a rule, or gives the one for this domain and tool another effect; undefined when there are too many. */
export async function putRule(
  tx: Db,
  clock: Pick<Clock, 'instant'>,
  { account_id: accountId, effect, domain, tool }: Rule,
): Promise<RuleRow | undefined> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`rules:${accountId}`}, 0))`;
  const [row] = await tx<RuleRow[]>`
    insert into rules.rules as old (account_id, effect, domain, tool, created_at)
    select ${accountId}::uuid, ${effect}, ${domain}, ${tool}, ${nowOf(tx, clock)}
    where (select count(*) from rules.rules where account_id is not distinct from ${accountId}::uuid) < ${mostRules}
    on conflict (account_id, domain, tool) do update set effect = excluded.effect
    returning ${columns(tx)}`;
  return row;
}

/** Removes a rule; answers what it was. */
export async function deleteRule(tx: Db, id: string): Promise<RuleRow | undefined> {
  const [row] = await tx<RuleRow[]>`delete from rules.rules where id = ${id} returning ${columns(tx)}`;
  return row;
}
