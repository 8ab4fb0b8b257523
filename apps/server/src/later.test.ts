import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSources, root } from '../../../scripts/rules/repository.ts';
import { openTest } from './testing.ts';

/** Columns with an instant that is over: when something was made, seen, done or counted. */
const past =
  /(?:^|_)(?:created|revoked|claimed|confirmed|changed|failed|updated|used|asked|begun|taken|refused|withdrawn|declined|delivered|applied|began|tried|done|checked|told|seen|started|ended|finished|paid|approved|added|fetched|robots|read|archived|answered|launched|sent|stopped|provisioned|attached|verified|acked|moved|offered|suspended|resolved|paused|armed|anchor|starts|worked|listened|last_\w+)_at$|^(?:at|auth_time|minute|missed_slot|last_seen|settled_until)$|since$/;

/** The names in the table of docs/security.md. */
function namesOfTable(): string[] {
  const text = readFileSync(join(root, 'docs/security.md'), 'utf8');
  const [, section = ''] = /^## What happens later[^\n]*\n([^]*?)^## /m.exec(text) ?? [];
  const cells = section
    .split('\n')
    .flatMap((line) => (/^\| (?!what \||---)/.test(line) ? [line.split(' | ')[1] ?? ''] : []));
  return cells.flatMap((cell) => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name));
}

test('whatever happens later than the request that asked for it stands in docs/security.md, with whose rights', async () => {
  await using t = await openTest();
  const columns = await t.gateway.kernel.sql<{ name: string; last: string }[]>`
    select format('%s.%s.%s', table_schema, table_name, column_name) as name, column_name as last
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where data_type like 'timestamp%' and table_type = 'BASE TABLE'
      and table_schema not in ('pg_catalog', 'information_schema')`;
  const deferred = columns.filter(({ last }) => !past.test(last)).map(({ name }) => name);
  const jobs = t.gateway.app.jobs.map(({ name }) => name);
  const loops = readSources()
    .filter(({ path }) => path.startsWith('apps/server/src/') && !/\.(?:test|testing)\.ts$/.test(path))
    .flatMap(({ text }) => [...text.matchAll(/startLoop\([^]*?name: '([\w.]+)'/g)].map(([, name = '']) => name));
  assert.ok(deferred.length > 20 && jobs.length > 15 && loops.length > 10);
  const inCode = new Set([...deferred, ...jobs, ...loops]);
  assert.deepEqual([...new Set(namesOfTable())].sort(), [...inCode].sort());
});
