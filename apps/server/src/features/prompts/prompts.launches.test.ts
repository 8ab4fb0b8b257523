import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { findListening } from '../devices/index.ts';
import { followControls, openDevice, type TestDevice } from '../sessions/sessions.testing.ts';
import { reportTurn } from './prompts.testing.ts';

describe('launches of prompts', () => {
  const clock = testClock();
  const { gateway, second } = shared(() => openTest({ clock, gateways: 2 }));
  let account: TestAccount;
  let phone: TestDevice;
  let laptop: TestDevice;
  beforeEach(async () => {
    account = await createAccount(gateway);
    phone = await openDevice(gateway, account);
    laptop = await openDevice(second, account, { platform: 'Desktop' });
  });
  const keep = async (prompt: string, device = phone): Promise<string> =>
    (await device.ask('POST', '/v1/prompts', { prompt })).body.id;
  const get = async (id: string) => (await phone.ask('GET', `/v1/prompts/${id}`)).body.prompt;
  const launch = async (id: string, body: object = {}) =>
    (await phone.ask('POST', `/v1/prompts/${id}/launch`, body)).body.prompt;
  const runsOf = (id: string) =>
    gateway.kernel.sql<
      { state: string; control_id: string; session_id: string; device_id: string | null; key_id: string | null }[]
    >`select * from prompts.runs where prompt_id = ${id} order by order_no`;
  const statesOf = async (id: string) => (await runsOf(id)).map(({ state }) => state);
  const lastOf = async (id: string) => (await runsOf(id)).at(-1) ?? assert.fail('no launch');
  const waitingFor = async ({ id }: TestDevice): Promise<{ id: string; session_id: string; type: string }[]> =>
    gateway.kernel.sql`
      select id, session_id, type from sessions.controls
      where target_device_id = ${id} and acked_at is null and withdrawn_at is null order by order_no`;
  const take = (device: TestDevice, control: { id: string; session_id: string }) =>
    device.ask('POST', `/v1/sessions/${control.session_id}/controls/${control.id}/ack`);
  /** As the daemon does: the turn has the id of its control. */
  const append = async (device: TestDevice, session: string, events: object[]) => {
    const { seq } = (await device.ask('GET', `/v1/sessions/${session}`)).body;
    return device.ask('POST', `/v1/sessions/${session}/events`, { expected_seq: seq, events });
  };
  const begin = (device: TestDevice, { id, session_id }: { id: string; session_id: string }, text = 'text') =>
    append(device, session_id, [{ type: 'turn_start', turn_id: id, role: 'user', text }]);
  const end = (device: TestDevice, { id, session_id }: { id: string; session_id: string }, data: object) =>
    append(device, session_id, [{ type: 'turn_end', turn_id: id, data }]);
  const quiet = () =>
    until(async () => {
      const [row] = await gateway.kernel.sql<{ n: number }[]>`
        select count(*)::int as n from sessions.turns where account_id = ${account.id}`;
      if (row?.n !== 0) clock.advance(100);
      return row?.n === 0;
    });
  const told = async (type: string) =>
    ((await phone.ask('GET', '/v1/notifications')).body.notifications as { type: string; body: string }[]).filter(
      (one) => one.type === type,
    );
  const controlOf = async (id: string) => {
    const { control_id, session_id } = await lastOf(id);
    return { id: control_id, session_id };
  };
  const acts = async (action: string) =>
    gateway.kernel.sql`select * from kernel.audit where account_id = ${account.id} and action = ${action}`;

  test('the first turn of a launch is that of its prompt, though it says what another one of the template does', async () => {
    const text = (nth: number) =>
      `Review pull request ${nth}: read all of it, run its tests, and say what is wrong with it`;
    const [own, other] = [await keep(text(101)), await keep(text(102))];
    await launch(own);
    // Of a client that names its turns itself, and says nothing of the control.
    await reportTurn(laptop, (await controlOf(own)).session_id, text(102), { ends: false });
    await quiet();
    assert.deepEqual([(await get(own)).status, (await get(other)).status], ['sent', 'open']);
  });

  test('a prompt that is dismissed, done or deleted while its machine sleeps is not delivered when it wakes', async () => {
    for (const close of [
      (id: string) => phone.ask('PATCH', `/v1/prompts/${id}`, { status: 'dismissed' }),
      (id: string) => phone.ask('PATCH', `/v1/prompts/${id}`, { status: 'done' }),
      (id: string) => phone.ask('DELETE', `/v1/prompts/${id}`),
    ]) {
      const id = await keep(`Sleeps ${randomUUID()}`);
      await launch(id);
      const control = await controlOf(id);
      assert.equal((await waitingFor(laptop)).length, 1);
      assert.equal((await close(id)).status, 200);
      assert.equal((await waitingFor(laptop)).length, 0);
      assert.equal((await take(laptop, control)).status, 404);
      assert.deepEqual((await begin(laptop, control)).body.error.code, 'control_withdrawn');
    }
  });

  test('what a device took and has not begun when its prompt is closed is not begun, and the device is told', async () => {
    const id = await keep('Waits for an approval');
    await launch(id);
    const control = await controlOf(id);
    using frames = followControls(laptop);
    await frames.find(({ data }) => data.id === control.id);
    await take(laptop, control);
    assert.deepEqual(await statesOf(id), ['taken']);
    assert.equal((await get(id)).waiting_for, `device ${laptop.id}: it took the prompt and has not begun`);
    await phone.ask('PATCH', `/v1/prompts/${id}`, { status: 'dismissed' });
    await frames.find(({ data }) => data.id === control.id && data.withdrawn_at !== undefined);
    const refused = await begin(laptop, control);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'control_withdrawn']);
    assert.deepEqual(await statesOf(id), ['withdrawn']);
  });

  test('what runs when its prompt is closed goes on, or with `stop` its device is asked to end it', async () => {
    for (const [stop, more] of [
      [false, []],
      [true, ['stop']],
    ] as const) {
      const id = await keep(`Runs ${stop}`);
      await launch(id);
      const control = await controlOf(id);
      await take(laptop, control);
      await begin(laptop, control);
      await quiet();
      assert.deepEqual([(await get(id)).status, await statesOf(id)], ['sent', ['running']]);
      await phone.ask('PATCH', `/v1/prompts/${id}`, { status: 'dismissed', stop });
      const asked = await waitingFor(laptop);
      assert.deepEqual(
        asked.map(({ type }) => type),
        more,
      );
      assert.ok(asked.every(({ session_id }) => session_id === control.session_id));
      // A daemon that was killed before its command started asks again: it must not start it now.
      assert.equal((await begin(laptop, control)).status, 409);
      await end(laptop, control, { ok: false, error: 'stopped' });
      await quiet();
      assert.deepEqual([(await get(id)).status, await statesOf(id)], ['dismissed', ['failed']]);
      for (const one of asked) await take(laptop, one);
    }
    const deleted = await keep('Deleted while it runs');
    await launch(deleted);
    const control = await controlOf(deleted);
    await take(laptop, control);
    await begin(laptop, control);
    await phone.ask('DELETE', `/v1/prompts/${deleted}?stop=true`);
    assert.deepEqual(
      (await waitingFor(laptop)).map(({ type }) => type),
      ['stop'],
    );
    assert.equal((await phone.ask('PATCH', `/v1/prompts/${await keep('x')}`, { stop: true })).status, 400);
  });

  test('while a launch waits or runs another answers it; another device takes over what none took, `force` makes a second', async () => {
    const tower = await openDevice(gateway, account, { platform: 'desktop' });
    const id = await keep('Once');
    const first = await launch(id, { target_device_id: laptop.id });
    assert.equal((await launch(id)).run_session_id, first.run_session_id);
    assert.equal((await waitingFor(laptop)).length, 1);
    const other = await launch(id, { target_device_id: tower.id });
    assert.notEqual(other.run_session_id, first.run_session_id);
    assert.deepEqual([(await waitingFor(laptop)).length, (await waitingFor(tower)).length], [0, 1]);
    const control = await controlOf(id);
    await take(tower, control);
    assert.equal((await launch(id, { target_device_id: laptop.id })).run_session_id, other.run_session_id);
    await begin(tower, control);
    await quiet();
    assert.equal((await launch(id)).run_session_id, other.run_session_id);
    assert.equal((await get(id)).status, 'sent');
    const forced = await launch(id, { target_device_id: laptop.id, force: true });
    assert.notEqual(forced.run_session_id, other.run_session_id);
    assert.deepEqual(await statesOf(id), ['withdrawn', 'running', 'waiting']);
    await launch(id, { force: true, stop: true });
    assert.ok((await waitingFor(tower)).some(({ type }) => type === 'stop'));
    assert.deepEqual(await statesOf(id), ['withdrawn', 'running', 'withdrawn', 'waiting']);
  });

  test('a device that listens is asked, whichever was seen last', async () => {
    using listening = followControls(laptop);
    const { sql } = gateway.kernel;
    await until(
      async () =>
        (
          await sql`select 1 from kernel.device_streams_view v join devices.devices d on d.id = v.device_id
          where d.id = ${laptop.id} and d.listened_at is not null`
        ).length > 0,
    );
    const asking = await openDevice(gateway, account, { platform: 'desktop' });
    await sql`update devices.devices set last_seen = now() + interval '1 minute' where id = ${asking.id}`;
    const { run_session_id: session } = await launch(await keep('Do it'));
    await listening.find(({ data }) => data.session_id === session);
  });

  test('a command line, which says no platform, is never asked', async () => {
    await openDevice(gateway, account, { platform: '' });
    const { sql } = gateway.kernel;
    await sql`delete from devices.devices where id = ${laptop.id}`;
    assert.equal((await launch(await keep('Do it'))).waiting_for, 'no device with an agent');
  });

  test('one that no device takes for two minutes is told of once, and moves on where nobody named its device', async () => {
    const tower = await openDevice(gateway, account, { platform: 'desktop' });
    const { sql } = gateway.kernel;
    await sql`update devices.devices set last_seen = now() + interval '1 minute' where id = ${tower.id}`;
    const [free, named, taken] = [await keep('Anywhere'), await keep('There'), await keep('Taken')];
    await launch(free);
    await launch(named, { target_device_id: tower.id });
    await launch(taken);
    assert.deepEqual([(await lastOf(free)).device_id, (await lastOf(taken)).device_id], [tower.id, tower.id]);
    await take(tower, await controlOf(taken));
    clock.leap(110_000);
    clock.advance(1_000);
    assert.equal((await told('prompt.waiting')).length, 0);
    await until(async () => (clock.advance(10_000), (await told('prompt.waiting')).length === 2));
    clock.advance(300_000);
    await quiet();
    const bodies = (await told('prompt.waiting')).map(({ body }) => body).sort();
    assert.deepEqual(
      [bodies.length, bodies[0]?.startsWith('It goes to the next'), bodies[1]?.startsWith('Its device')],
      [2, true, true],
    );
    assert.equal((await get(free)).waiting_for, 'no device with an agent');
    assert.equal((await lastOf(named)).device_id, tower.id);
    using listening = followControls(laptop);
    await listening.find(({ data }) => data.text === 'Anywhere');
    assert.equal((await take(laptop, await controlOf(free))).status, 200);
    assert.deepEqual([(await lastOf(free)).device_id, await statesOf(free)], [laptop.id, ['taken']]);
  });

  test('one that waits goes to a device that listens by then', async () => {
    const id = await keep('Later');
    const tower = await openDevice(gateway, account, { platform: 'desktop' });
    await gateway.kernel.sql`update devices.devices set last_seen = now() + interval '1 minute' where id = ${tower.id}`;
    await launch(id);
    using listening = followControls(laptop);
    // Two minutes must not pass for the launch before the laptop is heard of.
    await until(async () => (await findListening(gateway.kernel.sql, account.id, ['desktop'])) === laptop.id);
    await until(async () => (clock.advance(10_000), (await lastOf(id)).device_id === laptop.id));
    await listening.find(({ data }) => data.text === 'Later');
    assert.match((await told('prompt.waiting'))[0]?.body ?? '', /it goes to Desktop\.$/);
    assert.equal((await waitingFor(tower)).length, 0);
  });

  test('twelve launches at once send the prompt once', async () => {
    const id = await keep('All at once');
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => (n % 2 ? phone : laptop).ask('POST', `/v1/prompts/${id}/launch`)),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(new Set(answers.map(({ body }) => body.prompt.run_session_id)).size, 1);
    assert.equal((await waitingFor(laptop)).length, 1);
  });

  test('a launch after one that is over begins anew: nothing of the match, answer and turn of before is left', async () => {
    const id = await keep('Twice');
    await launch(id);
    const control = await controlOf(id);
    await take(laptop, control);
    await begin(laptop, control);
    await end(laptop, control, { ok: false, exit_code: 3 });
    await quiet();
    const answered = await get(id);
    assert.deepEqual([answered.status, answered.last_turn], ['answered', { ok: false, exit_code: 3 }]);
    assert.match((await told('prompt.failed'))[0]?.body ?? '', /ended with 3/);
    const again = await launch(id);
    for (const field of ['match_ref', 'match_turn_id', 'sent_at', 'answered_at', 'last_turn'])
      assert.equal(field in again, false, field);
    assert.notEqual(again.run_session_id, answered.run_session_id);
    assert.equal(again.waiting_for, `device ${laptop.id}: it has not taken the prompt`);
  });

  test('the account is told when a launch is answered, fails, or is refused by its machine', async () => {
    const ends = async (data: object, begins = true) => {
      const id = await keep(`Ends ${randomUUID()}`);
      await launch(id);
      const control = await controlOf(id);
      await take(laptop, control);
      if (begins) await begin(laptop, control);
      await end(laptop, control, data);
      await quiet();
      return get(id);
    };
    assert.deepEqual((await ends({ ok: true, exit_code: 0 })).last_turn, { ok: true, exit_code: 0 });
    assert.deepEqual([(await told('prompt.answered')).length, (await told('prompt.failed')).length], [1, 0]);
    const refused = await ends({ ok: false, error: 'its policy runs no agents' }, false);
    assert.deepEqual([refused.status, refused.last_turn.error], ['launched', 'its policy runs no agents']);
    assert.equal('waiting_for' in refused, false);
    assert.equal((await told('prompt.failed'))[0]?.body, 'its policy runs no agents');
    assert.notEqual((await launch(refused.id)).run_session_id, refused.run_session_id);
  });

  test('a launch without any device waits, says so, and goes to the next desktop or Android device that listens', async () => {
    const alone = await createAccount(gateway);
    const watch = await openDevice(gateway, alone, { platform: 'watch' });
    const ids = [await keep('Now', watch), await keep('Then', watch)];
    for (const id of ids) {
      const { body } = await watch.ask('POST', `/v1/prompts/${id}/launch`);
      assert.deepEqual([body.prompt.status, body.prompt.waiting_for], ['launched', 'no device with an agent']);
    }
    using notMine = followControls(watch);
    const tablet = await openDevice(second, alone, { platform: 'Android' });
    using frames = followControls(tablet);
    for (const text of ['Now', 'Then']) {
      const { data } = await frames.find((frame) => frame.data.text === text);
      assert.equal(data.target_device_id, tablet.id);
    }
    assert.deepEqual(notMine.all, []);
    assert.ok((await runsOf(ids[0] ?? '')).every(({ device_id }) => device_id === tablet.id));
    // One that listens already gets what waits for nobody yet.
    const row = { id: randomUUID(), session: (await watch.ask('POST', '/v1/sessions', {})).body.id };
    await gateway.kernel.sql`
      insert into sessions.controls (id, session_id, account_id, type, text, created_at)
      values (${row.id}, ${row.session}, ${alone.id}, 'send', 'Later', now())`;
    await gateway.kernel.bus.publish(gateway.kernel.sql, 'sessions.changed', {
      sessionId: row.session,
      control: { id: row.id, device: `${alone.id} next` },
    });
    await frames.find((frame) => frame.data.id === row.id);
  });

  test('a control is taken back once; one that runs or is of another account stays', async () => {
    const session = (await phone.ask('POST', '/v1/sessions', {})).body.id;
    const send = async () =>
      (
        await phone.ask('POST', `/v1/sessions/${session}/controls`, {
          type: 'send',
          text: 'x',
          target_device_id: laptop.id,
        })
      ).body;
    const path = async () => `/v1/sessions/${session}/controls/${(await send()).id}`;
    const one = await path();
    const back = await phone.ask('DELETE', one);
    assert.deepEqual([back.status, typeof back.body.withdrawn_at], [200, 'string']);
    assert.deepEqual((await phone.ask('DELETE', one)).body, back.body);
    const other = await openDevice(gateway, await createAccount(gateway));
    assert.equal((await other.ask('DELETE', await path())).status, 404);
    assert.equal((await phone.ask('DELETE', `/v1/sessions/${session}/controls/${randomUUID()}`)).status, 404);
    assert.equal((await acts('sessions.withdrawControl')).length, 1);
    assert.equal((await acts('sessions.sendControl')).length, 2);
  });

  test('launches, closings and deletions are in the audit log, and a launch knows the key that asked for it', async () => {
    const id = await keep('Audited');
    await launch(id);
    const [key] = await gateway.kernel.sql<{ id: string }[]>`
      select id from keys.keys where account_id = ${account.id} limit 1`;
    assert.equal((await lastOf(id)).key_id, key?.id);
    await phone.ask('PATCH', `/v1/prompts/${id}`, { status: 'dismissed' });
    await phone.ask('DELETE', `/v1/prompts/${id}`);
    for (const action of ['prompts.launch', 'prompts.update', 'prompts.remove'])
      assert.deepEqual(
        (await acts(action)).map((act) => act['subject']),
        [id],
        action,
      );
    const auto = (await phone.ask('POST', '/v1/prompts', { prompt: 'By itself', auto_run: true })).body.id;
    await until(async () => (clock.advance(500), (await get(auto)).status === 'launched'));
    assert.deepEqual(new Set((await acts('prompts.launch')).map((act) => act['who'])), new Set(['key', 'system']));
  });

  test('a prompt that is sent again with its Idempotency-Key is created once, and answers as before', async () => {
    const again = (url: string) =>
      http(url, '/v1/prompts', {
        key: account.key,
        headers: { 'idempotency-key': 'create-1' },
        body: { prompt: 'Keep me' },
      });
    const first = await again(gateway.url);
    const repeat = await again(second.url);
    assert.deepEqual([first.status, repeat.status, repeat.body], [201, 201, first.body]);
  });

  test('when the session of a launch is deleted its launch is over, and the next one begins anew', async () => {
    const id = await keep('Without its session');
    const { run_session_id: session } = await launch(id);
    await phone.ask('DELETE', `/v1/sessions/${session}`);
    assert.deepEqual(await statesOf(id), ['withdrawn']);
    assert.notEqual((await launch(id)).run_session_id, session);
  });

  test('the turn of a client that names its turns itself is that of the launch, and a person’s before it is not', async () => {
    const id = await keep('Summarise the meeting of the board and send it to the members by mail');
    await launch(id);
    const control = await controlOf(id);
    await reportTurn(phone, control.session_id, 'Something else first');
    await quiet();
    assert.equal((await get(id)).status, 'launched');
    await phone.ask('DELETE', `/v1/sessions/${control.session_id}/lease`);
    await take(laptop, control);
    const turn = await reportTurn(laptop, control.session_id, 'In our words: summarise what the board said');
    await quiet();
    const { status, match_turn_id } = await get(id);
    assert.deepEqual([status, match_turn_id, await statesOf(id)], ['answered', turn, ['finished']]);
  });

  const steps = [
    'launch',
    'other',
    'force',
    'take',
    'begin',
    'lost begin',
    'end',
    'refuse',
    'dismiss',
    'stop',
    'delete',
    'session',
  ] as const;
  test('as a model: nothing of a closed prompt begins, no control begins twice, and without force one launch lives at most', async () => {
    const step = fc.record({ what: fc.constantFrom(...steps), at: fc.nat(1) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 18 }), async (given) => {
        account = await createAccount(gateway);
        phone = await openDevice(gateway, account);
        const devices = [
          await openDevice(gateway, account, { platform: 'desktop' }),
          await openDevice(second, account, { platform: 'android' }),
        ];
        const id = await keep('As a model');
        let isClosed = false;
        let isForced = false;
        /** The journal of each device: prompts that it took, or has certainly begun. */
        const journals = devices.map(() => new Map<string, { id: string; session_id: string; begun: boolean }>());
        const starts: string[] = [];
        for (const { what, at } of given) {
          const device = devices[at] ?? phone;
          const journal = journals[at] ?? new Map();
          const entry = [...journal.values()].find(({ begun }) => begun === (what === 'end'));
          if (what === 'launch' || what === 'other' || what === 'force') {
            const body = { ...(what !== 'launch' && { target_device_id: device.id }), force: what === 'force' };
            const { status } = await phone.ask('POST', `/v1/prompts/${id}/launch`, body);
            assert.ok(isClosed ? [404, 409].includes(status) : status === 200, `${what}: ${status}`);
            if (what === 'force' && !isClosed) isForced = true;
          } else if (what === 'take') {
            const [control] = (await waitingFor(device)).filter(({ type }) => type === 'send');
            if (control && (await take(device, control)).status === 200)
              journal.set(control.id, { ...control, begun: false });
          } else if (what === 'begin' || what === 'lost begin') {
            if (!entry) continue;
            const { status } = await begin(device, entry);
            if (status !== 200) journal.delete(entry.id);
            else if (what === 'begin') {
              assert.equal(isClosed, false, 'begun after the prompt was closed');
              assert.ok(!starts.includes(entry.id), 'begun twice');
              starts.push(entry.id);
              entry.begun = true;
            }
          } else if (what === 'end' || what === 'refuse') {
            if (!entry) continue;
            await end(device, entry, { ok: what === 'end' });
            journal.delete(entry.id);
          } else if (what === 'session') {
            const { run_session_id: session } = isClosed ? {} : await get(id);
            if (session !== undefined) await phone.ask('DELETE', `/v1/sessions/${session}`);
          } else {
            const { status } =
              what === 'delete'
                ? await phone.ask('DELETE', `/v1/prompts/${id}`)
                : await phone.ask('PATCH', `/v1/prompts/${id}`, { status: 'dismissed', stop: what === 'stop' });
            if (status === 200) isClosed = true;
          }
          await quiet();
          const live = (await runsOf(id)).filter(({ state }) => ['waiting', 'taken', 'running'].includes(state));
          if (!isForced) assert.ok(live.length <= 1, `after ${what}: ${live.map(({ state }) => state).join(', ')}`);
          if (isClosed) assert.ok(live.every(({ state }) => state === 'running'));
        }
      }),
      { numRuns: Number(process.env['SVC_TEST_MODELS'] ?? 12) },
    );
  });
});
