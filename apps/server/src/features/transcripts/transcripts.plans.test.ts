import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { asOwner, createAccount, openTest } from '../../testing.ts';
import { randomOf } from '../../testing.random.ts';
import { findRecordings } from './transcripts.summary.sql.ts';
import { findByNames, findByWords, showPassages } from './analysis/search.sql.ts';
import { quantised } from './analysis/vectors.ts';
import { nearestVectors } from './analysis/vectors.sql.ts';
import { replaceUtterances } from './text/text.sql.ts';
import {
  bare,
  fillSearch,
  nodesOf,
  type PlanNode,
  plansOf,
  vectorFrom,
  wordFrom,
} from './transcripts.plans.testing.ts';
import type { Sql } from '../../kernel/db/db.ts';

const dimensions = 64;
const big = new Set(['utterances', 'vectors', 'names']);

/** Rows of the big tables that a plan looked at. */
const readBy = (plan: PlanNode): number =>
  nodesOf(plan)
    .filter(({ 'Relation Name': table }) => big.has(table ?? ''))
    .reduce((sum, node) => {
      const each = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
      return sum + each * (node['Actual Loops'] ?? 1);
    }, 0);

describe('a search beside 20,000 utterances of others', () => {
  const { gateway, database, account } = shared(() => openTest());
  const [own, others] = [1_000, 20_000];
  let accountId: string;
  let sql: Sql;

  before(async () => {
    sql = gateway.kernel.sql;
    accountId = account.id;
    const stranger = await createAccount(gateway);
    await fillSearch(sql, accountId, { recordings: 20, each: own / 20, dimensions, seed: 1 });
    await fillSearch(sql, stranger.id, { recordings: 40, each: others / 40, dimensions, seed: 2 });
    await asOwner(database, (owner) => owner`vacuum analyze`);
  });

  const check = (plans: readonly PlanNode[], most: number): void => {
    assert.ok(plans.length > 0);
    for (const plan of plans) {
      const scans = nodesOf(plan).filter(
        (node) => node['Node Type'] === 'Seq Scan' && big.has(node['Relation Name'] ?? ''),
      );
      assert.deepEqual(scans, [], JSON.stringify(plan));
      assert.ok(readBy(plan) <= most, `${readBy(plan)} rows: ${JSON.stringify(plan)}`);
    }
  };

  const scopes = { everywhere: {}, 'in a scope': { from: '2020-01-01T00:00:00Z' } };
  for (const mode of ['all', 'any'] as const) {
    for (const [where, scope] of Object.entries(scopes)) {
      test(`by ${mode} of some words ${where} reads no row of another account, and the index once a word`, async () => {
        const random = randomOf(3);
        const words = [0.01, 0.1, 0.9].map((most) => wordFrom(() => most * random()));
        const asking = { accountId, words: mode === 'any' ? words : words.slice(0, 2), mode, scope, limit: 400 };
        const plans = await plansOf(sql, (db) => findByWords(db, asking));
        check(plans, mode === 'any' ? own * words.length : own);
        const looks = plans.flatMap(nodesOf).filter((node) => node['Index Name'] === 'utterances_words');
        assert.ok(
          looks.every((node) => (node['Actual Loops'] ?? 0) <= words.length),
          JSON.stringify(plans),
        );
        assert.ok((await findByWords(sql, asking)).length > 0);
      });
    }
  }

  test('finds a rare word beside one that more utterances have than are ranked', async () => {
    const id = randomUUID();
    await sql`
      insert into transcripts.transcripts (id, account_id, source, state, started_at, created_at, updated_at)
      values (${id}, ${accountId}, 'test', 'ready', now(), now(), now())`;
    const say = (text: string, seq: number) => ({ ...bare, seq, start_ms: seq, end_ms: seq, text });
    const said = Array.from({ length: 2_500 }, (_, seq) => say('invoice', seq));
    await replaceUtterances(sql, { id, account_id: accountId }, [...said, say('wombat', said.length)]);
    const asking = { accountId, words: ['invoice', 'wombat'], mode: 'any', scope: {}, limit: 2_000 } as const;
    const found = await findByWords(sql, asking);
    assert.ok(found.some(({ seq }) => seq === said.length));
    await sql`delete from transcripts.transcripts where id = ${id}`;
  });

  test('by names, and for what is shown of its results, reads no row of another account', async () => {
    const asking = { accountId, names: ['namebabababa'], scope: {}, limit: 400 };
    check(await plansOf(sql, (db) => findByNames(db, asking)), own);
    const [found] = await findByWords(sql, { accountId, words: [wordFrom(() => 0)], mode: 'all', scope: {}, limit: 1 });
    assert.ok(found);
    const place = { transcript_id: found.transcript_id, from_seq: found.seq, to_seq: found.seq };
    check(await plansOf(sql, (db) => showPassages(db, accountId, [place])), own);
  });

  test('by names compares few of them, by an index, and finds all that are alike', async () => {
    const stored = await sql<{ name: string }[]>`
      select distinct name from transcripts.names where account_id = ${accountId} order by name limit 30`;
    for (const { name } of stored) {
      const [misspelt] = [`${name.slice(0, -1)}x`];
      const asking = { accountId, names: [misspelt], scope: {}, limit: 400 };
      const alike = await sql`
        select distinct transcript_id, unnest(seqs) as seq from transcripts.names
        where account_id = ${accountId} and similarity(name, ${misspelt}) >= 0.45`;
      assert.deepEqual((await findByNames(sql, asking)).length, Math.min(400, alike.length), name);
    }
    const asking = { accountId, names: Array.from({ length: 32 }, (_, n) => `name${n}xyz`), scope: {}, limit: 400 };
    const looks = (await plansOf(sql, (db) => findByNames(db, asking)))
      .flatMap(nodesOf)
      .filter(({ 'Index Name': index }) => index === 'names_marks');
    assert.deepEqual(
      looks.map(({ 'Actual Loops': loops }) => loops),
      [8],
    );
  });

  test('of titles reads no recording: the index has them, as a person or the insights set them', async () => {
    const wanted = { pattern: '%heard%', prefix: 'heard%', most: 10 };
    let text = '';
    const heard = { unsafe: async (said: string) => ((text = said), []) } as unknown as typeof sql;
    await findRecordings(heard, accountId, wanted);
    const plan = await asOwner(database, async (owner) => {
      await owner`vacuum transcripts.transcripts`;
      // The table is small, and would be read whole for that alone.
      await owner`set enable_seqscan = off`;
      return owner.unsafe(`explain (generic_plan) ${text}`);
    });
    assert.match(JSON.stringify(plan), /Index Only Scan using transcripts_titles/);
    const [{ id } = { id: '' }] = await sql<{ id: string }[]>`
      update transcripts.transcripts set title = null, insights = '{"title":"What was heard"}'::jsonb
      where id = (select id from transcripts.transcripts where account_id = ${accountId} limit 1) returning id`;
    const found = async () => [...(await findRecordings(sql, accountId, wanted))];
    assert.deepEqual(await found(), [{ id, title: 'What was heard' }]);
    await sql`update transcripts.transcripts set title = 'Heard again' where id = ${id}`;
    assert.deepEqual(await found(), [{ id, title: 'Heard again' }]);
  });

  test('by meaning reads the vectors of the account alone', async () => {
    const { bits } = quantised(vectorFrom(randomOf(4), dimensions));
    const asking = { accountId, model: 'vectors-1', bits, scope: {}, limit: 400 };
    check(await plansOf(sql, (db) => nearestVectors(db, asking)), own);
    assert.equal((await nearestVectors(sql, asking)).length, Math.ceil(own / 20 / 8) * 20);
  });
});
