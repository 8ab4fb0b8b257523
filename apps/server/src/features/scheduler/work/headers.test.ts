import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { asOwner, createAccount, http, until } from '../../../testing.ts';
import { shared } from '../../../testing.shared.ts';
import { trustCertificate } from '../../../testing.tls.ts';
import { TestPushService } from '../../notifications/notifications.testing.ts';
import { schedulesFeature } from '../../schedules/feature.ts';
import { sealClearHeaders } from '../../schedules/schedules.jobs.ts';
import { type Json, newDevice, openScheduler, type SchedulerTest } from '../scheduler.testing.ts';

describe('scheduler: headers of webhooks are secrets', () => {
  const receiver = new TestPushService();
  const { pushed: requests } = receiver;
  let t: SchedulerTest;
  const base = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(receiver).listen(opening.use(trustCertificate()));
    const settings = { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: `443,${receiver.port}` };
    const opened = opening.use(await openScheduler({ settings }));
    const all = opening.move();
    return { ...opened, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  beforeEach(async () => {
    t = await base.fresh();
    requests.length = 0;
  });

  const urlOf = (path = '/hook') => `https://127.0.0.1:${receiver.port}${path}`;
  const webhook = (headers: Json, fields: Json = {}) =>
    t.create({
      kind: 'http',
      trigger: { type: 'event', trigger_id: 'x' },
      spec: { url: urlOf(), method: 'PUT', headers, body: 'b' },
      ...fields,
    });
  const sent = async (schedule: Json): Promise<Json> => {
    assert.equal(await t.runNow(schedule), true);
    await t.turnTo(0, schedule, 'succeeded');
    return requests.at(-1)?.headers;
  };
  const patch = (schedule: Json, body: Json) => t.call('PATCH', `/v1/schedules/${schedule.id}`, body);
  const stored = (id: string) =>
    asOwner(t.database, async (sql) => {
      const rows = await sql<{ text: string }[]>`
        select s::text as text from schedules.schedules s where id = ${id}
        union all select r::text from scheduler.runs r where schedule_id = ${id}`;
      return rows.map(({ text }) => text).join('\n');
    });

  test('they are sent, and are in no answer and nowhere in the database in clear', async () => {
    const made = await webhook({ Authorization: 'Bearer header-secret', 'x-mark': 'second-secret' });
    const hidden = { Authorization: '***', 'x-mark': '***' };
    assert.deepEqual(made.spec, { url: urlOf(), method: 'PUT', headers: hidden, body: 'b' });
    assert.equal(await t.runNow(made), true);
    const before = await stored(made.id);
    await t.turnTo(0, made, 'succeeded');
    const headers = requests.at(-1)?.headers as Json;
    assert.deepEqual([headers.authorization, headers['x-mark']], ['Bearer header-secret', 'second-secret']);
    const reader = await createAccount(t.gateway, { scopes: ['schedules:read'] });
    await t.gateway.kernel.sql`update keys.keys set account_id = ${t.account.id} where id = ${reader.keyId}`;
    const list = await http(t.gateway.url, '/v1/schedules', { key: reader.key });
    assert.deepEqual(list.body.schedules[0].spec.headers, hidden);
    const seen = [made, await t.get(made.id), list.body, await t.runsOf(made), before, await stored(made.id)];
    assert.doesNotMatch(JSON.stringify(seen), /header-secret|second-secret/);
    const [run] = await t.gateway.kernel.sql`
      select spec, sealed_headers from scheduler.runs where schedule_id = ${made.id}`;
    assert.deepEqual(run, { spec: {}, sealed_headers: null }, 'a run that is over has forgotten them');
  });

  test('a change keeps what it does not name, *** keeps one value, and none follows to another server', async () => {
    const made = await webhook({ 'x-a': 'one', 'x-b': 'two' });
    assert.equal((await patch(made, { name: 'renamed' })).status, 200);
    assert.equal((await sent(made))['x-a'], 'one');
    const spec = { url: urlOf('/other'), headers: { 'X-A': '***', 'x-c': 'three' } };
    assert.deepEqual((await patch(made, { spec })).body.spec.headers, { 'X-A': '***', 'x-c': '***' });
    const headers = await sent(made);
    assert.deepEqual([headers['x-a'], headers['x-b'], headers['x-c']], ['one', undefined, 'three']);
    // A caller who may change a schedule but not read its secrets must not have them sent to a server of their own.
    for (const change of [
      { url: 'https://evil.example/', headers: { 'x-a': '***' } },
      { url: urlOf(), headers: { 'x-b': '***' } },
    ]) {
      const refused = await patch(made, { spec: change });
      assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['spec.headers']]);
    }
    assert.equal((await sent(made))['x-a'], 'one');
    const fresh = { name: 'x', kind: 'http', trigger: { type: 'event', trigger_id: 'x' } };
    const refused = await t.call('POST', '/v1/schedules', { ...fresh, spec: { url: urlOf(), headers: { a: '***' } } });
    assert.equal(refused.status, 400);
    assert.equal((await patch(made, { spec: { url: urlOf() } })).body.spec.headers, undefined);
    assert.equal((await sent(made))['x-a'], undefined);
  });

  test('a waiting run takes the values that its schedule has when they change', async () => {
    const made = await webhook({ 'x-a': 'one' }, { policy: { approval: 'always' } });
    assert.equal(await t.runNow(made), true);
    await patch(made, { spec: { url: urlOf(), headers: { 'x-a': 'two' } } });
    const [run] = await t.runsOf(made);
    const decided = await t.call('POST', `/v1/schedule-runs/${run.id}/decision`, { decision: 'approve' });
    assert.equal(decided.status, 200, JSON.stringify(decided.body));
    await t.turnTo(0, made, 'succeeded');
    assert.equal(requests[0]?.headers['x-a'], 'two');
  });

  test('the host that runs it gets them: with its claim, and for its time without a gateway', async () => {
    const device = newDevice();
    const target = { type: 'host', device_id: device };
    assert.equal(await t.claim(device), null);
    const made = await webhook({ 'x-a': 'for the host' }, { target, native: true });
    assert.equal(made.spec.headers['x-a'], '***');
    assert.equal(await t.runNow(made), true);
    const run = await t.claim(device);
    assert.equal(run.spec.headers['x-a'], 'for the host');
    const listed = async (key: string, asDevice: string) =>
      (await http(t.gateway.url, '/v1/schedules', { key, headers: { 'x-svc-device': asDevice } })).body.schedules[0]
        .spec;
    assert.equal((await listed(t.account.key, device)).headers['x-a'], 'for the host');
    assert.equal((await listed(t.account.key, newDevice())).headers['x-a'], '***');
    const reader = await createAccount(t.gateway, { scopes: ['schedules'] });
    await t.gateway.kernel.sql`update keys.keys set account_id = ${t.account.id} where id = ${reader.keyId}`;
    assert.equal((await listed(reader.key, device)).headers['x-a'], '***', 'a key that does not serve');
  });

  test('what a gateway of the version before stored in clear is sent as it is, never answered, and sealed by night', async () => {
    const made = await webhook({ 'x-a': 'of now' });
    const clear = JSON.stringify({ url: urlOf(), method: 'POST', headers: { 'x-a': 'clear-secret', 'x-b': 'y' } });
    const { sql } = t.gateway.kernel;
    await sql`update schedules.schedules set spec = ${clear} where id = ${made.id}`;
    assert.deepEqual((await t.get(made.id)).spec.headers, { 'x-a': '***', 'x-b': '***' });
    assert.equal((await sent(made))['x-a'], 'clear-secret');
    await sealClearHeaders.run(t.gateway.kernel);
    assert.doesNotMatch(await stored(made.id), /clear-secret/);
    assert.equal((await sent(made))['x-a'], 'clear-secret');
    // It makes runs that have no values of their own.
    assert.equal(await t.runNow(await patchedToWait(made)), true);
    await sql`update scheduler.runs set sealed_headers = null where schedule_id = ${made.id}`;
    const [run] = await t.runsOf(made);
    await t.call('POST', `/v1/schedule-runs/${run.id}/decision`, { decision: 'approve' });
    await t.turnTo(0, made, 'succeeded');
    assert.equal(requests.at(-1)?.headers['x-a'], 'clear-secret');
  });
  const patchedToWait = async (schedule: Json) => (await patch(schedule, { policy: { approval: 'always' } })).body;

  test('whoever may change where it runs does not get them: they are sent anew for another machine, and only its own key sees them', async () => {
    const [own, other] = [newDevice(), newDevice()];
    for (const device of [own, other]) assert.equal(await t.claim(device), null);
    const made = await webhook({ 'x-a': 'one' });
    const hosted = { target: { type: 'host', device_id: other } };
    for (const change of [
      hosted,
      { ...hosted, native: true },
      { target: { type: 'any' } },
      { ...hosted, spec: { url: urlOf(), headers: { 'x-a': '***' } } },
    ]) {
      const refused = await patch(made, change);
      assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['spec.headers']]);
    }
    const given = await patch(made, { ...hosted, spec: { url: urlOf(), headers: { 'x-a': 'for the host' } } });
    assert.equal(given.status, 200, JSON.stringify(given.body));
    assert.equal((await patch(made, { native: true })).status, 400, 'a host keeps a native one');
    assert.equal((await patch(made, { native: true, spec: { url: urlOf(), headers: { 'x-a': 'kept' } } })).status, 200);
    assert.equal((await patch(made, { name: 'same place' })).status, 200);
    const listed = async (key: string) =>
      (await http(t.gateway.url, '/v1/schedules', { key, headers: { 'x-svc-device': other } })).body.schedules[0].spec;
    assert.equal((await listed(t.account.key)).headers['x-a'], 'kept');
    const all = await createAccount(t.gateway, { scopes: ['*'] });
    await t.gateway.kernel.sql`update keys.keys set account_id = ${t.account.id} where id = ${all.keyId}`;
    assert.equal((await listed(all.key)).headers['x-a'], '***', 'the device serves with another key');
    assert.equal(
      (await patch(made, { target: { type: 'cloud' }, native: null })).status,
      200,
      'the cloud hands out none',
    );
  });

  test('a server that echoes them does not have them kept: neither whole, nor without their scheme', async () => {
    const echoing = await t.create({
      kind: 'http',
      trigger: { type: 'event', trigger_id: 'x' },
      spec: {
        url: urlOf('/echo'),
        headers: { Authorization: 'Bearer echoed-secret', 'x-quoted': 'quo"ted-secret', accept: 'application/json' },
      },
    });
    assert.equal(await t.runNow(echoing), true);
    await t.turnTo(0, echoing, 'succeeded');
    const [run] = await t.runsOf(echoing);
    assert.match(run.log_tail, /"authorization":"\[Authorization\]"/);
    assert.match(run.log_tail, /"accept":"application\/json"/);
    const log = await http(t.gateway.url, `/v1/schedule-runs/${run.id}/log`, { key: t.account.key });
    assert.doesNotMatch(JSON.stringify([run, log.body, log]), /echoed-secret|ted-secret/);
  });

  test('one that cannot be sealed or opened stands in no other’s way, and *** of before sealing is plain text', async () => {
    const { kernel } = t.gateway;
    const { sql } = kernel;
    const [plain, broken, clear] = [await webhook({ a: 'x' }), await webhook({ a: 'x' }), await webhook({ a: 'x' })];
    const spec = (headers: object) => JSON.stringify({ url: urlOf(), method: 'POST', headers });
    await sql`update schedules.schedules set spec = ${spec({ 'x-a': '***', 'x-b': 'y' })}, sealed_headers = null
      where id = ${plain.id}`;
    await sql`update schedules.schedules set spec = ${spec({ 'x-a': '***', 'x-b': 'y' })}, sealed_headers = '\\x00'
      where id = ${broken.id}`;
    await sql`update schedules.schedules set spec = ${spec({ 'x-a': 'clear-secret' })}, sealed_headers = null
      where id = ${clear.id}`;
    assert.equal((await patch(plain, { name: 'renamed' })).status, 200);
    await sql`update schedules.schedules set spec = ${spec({ 'x-a': '***', 'x-b': 'y' })}, sealed_headers = null
      where id = ${plain.id}`;
    await sealClearHeaders.run(kernel);
    assert.doesNotMatch(await stored(clear.id), /clear-secret/);
    const headers = await sent(plain);
    assert.deepEqual([headers['x-a'], headers['x-b']], ['***', 'y']);
    const refused = await patch(broken, { name: 'renamed' });
    assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['spec.headers']]);
    assert.equal((await patch(broken, { spec: { url: urlOf(), headers: { 'x-a': 'anew' } } })).status, 200);
    assert.equal((await sent(broken))['x-a'], 'anew');
  });

  test('clear values are sealed at the start of a gateway that is alone; beside another nothing is read', async () => {
    const made = await webhook({ 'x-a': 'one' });
    const clear = JSON.stringify({ url: urlOf(), method: 'POST', headers: { 'x-a': 'clear-secret' } });
    await t.gateway.kernel.sql`
      update schedules.schedules set spec = ${clear}, sealed_headers = null where id = ${made.id}`;
    const { gateways } = t.gateway.kernel;
    let queries = 0;
    const sql = new Proxy(t.gateway.kernel.sql, {
      apply: (run, self, given) => {
        queries += 1;
        return Reflect.apply(run, self, given);
      },
    });
    const start = (hasPeers: boolean) =>
      schedulesFeature({} as never).start?.(
        { ...t.gateway.kernel, sql, gateways: { hasPeers: () => hasPeers, prove: () => gateways.prove() } as never },
        { serves: true, works: true, relays: true },
      );
    await start(true);
    assert.equal(queries, 0);
    await start(false);
    await until(async () => !(await stored(made.id)).includes('clear-secret'));
  });

  test('a host does not have its claims held up by a run whose headers cannot be opened', async () => {
    const device = newDevice();
    assert.equal(await t.claim(device), null);
    const made = await webhook({ 'x-a': 'one' }, { target: { type: 'host', device_id: device } });
    assert.equal(await t.runNow(made), true);
    await t.gateway.kernel.sql`update scheduler.runs set sealed_headers = '\\x00' where schedule_id = ${made.id}`;
    assert.equal(await t.claim(device), null);
    const [run] = await t.runsOf(made);
    assert.deepEqual([run.state, /cannot be opened/.test(run.error)], ['failed', true]);
  });

  test('headers that are never sent as given, and names that differ by case only, are refused', async () => {
    const fresh = { name: 'x', kind: 'http', trigger: { type: 'event', trigger_id: 'x' } };
    for (const headers of [{ TE: 'x' }, { 'Keep-Alive': 'x' }, { 'proxy-authorization': 'x' }, { a: '1', A: '2' }]) {
      const refused = await t.call('POST', '/v1/schedules', { ...fresh, spec: { url: urlOf(), headers } });
      assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['spec.headers']]);
    }
  });

  test('an idempotent create is repeated without the values', async () => {
    const body = {
      name: 'x',
      kind: 'http',
      trigger: { type: 'event', trigger_id: 'x' },
      spec: { url: urlOf(), headers: { 'x-a': 'header-secret' } },
    };
    const init = { key: t.account.key, body, headers: { 'idempotency-key': 'once' } };
    const [one, two] = [
      await http(t.gateway.url, '/v1/schedules', init),
      await http(t.gateway.url, '/v1/schedules', init),
    ];
    assert.deepEqual([one.status, two.status, two.body.id], [201, 201, one.body.id]);
    assert.equal(two.body.spec.headers['x-a'], '***');
  });
});
