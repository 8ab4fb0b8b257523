import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkMigrationRules, objectId } from './migrations.ts';
import { firstMigrations, readSources, releases } from './repository.ts';

const old = {
  path: 'apps/server/migrations/0100.keys.create.sql',
  text: 'create table keys.keys (id uuid, name text);',
};
const at = (number: number, text: string) => ({ path: `apps/server/migrations/0${number}.keys.x.sql`, text });
/** Faults of a migration that comes after the table `keys.keys`. */
const faultsOf = (sql: string, mark = '-- additive') =>
  checkMigrationRules([old, at(400, `${mark}\n-- Why: a test.\n${sql}\n`)], ['0.1.0', '0.2.0']).map(
    ({ found }) => found,
  );

describe('rules of migrations', () => {
  test('hold in this repository', () => {
    assert.deepEqual(checkMigrationRules(readSources(), releases, firstMigrations()), []);
    assert.ok(releases.includes('0.1.0'));
  });

  for (const sql of [
    'create index a on keys.keys (name);',
    'create unique index a on keys.keys (name);',
    'create index concurrently a on keys.keys (name);',
    'drop index keys.a;',
    'alter table keys.keys add column a uuid default gen_random_uuid();',
    'alter table keys.keys add column a timestamptz not null default clock_timestamp();',
    "alter table keys.keys add column a text default 'x' || random()::text;",
    'alter table keys.keys add column a bigserial;',
    'alter table keys.keys add column a bigint generated always as identity;',
    'alter table keys.keys add column a text generated always as (upper(name)) stored;',
    'alter table keys.keys add column a text not null;',
    'alter table keys.keys add column a uuid references keys.others;',
    "alter table keys.keys add column a text default 'x' check (a <> '');",
    'alter table keys.keys add column b text, alter column name type varchar(3);',
    'alter table keys.keys alter name set data type int using 1;',
    'alter table keys.keys alter column name set not null;',
    'alter table keys.keys alter column name drop default;',
    'alter table keys.keys add constraint a unique (name);',
    'alter table keys.keys add constraint a check (length(name) < 9) not valid;',
    'alter table keys.keys set unlogged;',
    'alter table keys.keys drop column name;',
    'alter table keys.keys rename column name to title;',
    'alter table keys.keys rename to others;',
    'alter table if exists only keys.keys drop name;',
    'drop table keys.keys;',
    'drop view keys.names_view;',
    'drop function keys.f;',
    'alter view keys.names_view rename to x_view;',
    'vacuum full keys.keys;',
    'cluster keys.keys;',
    "alter table keys.keys add column a text; update keys.keys set a = 'x';",
  ]) {
    test(`find: ${sql}`, () => assert.notDeepEqual(faultsOf(sql), []));
  }

  test('find a constraint that is checked while the table is locked', () => {
    assert.match(faultsOf('alter table keys.keys add check (length(name) < 9);').join(), /not valid/);
    assert.match(
      faultsOf('alter table keys.keys add foreign key (id) references keys.others;', '-- gone since 0.1.0').join(),
      /not valid/,
    );
  });

  for (const sql of [
    'alter table keys.keys add column a text;',
    "alter table keys.keys add column a text[] not null default '{}', add column b int default -1;",
    'alter table keys.keys add column a jsonb not null default \'{"a": [1, 2]}\'::jsonb;',
    'alter table keys.keys add column a timestamptz not null default now();',
    'alter table keys.keys add column if not exists a boolean default false not null;',
    'alter table keys.keys alter column name drop not null;',
    "alter table keys.keys drop constraint a; alter table keys.keys add constraint a check (name in ('x', 'y')) not valid;",
    'alter table keys.keys validate constraint a;',
    'create table keys.others (id uuid primary key, a text check (length(a) < 9)); create index a on keys.others (a);',
    'create or replace view keys.names_view as select id, name from keys.keys;',
    "update keys.keys set name = 'drop table keys.keys; create index';",
    "do $$ begin perform 'drop table keys.keys;'; end $$;",
    "insert into keys.keys (name) values ('a');",
  ]) {
    test(`let pass: ${sql}`, () => assert.deepEqual(faultsOf(sql), []));
  }

  test('a file says in its first line whether the release before runs on with it', () => {
    assert.equal(faultsOf('select 1;', '-- Why: no mark.').length, 1);
    assert.equal(faultsOf('select 1;', '--additive').length, 1);
    assert.deepEqual(faultsOf('alter table keys.keys drop column name;', '-- gone since 0.2.0'), []);
    assert.match(faultsOf('drop table keys.keys;', '-- gone since 0.3.0').join(), /gone since 0\.3\.0: no release/);
  });

  test('what runs outside of a transaction makes or drops indexes, and nothing else', () => {
    const mark = '-- additive, concurrently';
    assert.deepEqual(faultsOf('create index concurrently a on keys.keys (name);', mark), []);
    assert.deepEqual(faultsOf('drop index concurrently keys.a;', mark), []);
    assert.equal(faultsOf('alter table keys.keys add column a text;', mark).length, 1);
    assert.equal(faultsOf('create index a on keys.keys (name);', mark).length, 1);
    assert.equal(faultsOf('create index concurrently on keys.keys (name);', mark).length, 1, 'an index without a name');
  });

  test('a column is set "not null" after a check of it was validated by an earlier migration', () => {
    const check = at(
      401,
      '-- gone since 0.1.0\nalter table keys.keys add constraint n check (name is not null) not valid;',
    );
    const validate = at(402, '-- additive\nalter table keys.keys validate constraint n;');
    const set = at(403, '-- additive\nalter table keys.keys alter column name set not null;');
    const found = (...files: (typeof old)[]) => checkMigrationRules([old, ...files], ['0.1.0']).length;
    assert.deepEqual([found(check, validate, set), found(check, set), found(validate, set)], [0, 1, 1]);
  });

  test('one that was committed is not changed, as who ran it could not start', () => {
    const { path, text } = at(400, '-- additive\n-- Why: a test.\ncreate table keys.more (id uuid);');
    const found = (now: string) =>
      checkMigrationRules([old, { path, text: now }], [], new Map([[path, objectId(text)]])).map((one) => one.found);
    assert.deepEqual(found(text), []);
    assert.match(found(text.replace('a test', 'another one')).join('\n'), /^was changed after its first commit/);
    assert.equal(objectId('a\n'), '78981922613b2afb6025042ff6bd878ac1994e85');
  });

  test('migrations up to 0371 are as they are', () => {
    assert.deepEqual(checkMigrationRules([old, { ...at(371, 'drop table keys.keys;') }], []), []);
    assert.equal(checkMigrationRules([old, { ...at(372, 'drop table keys.keys;') }], []).length, 1);
  });
});
