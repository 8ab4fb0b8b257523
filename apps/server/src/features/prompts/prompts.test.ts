import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { asOwner, createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { Frames, followControls, openDevice, type TestDevice } from '../sessions/sessions.testing.ts';
import { listDue } from './prompts.sql.ts';
import { reportTurn } from './prompts.testing.ts';

const day = 86_400_000;

/** The frames of a stream of prompts after its first. */
async function* changesOf(device: TestDevice, signal: AbortSignal) {
  for await (const frame of device.client.prompts.stream({}, { signal })) if (frame.event === 'prompt') yield frame;
}

describe('prompts', () => {
  const clock = testClock(Date.parse('2026-11-02T09:00:00Z'));
  const { gateway, second } = shared(() => openTest({ clock, gateways: 2, settings: { SVC_QUOTA_PROMPTS: '12' } }));
  let account: TestAccount;
  let phone: TestDevice;
  let laptop: TestDevice;
  beforeEach(async () => {
    account = await createAccount(gateway);
    phone = await openDevice(gateway, account);
    laptop = await openDevice(second, account, { platform: 'Desktop' });
  });
  const keep = (prompt: string, more: object = {}, device = phone) =>
    device.ask('POST', '/v1/prompts', { prompt, ...more });
  const get = async (id: string) => (await laptop.ask('GET', `/v1/prompts/${id}`)).body.prompt;
  const change = (id: string, body: object) => phone.ask('PATCH', `/v1/prompts/${id}`, body);
  const launch = (id: string, body?: object) => phone.ask('POST', `/v1/prompts/${id}/launch`, body);
  const match = (id: string, turn = 't') =>
    phone.ask('POST', `/v1/prompts/${id}/match`, { match_ref: 'chat', match_turn_id: turn });
  const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
    status,
    body.error?.code,
  ];
  const inbox = async () =>
    (
      (await phone.ask('GET', '/v1/notifications')).body.notifications as {
        type: string;
        url: string;
        body: string;
        resolution?: string;
      }[]
    ).filter(({ type }) => type === 'prompt.due');
  const resolutions = async () => (await inbox()).map(({ resolution }) => resolution);
  const list = async (query = '') =>
    ((await phone.ask('GET', `/v1/prompts${query}`)).body.prompts as { id: string }[]).map(({ id }) => id);

  test('a text is kept once, whatever its white space and whatever became of it, until it is deleted', async () => {
    const first = await keep('Write  the\ntests', { source: 'hook', goal_key: 'g', auto_run: false });
    assert.equal(first.status, 201);
    assert.deepEqual([first.body.created, first.body.id], [true, first.body.prompt.id]);
    assert.deepEqual([first.body.prompt.source, first.body.prompt.status], ['hook', 'open']);
    await change(first.body.id, { status: 'done' });
    const again = await keep(' Write the tests ', { goal_key: 'other', not_before: '2030-01-01' }, laptop);
    assert.deepEqual([again.status, again.body.created, again.body.id], [200, false, first.body.id]);
    assert.deepEqual([again.body.prompt.goal_key, again.body.prompt.prompt], ['g', 'Write  the\ntests']);
    const other = await createAccount(gateway);
    assert.equal(
      (await http(gateway.url, '/v1/prompts', { key: other.key, body: { prompt: 'Write the tests' } })).status,
      201,
    );
    assert.equal((await phone.ask('DELETE', `/v1/prompts/${first.body.id}`)).body.deleted, true);
    assert.equal((await keep('Write the tests')).status, 201);
  });

  test('of many who keep one text at once, one creates it', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => keep('Once', {}, i % 2 ? phone : laptop)));
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.ok(answers.every(({ status }) => status === 200 || status === 201));
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  });

  test('what is no prompt is refused, field by field', async () => {
    for (const [body, field] of [
      [{}, 'prompt'],
      [{ prompt: ' \n' }, 'prompt'],
      [{ prompt: 'x'.repeat(100_001) }, 'prompt'],
      [{ prompt: 'a\u0000' }, 'prompt'],
      [{ prompt: 'x', source: 'x'.repeat(65) }, 'source'],
      [{ prompt: 'x', not_before: '2026-02-30' }, 'not_before'],
      [{ prompt: 'x', not_before: '2026-11-03T07:00:00' }, 'not_before'],
      [{ prompt: 'x', not_before: 'tomorrow' }, 'not_before'],
      [{ prompt: 'x', not_before: '0000-01-01' }, 'not_before'],
      [{ prompt: 'x', not_before: '0001-01-01T00:00:00+14:00' }, 'not_before'],
      [{ prompt: 'x', not_before: '9999-12-31T23:59:59-14:00' }, 'not_before'],
      [{ prompt: 'x', not_before: 5 }, 'not_before'],
      [{ prompt: 'x', auto_run: 'yes' }, 'auto_run'],
      [{ prompt: 'x', target_device_id: 'x' }, 'target_device_id'],
      [{ prompt: 'x', target_device_id: randomUUID() }, 'target_device_id'],
    ] as const) {
      const { status, body: refused } = await phone.ask('POST', '/v1/prompts', body);
      assert.deepEqual([status, Object.keys(refused.error.details.fieldErrors)], [400, [field]], JSON.stringify(body));
    }
    assert.deepEqual(await list('?status=all'), []);
  });

  test('a date means 07:00 UTC, and an instant is kept in UTC', async () => {
    assert.equal((await keep('a', { not_before: '2026-11-03' })).body.prompt.not_before, '2026-11-03T07:00:00.000Z');
    const { body } = await keep('b', { not_before: '2026-11-03T10:00:00+02:00' });
    assert.equal(body.prompt.not_before, '2026-11-03T08:00:00.000Z');
    assert.equal(
      (await change(body.id, { not_before: '2026-12-01' })).body.prompt.not_before,
      '2026-12-01T07:00:00.000Z',
    );
    assert.equal('not_before' in (await change(body.id, { not_before: null })).body.prompt, false);
  });

  test('an instant is taken in every form of ISO 8601 that has an offset, and what is none is told so', async () => {
    const forms = {
      '2026-11-24T07:00Z': '2026-11-24T07:00:00.000Z',
      '2026-11-24t07:00:00z': '2026-11-24T07:00:00.000Z',
      '2026-11-24T07:00:00+0200': '2026-11-24T05:00:00.000Z',
      '2026-11-24T07:00:00.25-05:30': '2026-11-24T12:30:00.250Z',
    };
    for (const [given, kept] of Object.entries(forms))
      assert.equal((await keep(`At ${given}`, { not_before: given })).body.prompt.not_before, kept, given);
    for (const given of ['2026-11-24T07:00:00', '2026-02-30', '2026-02-30T07:00Z', '2026-11-24T25:00Z', 'tomorrow']) {
      const { status, body } = await keep('Never', { not_before: given });
      assert.deepEqual([status, body.error.message.startsWith('not_before: must be')], [400, true], given);
    }
  });

  test('null sets auto_run back', async () => {
    const { id } = (await keep('Not by itself', { auto_run: true, not_before: '2027-01-01' })).body;
    assert.equal((await change(id, { auto_run: null })).body.prompt.auto_run, false);
  });

  test('a newer prompt of a goal supersedes the open ones of it, and no others', async () => {
    const one = (await keep('one', { goal_key: 'g' })).body.id;
    const launched = (await keep('two', { goal_key: 'g' })).body.id;
    assert.equal((await get(one)).superseded_by, launched);
    await launch(launched);
    const three = (await keep('three', { goal_key: 'g' })).body.id;
    await keep('else', { goal_key: 'h' });
    assert.deepEqual(
      [(await get(one)).status, (await get(launched)).status, (await get(three)).status],
      ['superseded', 'launched', 'open'],
    );
    const many = await Promise.all(
      [4, 5, 6, 7].map((n) => keep(`at once ${n}`, { goal_key: 'g' }, n % 2 ? phone : laptop)),
    );
    const states = await Promise.all(many.map(async ({ body }) => (await get(body.id)).status));
    assert.equal(states.filter((status) => status === 'open').length, 1);
  });

  test('lists have what their status asks for, newest first, by pages', async () => {
    // Those of one millisecond have no order in time.
    const keepNext = async (prompt: string, more?: object): Promise<string> => {
      clock.advance(1);
      return (await keep(prompt, more)).body.id;
    };
    const [due, later, done] = [
      await keepNext('due'),
      await keepNext('later', { not_before: '2026-12-01' }),
      await keepNext('done'),
    ];
    await change(done, { status: 'done' });
    const sent = (await keep('sent')).body.id;
    await match(sent);
    const has = async (status: string, ids: string[]) =>
      assert.deepEqual((await list(`?status=${status}`)).sort(), ids.sort(), status);
    assert.deepEqual(new Set(await list()), new Set([later, due]));
    await has('due', [due]);
    await has('active', [due, later, sent]);
    await has('all', [due, later, done, sent]);
    await has('done', [done]);
    await has('sent', [sent]);
    await has('verified', []);
    const page = (await phone.ask('GET', '/v1/prompts?status=all&limit=3')).body;
    const rest = await list(`?status=all&limit=3&cursor=${page.next_cursor}`);
    assert.deepEqual([page.prompts.length, rest.length], [3, 1]);
    for (const query of ['?status=nonsense', '?limit=0', '?limit=201', '?cursor=x'])
      assert.equal((await phone.ask('GET', `/v1/prompts${query}`)).status, 400, query);
  });

  test('a page of long prompts ends at 4 MiB, and the next one goes on', async () => {
    const ids = [];
    // Three bytes a letter.
    for (let n = 0; n < 12; n += 1) ids.push((await keep(`${n} ${'€'.repeat(99_000)}`)).body.id);
    assert.equal((await keep('one too many')).status, 429);
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages += 1) {
      const { body } = await phone.ask('GET', `/v1/prompts?limit=200${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.prompts.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    assert.deepEqual([pages, seen.length, new Set(seen).size], [1, 12, 12]);
  });

  test('a reminder comes once when its instant passes, on every gateway together, and once more after a snooze', async () => {
    const { id } = (await keep('Call the bank\nabout the card', { not_before: '2026-11-03' })).body;
    assert.equal((await inbox()).length, 0);
    clock.leap(Date.parse('2026-11-03T07:00:00Z') - clock.now());
    await until(async () => (clock.advance(1_000), (await inbox()).length > 0));
    clock.advance(10_000);
    const [told] = await inbox();
    assert.equal(told?.url, `svc://prompts/${id}`);
    const soon = new Date(clock.now() + 60_000).toISOString();
    await change(id, { not_before: soon });
    assert.deepEqual(await resolutions(), ['postponed']);
    clock.advance(61_000);
    await until(async () => (clock.advance(1_000), (await inbox()).length === 2));
    clock.advance(60_000);
    assert.equal((await inbox()).length, 2);
    assert.equal((await get(id)).status, 'open');
    // Into the past: it is due, and nobody is told.
    await change(id, { not_before: '2026-01-01' });
    clock.advance(5_000);
    assert.deepEqual(await list('?status=due'), [id]);
    assert.equal((await inbox()).length, 2);
    await change(id, { status: 'done' });
    assert.deepEqual(await resolutions(), ['postponed', 'postponed']);
  });

  test('300 reminders of one instant are told in a few transactions, each once', async () => {
    const others = await createAccount(gateway);
    const at = new Date(clock.now() + 60_000).toISOString();
    const { sql } = gateway.kernel;
    await sql`
      insert into prompts.prompts
        (account_id, prompt, bytes, text_hash, source, auto_run, state, not_before, armed_at, reminds, created_at, updated_at)
      select ${others.id}, 'Reminder ' || n, 12, decode(md5(n::text), 'hex'), 'agent', false, 'open', ${at}, ${at}, true, now(), now()
      from generate_series(1, 300) n`;
    clock.advance(61_000);
    const count = async () =>
      (
        await sql<{ n: number; transactions: number }[]>`
        select count(*)::int as n, count(distinct xmin::text)::int as transactions
        from notifications.notifications where account_id = ${others.id} and type = 'prompt.due'`
      )[0];
    await until(async () => (clock.advance(1_000), (await count())?.n === 300));
    assert.ok(
      ((await count())?.transactions ?? 300) <= 6,
      'three of 100 at one gateway; two of them share the work at most',
    );
    clock.advance(10_000);
    assert.equal((await count())?.n, 300);
  });

  test('what is closed before its instant is neither told nor launched', async () => {
    const { id } = (await keep('Later', { not_before: '2026-12-24', auto_run: true })).body;
    await change(id, { status: 'dismissed' });
    clock.leap(60 * day);
    const mark = (await keep('Mark', { not_before: new Date(clock.now() + 1_000).toISOString() })).body.id;
    await until(async () => (clock.advance(1_000), (await inbox()).length > 0));
    assert.deepEqual(
      (await inbox()).map(({ url }) => url),
      [`svc://prompts/${mark}`],
    );
    assert.equal((await get(id)).status, 'dismissed');
  });

  test('a launch opens a session and sends the text to the device that is named, the prompt’s, or the freshest one', async () => {
    const tablet = await openDevice(gateway, account, { platform: 'android' });
    const older = await openDevice(gateway, account, { platform: 'desktop' });
    const { sql } = gateway.kernel;
    await sql`update devices.devices set last_seen = now() - interval '1 day' where id = ${older.id}`;
    await sql`update devices.devices set last_seen = now() + interval '1 hour' where id = ${tablet.id}`;
    const targetOf = async (id: string) => {
      const { run_session_id: session } = await get(id);
      const [row] = await sql<
        { target_device_id: string }[]
      >`select * from sessions.controls where session_id = ${session}`;
      return row?.target_device_id;
    };
    using waiting = followControls(tablet);
    const { id } = (await keep('Do it now')).body;
    const { body } = await launch(id);
    assert.deepEqual([body.prompt.status, typeof body.prompt.run_session_id], ['launched', 'string']);
    assert.ok(body.prompt.launched_at);
    const { data } = await waiting.find(({ data }) => data.session_id === body.prompt.run_session_id);
    assert.deepEqual([data.type, data.text, data.target_device_id], ['send', 'Do it now', tablet.id]);
    const given = (await keep('For the old one', { target_device_id: older.id })).body.id;
    await launch(given);
    assert.equal(await targetOf(given), older.id);
    await launch(given, { target_device_id: phone.id });
    assert.equal(await targetOf(given), phone.id);
    assert.equal((await launch(given, { target_device_id: randomUUID() })).status, 400);
    const session = (await phone.ask('GET', `/v1/sessions/${body.prompt.run_session_id}`)).body;
    assert.deepEqual([session.title, session.metadata], ['Do it now', { prompt_id: id }]);
  });

  test('a launch that is sent again with its Idempotency-Key opens no second session', async () => {
    const { id } = (await keep('Once, whatever the network does', { target_device_id: laptop.id })).body;
    const headers = { 'idempotency-key': 'launch-1' };
    const again = (url: string) =>
      http(url, `/v1/prompts/${id}/launch`, { method: 'POST', key: account.key, headers, body: {} });
    const [first, repeat] = [await again(gateway.url), await again(second.url)];
    assert.equal(first.status, 200);
    assert.equal(repeat.body.prompt.run_session_id, first.body.prompt.run_session_id);
    assert.equal((await phone.ask('GET', '/v1/sessions')).body.sessions.length, 1);
  });

  test('a device that is forgotten is no target any more: the freshest one is', async () => {
    const gone = await openDevice(gateway, account, { platform: 'desktop' });
    const { id } = (await keep('For whoever is there', { target_device_id: gone.id })).body;
    assert.equal((await phone.ask('DELETE', `/v1/devices/${gone.id}`)).status, 200);
    const { run_session_id: session } = (await launch(id)).body.prompt;
    const [control] = await gateway.kernel.sql<{ target_device_id: string }[]>`
      select target_device_id from sessions.controls where session_id = ${session}`;
    assert.equal(control?.target_device_id, laptop.id);
  });

  test('what is due is taken of each account in turn', async () => {
    const other = await openDevice(gateway, await createAccount(gateway), { platform: 'desktop' });
    const at = new Date(clock.now() + 500_000).toISOString();
    const mine = [];
    for (let n = 0; n < 4; n += 1) mine.push((await keep(`Mine ${n}`, { not_before: at })).body.id);
    const theirs = (await keep('Theirs', { not_before: new Date(clock.now() + 600_000).toISOString() }, other)).body.id;
    const later = { instant: () => new Date(clock.now() + 700_000).toISOString() };
    const due = (await listDue(gateway.kernel.sql, later, 1_000, [])).map(({ id }) => id);
    const [, second = ''] = mine.toSorted((a, b) => due.indexOf(a) - due.indexOf(b));
    assert.ok(due.includes(theirs) && due.indexOf(theirs) < due.indexOf(second));
  });

  test('auto_run launches at once when nothing is to be waited for, and when the instant passes', async () => {
    const now = (await keep('At once', { auto_run: true })).body.id;
    const later = (await keep('Tomorrow', { auto_run: true, not_before: new Date(clock.now() + day).toISOString() }))
      .body.id;
    await until(async () => (clock.advance(500), (await get(now)).status === 'launched'));
    assert.equal((await get(later)).status, 'open');
    assert.equal((await inbox()).length, 0);
    clock.leap(day);
    await until(async () => (clock.advance(500), (await get(later)).status === 'launched'));
    assert.equal((await inbox()).length, 1);
    const switched = (await keep('Switched on')).body.id;
    await change(switched, { auto_run: true });
    await until(async () => (clock.advance(500), (await get(switched)).status === 'launched'));
  });

  test('nothing of a suspended account is told or launched; it is when the account may run again', async () => {
    const { id } = (await keep('Wait', { auto_run: true, not_before: new Date(clock.now() + 1_000).toISOString() }))
      .body;
    const { sql } = gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    const other = await createAccount(gateway);
    const theirs = await openDevice(gateway, other, { platform: 'desktop' });
    const mark = (await keep('Mark', { auto_run: true }, theirs)).body.id;
    const stateOf = async (one: string) =>
      (await sql<{ state: string }[]>`select state from prompts.prompts where id = ${one}`)[0]?.state;
    clock.advance(2_000);
    await until(async () => (clock.advance(500), (await stateOf(mark)) === 'launched'));
    assert.equal(await stateOf(id), 'open');
    await sql`update accounts.accounts set suspended_at = null where id = ${account.id}`;
    await until(async () => (clock.advance(500), (await stateOf(id)) === 'launched'));
  });

  test('a turn that carries a prompt makes it sent, and its end makes it answered', async () => {
    const { id } = (await keep('Sort the photos of the summer by place and make an album of each')).body;
    const session = (await laptop.ask('POST', '/v1/sessions', {})).body.id;
    const turn = await reportTurn(
      laptop,
      session,
      'Sort the photos  of the summer by place and make an album of each',
      { ends: false },
    );
    await until(async () => (await get(id)).status === 'sent');
    const sent = await get(id);
    assert.deepEqual([sent.match_ref, sent.match_turn_id], [session, turn]);
    const { seq } = (await laptop.ask('GET', `/v1/sessions/${session}`)).body;
    const events = [{ type: 'turn_end', turn_id: turn }];
    await laptop.ask('POST', `/v1/sessions/${session}/events`, { expected_seq: seq, events });
    await until(async () => (await get(id)).status === 'answered');
    // Another turn with the text sends it again.
    const next = await reportTurn(
      laptop,
      session,
      'sort the photos of the summer by place, and make an album of each!',
    );
    await until(async () => (await get(id)).match_turn_id === next && (await get(id)).status === 'answered');
  });

  test('of several prompts that a turn carries the same text is sent, then the one that shares most, and no closed one', async () => {
    const text = 'Plan the garden for spring with tomatoes peppers beans peas onions garlic and a row of flowers';
    const same = (await keep(text)).body.id;
    const overlap = (await keep(`${text} please`)).body.id;
    const further = (await keep(`${text} with all details`)).body.id;
    const closed = (await keep(`${text} now`)).body.id;
    await change(closed, { status: 'dismissed' });
    const session = (await laptop.ask('POST', '/v1/sessions', {})).body.id;
    const states = async () => Promise.all([same, overlap, further, closed].map(async (id) => (await get(id)).status));
    await reportTurn(laptop, session, text);
    await until(async () => (await get(same)).status === 'answered');
    assert.deepEqual(await states(), ['answered', 'open', 'open', 'dismissed']);
    await reportTurn(laptop, session, `${text} pleased`);
    await until(async () => (await get(same)).match_ref === session && (await states()).every((one) => one !== 'sent'));
    await change(same, { status: 'done' });
    await reportTurn(laptop, session, `${text} thanks`);
    await until(async () => (await get(overlap)).status === 'answered');
    assert.deepEqual(await states(), ['done', 'answered', 'open', 'dismissed']);
  });

  test('a client reports a match of its own, to prompts that are active', async () => {
    const { id } = (await keep('Elsewhere')).body;
    const { body } = await match(id);
    assert.deepEqual([body.prompt.status, body.prompt.match_ref, body.prompt.match_turn_id], ['sent', 'chat', 't']);
    await change(id, { status: 'done' });
    assert.deepEqual(codeOf(await match(id)), [409, 'prompt_closed']);
    assert.equal((await phone.ask('POST', `/v1/prompts/${id}/match`, { match_ref: 'chat' })).status, 400);
  });

  test('a match that a client reports late or twice does not undo the answer of its turn', async () => {
    const { id } = (await keep('Water the plants')).body;
    const session = (await laptop.ask('POST', '/v1/sessions', {})).body.id;
    const turn = await reportTurn(laptop, session, 'something else altogether');
    const report = async () =>
      (await phone.ask('POST', `/v1/prompts/${id}/match`, { match_ref: session, match_turn_id: turn })).body.prompt;
    const answered = await report();
    assert.deepEqual([answered.status, answered.match_turn_id], ['answered', turn]);
    assert.deepEqual(await report(), answered);
    const other = await match(id);
    assert.deepEqual([other.body.prompt.status, (await match(id)).body.prompt], ['sent', other.body.prompt]);
  });

  test('a launch by itself that is refused leaves no session behind, and the account is told, due at once or later', async () => {
    const { id: target } = await openDevice(gateway, account, { platform: 'desktop' });
    const { id } = (
      await keep('Later by itself', {
        auto_run: true,
        target_device_id: target,
        not_before: new Date(clock.now() + 1_000).toISOString(),
      })
    ).body;
    const other = (await phone.ask('POST', '/v1/sessions', {})).body.id;
    await gateway.kernel.sql`
      insert into sessions.controls (session_id, account_id, type, target_device_id, created_at)
      select ${other}, ${account.id}, 'ring', ${target}, now() from generate_series(1, 200)`;
    await until(async () => (clock.advance(1_000), (await inbox()).length > 0));
    assert.match((await inbox())[0]?.body ?? '', /not launched: 200 controls wait for this device/);
    assert.equal((await get(id)).status, 'open');
    const { sessions } = (await phone.ask('GET', '/v1/sessions')).body;
    assert.deepEqual(
      sessions.map((one: { id: string }) => one.id),
      [other],
    );
  });

  test('what is closed stays closed', async () => {
    const { id } = (await keep('Closed')).body;
    assert.equal((await change(id, { status: 'open' })).body.prompt.status, 'open');
    assert.equal((await change(id, { status: 'done' })).body.prompt.status, 'done');
    for (const body of [
      { status: 'done' },
      { status: 'open' },
      { status: 'dismissed' },
      { not_before: null },
      { auto_run: true },
    ])
      assert.deepEqual(codeOf(await change(id, body)), [409, 'prompt_closed'], JSON.stringify(body));
    assert.deepEqual(codeOf(await launch(id)), [409, 'prompt_closed']);
    const sent = (await keep('Sent')).body.id;
    await match(sent);
    for (const body of [{ status: 'open' }, { not_before: '2030-01-01' }])
      assert.equal((await change(sent, body)).status, 400);
    for (const body of [{}, { status: 'sent' }, { prompt: 'new text' }])
      assert.equal((await change(sent, body)).status, 400);
    assert.equal((await change(sent, { status: 'done' })).body.prompt.status, 'done');
  });

  test('a change is whole or nothing', async () => {
    const { id } = (await keep('Whole')).body;
    const before = await get(id);
    assert.equal((await change(id, { auto_run: true, target_device_id: randomUUID(), status: 'done' })).status, 400);
    assert.deepEqual(await get(id), before);
  });

  test('every creation, change and deletion reaches the streams of the account, on both gateways, and no other account', async () => {
    const other = await openDevice(gateway, await createAccount(gateway));
    const open = (device: TestDevice) => {
      const abort = new AbortController();
      return new Frames(abort, changesOf(device, abort.signal));
    };
    using here = open(phone);
    using there = open(laptop);
    using theirs = open(other);
    await until(() => gateway.kernel.streams.count() + second.kernel.streams.count() >= 3);
    const { id } = (await keep('Watch me')).body;
    await change(id, { not_before: '2027-01-01' });
    await phone.ask('DELETE', `/v1/prompts/${id}`);
    const mark = (await keep('Mine', {}, other)).body.id;
    for (const frames of [here, there]) {
      await frames.find(({ data }) => data.op === 'delete');
      assert.deepEqual(frames.all.map(({ data }) => [data.op, data.prompt.id]).at(-1), ['delete', id]);
      assert.equal(frames.all[0]?.data.op, 'create');
    }
    await theirs.find(({ data }) => data.prompt.id === mark);
    assert.deepEqual(
      theirs.all.map(({ data }) => data.prompt.id),
      [mark],
    );
  });
});

test('prompts that cannot be handled when they are due keep none back that come after them', async () => {
  const clock = testClock(Date.parse('2026-11-02T09:00:00Z'));
  await using t = await openTest({ clock });
  const phone = await openDevice(t.gateway, await createAccount(t.gateway));
  const at = (ms: number): string => new Date(clock.now() + ms).toISOString();
  for (let n = 0; n < 25; n += 1)
    await phone.ask('POST', '/v1/prompts', { prompt: `Broken ${n}`, source: 'broken', not_before: at(1_000) });
  await phone.ask('POST', '/v1/prompts', { prompt: 'Whole', not_before: at(2_000) });
  await asOwner(t.database, async (sql) => {
    await sql`
      create function prompts.fail() returns trigger language plpgsql as 'begin raise exception ''broken''; end'`;
    await sql`
      create trigger fail before update on prompts.prompts for each row when (new.source = 'broken')
      execute function prompts.fail()`;
  });
  const told = async () => (await phone.ask('GET', '/v1/notifications')).body.notifications;
  await until(async () => (clock.advance(500), (await told()).length > 0));
  assert.equal((await told())[0].title, 'Due: Whole');
});
