import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { compare, sketchOf, wordsOf } from '@svc/matching';
import { testClock } from '../../kernel/base/clock.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { shared } from '../../testing.shared.ts';
import { asOwner, createAccount, http, openTest, until } from '../../testing.ts';
import { openDevice } from '../sessions/sessions.testing.ts';
import { Matching } from './prompts.match.ts';
import { searchOf } from './prompts.match.sql.ts';
import { reportTurn } from './prompts.testing.ts';

interface Pair {
  kind: string;
  is: 'same' | 'prefix' | 'overlap' | 'none';
  a: string;
  b: string;
}
const file = new URL('../../../../../packages/matching/fixtures/pairs.json', import.meta.url);
const labelled = JSON.parse(
  readFileSync(new URL('../../../../../packages/matching/fixtures/templates.json', import.meta.url), 'utf8'),
) as {
  templates: { prompts: string[] }[];
  turns: { id: string; template: number; prompt: number | null; kind: string; text: string }[];
};
const { templates, turns } = labelled;
const pairs = JSON.parse(readFileSync(file, 'utf8')) as Pair[];

describe('prompts that turns match', () => {
  const clock = testClock();
  const matching = new Matching();
  after(() => matching.close());
  const { gateway, database } = shared(() => openTest({ clock }));
  const keep = async (key: string, prompt: string): Promise<string> =>
    (await http(gateway.url, '/v1/prompts', { key, body: { prompt } })).body.id;

  test('the search finds every pair of the list that is one prompt, and none that is not', async () => {
    const { sql } = gateway.kernel;
    for (const { kind, is, a, b } of pairs) {
      const { id, key } = await createAccount(gateway);
      const prompt = await keep(key, a);
      const found = await inTransaction(sql, (tx) => matching.find(tx, id, b));
      assert.equal(found, is === 'none' ? undefined : prompt, `${kind}: ${b.slice(0, 80)}`);
    }
  });

  test('of 200 prompts from ten templates no turn is taken for another one, and each that shares 85 % is found', async () => {
    const { sql } = gateway.kernel;
    const { id, key } = await createAccount(gateway);
    const ids = new Map<string, string>();
    for (const [template, { prompts }] of templates.entries())
      for (const [nth, text] of prompts.entries()) ids.set(await keep(key, text), `${template} ${nth}`);
    assert.equal(ids.size, 200);
    for (const turn of turns) {
      const found = await inTransaction(sql, (tx) => matching.find(tx, id, turn.text));
      const which = found === undefined ? undefined : ids.get(found);
      const wanted = turn.prompt === null ? undefined : `${turn.template} ${turn.prompt}`;
      const text = templates[turn.template]?.prompts[turn.prompt ?? -1] ?? '';
      if (turn.kind === 'same') assert.equal(which, wanted, turn.id);
      // With fewer than 85 % of the words it is no match, as document 1 says.
      else if (wanted !== undefined)
        assert.equal(which, compare(text, turn.text) === undefined ? undefined : wanted, turn.id);
      else if (which !== undefined) assert.equal(which.split(' ')[0], String(turn.template), turn.id);
    }
  });

  test('200 launches of prompts from ten templates: each turn, in any order, answers its own prompt', async () => {
    const account = await createAccount(gateway);
    const laptop = await openDevice(gateway, account, { platform: 'desktop' });
    const { sql } = gateway.kernel;
    const runs: { id: string; session: string; text: string }[] = [];
    for (const text of templates.flatMap(({ prompts }) => prompts)) {
      const id = await keep(account.key, text);
      const { prompt } = (await laptop.ask('POST', `/v1/prompts/${id}/launch`)).body;
      runs.push({ id, session: prompt.run_session_id, text });
    }
    // Every third in the order of launching, and the client names the turns: neither order nor name says which it is.
    for (const [nth] of runs.entries()) {
      const run = runs[(nth * 67) % runs.length] ?? assert.fail();
      await reportTurn(laptop, run.session, nth % 2 ? run.text : `${run.text}\nThank you.`);
    }
    await until(async () => {
      clock.advance(100);
      const [row] = await sql<
        { n: number }[]
      >`select count(*)::int as n from sessions.turns where account_id = ${account.id}`;
      return row?.n === 0;
    });
    const rows = await sql<{ id: string; state: string; own: boolean }[]>`
      select id, state, match_ref = run_session_id::text as own from prompts.prompts where account_id = ${account.id}`;
    assert.equal(rows.length, 200);
    for (const row of rows) assert.deepEqual([row.state, row.own], ['answered', true], row.id);
  });

  test('among 10,000 open prompts the search reads an index, and finds the one that shares 85 % of its words', async () => {
    const { id, key } = await createAccount(gateway);
    const { sql } = gateway.kernel;
    const texts = Array.from({ length: 10_000 }, (_, n) =>
      Array.from({ length: 40 }, (_, i) => `word${((n + 1) * (i + 3) * 7919 + i * n * n) % 50_021}`).join(' '),
    );
    const rows = texts.map((prompt) => ({ prompt, bits: Buffer.from(sketchOf(wordsOf(prompt))).toString('hex') }));
    for (let at = 0; at < rows.length; at += 1_000) {
      await sql`
        with given as (
          select value->>'prompt' as prompt, value->>'bits' as bits
          from json_array_elements(${JSON.stringify(rows.slice(at, at + 1_000))}::text::json)
        ), stored as (
          insert into prompts.prompts
            (account_id, prompt, bytes, text_hash, source, auto_run, state, created_at, updated_at)
          select ${id}, prompt, length(prompt), decode(md5(prompt), 'hex'), 'agent', false, 'open', now(), now() from given
          returning id, order_no, prompt
        )
        insert into prompts.words (prompt_id, account_id, order_no, total, sketch, ones)
        select s.id, ${id}, s.order_no, 40, ('x' || g.bits)::bit(8192), bit_count(('x' || g.bits)::bit(8192)) from stored s join given g on g.prompt = s.prompt`;
    }
    await asOwner(database, (owner) => owner`analyze prompts.words, prompts.prompts`);
    const [wanted = '', changed] = [texts[4_321], texts[4_321]?.replace(/(\w+) (\w+) (\w+)/, 'other new words')];
    const search = { accountId: id, sketch: sketchOf(wordsOf(wanted)), total: 40, least: 34, most: 47 };
    await inTransaction(sql, async (tx) => {
      await tx`select set_config('enable_seqscan', 'off', true)`;
      const plan = await tx<{ 'QUERY PLAN': string }[]>`explain ${searchOf(tx, search)}`;
      const text = plan.map((row) => row['QUERY PLAN']).join('\n');
      assert.match(text, /Index Scan .*words_by_total/, text);
      assert.doesNotMatch(text, /Seq Scan/, text);
      assert.match(text, /bit_count\(\(given\.bits & /, 'the bits of the text are made once, in whatever plan');
    });
    const found = await inTransaction(sql, (tx) => matching.find(tx, id, changed ?? ''));
    const [row] = await sql<{ prompt: string }[]>`select prompt from prompts.prompts where id = ${found ?? null}`;
    assert.equal(row?.prompt, wanted);
    const stranger = await createAccount(gateway);
    assert.equal(await inTransaction(sql, (tx) => matching.find(tx, stranger.id, wanted)), undefined);
    // The search turns it off for itself alone: in the next transaction the planner is free again.
    const [setting] = await sql<{ enable_seqscan: string }[]>`show enable_seqscan`;
    assert.equal(setting?.enable_seqscan, 'on');
    assert.ok(key);
  });

  test('a search that fails holds up no turn, of no account, and is made up for once it works', async () => {
    const [one, other] = await Promise.all([1, 2].map(async () => openDevice(gateway, await createAccount(gateway))));
    assert.ok(one && other);
    const text = 'Water the plants on the balcony and in the kitchen before the weekend';
    const { id } = (await one.ask('POST', '/v1/prompts', { prompt: text })).body;
    const sessionOf = async (device: typeof one) => (await device.ask('POST', '/v1/sessions', {})).body.id as string;
    await asOwner(database, (owner) => owner`alter table prompts.prompts rename column match_ref to broken`);
    const session = await sessionOf(one);
    await reportTurn(one, session, text);
    await reportTurn(other, await sessionOf(other), 'Something else');
    assert.equal((await one.ask('GET', `/v1/sessions/${session}`)).body.seq, 3);
    await until(async () => {
      clock.advance(200);
      const [row] = await gateway.kernel.sql<
        { n: number }[]
      >`select count(*)::int as n from sessions.turns where attempts > 0`;
      return (row?.n ?? 0) > 0;
    });
    await asOwner(database, (owner) => owner`alter table prompts.prompts rename column broken to match_ref`);
    await until(async () => {
      clock.advance(1_000);
      return (await one.ask('GET', `/v1/prompts/${id}`)).body.prompt.status === 'answered';
    });
  });

  test('a search that takes long holds up no turn', async () => {
    const device = await openDevice(gateway, await createAccount(gateway));
    const text = 'Sort the receipts of October by shop and add them up';
    const { id } = (await device.ask('POST', '/v1/prompts', { prompt: text })).body;
    const session = (await device.ask('POST', '/v1/sessions', {})).body.id as string;
    await asOwner(database, async (owner) => {
      await owner.begin(async (tx) => {
        await tx`lock table prompts.words in access exclusive mode`;
        const turns = Array.from({ length: 20 }, (_, n) => (n === 0 ? text : `Another turn ${n}`));
        for (const turn of turns) await reportTurn(device, session, turn);
        assert.equal((await device.ask('GET', `/v1/sessions/${session}`)).body.seq, 60);
        assert.equal((await device.ask('GET', `/v1/prompts/${id}`)).body.prompt.status, 'open');
      });
    });
    await until(async () => {
      clock.advance(500);
      return (await device.ask('GET', `/v1/prompts/${id}`)).body.prompt.status === 'answered';
    });
  });
});
