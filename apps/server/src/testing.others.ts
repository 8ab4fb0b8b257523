import { inTransaction } from './kernel/db/db.ts';
import { asOwner, createAccount, type TestAccount, type TestDatabase, type TestGateway } from './testing.ts';
import type { Scene } from './testing.examples.ts';

/** Schema of what was seen. */
const own = 'witness';
/** Examples about somebody who has not accepted yet. */
const notJoined = new Set(['environments.addMember', 'environments.updateMember']);

/**
 * An account that does nothing, and has to do with all that others do: a row of it that is written after it was made was caused
 * by somebody else.
 */
export class Witness {
  readonly account: TestAccount;
  readonly #gateway: TestGateway;
  readonly #database: TestDatabase;

  private constructor(gateway: TestGateway, database: TestDatabase, account: TestAccount) {
    this.#gateway = gateway;
    this.#database = database;
    this.account = account;
  }

  /** Makes one, and watches every table of the database. */
  static async open(gateway: TestGateway, database: TestDatabase): Promise<Witness> {
    const account = await createAccount(gateway);
    const { sql } = gateway.kernel;
    // It wants to hear of everything by every way; nothing goes out of an account that may not run.
    await sql`
      insert into notifications.webhooks (account_id, name, format, enabled, sealed, created_at, updated_at)
      values (${account.id}, 'all', 'svc', true, '\\x00', now(), now())`;
    await sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    await asOwner(database, async (owner) => {
      await owner.unsafe(`
        create schema ${own};
        create table ${own}.rows (name text not null, txid xid8 not null);
        create function ${own}.look() returns trigger language plpgsql security definer as $$
        declare
          row_of constant jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
        begin
          if current_setting('witness.is_setting_up', true) = 'yes' then return null; end if;
          if exists (select from jsonb_each_text(row_of) f where f.value in ('${account.id}', '${account.email}')) then
            insert into ${own}.rows values (tg_table_schema || '.' || tg_argv[0], pg_current_xact_id());
          end if;
          return null;
        end $$;
        do $$ declare t record; begin
          for t in select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p') and not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema', '${own}')
          loop
            execute format('create trigger witness after insert or update or delete on %I.%I for each row execute function ${own}.look(%L)',
              t.nspname, t.relname, t.relname);
          end loop;
        end $$;`);
    });
    return new Witness(gateway, database, account);
  }

  /** Makes it whoever the scene gives a role; before anything of the scene is made. */
  expect(scene: Scene): void {
    scene.set('memberEmail', this.account.email);
  }

  /** Makes it a colleague, and the other owner of the scene's environment, which is its account's. */
  async join(scene: Scene, id: string): Promise<void> {
    if (notJoined.has(id) || !scene.has('environment')) return;
    const environment = await scene.id('environment');
    const { id: account } = this.account;
    await inTransaction(this.#gateway.kernel.sql, async (tx) => {
      await tx`select set_config('witness.is_setting_up', 'yes', true)`;
      await tx`delete from environments.invitations where environment_id = ${environment} and account_id = ${account}`;
      await tx`
        insert into environments.members (environment_id, account_id, role, linux_username, place, created_at)
        values (${environment}, ${account}, 'owner', 'witness', 99, now()) on conflict do nothing`;
      const [org] = await tx<{ id: string }[]>`insert into orgs.orgs (name) values ('both') returning id`;
      await tx`
        insert into orgs.members (org_id, account_id, role)
        select ${org?.id ?? ''}, a, 'member' from unnest(${[account, scene.account.id]}::uuid[]) a`;
      await tx`update environments.environments set account_id = ${account} where id = ${environment}`;
    });
  }

  /** The tables in which rows of it were written. */
  async tables(): Promise<string[]> {
    return asOwner(this.#database, async (owner) => {
      const rows = await owner<{ name: string }[]>`select distinct name from witness.rows order by name`;
      return rows.map(({ name }) => name);
    });
  }
}
