import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import type { EventStream } from '../../kernel/streams/sse.ts';
import { findSaidFrom, findSession, listSaid, type SessionRow } from './sessions.sql.ts';
import { SessionStreams } from './sessions.streams.ts';
import { followControls, followSession, openDevice, type TestDevice } from './sessions.testing.ts';

const say = (text: string, turn = 't') => ({ type: 'delta' as const, turn_id: turn, role: 'assistant', text });

describe('sessions', () => {
  const clock = testClock();
  const { gateway, second } = shared(() =>
    openTest({ clock, gateways: 2, settings: { SVC_QUOTA_SESSIONS: '5', SVC_QUOTA_SESSION_BYTES: '4000000' } }),
  );
  let account: TestAccount;
  let phone: TestDevice;
  let laptop: TestDevice;
  beforeEach(async () => {
    account = await createAccount(gateway);
    [phone, laptop] = [await openDevice(gateway, account), await openDevice(second, account)];
  });
  const create = async (body: object = {}): Promise<string> => (await phone.ask('POST', '/v1/sessions', body)).body.id;
  const append = (device: TestDevice, id: string, expected_seq: number, events: object[]) =>
    device.ask('POST', `/v1/sessions/${id}/events`, { expected_seq, events });
  const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
    status,
    body.error?.code,
  ];

  test('a session is made, listed newest first by pages, changed field by field, and deleted', async () => {
    const ids = [await create({ title: 'One', metadata: { a: { b: '\u0000' } } }), await create(), await create()];
    const page = await phone.ask('GET', '/v1/sessions?limit=2');
    const rest = await phone.ask('GET', `/v1/sessions?limit=2&cursor=${page.body.next_cursor}`);
    const listed = [...page.body.sessions, ...rest.body.sessions];
    assert.deepEqual(listed.map(({ id }: { id: string }) => id).sort(), [...ids].sort());
    assert.equal(rest.body.next_cursor, undefined);
    const path = `/v1/sessions/${ids[0]}`;
    assert.deepEqual((await laptop.ask('GET', path)).body.metadata, { a: { b: '\u0000' } });
    assert.equal((await laptop.ask('PATCH', path, { title: 'Two' })).body.title, 'Two');
    const cleared = (await laptop.ask('PATCH', path, { metadata: null })).body;
    assert.deepEqual(['title' in cleared, 'metadata' in cleared], [true, false]);
    for (const body of [{}, { title: 'x'.repeat(201) }, { title: 'a\u0000' }, { metadata: { a: 'x'.repeat(16_001) } }])
      assert.equal((await phone.ask('PATCH', path, body)).status, 400);
    assert.deepEqual((await phone.ask('DELETE', path)).body, { deleted: true, id: ids[0] });
    assert.equal((await phone.ask('GET', path)).status, 404);
  });

  test('events are numbered without gaps, over both gateways, and come back as they were sent', async () => {
    const id = await create();
    const sent = [
      { type: 'turn_start', turn_id: 't1', role: 'user', text: 'Ștefan 📱' },
      { type: 'tool', turn_id: 't1', id: 'call-1', data: { name: 'ls', nul: '\u0000', deep: [1, { a: null }] } },
      { type: 'turn_end', turn_id: 't1' },
    ];
    assert.deepEqual((await append(phone, id, 0, sent)).body, { seq: 3 });
    assert.equal((await phone.ask('DELETE', `/v1/sessions/${id}/lease`)).body.released, true);
    assert.deepEqual((await append(laptop, id, 3, [say('x', 't2')])).body, { seq: 4 });
    const { events, seq } = (await phone.ask('GET', `/v1/sessions/${id}/events?limit=3`)).body;
    assert.equal(seq, 4);
    assert.deepEqual(
      events.map(({ at: _at, device_id: _device, seq: _seq, ...event }: Record<string, unknown>) => event),
      sent,
    );
    const more = (await phone.ask('GET', `/v1/sessions/${id}/events?after=3`)).body.events;
    assert.deepEqual(
      more.map((event: { seq: number; device_id: string }) => [event.seq, event.device_id]),
      [[4, laptop.id]],
    );
  });

  test('a batch that is sent again is stored once and answered as then, whatever came after it', async () => {
    const id = await create();
    const batch = [{ type: 'turn_start', turn_id: 't' }, say('a'), say('a'), { ...say('b'), id: 'b-1' }];
    assert.equal((await append(phone, id, 0, batch)).body.seq, 4);
    assert.equal((await append(phone, id, 4, [say('c')])).body.seq, 5);
    assert.equal((await append(phone, id, 0, batch)).body.seq, 4);
    assert.equal((await append(phone, id, 4, [say('c')])).body.seq, 5);
    // By its name, behind anything.
    assert.equal((await append(phone, id, 5, [{ type: 'turn_start', turn_id: 't' }])).body.seq, 1);
    assert.equal((await append(phone, id, 5, [{ ...say('other words'), id: 'b-1' }, say('d')])).body.seq, 6);
    // Twice in one batch.
    assert.equal(
      (await append(phone, id, 6, [say('e'), { type: 'turn_end', turn_id: 't' }, { type: 'turn_end', turn_id: 't' }]))
        .body.seq,
      8,
    );
    // Another device that says the same said it itself.
    await phone.ask('DELETE', `/v1/sessions/${id}/lease`);
    assert.deepEqual(codeOf(await append(laptop, id, 7, [{ type: 'delta', turn_id: 't' }])), [409, 'seq_conflict']);
    assert.equal((await phone.ask('GET', `/v1/sessions/${id}`)).body.seq, 8);
  });

  test('what a transcript reads at once has a bound in bytes, whatever the number of its events', async () => {
    const id = await create();
    await append(
      phone,
      id,
      0,
      Array.from({ length: 10 }, (_, n) => say(`${n}${'ț'.repeat(99_999)}`)),
    );
    const { sql } = gateway.kernel;
    const page = await listSaid(sql, id, { after: 0, limit: 500, bytes: 500_000 });
    assert.deepEqual([page.length, page[2]?.seq], [3, 3]);
    // And of a long session only its end is read.
    assert.deepEqual([await findSaidFrom(sql, id, 500_000), await findSaidFrom(sql, id, 9_000_000)], [8, 0]);
    const { body } = await phone.ask('GET', `/v1/sessions/${id}/transcript`);
    assert.ok(String(body).endsWith(`9${'ț'.repeat(99_999)}`));
    // A repeat of long events is known as one.
    const again = Array.from({ length: 10 }, (_, n) => say(`${n}${'ț'.repeat(99_999)}`));
    assert.equal((await append(phone, id, 0, again)).body.seq, 10);
  });

  test('a batch behind events that its writer has not seen is refused with the seq of now, and nothing of it is stored', async () => {
    const id = await create();
    await append(phone, id, 0, [say('a'), say('b')]);
    for (const expected of [0, 1, 3, 99]) {
      const answer = await append(phone, id, expected, [say('new'), { type: 'turn_end', turn_id: 't' }]);
      assert.deepEqual([...codeOf(answer), answer.body.error.details.seq], [409, 'seq_conflict', 2]);
    }
    assert.equal((await phone.ask('GET', `/v1/sessions/${id}`)).body.seq, 2);
  });

  test('one device writes at a time: for 30 s after its last word, or until it gives the lease back', async () => {
    const id = await create();
    const lease = `/v1/sessions/${id}/lease`;
    const { body } = await phone.ask('POST', lease);
    assert.equal(Date.parse(body.lease.expires_at) - clock.now(), 30_000);
    for (const refused of [
      await laptop.ask('POST', lease),
      await laptop.ask('DELETE', lease),
      await append(laptop, id, 0, [say('x')]),
    ]) {
      assert.deepEqual(codeOf(refused), [409, 'lease_held']);
      assert.deepEqual(refused.body.error.details.lease, body.lease);
    }
    clock.advance(29_000);
    await append(phone, id, 0, [say('a')]);
    clock.advance(29_000);
    assert.equal((await laptop.ask('POST', lease)).status, 409);
    clock.advance(1_000);
    assert.equal((await laptop.ask('POST', lease)).status, 200);
    assert.equal((await append(phone, id, 1, [say('b')])).status, 409);
    assert.equal((await laptop.ask('DELETE', lease)).body.released, true);
    assert.equal((await laptop.ask('DELETE', lease)).body.released, false);
    assert.equal((await append(phone, id, 1, [say('b')])).status, 200);
    assert.equal((await http(gateway.url, lease, { method: 'POST', key: account.key })).status, 400);
  });

  test('two devices that write at once get one order; each batch is acknowledged and there once', async () => {
    const id = await create();
    const write = async (device: TestDevice, name: string) => {
      for (let n = 0; n < 20; ) {
        const { seq } = (await device.ask('GET', `/v1/sessions/${id}`)).body;
        const { status } = await append(device, id, seq, [{ ...say(`${name}${n}`), id: `${name}${n}` }]);
        if (status === 200) n += 1;
        if (status === 200) await device.ask('DELETE', `/v1/sessions/${id}/lease`);
      }
    };
    await Promise.all([write(phone, 'p'), write(laptop, 'l')]);
    const { events } = (await phone.ask('GET', `/v1/sessions/${id}/events?limit=200`)).body;
    assert.deepEqual(
      events.map(({ seq }: { seq: number }) => seq),
      Array.from({ length: 40 }, (_, i) => i + 1),
    );
    for (const name of ['p', 'l']) {
      const own = events.map((event: { id: string }) => event.id).filter((text: string) => text.startsWith(name));
      assert.deepEqual(
        own,
        Array.from({ length: 20 }, (_, i) => `${name}${i}`),
      );
    }
  });

  test('who follows gets what is stored behind its cursor and then what comes, once and in order, over both gateways', async () => {
    const id = await create();
    await append(phone, id, 0, [say('1'), say('2'), say('3')]);
    using here = followSession(phone, id);
    using there = followSession(laptop, id, 2);
    for (let n = 3; n < 30; n += 1) await append(phone, id, n, [say(String(n + 1))]);
    for (const [frames, first] of [
      [here, 1],
      [there, 3],
    ] as const) {
      await frames.find(({ event, data }) => event === 'event' && data.seq === 30);
      const seqs = frames.all.flatMap((frame) => (frame.event === 'event' ? [frame.data.seq] : []));
      assert.deepEqual(
        seqs,
        Array.from({ length: 31 - first }, (_, i) => i + first),
      );
      assert.equal(frames.all[0]?.event, 'lease');
    }
    await phone.ask('DELETE', `/v1/sessions/${id}/lease`);
    await there.find(({ event, data }) => event === 'lease' && data.lease === undefined);
    await phone.ask('DELETE', `/v1/sessions/${id}`);
    await Promise.all([here.over(), there.over()]);
  });

  test('a control waits for its device, comes until it is acknowledged, and no longer', async () => {
    const id = await create();
    const path = `/v1/sessions/${id}/controls`;
    assert.deepEqual(codeOf(await phone.ask('POST', path, { type: 'stop' })), [400, 'bad_request']);
    await append(laptop, id, 0, [say('a')]);
    using followed = followSession(phone, id);
    // What was on its way when a device came may come twice, under one id.
    const idsOf = ({ all }: ReturnType<typeof followControls>) => [...new Set(all.map(({ data }) => data.id))];
    const { body: first } = await phone.ask('POST', path, { type: 'send', text: 'Hello' });
    assert.deepEqual([first.target_device_id, first.from_device_id], [laptop.id, phone.id]);
    const { body: last } = await phone.ask('POST', path, { type: 'stop', target_device_id: laptop.id });
    {
      using before = followControls(laptop);
      await before.find(({ data }) => data.id === last.id);
      assert.deepEqual(idsOf(before), [first.id, last.id]);
    }
    const ack = (device: TestDevice, control: string) => device.ask('POST', `${path}/${control}/ack`);
    assert.equal((await ack(phone, first.id)).status, 404);
    const acked = await ack(laptop, first.id);
    clock.advance(1_000);
    assert.deepEqual((await ack(laptop, first.id)).body, acked.body);
    await followed.find(
      ({ event, data }) => event === 'control' && data.id === first.id && data.acked_at !== undefined,
    );
    using after = followControls(laptop);
    await after.find(({ data }) => data.id === last.id);
    const { body: third } = await phone.ask('POST', path, { type: 'ring', target_device_id: laptop.id });
    await after.find(({ data }) => data.id === third.id);
    assert.deepEqual(idsOf(after), [last.id, third.id]);
    const bad = [
      { type: 'send' },
      { type: 'send', text: ' ' },
      { type: 'No' },
      { type: 'stop', target_device_id: randomUUID() },
    ];
    for (const body of bad) assert.equal((await phone.ask('POST', path, body)).status, 400, JSON.stringify(body));
  });

  test('what comes while a device is given what waited comes behind it, once', async () => {
    const id = await create();
    const path = `/v1/sessions/${id}/controls`;
    const send = async (type: string) =>
      (await phone.ask('POST', path, { type, target_device_id: laptop.id })).body.id as string;
    const waited = await send('first');
    const streams = new SessionStreams(second.kernel);
    await streams.start(() => {});
    const listen = () => {
      const got: string[] = [];
      const send = (event: string, { id }: { id: string }) => event === 'control' && got.push(id);
      const stream = { send, drained: async () => {}, onClose: () => {}, closed: false };
      return { got, stream: stream as unknown as EventStream };
    };
    const session = await findSession(second.kernel.sql, clock, account.id, id);
    const [whole, device] = [listen(), listen()];
    await streams.follow(session as SessionRow, 0, whole.stream);
    const adopted = Promise.withResolvers<void>();
    const following = streams.followDevice(
      { accountId: account.id, deviceId: laptop.id, adopt: () => adopted.promise },
      device.stream,
    );
    const came = [await send('second'), await send('third')];
    await until(() => whole.got.length === 2);
    await phone.ask('DELETE', `${path}/${came[0]}`);
    await until(() => whole.got.length === 3);
    assert.deepEqual(device.got, []);
    adopted.resolve();
    await following;
    // The one that was taken back meanwhile waits no more; that it was is told behind the others.
    assert.deepEqual(device.got, [waited, came[1], came[0]]);
    const last = await send('last');
    await until(() => whole.got.includes(last));
    assert.deepEqual(device.got, [waited, came[1], came[0], last]);
  });

  test('controls that come at once reach a device in their order, however long each takes to be read', async () => {
    const id = await create();
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const sql = new Proxy(second.kernel.sql, {
      apply(target, self, words: [TemplateStringsArray, ...unknown[]]) {
        const isRead =
          words[0].join?.('').includes('order by order_no') && words[0].join('').includes('where id = any');
        const answer = Reflect.apply(target, self, words) as Promise<unknown>;
        return isRead && reads++ === 0 ? gate.promise.then(() => answer) : answer;
      },
    });
    const streams = new SessionStreams({ ...second.kernel, sql });
    await streams.start(() => {});
    const got: string[] = [];
    const take = (event: string, control: { id: string }) => event === 'control' && got.push(control.id);
    const stream = { send: take, drained: async () => {}, onClose: () => {}, closed: false } as unknown as EventStream;
    await streams.followDevice({ accountId: account.id, deviceId: laptop.id, adopt: async () => {} }, stream);
    const sent: string[] = [];
    for (const type of ['first', 'second', 'third']) {
      const { body } = await phone.ask('POST', `/v1/sessions/${id}/controls`, { type, target_device_id: laptop.id });
      sent.push(body.id);
    }
    const heard = Promise.withResolvers<void>();
    await second.kernel.bus.subscribe('sessions.test', async () => heard.resolve());
    await gateway.kernel.bus.publish(gateway.kernel.sql, 'sessions.test', {});
    // Behind those of the controls, on the same connection.
    await heard.promise;
    await until(() => reads >= 1);
    gate.resolve();
    await until(() => got.length === 3);
    assert.deepEqual(got, sent);
  });

  test('at most 200 controls wait for a device', async () => {
    const id = await create();
    const path = `/v1/sessions/${id}/controls`;
    const body = { type: 'ring', target_device_id: laptop.id };
    for (let n = 0; n < 200; n += 1) assert.equal((await phone.ask('POST', path, body)).status, 201);
    const refused = await phone.ask('POST', path, body);
    assert.deepEqual(codeOf(refused), [429, 'quota_exceeded']);
    assert.ok(refused.headers.has('retry-after'));
    assert.equal((await phone.ask('POST', path, { ...body, target_device_id: phone.id })).status, 201);
  });

  test('another account sees nothing of a session, not even with the id of a device that is its own too', async () => {
    const id = await create();
    const other = await createAccount(gateway);
    const same = await openDevice(gateway, other, { id: laptop.id });
    await phone.ask('POST', `/v1/sessions/${id}/controls`, { type: 'ring', target_device_id: laptop.id });
    const theirs = (await same.ask('POST', '/v1/sessions', {})).body.id;
    using stream = followControls(same);
    const { body } = await same.ask('POST', `/v1/sessions/${theirs}/controls`, {
      type: 'own',
      target_device_id: same.id,
    });
    await stream.find(({ data }) => data.id === body.id);
    assert.deepEqual(
      stream.all.map(({ data }) => data.type),
      ['own'],
    );
    for (const path of ['', '/events', '/stream', '/transcript'])
      assert.equal((await same.ask('GET', `/v1/sessions/${id}${path}`)).status, 404, path);
  });

  test('a key that may only serve writes as its own device, and neither makes nor lists sessions', async () => {
    const id = await create();
    const issue = async () =>
      (await http(gateway.url, '/v1/keys', { key: account.key, body: { name: 'host', scopes: ['sessions:serve'] } }))
        .body.key;
    const [one, other] = [await issue(), await issue()];
    const host = await openDevice(gateway, { key: one });
    const ask = { type: 'ring', target_device_id: host.id };
    // It writes to what it was asked for in, and does not see the rest.
    const secret = await create({ title: 'Secret' });
    for (const answer of [
      await append(host, secret, 0, [say('x')]),
      await host.ask('GET', `/v1/sessions/${secret}`),
      await host.ask('POST', `/v1/sessions/${secret}/lease`),
      await host.ask('DELETE', `/v1/sessions/${secret}/lease`),
    ])
      assert.deepEqual(codeOf(answer), [404, 'not_found']);
    await phone.ask('POST', `/v1/sessions/${id}/controls`, ask);
    assert.equal((await append(host, id, 0, [say('x')])).status, 200);
    assert.equal((await host.ask('GET', `/v1/sessions/${id}`)).body.seq, 1);
    // One of the account that nobody serves as yet, all at once.
    const free = await openDevice(gateway, { key: one }, { id: laptop.id });
    for (const answer of [
      await free.ask('GET', '/v1/sessions/stream'),
      await free.ask('POST', `/v1/sessions/${id}/lease`),
      await append(free, id, 1, [say('x')]),
    ])
      assert.deepEqual(codeOf(answer), [403, 'forbidden']);
    const imposter = await openDevice(gateway, { key: other }, { id: host.id });
    for (const answer of [
      await append(imposter, id, 1, [say('y')]),
      await imposter.ask('POST', `/v1/sessions/${id}/lease`),
      await imposter.ask('GET', '/v1/sessions/stream'),
      await host.ask('GET', '/v1/sessions'),
      await host.ask('POST', '/v1/sessions', {}),
      await host.ask('POST', `/v1/sessions/${id}/controls`, { type: 'send', text: 'x' }),
    ])
      assert.deepEqual(codeOf(answer), [403, 'forbidden']);
  });

  test('an account has a bounded number of sessions, and of bytes in them', async () => {
    for (let n = 0; n < 5; n += 1) await create();
    assert.deepEqual(codeOf(await phone.ask('POST', '/v1/sessions', {})), [429, 'quota_exceeded']);
    const { id } = (await phone.ask('GET', '/v1/sessions')).body.sessions[0];
    const long = 'x'.repeat(200_000);
    let status = 200;
    for (let seq = 0; status === 200 && seq < 50; seq += 1) ({ status } = await append(phone, id, seq, [say(long)]));
    assert.equal(status, 429);
    assert.equal((await phone.ask('GET', `/v1/sessions/${id}`)).body.seq, 19, 'of 200,000 bytes in 4,000,000');
    const uses = (await phone.ask('GET', '/v1/usage')).body.quotas as { name: string; used: number }[];
    assert.equal(uses.find(({ name }) => name === 'sessions')?.used, 5);
  });

  test('the bytes of an account hold over many sessions, and controls count as events do', async () => {
    const ids = [await create(), await create(), await create()];
    const [one, two, three] = ids as [string, string, string];
    const send = (id: string, text: string) =>
      laptop.ask('POST', `/v1/sessions/${id}/controls`, { type: 'send', text, target_device_id: phone.id });
    for (let n = 0; n < 9; n += 1) assert.equal((await send(one, 'x'.repeat(200_000))).status, 201);
    for (let seq = 0; seq < 10; seq += 1)
      assert.equal((await append(phone, two, seq, [say('x'.repeat(200_000))])).status, 200);
    // 11 blocks are left; small events take the first of them, and fill it at no further cost.
    for (let seq = 0; seq < 3; seq += 1) assert.equal((await append(phone, three, seq, [say('x')])).status, 200);
    for (const answer of [
      await send(three, 'x'.repeat(200_000)),
      await append(phone, two, 10, [say('x'.repeat(200_000))]),
    ])
      assert.deepEqual(codeOf(answer), [429, 'quota_exceeded']);
    const used = async () =>
      ((await phone.ask('GET', '/v1/usage')).body.quotas as { name: string; used: number }[]).find(
        ({ name }) => name === 'session_bytes',
      )?.used ?? 0;
    assert.ok((await used()) <= 4_000_000);
    await phone.ask('DELETE', `/v1/sessions/${one}`);
    await phone.ask('DELETE', `/v1/sessions/${two}`);
    assert.equal(await used(), 16_384);
  });

  test('an id that another event has is refused, and what is sent again is stored once', async () => {
    const id = await create();
    const first = { type: 'delta', turn_id: 'a', id: 'i', text: 'x' };
    assert.equal((await append(phone, id, 0, [first])).status, 200);
    for (const event of [
      { type: 'turn_start', turn_id: 'b', id: 'i' },
      { type: 'message', turn_id: 'a', id: 'i' },
      { type: 'delta', turn_id: 'b', id: 'i' },
    ])
      assert.deepEqual(codeOf(await append(phone, id, 1, [event])), [400, 'bad_request'], JSON.stringify(event));
    const twice = [
      { type: 'delta', turn_id: 'c', id: 'j' },
      { type: 'tool', turn_id: 'c', id: 'j' },
    ];
    assert.deepEqual(codeOf(await append(phone, id, 1, twice)), [400, 'bad_request']);
    assert.equal((await append(phone, id, 1, [first])).body.seq, 1);
  });

  test('what strict readers of JSON refuse is not kept', async () => {
    const id = await create();
    for (const value of [{ a: '\ud800' }, { '\udc00': 1 }]) {
      assert.equal((await phone.ask('PATCH', `/v1/sessions/${id}`, { metadata: value })).status, 400);
      assert.equal((await append(phone, id, 0, [{ type: 'tool', turn_id: 't', data: value }])).status, 400);
    }
    const fine = { a: '\\ud800', b: '\u{1f600}' };
    assert.deepEqual((await phone.ask('PATCH', `/v1/sessions/${id}`, { metadata: fine })).body.metadata, fine);
  });

  test('a transcript joins what was said in parts, names who said it, and a page of events is bounded in bytes', async () => {
    const id = await create();
    await append(phone, id, 0, [
      { type: 'turn_start', turn_id: '1', role: 'user', text: 'List the files' },
      { type: 'delta', turn_id: '1', role: 'assistant', text: 'There ' },
      { type: 'delta', turn_id: '1', role: 'assistant', text: 'are two.' },
      { type: 'tool', turn_id: '1', text: 'a b' },
      { type: 'turn_end', turn_id: '1' },
      { type: 'message', turn_id: '2', role: 'user', text: 'Thanks' },
    ]);
    const text = await phone.ask('GET', `/v1/sessions/${id}/transcript`);
    assert.equal(text.body, 'user: List the files\n\nassistant: There are two.\n\ntool: a b\n\nuser: Thanks');
    assert.match(text.headers.get('content-type') ?? '', /^text\/plain/);
  });

  test('an account that is suspended neither reads nor writes, and its streams end', async () => {
    const id = await create();
    using followed = followSession(phone, id);
    await followed.find(({ event }) => event === 'lease');
    const { sql } = gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    const { email } = account;
    assert.ok(email);
    await until(async () => (clock.advance(1_000), (await append(phone, id, 0, [say('x')])).status === 403));
  });
});
