import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { asOwner, createAccount, http } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { trustCertificate } from '../../testing.tls.ts';
import { TestPushService } from '../notifications/notifications.testing.ts';
import { sealClearHeaders } from '../schedules/schedules.jobs.ts';
import { type Json, newDevice, openScheduler, type SchedulerTest } from './scheduler.testing.ts';

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
    // Whoever may change a schedule and not read its secrets must not have them sent to a server of theirs.
    for (const change of [
      { url: 'https://evil.example/', headers: { 'x-a': '***' } },
      { url: urlOf(), headers: { 'x-b': '***' } },
    ]) {
      const refused = await patch(made, { spec: change });
      assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['spec']]);
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
    await sealClearHeaders.run(t.gateway.kernel, {});
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
