import { asOwner, type TestDatabase, testDatabase } from './testing.ts';

/** A database and this process, whose time a test turns together. */
export interface TurnedTime extends AsyncDisposable {
  readonly database: TestDatabase;
  /** Moves both on. */
  turn(seconds: number): Promise<void>;
}

/** The function that statements find before that of Postgres, and the defaults of columns, which name theirs for good. */
const nowThatIsTurned = `
  create schema turned;
  create table turned.time (by interval not null);
  insert into turned.time values ('0');
  create function turned.now() returns timestamptz language sql stable
    as 'select pg_catalog.now() + (select by from turned.time)';
  grant usage on schema turned to public;
  grant select on turned.time to public;
  do $$
  declare given record;
  begin
    for given in
      select d.adrelid::regclass as relation, a.attname as name, pg_get_expr(d.adbin, d.adrelid) as text
      from pg_attrdef d join pg_attribute a on (a.attrelid, a.attnum) = (d.adrelid, d.adnum)
      where a.attgenerated = '' and pg_get_expr(d.adbin, d.adrelid) ~ '\\mnow\\(\\)'
    loop
      execute format('alter table %s alter column %I set default %s',
        given.relation, given.name, replace(given.text, 'now()', 'turned.now()'));
    end loop;
    execute format('alter database %I set search_path = turned, pg_catalog, public', current_database());
  end $$`;

/**
 * Opens a database whose `now()` a test turns, and turns `Date` of this process with it: for code that asks the time by
 * itself, such as the identity provider's library. Timers and monotonic clocks go on as they are.
 */
export async function turnedTime(): Promise<TurnedTime> {
  const database = await testDatabase();
  await asOwner(database, (sql) => sql.unsafe(nowThatIsTurned).simple());
  const { Date: real } = globalThis;
  let by = 0;
  const now = (): number => real.now() + by;
  globalThis.Date = new Proxy(real, {
    construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made) as Date,
    get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
  });
  return {
    database,
    async turn(seconds) {
      by += seconds * 1000;
      await asOwner(database, (sql) => sql`update turned.time set by = make_interval(secs => ${by / 1000})`);
    },
    async [Symbol.asyncDispose]() {
      globalThis.Date = real;
      await database.drop();
    },
  };
}
