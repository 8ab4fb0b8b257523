import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAccount, until } from '../../testing.ts';
import { answers, type Says } from '../speech/speech.testing.ts';
import { hearsTones, openTranscripts, saysJson, type TranscriptsTest } from './transcripts.testing.ts';
import { hearTones, textOf, toneRecording, toneWords } from './transcripts.tones.testing.ts';

const soundMs = 12_000;
const words = toneWords({ durationMs: soundMs, speakers: 1 });
const sound = toneRecording(words, soundMs);
/** One speaker on each track, one after the other. */
const both = toneWords({ durationMs: soundMs, speakers: 2, turn: 14 });
const bothTracks = Object.fromEntries(
  ['mic', 'system'].map((track, n) => [
    track,
    toneRecording(
      both.filter(({ speaker }) => speaker === n),
      soundMs,
    ),
  ]),
);

/** Lets every step that waits for its next try be due now. */
const hurry = async (t: TranscriptsTest): Promise<void> => {
  const { sql, bus } = t.base.gateway.kernel;
  const hurried = await sql`update transcripts.steps set due_at = now() where due_at > now() returning id`;
  if (hurried.length > 0) await bus.publish(sql, 'transcripts.due', null);
};

/** Waits until the record is over, and lets no try wait for its time. */
async function hurriedOver(t: TranscriptsTest, id: string) {
  const { sql } = t.base.gateway.kernel;
  await until(async () => {
    await hurry(t);
    const over = await sql`select from transcripts.transcripts where id = ${id} and state in ('ready', 'failed')`;
    return over.length > 0;
  }, 240_000);
  return t.over(id);
}

/** Fails as it says so often, and hears tones then. */
function failsFirst(times: number, fails: Says): Says {
  let left = times;
  return (response, got) => (left-- > 0 ? fails(response, got) : hearsTones(response, got));
}

const textIn = ({ utterances }: { utterances: { text: string }[] }): string =>
  utterances.map(({ text }) => text).join(' ');
const spoken = words.map(({ id }) => textOf(id)).join(' ');

/** A gateway whose provider answers; each test has an account of its own. */
let shared: TranscriptsTest | undefined;
const hearing = (): TranscriptsTest => shared as TranscriptsTest;
before(async () => {
  shared = await openTranscripts();
});
after(() => shared?.[Symbol.asyncDispose]());

