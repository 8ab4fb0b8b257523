// Every GET of which the largest record is known, 16 at once by one account: the longest turn of the gateway's loop, and how long
// a small request of another account takes meanwhile.
import { packWords } from '../apps/server/src/features/transcripts/text/words.ts';
import { openStudio, type Studio } from './transcripts/studio.ts';
import { freePort } from './lib/processes.ts';
import { atMost, bench, type Row } from './lib/report.ts';

const flags = { words: 100_000, names: 100_000, recordings: 2_000, times: 16 };
const wordsOfOne = 25;
const utteranceMs = 2_700;
/** Delay of an idle thread: its timer's own resolution. */
const restMs = 10;

await bench('dearest', flags, async ({ words, names, recordings, times }, say) => {
  const metricsPort = await freePort();
  await using studio = await openStudio({ SVC_METRICS_PORT: String(metricsPort) });
  const { recorder: other } = await studio.another('other@example.com');
  const id = await fillRecording(studio, words);
  await fillNames(studio, id, names);
  await fillTitles(studio, recordings);
  const delay = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1_000 - restMs;
  };
  const paths = {
    'transcripts.get': `/v1/transcripts/${id}`,
    'transcripts.get, words=none': `/v1/transcripts/${id}?words=none`,
    'transcripts.words': `/v1/transcripts/${id}/words?to_ms=${words * utteranceMs}`,
    'transcripts.list': '/v1/transcripts?limit=200',
    'transcripts.search': `/v1/transcripts/search?mode=text&q=${Array.from({ length: 32 }, (_, n) => `name${n}xyz`).join('+')}`,
    'overview.get': '/v1/overview',
    'overview.find': '/v1/overview/find?q=e',
  };
  const rows: Row[] = [];
  const [turns, waits]: [number[], number[]] = [[], []];
  for (const [operation, path] of Object.entries(paths)) {
    say(operation);
    await delay();
    const { small, bytes } = await ask({ studio, other: other.account.key }, path, times);
    const turn = await delay();
    const p99 = small[Math.floor(small.length * 0.99)] ?? 0;
    turns.push(turn);
    waits.push(p99);
    rows.push({ operation, kB: Math.round(bytes / 1_000), 'longest turn ms': turn, 'small p99 ms': p99 });
  }
  return {
    rows,
    targets: [
      atMost('longest turn of the loop, ms', Math.max(...turns), 100),
      atMost("another account's small request, p99 ms", Math.max(...waits), 250),
    ],
  };
});

/** Asks `times` at once, and small requests of the other account until all are answered; their times come sorted. */
async function ask({ studio, other }: { studio: Studio; other: string }, path: string, times: number) {
  const call = async (to: string, key: string): Promise<number> => {
    const answer = await fetch(studio.url + to, { headers: { authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error(`${to}: ${answer.status}`);
    return (await answer.arrayBuffer()).byteLength;
  };
  const asked = { isOver: false };
  const all = Promise.all(Array.from({ length: times }, () => call(path, studio.recorder.account.key)));
  const over = all.finally(() => Object.assign(asked, { isOver: true }));
  const small: number[] = [];
  while (!asked.isOver) {
    const began = performance.now();
    await call('/v1/devices', other);
    small.push(performance.now() - began);
  }
  return { small: small.sort((a, b) => a - b), bytes: (await over)[0] ?? 0 };
}

/** A recording of so many words. */
async function fillRecording({ sql, accountId, recorder }: Studio, words: number): Promise<string> {
  const id = await recorder.begin({ title: 'Long' });
  const count = Math.ceil(words / wordsOfOne);
  await sql`
    insert into transcripts.utterances (transcript_id, seq, account_id, speaker, track, start_ms, end_ms, text, words)
    select ${id}, n, ${accountId}, 'S1', 'mixed', n * ${utteranceMs}::int, (n + 1) * ${utteranceMs}::int, repeat('said ', ${wordsOfOne}::int), ''
    from generate_series(0, ${count - 1}::int) n`;
  const said = Array.from({ length: count }, (_, seq) => {
    const startMs = seq * utteranceMs;
    const heard = Array.from({ length: wordsOfOne }, (_word, n) => {
      return {
        text: `word${n}`,
        startMs: startMs + n * 100,
        endMs: startMs + n * 100 + 90,
        confidence: 0.987,
        estimated: false,
      };
    });
    return { seq, startMs, words: heard };
  });
  for (const { minute, packed } of await packWords(said as unknown as Parameters<typeof packWords>[0]))
    await sql`
      insert into transcripts.words (transcript_id, account_id, minute, packed) values (${id}, ${accountId}, ${minute}, ${packed})`;
  await sql`update transcripts.transcripts set bytes = ${words * 20} where id = ${id}`;
  return id;
}

async function fillNames({ sql, accountId }: Studio, id: string, count: number): Promise<void> {
  await sql`
    insert into transcripts.names
    select ${id}, ${accountId}, 'name' || md5(n::text), array[n % 100] from generate_series(1, ${count}::int) n`;
}

async function fillTitles({ sql, accountId }: Studio, count: number): Promise<void> {
  await sql`
    insert into transcripts.transcripts (account_id, source, state, started_at, created_at, updated_at, insights)
    select ${accountId}, 'bench', 'ready', now(), now(), now(), json_build_object('title', md5(n::text), 'summary', repeat('said ', 400))
    from generate_series(1, ${count}::int) n`;
  await sql`analyze`;
}
