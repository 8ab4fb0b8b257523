import { type DatabaseTarget, type Db, inTransaction, quoteIdentifier, type Sql } from './db.ts';
import { readFact, writeFact } from './facts.ts';
import { migrationLock } from './applied.ts';

/** The role under which a platform uses its embedded database: it reads and writes rows, and owns no table. */
export const applicationRole = 'svc_app';

const fact = 'application_role';
/** Count it up when what the role may do changes. */
const version = Buffer.from('1');

/** The same database under the application's role; one that was given by URL is used as the URL says. */
export const asApplication = (target: DatabaseTarget): DatabaseTarget =>
  'embedded' in target ? { ...target, user: applicationRole } : target;

/**
 * Makes the application's role and gives it the rows of all tables, those of later migrations too. What gets past a query
 * then reads rows at most: it starts no program, reads no file, drops no table. Call it as the owner, after `migrate`.
 */
export async function prepareApplicationRole(sql: Sql): Promise<void> {
  await inTransaction(sql, async (db) => {
    await db`select pg_advisory_xact_lock(${migrationLock})`;
    const known = await readFact(db, fact);
    const [role] = await db`select 1 from pg_roles where rolname = ${applicationRole}`;
    if (!role || !known?.equals(version)) {
      await createRole(db);
      await grantRows(db);
      await writeFact(db, fact, version);
    }
    await limitRows(db);
  });
}

/** Roles are of the whole server: another database of it may make the same one at the same time. */
async function createRole(db: Db): Promise<void> {
  await db.unsafe(`do $$ begin create role ${applicationRole} login;
    exception when duplicate_object or unique_violation then null; end $$`);
}

async function grantRows(db: Db): Promise<void> {
  const rows = 'select, insert, update, delete on';
  const schemas = await db<{ name: string }[]>`
    select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')`;
  const names = schemas.map(({ name }) => name).join(', ');
  await db.unsafe(`
    grant usage on schema ${names} to ${applicationRole};
    grant ${rows} all tables in schema ${names} to ${applicationRole};
    grant usage on all sequences in schema ${names} to ${applicationRole};
    alter default privileges grant usage on schemas to ${applicationRole};
    alter default privileges grant ${rows} tables to ${applicationRole};
    alter default privileges grant usage on sequences to ${applicationRole}`);
}

/** Makes some tables read-only or append-only. Views are read-only: a change through a view runs with the rights of its owner. */
async function limitRows(db: Db): Promise<void> {
  const views = await db<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'v' and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
      and has_table_privilege(${applicationRole}, c.oid, 'insert, update, delete')`;
  for (const { name } of views) await db.unsafe(`revoke insert, update, delete on ${name} from ${applicationRole}`);
  const [{ database } = { database: '' }] = await db<{ database: string }[]>`select current_database() as database`;
  await db.unsafe(`
    revoke insert, update, delete on kernel.migrations from ${applicationRole};
    revoke update, delete on kernel.audit, sandboxes.audit from ${applicationRole}`);
  await limitDatabase(db, database);
}

/**
 * Allows no temporary table in a database: one may stand in the way of what a function of the owner means. A clone of
 * the database allows them again.
 */
export const limitDatabase = async (db: Db, name: string): Promise<void> =>
  void (await db.unsafe(`revoke temporary on database ${quoteIdentifier(name)} from public`));