describe('a provider of speech that fails', () => {
  test('is asked again, and the record says which try, why and when the next one comes', async () => {
    const half: Says = (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('{"results": {"chan');
    await using all = await openTranscripts();
    for (const fails of [answers({ error: 'broken' }, 500), half, answers({ results: {} })]) {
      const t = await all.fresh(failsFirst(2, fails));
      const id = await t.begin();
      await t.finalize(id, { mic: sound });
      let seen: { step: string; attempts: number; last_error: string; next_attempt_at: string } | undefined;
      await until(async () => {
        const { transcript } = (await t.call('GET', `/v1/transcripts/${id}`)).body;
        if (transcript.processing?.attempts > 0 && transcript.processing.next_attempt_at) seen = transcript.processing;
        if (seen) assert.equal(transcript.status, 'transcribing');
        return seen !== undefined;
      });
      assert.deepEqual([seen?.step, seen?.attempts], ['window', 1]);
      assert.ok(seen?.last_error && Date.parse(seen.next_attempt_at) > 0);
      const record = await hurriedOver(t, id);
      assert.deepEqual([record.status, textIn(record)], ['ready', spoken]);
      assert.equal((await t.call('GET', '/v1/transcripts/usage')).body.used_ms, soundMs);
    }
  });

  test('for good fails the recording after five tries; its minutes are free again, and the owner is told once', async () => {
    await using t = await openTranscripts({
      says: answers({ err_code: 'INVALID_AUTH', err_msg: 'Invalid credentials' }, 401),
    });
    const id = await t.begin();
    await t.finalize(id, { mic: sound });
    const record = await t.over(id);
    assert.deepEqual([record.status, t.asked.length, record.attempts, record.processing], ['failed', 5, 5, null]);
    assert.ok(record.error && !record.error.includes('sk-'), record.error);
    const usage = (await t.call('GET', '/v1/transcripts/usage')).body;
    assert.deepEqual([usage.used_ms, usage.reserved_ms], [0, 0]);
    t.speech.says = hearsTones;
    const { sql } = t.base.gateway.kernel;
    await sql`insert into kernel.quotas (account_id, name, most) values (${t.account.id}, 'recording_ms', 1)`;
    assert.equal((await t.call('POST', `/v1/transcripts/${id}/retranscribe`)).body.error.code, 'quota_exceeded');
    await sql`delete from kernel.quotas where account_id = ${t.account.id}`;
    const { notifications } = (await t.call('GET', '/v1/notifications')).body;
    assert.deepEqual(
      notifications.map(({ type, severity }: { type: string; severity: string }) => [type, severity]),
      [['transcript.failed', 'warning']],
    );
    assert.match(notifications[0].url, new RegExp(`transcripts/${id}$`));
    assert.equal((await t.call('POST', `/v1/transcripts/${id}/retranscribe`)).status, 200);
    assert.equal((await hurriedOver(t, id)).status, 'ready');
    assert.equal((await t.call('GET', '/v1/transcripts/usage')).body.used_ms, soundMs);
  });

  test('that refuses silence, or says something about it, fails no recording and adds no word', async () => {
    await using t = await openTranscripts({ says: hearsTones });
    const id = await t.begin();
    // A microphone that was off beside a voice.
    await t.finalize(id, { mic: toneRecording([], soundMs), system: sound });
    const record = await t.over(id);
    assert.deepEqual([record.status, t.asked.length, textIn(record)], ['ready', 1, spoken]);
    t.speech.says = answers({ err_code: 'BAD_AUDIO', err_msg: 'no speech was found' }, 400);
    const quiet = await t.begin();
    await t.finalize(quiet, { mixed: toneRecording([], soundMs) });
    const nothing = await t.over(quiet);
    assert.deepEqual([nothing.status, textIn(nothing)], ['ready', '']);
  });

  test('that asks for patience costs no try', async () => {
    await using t = await openTranscripts({
      says: failsFirst(3, answers({ error: 'slow down' }, 429, { 'retry-after': '1' })),
    });
    const id = await t.begin();
    await t.finalize(id, { mic: sound });
    const record = await hurriedOver(t, id);
    assert.deepEqual([record.status, record.attempts, textIn(record)], ['ready', 0, spoken]);
  });

  test('that lies about times neither breaks a transcript nor loses a word or their order', async () => {
    const lies: Says = (response, got) =>
      answers({
        results: {
          channels: [
            {
              alternatives: [
                {
                  transcript: 'x',
                  words: [
                    { word: 'later', start: 5, end: 5.5, confidence: 1 },
                    { word: 'first', start: 1, end: 1.5, confidence: 1 },
                    { word: 'never', start: -5, end: 99_999, confidence: 7 },
                    { word: 'backwards', start: 3, end: 2 },
                    { word: '', start: 4, end: 4 },
                    { word: 'x'.repeat(10_000), start: null, end: 'no' },
                  ],
                },
              ],
            },
          ],
        },
      })(response, got);
    const t = await hearing().fresh(lies);
    const id = await t.begin();
    await t.finalize(id, { mic: sound });
    const record = await hurriedOver(t, id);
    if (record.status === 'ready') {
      assert.match(textIn(record), /^later first never backwards [x ]+$/);
      for (const { start_ms: start, end_ms: end } of record.utterances)
        assert.ok(start >= 0 && end >= start && end <= soundMs + 1_000);
    } else assert.ok(record.last_error);
  });

  test('for one window leaves the others to be read, and retranscribe asks for that window alone', async () => {
    let isBroken = true;
    let meanwhile: string | undefined;
    await using t = await openTranscripts({
      says(response, got) {
        // By its sound: the window that begins with the first word is heard.
        if (hearTones(got.audio as Buffer)[0]?.text === textOf(both[0]?.id ?? -1)) return hearsTones(response, got);
        if (!isBroken)
          return t.call('GET', `/v1/transcripts/${id}`).then(async ({ body }) => {
            meanwhile = body.transcript.status;
            await hearsTones(response, got);
          });
        return answers({ err_msg: 'broken' }, 400)(response, got);
      },
    });
    const id = await t.begin();
    await t.finalize(id, bothTracks);
    const failed = await hurriedOver(t, id);
    assert.equal(failed.status, 'failed');
    assert.match(
      failed.error,
      /not transcribed: \d\d:\d\d:\d\d to \d\d:\d\d:\d\d \(system\); retranscribe tries them again/,
    );
    assert.ok(textIn(failed).startsWith(textOf(both[0]?.id ?? -1)));
    const before = t.asked.length;
    isBroken = false;
    assert.equal((await t.call('POST', `/v1/transcripts/${id}/retranscribe`)).status, 200);
    const record = await hurriedOver(t, id);
    assert.deepEqual([record.status, meanwhile], ['ready', 'transcribing']);
    assert.equal(t.asked.length - before, 1);
    assert.equal(textIn(record), both.map(({ id: word }) => textOf(word)).join(' '));
    assert.equal((await t.call('GET', '/v1/transcripts/usage')).body.used_ms, soundMs);
  });
});

describe('a provider whose times are not those of the audio', () => {
  for (const [what, time] of [
    ['none of them is', (n: number) => ({ start: 100_000 + n, end: -5 })],
    ['one time is said of everything', () => ({ start: 0, end: 0 })],
  ] as const) {
    test(`is asked once: its words stand in their order at estimated times, and the record says so: ${what}`, async () => {
      const late: Says = (response, got) => {
        const said = [1, 2, 3, 4, 5].map((n) => ({ word: `w${n}`, ...time(n), confidence: 1 }));
        return answers({ results: { channels: [{ alternatives: [{ words: said }] }] } })(response, got);
      };
      const t = await hearing().fresh(late);
      const id = await t.begin();
      await t.finalize(id, { mic: sound });
      const record = await hurriedOver(t, id);
      assert.deepEqual([record.status, record.degraded.includes('times')], ['ready', true]);
      assert.equal(textIn(record), 'w1 w2 w3 w4 w5');
      const words = record.utterances.flatMap(
        (one: { words: { start_ms: number; estimated: boolean }[] }) => one.words,
      );
      assert.ok(words.every(({ estimated }: { estimated: boolean }) => estimated));
      assert.equal(new Set(words.map(({ start_ms: at }: { start_ms: number }) => at)).size, 5);
      assert.equal(t.asked.length, 1);
    });
  }
});

describe('without a provider of speech', () => {
  let none: TranscriptsTest;
  before(async () => {
    none = await openTranscripts({ says: null });
  });
  after(() => none?.[Symbol.asyncDispose]());

  test('live captions become the transcript, marked as degraded, and cost no minutes', async () => {
    const t = await none.fresh();
    const trigger = { type: 'event', trigger_id: 'transcript.ready' };
    await t.call('POST', '/v1/schedules', { name: 'then', kind: 'agent', spec: { prompt: 'Read it' }, trigger });
    const id = await t.begin();
    await t.finalize(id, { mic: sound }, { preview_text: 'Ana sends the draft on Friday. Dan pays the hotel.' });
    const record = await t.over(id);
    assert.deepEqual([record.status, record.degraded.includes('transcription')], ['ready', true]);
    assert.equal(textIn(record), 'Ana sends the draft on Friday. Dan pays the hotel.');
    assert.ok(record.utterances[0].words.every(({ estimated }: { estimated?: boolean }) => estimated === true));
    assert.equal(record.utterances[0].confidence, null);
    assert.deepEqual((await t.call('GET', '/v1/transcripts/usage')).body.used_ms, 0);
    assert.equal((await t.call('GET', '/v1/schedule-runs')).body.runs.length, 1);
    const { notifications } = (await t.call('GET', '/v1/notifications')).body;
    assert.equal(notifications.filter(({ type }: { type: string }) => type === 'transcript.ready').length, 1);
  });

  test('and without captions the recording fails with what to set up', async () => {
    const t = await none.fresh();
    const id = await t.begin();
    await t.finalize(id, { mic: sound });
    assert.equal((await t.call('GET', '/v1/transcripts/usage')).body.heard, false, 'said before it is uploaded');
    // At once: no further try does better.
    const record = await t.over(id);
    assert.equal(record.status, 'failed');
    assert.match(record.error, /ask who runs this server .*svc providers add/);
    const { sql } = t.base.gateway.kernel;
    const [step] = await sql<{ attempt: number }[]>`
      select attempt from transcripts.steps where transcript_id = ${id} and state = 'failed'`;
    assert.equal(step?.attempt, 1);
  });
});

describe('a recording under way', () => {
  test('leaves nothing behind when it is deleted while its window is heard', async () => {
    const waiting = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const t = await hearing().fresh(async (response, got) => {
      asked.resolve();
      await waiting.promise;
      return hearsTones(response, got);
    });
    const id = await t.begin();
    await t.finalize(id, { mic: sound });
    await asked.promise;
    assert.equal((await t.call('DELETE', `/v1/transcripts/${id}`)).status, 200);
    waiting.resolve();
    const { sql, blobs } = t.base.gateway.kernel;
    await until(async () => (await blobs.list(`audio/${t.account.id}/`)).length === 0);
    assert.equal((await sql`select from transcripts.steps where account_id = ${t.account.id}`).length, 0);
    assert.equal((await t.call('GET', '/v1/transcripts/usage')).body.reserved_ms, 0);
    assert.deepEqual(await blobs.list(`uploads/${t.account.id}/`), []);
  });

  test('stops when its account is suspended, and goes on when it may again', async () => {
    let isOpen = false;
    const ended = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const t = await hearing().fresh((response, got) => {
      if (isOpen) return hearsTones(response, got);
      response.once('close', () => ended.resolve());
      asked.resolve();
      return undefined;
    });
    const id = await t.begin();
    await t.finalize(id, { mic: sound });
    await asked.promise;
    const { sql } = t.base.gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${t.account.id}`;
    await ended.promise;
    isOpen = true;
    await hurry(t);
    const [step] = await sql<{ state: string; tries: number }[]>`
      select state, tries from transcripts.steps where transcript_id = ${id} and kind = 'window'`;
    assert.equal(step?.tries, 0);
    await sql`update accounts.accounts set suspended_at = null where id = ${t.account.id}`;
    const record = await hurriedOver(t, id);
    assert.deepEqual([record.status, textIn(record)], ['ready', spoken]);
  });

  test('is transcribed although its key was revoked; its insights are sentences of it then', async () => {
    const waiting = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await using t = await openTranscripts({
      model: saysJson({ title: 'never' }),
      async says(response, got) {
        asked.resolve();
        await waiting.promise;
        return hearsTones(response, got);
      },
    });
    const { key, id: keyId } = (
      await t.call('POST', '/v1/keys', { name: 'device', scopes: ['transcripts', 'uploads'] })
    ).body;
    const device = { ...t.account, key };
    const upload = await t.upload(sound, device);
    const { transcript } = (await t.call('POST', '/v1/transcripts', {}, key)).body;
    const body = { duration_ms: 1, uploads: [{ track: 'mic', upload_id: upload.id }] };
    assert.equal((await t.call('POST', `/v1/transcripts/${transcript.id}/finalize`, body, key)).status, 200);
    await asked.promise;
    assert.equal((await t.call('DELETE', `/v1/keys/${keyId}`)).status, 200);
    waiting.resolve();
    const record = await hurriedOver(t, transcript.id);
    assert.deepEqual([record.status, textIn(record), record.insights.model], ['ready', spoken, 'extractive']);
    assert.ok(record.degraded.includes('insights'));
    assert.equal(t.model.taken.filter(({ path }) => path.includes('chat')).length, 0);
  });
});

describe('transcribing anew', () => {
  test('keeps corrections of what is heard again, and names of speakers, and says how many were lost', async () => {
    const t = await hearing().fresh();
    const id = await t.begin();
    await t.finalize(id, { mixed: sound });
    const first = await t.over(id);
    await t.call('PATCH', `/v1/transcripts/${id}/utterances/0`, { text: 'Corrected' });
    await t.call('PATCH', `/v1/transcripts/${id}/speakers/S1`, { name: 'Ana' });
    assert.equal((await t.call('POST', `/v1/transcripts/${id}/retranscribe`)).status, 200);
    assert.equal((await t.call('POST', `/v1/transcripts/${id}/retranscribe`)).body.error.code, 'still_processing');
    const again = await hurriedOver(t, id);
    assert.equal(again.utterances[0].text, 'Corrected');
    assert.equal(again.utterances[0].original_text, first.utterances[0].text);
    assert.deepEqual([again.speakers[0].name, again.edits_lost], ['Ana', 0]);
    t.speech.says = (response, got) =>
      answers({ results: { channels: [{ alternatives: [{ words: [{ word: 'other', start: 9, end: 9.4 }] }] }] } })(
        response,
        got,
      );
    await t.call('POST', `/v1/transcripts/${id}/retranscribe`);
    const other = await hurriedOver(t, id);
    assert.deepEqual([textIn(other), other.edits_lost], ['other', 1]);
    assert.equal((await t.call('GET', '/v1/transcripts/usage')).body.used_ms, soundMs);
  });

  test('of what was heard ends after ten times, as its minutes are charged once', async () => {
    const t = await hearing().fresh();
    const id = await t.begin();
    await t.finalize(id, { mixed: sound });
    await t.over(id);
    await t.base.gateway.kernel.sql`update transcripts.transcripts set generation = 10 where id = ${id}`;
    const { status, body } = await t.call('POST', `/v1/transcripts/${id}/retranscribe`);
    assert.deepEqual([status, body.error.code], [429, 'quota_exceeded']);
    assert.equal((await t.over(id)).status, 'ready');
  });
});

describe('who said what, as a person corrected it', () => {
  test('is kept when the recording is transcribed anew', async () => {
    const t = await hearing().fresh();
    const id = await t.begin();
    const two = toneWords({ durationMs: 40_000, speakers: 2, turn: 12 });
    await t.finalize(id, { mixed: toneRecording(two, 40_000) });
    const first = await t.over(id);
    const { speaker: other } = first.utterances.find(
      ({ speaker }: { speaker: string }) => speaker !== first.utterances[0].speaker,
    );
    await t.call('PATCH', `/v1/transcripts/${id}/utterances/0`, { speaker: other });
    await t.call('POST', `/v1/transcripts/${id}/retranscribe`);
    const again = await hurriedOver(t, id);
    assert.deepEqual([again.utterances[0].speaker, again.edits_lost], [other, 0]);
    const counts = again.speakers.map(({ utterance_count: n }: { utterance_count: number }) => n);
    assert.equal(
      counts.reduce((a: number, b: number) => a + b),
      again.utterances.length,
    );
  });
});

describe('insights of a model', () => {
  test('hold only what utterances carry: a sentence that was made up is left out and counted', async () => {
    const truth = 'Ana sends the contract on Friday.';
    const answer = {
      title: 'Contract',
      summary: [{ text: truth, citations: [{ seq: 0 }] }],
      key_points: [{ text: truth, citations: [{ seq: 0, quote: 'the contract on Friday' }] }],
      actions: [{ text: truth, owner: null, due: 'Friday', citations: [{ seq: 0 }] }],
      decisions: [{ text: 'The company buys 300 servers in Paris.', citations: [{ seq: 0 }] }],
      open_questions: [],
      prompts: [{ title: 'Contract', prompt: 'Draft the contract that Ana sends on Friday.' }],
    };
    await using t = await openTranscripts({ says: null, model: saysJson(answer) });
    const id = await t.begin();
    await t.finalize(id, { mic: sound }, { preview_text: truth });
    const record = await t.over(id);
    const { insights } = record;
    if (insights.model === 'extractive') assert.fail(JSON.stringify(t.model.taken.at(-1)?.raw.slice(0, 3_000)));
    assert.deepEqual([insights.decisions, insights.dropped >= 1], [[], true]);
    assert.equal(insights.key_points[0].citations[0].quote, 'the contract on Friday.');
    assert.equal(insights.key_points[0].citations[0].start_ms, 0);
    const accepted = await t.call('POST', `/v1/transcripts/${id}/prompts/0/accept`);
    assert.deepEqual([accepted.status, accepted.body.prompt.source], [201, 'transcript']);
    const again = await t.call('POST', `/v1/transcripts/${id}/prompts/0/accept`);
    assert.deepEqual([again.status, again.body.id], [200, accepted.body.id]);
    const { transcript } = (await t.call('GET', `/v1/transcripts/${id}`)).body;
    assert.equal(transcript.insights.prompts[0].accepted_prompt_id, accepted.body.id);
    await until(async () => (await t.call('GET', `/v1/receipt?trace_id=${id}`)).status === 200);
    const stranger = await createAccount(t.base.gateway);
    assert.equal((await t.call('GET', `/v1/receipt?trace_id=${id}`, undefined, stranger.key)).status, 404);
  });
});
