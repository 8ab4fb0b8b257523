// Prompts and sessions: which of 10,000 open prompts a turn is, beside reading and comparing all of them; events appended a
// second; how long an event takes to 200 followers of its session.
import { randomBytes, randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { isOverlap, normalized, wordsOf } from '@svc/matching';
import { Matching } from '../apps/server/src/features/prompts/prompts.match.ts';
import { inTransaction, openDatabase, type Sql } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { Connection, openEvents, requestText } from './lib/client.ts';
import { type Platform, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atLeast, atMost, bench, type Row } from './lib/report.ts';
import { caller } from './lib/schedules.ts';
import { percentile } from './lib/stats.ts';

const defaults = { prompts: 10_000, longest: 32_000, turns: 300, scans: 3, seconds: 8, followers: 200 };
await bench('prompts', defaults, async ({ prompts, longest, turns, scans, seconds, followers }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, {
    SVC_RATE_REQUESTS: '100000000',
    SVC_QUOTA_PROMPT_BYTES: '1000000000',
  });
  const running = findRunning(dataDir.path);
  if (!running) throw new Error('the platform has no database');
  const sql = openDatabase({ embedded: running, database: 'svc' }, 2);
  const random = generator(1);
  const texts = Array.from({ length: prompts }, () => textOf(random, 200 + random() * (longest - 200)));
  say(`keeping ${prompts} prompts of 200 to ${longest} characters`);
  const kept = await keep(platform, texts);
  say(`${turns} turns`);
  const [row] = await sql<{ account_id: string }[]>`select account_id from prompts.prompts limit 1`;
  const account = row?.account_id ?? '';
  const given = turnsOf(random, texts, turns, longest);
  const found = await match(sql, account, given);
  say('ten turns of 99 kB');
  const longOnes = await matchLong(sql, random);
  say(`${scans} scans of all`);
  const scanned = await scan(sql, account, given.slice(0, scans));
  say(`appends for ${seconds} s`);
  const appends = await append(platform, seconds);
  say(`${followers} followers`);
  const fanOut = await follow(platform, followers, seconds);
  await sql.end();
  return {
    rows: [
      rowOf(`kept (${prompts})`, kept),
      rowOf(`turns that are a prompt (${found.hits.length})`, found.hits),
      rowOf(`turns that are none (${found.misses.length})`, found.misses),
      { ...rowOf('turns of 99 kB among 200 such prompts', longOnes.latencies), 'thread held ms': longOnes.heldMs },
      rowOf(`the same by comparing all (${scanned.length})`, scanned),
      { ...rowOf('appends, 16 sessions', appends.latencies), 'a second': Math.round(appends.perSecond) },
      { ...rowOf(`an event to ${followers} followers`, fanOut.latencies), lost: fanOut.lost },
    ],
    targets: [
      atMost('match p99 ms', percentile([...found.hits, ...found.misses], 0.99), 20),
      atMost('thread held by a turn of 99 kB, ms', longOnes.heldMs, 50),
      { what: 'turns on the wrong side', measured: found.wrong, asked: '0', met: found.wrong === 0 },
      atLeast('appends/s', appends.perSecond, 500),
      atMost('events lost by followers', fanOut.lost, 0),
    ],
  };
});

/** A text of about so many characters: a few words are everywhere and most are rare, as in a language. */
function textOf(random: () => number, length: number): string {
  let text = '';
  while (text.length < length) {
    const rank = Math.floor(Math.exp(random() * Math.log(30_000)));
    const letters = (rank * 2_654_435_761) % 2 ** 32;
    text += `${letters.toString(26).slice(0, 2 + Math.min(9, Math.log2(rank + 1) / 1.7))} `;
  }
  return text.trim();
}

/** Numbers from 0 to 1, the same at every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function keep(platform: Platform, texts: readonly string[]): Promise<number[]> {
  const { call, close } = caller(platform);
  const latencies: number[] = [];
  const left = texts.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const prompt of left) {
        const began = performance.now();
        await call('POST', '/v1/prompts', { prompt });
        latencies.push(performance.now() - began);
      }
    }),
  );
  close();
  return latencies;
}

interface Turn {
  text: string;
  /** It is one of the prompts, a few words aside. */
  isPrompt: boolean;
}

/** Half of them prompts of which 0 to 12 % of the words are other ones. */
function turnsOf(random: () => number, texts: readonly string[], count: number, longest: number): Turn[] {
  return Array.from({ length: count }, (_, n) => {
    if (n % 2 === 1) return { text: textOf(random, 200 + random() * (longest - 200)), isPrompt: false };
    const words = (texts[Math.floor(random() * texts.length)] ?? '').split(' ');
    const changed = Math.floor(words.length * 0.12 * random());
    for (let i = 0; i < changed; i++) words[Math.floor(random() * words.length)] = `other${Math.floor(random() * 1e6)}`;
    return { text: words.join(' '), isPrompt: true };
  });
}

