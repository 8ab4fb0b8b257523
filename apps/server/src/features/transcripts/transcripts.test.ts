import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { publicTranscript } from '@svc/contract';
import { shared } from '../../testing.shared.ts';
import { clientOf, createAccount, http, until } from '../../testing.ts';
import { connectMcp } from '../mcp/mcp.testing.ts';
import { purgeAudio } from './transcripts.jobs.ts';
import { openTranscripts, saysJson, type TranscriptsTest } from './transcripts.testing.ts';
import { textOf, toneRecording, toneWords } from './transcripts.tones.testing.ts';

const soundMs = 20_000;
const words = toneWords({ durationMs: soundMs, speakers: 2, turn: 12 });
const sound = toneRecording(words, soundMs);

/** A recording whose transcript is ready; `text` stands in the places of what was heard. */
async function readyTranscript(t: TranscriptsTest, fields: object = {}, text: readonly string[] = []): Promise<string> {
  const id = await t.begin(fields);
  const { status, body } = await t.finalize(id, { mixed: sound });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal((await t.over(id)).status, 'ready');
  for (const [seq, one] of text.entries()) {
    const changed = await t.call('PATCH', `/v1/transcripts/${id}/utterances/${seq}`, { text: one });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
  }
  return id;
}

/** What the tests of a suite share. */
function opened(open: () => Promise<TranscriptsTest>): () => TranscriptsTest {
  const { it } = shared(async () => {
    const made = await open();
    return { it: made, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
  });
  return () => it;
}

describe('transcripts', () => {
  const it = opened(() => openTranscripts());

  test('begin once for each client id, with what a person sets, and at most a day ahead', async () => {
    const body = {
      client_id: 'phone-1',
      source: 'phone',
      title: 'Kickoff',
      language: 'ro',
      tags: ['a', 'a'],
      consent: 'all told',
    };
    const made = await it().call('POST', '/v1/transcripts', body);
    const again = await it().call('POST', '/v1/transcripts', { ...body, title: 'Other' });
    assert.deepEqual([made.status, again.status], [201, 200]);
    assert.equal(again.body.transcript.id, made.body.transcript.id);
    assert.deepEqual(
      [
        made.body.transcript.title,
        made.body.transcript.tags,
        made.body.transcript.status,
        made.body.transcript.consent,
      ],
      ['Kickoff', ['a'], 'recording', 'all told'],
    );
    const ahead = new Date(Date.now() + 2 * 86_400_000).toISOString();
    assert.equal((await it().call('POST', '/v1/transcripts', { started_at: ahead })).status, 400);
    assert.equal((await it().call('POST', '/v1/transcripts', { folder_id: randomUUID() })).status, 404);
    for (const wrong of [
      { title: '' },
      { language: 'romanian!' },
      { tags: Array.from({ length: 21 }, String) },
      { source: '' },
    ])
      assert.equal((await it().call('POST', '/v1/transcripts', wrong)).status, 400, JSON.stringify(wrong));
  });

  test('are listed in pages, newest first, by folder, tag, status, pin and title', async () => {
    const account = await createAccount(it().base.gateway);
    const call = (method: string, path: string, body?: unknown) => it().call(method, path, body, account.key);
    const { folder } = (await call('POST', '/v1/transcript-folders', { name: 'F' })).body;
    const ids = [];
    for (const fields of [
      { title: 'Ședință de luni' },
      { title: 'Two', tags: ['x'] },
      { title: 'Three', folder_id: folder.id },
    ])
      ids.push((await call('POST', '/v1/transcripts', fields)).body.transcript.id);
    await call('PATCH', `/v1/transcripts/${ids[0]}`, { pinned: true });
    const listed = async (query: string) =>
      (await call('GET', `/v1/transcripts?${query}`)).body.transcripts.map(({ title }: { title: string }) => title);
    assert.deepEqual(await listed(''), ['Three', 'Two', 'Ședință de luni']);
    assert.deepEqual(await listed('tag=x'), ['Two']);
    assert.deepEqual(await listed(`folder_id=${folder.id}`), ['Three']);
    assert.deepEqual(await listed('pinned=true'), ['Ședință de luni']);
    assert.deepEqual(await listed('q=sedinta'), ['Ședință de luni']);
    assert.deepEqual(await listed('status=ready'), []);
    const first = (await call('GET', '/v1/transcripts?limit=2')).body;
    const rest = (await call('GET', `/v1/transcripts?limit=2&cursor=${first.next_cursor}`)).body;
    assert.deepEqual([first.transcripts.length, rest.transcripts.length, rest.next_cursor], [2, 1, undefined]);
    assert.equal('utterances' in first.transcripts[0], false);
    assert.equal((await call('DELETE', `/v1/transcript-folders/${folder.id}`)).status, 200);
    assert.equal((await call('GET', `/v1/transcripts/${ids[2]}`)).body.transcript.folder_id, null);
  });

  test('change in the fields that a person gives, and null sets one back', async () => {
    const id = await it().begin({ title: 'Mine', tags: ['a'], language: 'en' });
    const change = async (body: object) => (await it().call('PATCH', `/v1/transcripts/${id}`, body)).body.transcript;
    const pinned = await change({ pinned: true });
    assert.ok(pinned.pinned_at);
    assert.equal((await change({ tags: ['b'] })).pinned_at, pinned.pinned_at);
    const back = await change({ title: null, tags: null, language: null, pinned: false, folder_id: null });
    assert.match(back.title, /^Recording of \d{4}-\d\d-\d\d$/);
    assert.deepEqual([back.tags, back.language, back.pinned_at], [[], null, null]);
  });

  test('keep bookmarks in the order of their times', async () => {
    const id = await it().begin();
    const mark = (body: object) => it().call('POST', `/v1/transcripts/${id}/bookmarks`, body);
    await mark({ at_ms: 500, note: 'later' });
    const { bookmark } = (await mark({ at_ms: 100 })).body;
    const { transcript } = (await it().call('GET', `/v1/transcripts/${id}`)).body;
    assert.deepEqual(
      transcript.bookmarks.map(({ at_ms: at, note }: { at_ms: number; note: string | null }) => [at, note]),
      [
        [100, null],
        [500, 'later'],
      ],
    );
    const many = Array.from({ length: 500 }, (_, n) => ({ at_ms: n }));
    const uploads = [{ track: 'mic', upload_id: (await it().upload(sound)).id }];
    const tooMany = await it().call('POST', `/v1/transcripts/${id}/finalize`, {
      duration_ms: 1,
      uploads,
      bookmarks: many,
    });
    assert.deepEqual([tooMany.status, tooMany.body.error.code], [429, 'quota_exceeded']);
    assert.equal((await it().call('DELETE', `/v1/transcripts/${id}/bookmarks/${bookmark.id}`)).status, 200);
    assert.equal((await it().call('DELETE', `/v1/transcripts/${id}/bookmarks/${bookmark.id}`)).status, 404);
  });

  test('finalize in the order of their checks, once, and answer the same body with what became of it', async () => {
    const id = await it().begin();
    const other = await createAccount(it().base.gateway);
    const upload = await it().upload(sound);
    const finalize = (uploads: unknown, more = {}, of = id) =>
      it().call('POST', `/v1/transcripts/${of}/finalize`, { duration_ms: 1, uploads, ...more });
    const codeOf = async (answer: ReturnType<typeof finalize>) => [
      (await answer).status,
      (await answer).body.error?.code,
    ];
    const track = { track: 'mixed', upload_id: upload.id };
    assert.deepEqual(await codeOf(finalize([track], {}, randomUUID())), [404, 'not_found']);
    assert.deepEqual(await codeOf(finalize([{ ...track, upload_id: randomUUID() }])), [404, 'not_found']);
    const theirs = await it().upload(sound, other);
    assert.deepEqual(await codeOf(finalize([{ ...track, upload_id: theirs.id }])), [404, 'not_found']);
    assert.deepEqual(await codeOf(finalize([track, track])), [400, 'bad_request']);
    assert.deepEqual(await codeOf(finalize([track, { ...track, track: 'mic' }])), [400, 'bad_request']);
    const text = await it().upload(Buffer.from('RIFF this is no sound'));
    assert.deepEqual(await codeOf(finalize([{ ...track, upload_id: text.id }])), [400, 'bad_request']);
    const none = await it().upload(Buffer.alloc(0));
    assert.deepEqual(await codeOf(finalize([{ ...track, upload_id: none.id }])), [400, 'bad_request']);
    const before = (await it().call('GET', '/v1/transcripts/usage')).body;
    const answers = await Promise.all([finalize([track]), finalize([track]), finalize([track])]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.deepEqual(await codeOf(finalize([track], { preview_text: 'x' })), [409, 'already_finalized']);
    const second = await it().begin();
    assert.deepEqual(await codeOf(finalize([track], {}, second)), [423, 'upload_locked']);
    assert.equal((await it().over(id)).status, 'ready');
    assert.deepEqual(await codeOf(finalize([track])), [200, undefined]);
    const { used_ms: used, reserved_ms: reserved } = (await it().call('GET', '/v1/transcripts/usage')).body;
    assert.deepEqual([used - before.used_ms, reserved], [soundMs, 0]);
  });

  test('are refused past the minutes of the month, and nothing is taken then', async () => {
    const account = await createAccount(it().base.gateway);
    const { sql } = it().base.gateway.kernel;
    await sql`insert into kernel.quotas (account_id, name, most) values (${account.id}, 'recording_ms', ${soundMs - 1})`;
    const { transcript } = (await it().call('POST', '/v1/transcripts', {}, account.key)).body;
    const upload = await it().upload(sound, account);
    const body = { duration_ms: 1, uploads: [{ track: 'mic', upload_id: upload.id }] };
    const refused = await it().call('POST', `/v1/transcripts/${transcript.id}/finalize`, body, account.key);
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'quota_exceeded']);
    assert.ok(Number(refused.headers.get('retry-after')) <= 31 * 86_400);
    const usage = (await it().call('GET', '/v1/transcripts/usage', undefined, account.key)).body;
    assert.deepEqual([usage.used_ms, usage.reserved_ms, usage.limit_ms], [0, 0, soundMs - 1]);
    assert.equal(
      (await it().call('GET', `/v1/transcripts/${transcript.id}`, undefined, account.key)).body.transcript.status,
      'recording',
    );
  });

  test('correct an utterance and keep what was heard; naming a speaker as another one joins the two', async () => {
    const id = await readyTranscript(it());
    const path = `/v1/transcripts/${id}`;
    const heard = (await it().call('GET', path)).body.transcript;
    assert.equal(heard.speakers.length, 2);
    const edited = (await it().call('PATCH', `${path}/utterances/0`, { text: 'Corrected' })).body.utterance;
    assert.deepEqual([edited.text, edited.original_text], ['Corrected', heard.utterances[0].text]);
    assert.ok(edited.edited_at);
    assert.equal((await it().call('GET', path)).body.transcript.insights.stale, true);
    const back = (await it().call('PATCH', `${path}/utterances/0`, { text: null })).body.utterance;
    assert.deepEqual([back.text, back.original_text, back.edited_at], [heard.utterances[0].text, null, null]);
    assert.equal((await it().call('PATCH', `${path}/utterances/9999`, { text: 'x' })).status, 404);
    assert.equal((await it().call('PATCH', `${path}/utterances/0`, { speaker: 'S9' })).status, 404);
    const name = (label: string, body: object) => it().call('PATCH', `${path}/speakers/${label}`, body);
    assert.equal((await name('S1', { name: 'Ana', is_self: true })).body.speaker.is_self, true);
    const moved = (await name('S2', { is_self: true })).body.speakers as { label: string; is_self: boolean }[];
    assert.deepEqual(
      moved.map(({ is_self: isSelf }) => isSelf),
      [false, true],
    );
    const joined = (await name('S2', { name: ' ana' })).body;
    assert.deepEqual([joined.speaker.label, joined.speaker.name, joined.speakers.length], ['S1', 'Ana', 1]);
    assert.equal(joined.speaker.utterance_count, heard.utterances.length);
    const { transcript } = (await it().call('GET', path)).body;
    assert.ok(transcript.utterances.every(({ speaker }: { speaker: string }) => speaker === 'S1'));
  });

  let made: Promise<string> | undefined;
  /** One that is ready, for tests that change nothing of it that another one reads. */
  const ready = (): Promise<string> => (made ??= readyTranscript(it()));

  test('give words with their times for a span, and none where a person wrote the text', async () => {
    const id = await ready();
    const all = (await it().call('GET', `/v1/transcripts/${id}`)).body.transcript.utterances;
    const { utterances } = (await it().call('GET', `/v1/transcripts/${id}/words?from_ms=0&to_ms=3000`)).body;
    assert.ok(utterances.length < all.length);
    assert.equal(utterances[0].words[0].text, textOf(words[0]?.id ?? -1));
    assert.equal(
      'words' in (await it().call('GET', `/v1/transcripts/${id}?words=none`)).body.transcript.utterances[0],
      false,
    );
    await it().call('PATCH', `/v1/transcripts/${id}/utterances/0`, { text: 'Mine' });
    assert.equal('words' in (await it().call('GET', `/v1/transcripts/${id}`)).body.transcript.utterances[0], false);
  });

  test('are exported in seven formats, as attachments named after the title', async () => {
    const id = await ready();
    await it().call('PATCH', `/v1/transcripts/${id}`, { title: 'Ședință „Țară”/1' });
    await it().call('PATCH', `/v1/transcripts/${id}/utterances/1`, { text: 'Prima propoziție.' });
    const get = (format: string) =>
      fetch(`${it().base.gateway.url}/v1/transcripts/${id}/export?format=${format}`, {
        headers: { authorization: `Bearer ${it().account.key}` },
      });
    for (const [format, type, begins] of [
      ['md', /^text\/markdown/, '# '],
      ['txt', /^text\/plain/, 'Ședință'],
      ['srt', /subrip/, '1\n'],
      ['vtt', /^text\/vtt/, 'WEBVTT'],
      ['json', /^application\/json/, '{'],
      ['pdf', /^application\/pdf/, '%PDF'],
      ['docx', /wordprocessingml/, 'PK'],
    ] as const) {
      const answer = await get(format);
      const bytes = Buffer.from(await answer.arrayBuffer());
      assert.equal(answer.status, 200, format);
      assert.match(answer.headers.get('content-type') ?? '', type);
      assert.ok(bytes.subarray(0, 20).toString().startsWith(begins), `${format}: ${bytes.subarray(0, 40).toString()}`);
      const disposition = answer.headers.get('content-disposition') ?? '';
      assert.match(disposition, new RegExp(`^attachment; filename="Sedinta[^"/]*\\.${format}"; filename\\*=UTF-8''`));
      if (format !== 'pdf' && format !== 'docx') assert.ok(bytes.toString().includes('Prima propoziție.'), format);
    }
    assert.equal((await get('exe')).status, 400);
    const empty = await it().begin();
    const refused = await it().call('GET', `/v1/transcripts/${empty}/export?format=md`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'nothing_heard']);
    const { acts } = (await it().call('GET', '/v1/audit?limit=20')).body;
    assert.ok(acts.some(({ action }: { action: string }) => action === 'transcripts.export'));
  });

  test('play their audio by signed links with ranges, and refuse forged and old ones', async () => {
    const id = await readyTranscript(it());
    const { tracks } = (await it().call('GET', `/v1/transcripts/${id}/audio`)).body;
    const url = String(tracks[0].url).replace(/^https?:\/\/[^/]+/, it().base.gateway.url);
    const whole = await fetch(url);
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(sound));
    assert.match(whole.headers.get('content-type') ?? '', /^audio\//);
    const part = await fetch(url, { headers: { range: 'bytes=4-9' } });
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 4-9/${sound.length}`]);
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(sound.subarray(4, 10)));
    const past = url.replace(/expires=\d+/, `expires=${Math.floor(Date.now() / 1000) - 10}`);
    for (const wrong of [past, `${url}x`, url.replace('/mixed', '/mic')])
      assert.equal((await fetch(wrong)).status, 403);
    assert.equal(
      (await it().call('GET', `/v1/transcripts/${await it().begin()}/audio`)).body.error.code,
      'not_finalized',
    );
    const { kernel } = it().base.gateway;
    const [blob = ''] = await kernel.blobs.list(`audio/${it().account.id}/${id}/`);
    await kernel.blobs.delete(blob);
    const lost = await fetch(url);
    assert.equal(lost.status, 500, 'not gone: lost');
    assert.match(await lost.text(), /this audio is missing in the store/);
    await kernel.blobs.put(blob, sound);
    await kernel.sql`update transcripts.transcripts set audio_expires_at = now() where id = ${id}`;
    await purgeAudio.run(kernel);
    const { transcript } = (await it().call('GET', `/v1/transcripts/${id}`)).body;
    assert.ok(transcript.audio_purged_at);
    assert.ok(transcript.utterances.length > 0);
    assert.equal((await it().call('GET', `/v1/transcripts/${id}/audio`)).body.error.code, 'audio_purged');
    assert.equal((await it().call('POST', `/v1/transcripts/${id}/retranscribe`)).body.error.code, 'audio_purged');
    assert.equal((await fetch(url)).status, 404);
    assert.deepEqual(await kernel.blobs.list(`audio/${it().account.id}/${id}/`), []);
  });

  test('hold what a vocabulary says, each term once', async () => {
    const account = await createAccount(it().base.gateway);
    const put = (entries: unknown) => it().call('PUT', '/v1/transcript-vocabulary', { entries }, account.key);
    assert.deepEqual((await it().call('GET', '/v1/transcript-vocabulary', undefined, account.key)).body, {
      entries: [],
      updated_at: null,
    });
    const kept = await put([{ term: 'Kubernetes', sounds_like: ['cooper netties'] }, { term: 'Kubernetes ' }]);
    assert.equal(kept.body.entries.length, 1);
    assert.equal((await put([{ term: '' }])).status, 400);
    assert.equal((await put(Array.from({ length: 1_001 }, (_, n) => ({ term: `t${n}` })))).status, 400);
    assert.equal((await put([{ term: 'x', note: 'y'.repeat(301) }])).status, 400);
  });

  test('stand in folders that may stand in folders, but not in themselves', async () => {
    const make = async (body: object) => (await it().call('POST', '/v1/transcript-folders', body)).body.folder.id;
    const outer = await make({ name: 'Outer' });
    const inner = await make({ name: 'Inner', parent_id: outer });
    const move = (id: string, parent: string | null) =>
      it().call('PATCH', `/v1/transcript-folders/${id}`, { parent_id: parent });
    assert.equal((await move(outer, inner)).status, 400);
    assert.equal((await move(outer, outer)).status, 400);
    assert.equal((await move(inner, randomUUID())).status, 404);
    assert.equal((await move(inner, null)).body.folder.parent_id, null);
    assert.equal((await it().call('PATCH', `/v1/transcript-folders/${inner}`, { color: 'red' })).status, 400);
  });

  test('show caption frames to those who follow, on every gateway, and drop those within 250 ms', async () => {
    const id = await it().begin();
    const client = clientOf(it().base.gateway, it().account.key);
    const stop = new AbortController();
    const frames = client.transcripts.stream({}, { signal: stop.signal });
    assert.equal((await frames.next()).value?.event, 'ready');
    const send = async (body: object) => (await it().call('POST', `/v1/transcripts/${id}/live`, body)).body;
    const sent = await Promise.all(Array.from({ length: 5 }, () => send({ partial: 'hello', finals: [] })));
    assert.equal(sent.filter(({ accepted }) => accepted).length, 1);
    const frame = (await frames.next()).value as { data: { op: string; id: string; live: { partial: string } } };
    assert.deepEqual([frame.data.op, frame.data.id, frame.data.live.partial], ['live', id, 'hello']);
    stop.abort();
    const long = { text: 'x'.repeat(500), start_ms: 0, end_ms: 1 };
    const tooLong = await it().call('POST', `/v1/transcripts/${id}/live`, {
      finals: Array.from({ length: 15 }, () => long),
    });
    assert.equal(tooLong.status, 400);
    assert.deepEqual((await it().call('POST', `/v1/transcripts/${await ready()}/live`, { partial: 'x' })).body, {
      accepted: false,
    });
  });

  test('go with everything of theirs, and their ids are unknown afterwards', async () => {
    const id = await readyTranscript(it());
    const { body } = await it().call('POST', `/v1/transcripts/${id}/shares`, {});
    assert.equal((await it().call('DELETE', `/v1/transcripts/${id}`)).status, 200);
    assert.equal((await it().call('DELETE', `/v1/transcripts/${id}`)).status, 404);
    assert.equal((await fetch(`${it().base.gateway.url}/v1/public/transcripts/${body.token}`)).status, 404);
    const { sql, blobs } = it().base.gateway.kernel;
    for (const table of ['utterances', 'words', 'speakers', 'steps', 'tracks', 'shares', 'names']) {
      const rows = await sql`select from ${sql(`transcripts.${table}`)} where transcript_id = ${id}`;
      assert.equal(rows.length, 0, table);
    }
    assert.deepEqual(await blobs.list(`audio/${it().account.id}/${id}/`), []);
  });

  test('are all hidden when the feature is off for the account, share links too', async () => {
    const account = await createAccount(it().base.gateway);
    const { transcript } = (await it().call('POST', '/v1/transcripts', {}, account.key)).body;
    const { token } = (await it().call('POST', `/v1/transcripts/${transcript.id}/shares`, {}, account.key)).body;
    const link = `${it().base.gateway.url}/v1/public/transcripts/${token}`;
    assert.equal((await fetch(link)).status, 200);
    const { kernel } = it().base.gateway;
    await kernel.sql`update accounts.accounts set features = '{"transcripts": false}' where id = ${account.id}`;
    await kernel.gateways.announce('credentials.changed', { accountId: account.id });
    for (const path of [
      '/v1/transcripts',
      `/v1/transcripts/${transcript.id}`,
      '/v1/transcript-folders',
      '/v1/transcript-vocabulary',
    ])
      assert.deepEqual((await it().call('GET', path, undefined, account.key)).status, 404, path);
    assert.equal((await fetch(link)).status, 404);
    await until(async () => (await fetch(link)).status === 404);
  });
});

describe('a shared transcript', () => {
  const it = opened(() => openTranscripts());

  /** Every string of a value, with its path. */
  const stringsOf = (value: unknown): string[] =>
    typeof value === 'string'
      ? [value]
      : typeof value === 'object' && value !== null
        ? Object.values(value).flatMap(stringsOf)
        : [];

  test('shows what the document allows and nothing that is private, as JSON and as a page', async () => {
    const id = await readyTranscript(
      it(),
      { title: 'Shown title', tags: ['canary-tag'], consent: 'canary-consent', source: 'canary-source' },
      ['Shown words <b>of Ana</b>'],
    );
    await it().call('POST', `/v1/transcripts/${id}/bookmarks`, { at_ms: 1, note: 'canary-note' });
    await it().call('PATCH', `/v1/transcripts/${id}/speakers/S1`, { name: 'Shown Ana', is_self: true });
    const cite = [{ seq: 0, speaker: 'S1', start_ms: 0, end_ms: 1, quote: 'canary-quote' }];
    const insights = {
      language: 'en',
      title: 'canary-title',
      summary: 'Shown summary.',
      key_points: [{ text: 'Shown point', citations: cite }],
      actions: [{ text: 'Shown action', owner: 'Shown owner', due: 'canary-due', citations: cite }],
      decisions: [{ text: 'canary-decision', citations: cite }],
      open_questions: [{ text: 'canary-question', citations: cite }],
      prompts: [{ index: 0, title: 'canary-prompt-title', prompt: 'canary-prompt', accepted_prompt_id: null }],
      model: 'canary-model',
      generated_at: new Date().toISOString(),
      dropped: 0,
    };
    const { sql } = it().base.gateway.kernel;
    await sql`update transcripts.transcripts set insights = ${JSON.stringify(insights)}::text::jsonb, preview_text = 'canary-preview'
      where id = ${id}`;
    const made = (await it().call('POST', `/v1/transcripts/${id}/shares`, { expiresInDays: 7 })).body;
    const answer = await fetch(`${it().base.gateway.url}/v1/public/transcripts/${made.token}`);
    const shown = (await answer.json()) as object;
    publicTranscript.parse(shown);
    const page = await fetch(made.url.replace(/^https?:\/\/[^/]+/, it().base.gateway.url));
    const html = await page.text();
    assert.deepEqual([answer.status, page.status], [200, 200]);
    const own = [it().account.id, it().account.email, id, it().account.keyId, made.token, made.id];
    for (const text of [JSON.stringify(shown), html]) {
      for (const wanted of ['Shown title', 'Shown Ana', 'Shown summary.', 'Shown point', 'Shown action', 'Shown owner'])
        assert.ok(text.includes(wanted), wanted);
      for (const hidden of [...own, 'canary']) assert.ok(!text.includes(hidden), hidden);
    }
    assert.ok(stringsOf(shown).includes('Shown words <b>of Ana</b>'));
    assert.ok(html.includes('Shown words &lt;b&gt;of Ana&lt;/b&gt;') && !html.includes('<script'));
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
    const [listed] = (await it().call('GET', `/v1/transcripts/${id}/shares`)).body.shares;
    assert.deepEqual([listed.url, listed.views], [null, 2]);
  });

  test('is gone in one way for links that are unknown, revoked or expired', async () => {
    const id = await readyTranscript(it());
    const share = async () => (await it().call('POST', `/v1/transcripts/${id}/shares`, {})).body;
    const [revoked, expired] = [await share(), await share()];
    assert.equal((await it().call('DELETE', `/v1/transcripts/${id}/shares/${revoked.id}`)).status, 200);
    assert.equal((await it().call('DELETE', `/v1/transcripts/${id}/shares/${revoked.id}`)).status, 404);
    await it().base.gateway.kernel.sql`update transcripts.shares set expires_at = now() where id = ${expired.id}`;
    const get = async (path: string, token: string) => {
      const response = await fetch(`${it().base.gateway.url}${path}${token}`);
      return [response.status, await response.text()];
    };
    for (const path of ['/v1/public/transcripts/', '/hub/t/']) {
      const unknown = await get(path, 'unknown');
      assert.equal(unknown[0], 404);
      for (const { token } of [revoked, expired]) assert.deepEqual(await get(path, token), unknown);
    }
    const hashes = await it().base.gateway.kernel.sql<{ token_hash: Buffer }[]>`
      select token_hash from transcripts.shares where id = ${expired.id}`;
    assert.deepEqual(hashes[0]?.token_hash, createHash('sha256').update(expired.token).digest());
    assert.equal(Buffer.from(expired.token, 'base64url').length, 32);
    for (const days of [0, 366, 1.5])
      assert.equal((await it().call('POST', `/v1/transcripts/${id}/shares`, { expiresInDays: days })).status, 400);
  });
});

describe('what recordings say', () => {
  const it = opened(() => openTranscripts({ model: saysJson({ found: true, answer: 'x', citations: [] }) }));

  test('is found by words in both languages, by misspelt names and by meaning', async () => {
    const id = await readyTranscript(it(), { title: 'Plan' }, [
      'Trimitem oferta către Popescu până vineri.',
      'The invoices were paid yesterday.',
    ]);
    await it().call('POST', `/v1/transcripts/${id}/reanalyze`);
    await it().over(id);
    await until(async () => (await it().call('GET', `/v1/transcripts/${id}`)).body.transcript.processing === null);
    const search = async (q: string, more = '') =>
      (await it().call('GET', `/v1/transcripts/search?q=${encodeURIComponent(q)}${more}`)).body;
    const [byWords] = (await search('ofertă', '&mode=text')).results;
    assert.deepEqual([byWords.seq, byWords.matched], [0, ['words']]);
    assert.equal(byWords.snippet.slice(...byWords.highlights[0]), 'oferta');
    assert.equal((await search('invoice pays', '&mode=text')).results[0].seq, 1);
    await it().call('PATCH', `/v1/transcripts/${id}/utterances/0`, {
      text: 'Trimitem oferta către Dumitrescu până vineri.',
    });
    assert.deepEqual((await search('Popesku', '&mode=text')).results, []);
    await it().call('PATCH', `/v1/transcripts/${id}/utterances/0`, {
      text: 'Trimitem oferta către Popescu până vineri.',
    });
    const [byName] = (await search('Popesku', '&mode=text')).results;
    assert.deepEqual([byName.seq, byName.matched], [0, ['name']]);
    const both = await search('invoices paid');
    assert.deepEqual([both.results[0].seq, both.degraded], [1, []]);
    assert.ok(both.results[0].matched.includes('meaning'));
    assert.deepEqual(
      (await search('the și of')).results.filter(({ matched }: { matched: string[] }) => matched.includes('words')),
      [],
    );
    assert.equal((await it().call('GET', '/v1/transcripts/search?q=x&cursor=zz')).status, 400);
    const stranger = await createAccount(it().base.gateway);
    const theirs = await it().call('GET', '/v1/transcripts/search?q=oferta', undefined, stranger.key);
    assert.deepEqual([theirs.body.results, theirs.body.degraded], [[], ['semantic']]);
  });

  test('is found at the sentence that holds the name or shares most with the question, with the bounds of its passage', async () => {
    const id = await readyTranscript(it(), { title: 'Site' }, [
      'We talked about the weather. The crane stands. In the end Popescu takes the keys.',
      'Then lunch was ordered. Invoices were paid yesterday.',
    ]);
    await it().call('POST', `/v1/transcripts/${id}/reanalyze`);
    await it().over(id);
    await until(async () => (await it().call('GET', `/v1/transcripts/${id}`)).body.transcript.processing === null);
    const { utterances } = (await it().call('GET', `/v1/transcripts/${id}`)).body.transcript;
    const [first, second] = utterances;
    const search = async (q: string, mode: string) => {
      const { body } = await it().call('GET', `/v1/transcripts/search?q=${encodeURIComponent(q)}&mode=${mode}`);
      return body.results.find((one: { transcript_id: string }) => one.transcript_id === id);
    };
    for (const mode of ['text', 'semantic', 'hybrid']) {
      const named = await search('Popesku', mode);
      assert.equal(named.seq, first.seq, mode);
      const middle = (first.start_ms + first.end_ms) / 2;
      assert.ok(named.start_ms > middle && named.end_ms <= first.end_ms, `${mode} ${JSON.stringify(named)}`);
      assert.ok(named.passage.start_ms === first.start_ms);
    }
    const meant = await search('paid invoices', 'semantic');
    assert.deepEqual([meant.seq, meant.matched], [second.seq, ['meaning']]);
    assert.ok(meant.start_ms > second.start_ms && meant.end_ms <= second.end_ms);
    assert.deepEqual(meant.passage, {
      seq: first.seq,
      to_seq: utterances.at(-1).seq,
      start_ms: first.start_ms,
      end_ms: utterances.at(-1).end_ms,
    });
  });

  test('is answered only with quotes that stand in it, and with passages when a model makes them up', async () => {
    const id = await readyTranscript(it(), { title: 'Plan' }, [
      'Ana sends the contract on Friday.',
      'Dan pays the hotel.',
    ]);
    const ask = async (body: object) => it().call('POST', '/v1/transcripts/ask', body);
    const { body: reader } = await it().call('POST', '/v1/keys', { name: 'r', scopes: ['transcripts:read'] });
    const unpaid = await it().call('POST', '/v1/transcripts/ask', { question: 'x' }, reader.key);
    assert.deepEqual([unpaid.status, unpaid.body.error.details.scopes], [403, ['transcripts']], 'a model costs money');
    it().model.script = (response, taken) =>
      saysJson({
        found: true,
        answer: 'Ana sends the contract on Friday. [1]',
        citations: [{ n: 1, quote: 'sends the contract on Friday' }],
      })(response, taken);
    const good = (await ask({ question: 'When does Ana send the contract?', transcript_ids: [id] })).body;
    assert.match(good.answer, /Friday\. \[1\]/);
    assert.deepEqual([good.citations[0].transcript_id, good.citations[0].seq, good.model], [id, 0, 'writer']);
    assert.ok('Ana sends the contract on Friday.'.includes(good.citations[0].quote));
    it().model.script = (response, taken) =>
      saysJson({ found: true, answer: 'Ana resigned. [1]', citations: [{ n: 1, quote: 'Ana resigned' }] })(
        response,
        taken,
      );
    const invented = (await ask({ question: 'When does Ana send the contract?', transcript_ids: [id] })).body;
    assert.equal(invented.model, 'extractive');
    assert.ok(invented.degraded.includes('insights') && !invented.answer.includes('resigned'));
    assert.equal((await ask({ question: 'x', transcript_ids: [randomUUID()] })).status, 404);
    assert.equal((await ask({ question: '' })).status, 400);
  });

  test('is read by agents over the Model Context Protocol, with seven tools', async () => {
    const id = await readyTranscript(it(), { title: 'For agents' }, ['Ana sends the contract on Friday.']);
    await using mcp = await connectMcp(it().base.gateway, it().account.key);
    const names = (await mcp.client.listTools()).tools
      .map(({ name }) => name)
      .filter((name) => name.includes('transcript'));
    assert.deepEqual(names.sort(), [
      'accept_transcript_prompt',
      'ask_transcripts',
      'export_transcript',
      'get_transcript',
      'list_transcripts',
      'search_transcripts',
      'transcript_share_create',
    ]);
    assert.equal((await mcp.call('get_transcript', { id })).data.transcript.title, 'For agents');
    assert.ok((await mcp.call('list_transcripts', { limit: 1 })).data.transcripts.length === 1);
    assert.match((await mcp.call('export_transcript', { id, format: 'txt' })).text, /contract on Friday/);
    assert.equal((await mcp.call('export_transcript', { id, format: 'pdf' })).isError, true);
    assert.equal(await mcp.codeOf('accept_transcript_prompt', { id, index: 0 }), 'not_found');
    const shareUrl = (await mcp.call('transcript_share_create', { id, expiresInDays: 1 })).data.url;
    assert.equal((await mcp.call('transcript_share_create', { id, expires_in_days: 1 })).isError, true);
    assert.equal((await mcp.call('list_transcripts', { limit: null, tag: null })).isError, false);
    assert.match(shareUrl, /\/hub\/t\//);
    const { key } = (
      await http(it().base.gateway.url, '/v1/keys', { key: it().account.key, body: { name: 'n', scopes: ['mcp'] } })
    ).body;
    await using narrow = await connectMcp(it().base.gateway, key);
    assert.equal(await narrow.codeOf('get_transcript', { id }), 'forbidden');
  });
});