async function match(sql: Sql, account: string, turns: readonly Turn[]) {
  const [hits, misses]: [number[], number[]] = [[], []];
  const matching = new Matching();
  let wrong = 0;
  for (const { text, isPrompt } of turns) {
    const began = performance.now();
    const found = await inTransaction(sql, (tx) => matching.find(tx, account, text));
    (isPrompt ? hits : misses).push(performance.now() - began);
    if ((found !== undefined) !== isPrompt) wrong += 1;
  }
  await matching.close();
  return { hits, misses, wrong };
}

/** Long turns that are like many long prompts, and how long they hold the thread that serves requests. */
async function matchLong(sql: Sql, random: () => number): Promise<{ latencies: number[]; heldMs: number }> {
  const [account, matching] = [randomUUID(), new Matching()];
  const base = textOf(random, 98_000);
  const latencies: number[] = [];
  for (let n = 0; n < 200; n++) {
    const prompt = `${base} number ${n}`;
    const [row] = await sql<{ id: string; order_no: number }[]>`
      insert into prompts.prompts (account_id, prompt, bytes, text_hash, source, auto_run, state, created_at, updated_at)
      values (${account}, ${prompt}, ${prompt.length}, ${randomBytes(32)}, 'bench', false, 'open', now(), now())
      returning id, order_no`;
    if (row) await matching.keep(sql, { ...row, account_id: account, prompt });
  }
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  for (let n = 0; n < 10; n++) {
    const began = performance.now();
    await inTransaction(sql, (tx) => matching.find(tx, account, `${base} number ${n} of many`));
    latencies.push(performance.now() - began);
  }
  delay.disable();
  await matching.close();
  return { latencies, heldMs: Math.round(delay.max / 1e6) };
}

/** The alternative without a search: every open prompt is read and compared. */
async function scan(sql: Sql, account: string, turns: readonly Turn[]): Promise<number[]> {
  const latencies: number[] = [];
  for (const { text } of turns) {
    const began = performance.now();
    const words = wordsOf(normalized(text));
    const rows = sql<{ prompt: string }[]>`
      select prompt from prompts.prompts where account_id = ${account} and state = 'open' order by order_no desc`.cursor(
      200,
    );
    for await (const page of rows) for (const { prompt } of page) isOverlap(words, wordsOf(prompt));
    latencies.push(performance.now() - began);
  }
  return latencies;
}

/** Events of 200 characters, one a request, by 16 devices to a session each. */
async function append(platform: Platform, seconds: number): Promise<{ latencies: number[]; perSecond: number }> {
  const { call, close } = caller(platform);
  const latencies: number[] = [];
  const sessions = await Promise.all(Array.from({ length: 16 }, () => call('POST', '/v1/sessions', {})));
  const end = performance.now() + 1_000 * seconds;
  await Promise.all(
    (sessions as { id: string }[]).map(async ({ id }) => {
      const device = randomUUID();
      const connection = await Connection.open(platform.port);
      const headers = { authorization: `Bearer ${platform.key}`, 'x-svc-device': device };
      for (let seq = 0; performance.now() < end; seq++) {
        const events = [{ type: 'delta', turn_id: 't', text: 'x'.repeat(200) }];
        const began = performance.now();
        const body = JSON.stringify({ expected_seq: seq, events });
        const { status } = await connection.exchange(requestText('POST', `/v1/sessions/${id}/events`, headers, body));
        if (status !== 200) throw new Error(`append: ${status}`);
        latencies.push(performance.now() - began);
      }
      connection.close();
    }),
  );
  close();
  return { latencies, perSecond: latencies.length / seconds };
}

/** 20 events a second; how long after it was sent each follower has it. */
async function follow(
  platform: Platform,
  followers: number,
  seconds: number,
): Promise<{ latencies: number[]; lost: number }> {
  const { call, close } = caller(platform);
  const { id } = (await call('POST', '/v1/sessions', {})) as { id: string };
  const latencies: number[] = [];
  const sentAt: number[] = [];
  const request = requestText('GET', `/v1/sessions/${id}/stream`, { authorization: `Bearer ${platform.key}` });
  const open = await Promise.all(
    Array.from({ length: followers }, () =>
      openEvents(platform.port, request, (event, data) => {
        if (event === 'event')
          latencies.push(performance.now() - (sentAt[(JSON.parse(data) as { seq: number }).seq] ?? 0));
      }),
    ),
  );
  const device = randomUUID();
  const count = 20 * seconds;
  for (let seq = 0; seq < count; seq++) {
    const events = [{ type: 'delta', turn_id: 't', text: 'x'.repeat(200) }];
    sentAt[seq + 1] = performance.now();
    await call('POST', `/v1/sessions/${id}/events`, { expected_seq: seq, events }, device);
    await delay(50);
  }
  for (const end = performance.now() + 5_000; latencies.length < count * followers && performance.now() < end; )
    await delay(20);
  for (const one of open) one.close();
  close();
  return { latencies, lost: count * followers - latencies.length };
}

function rowOf(what: string, latencies: readonly number[]): Row {
  return { what, 'p50 ms': percentile(latencies, 0.5), 'p99 ms': percentile(latencies, 0.99) };
}
