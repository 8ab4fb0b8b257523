import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkPlatform } from '../../doctor.platform.ts';
import { type Role, wholeRole } from '../../kernel/feature.ts';
import { type TestClock, testClock } from '../../kernel/base/clock.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { startLoop } from '../../kernel/work/loop.ts';
import {
  createAccount,
  type GatewayOptions,
  http,
  startGateway,
  type TestGateway,
  testDatabase,
  until,
} from '../../testing.ts';
import { setOperator } from '../accounts/index.ts';
import { notify } from '../notifications/index.ts';
import { TestMailServer } from '../notifications/notifications.testing.ts';

const serving: Role = { serves: true, works: false, relays: true };
const working: Role = { serves: false, works: true, relays: false };

/** Turns the clock in the steps of leases. The tickers of `workers` turn at each, and every lease is renewed. */
async function turn(
  clock: TestClock,
  ms: number,
  gateways: readonly TestGateway[],
  workers: readonly TestGateway[] = [],
): Promise<void> {
  for (let turned = 0; turned < ms; turned += 2_000) {
    clock.advance(2_000);
    for (const { kernel } of workers) await until(() => kernel.pulse.slowest().ms < 2_000);
    for (const { kernel } of [...workers, ...gateways]) await kernel.gateways.renew();
  }
}

const ready = (gateway: TestGateway) => http(gateway.url, '/health/ready');
const metric = async ({ kernel }: TestGateway, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await kernel.metrics.registry.metrics())?.[1]);

async function open(log?: NodeJS.WritableStream) {
  const clock = testClock();
  const database = await testDatabase();
  const level = { SVC_LOG_LEVEL: log ? 'info' : 'silent' };
  const start = (role: Role = wholeRole, settings: GatewayOptions['settings'] = {}) =>
    startGateway(database, { clock, role, settings: { ...level, ...settings }, ...(log && { log }) });
  return { clock, database, start };
}

const told =
  ({ kernel }: TestGateway) =>
  async () =>
    (await kernel.sql<{ type: string }[]>`select type from notifications.notifications order by created_at, type`).map(
      ({ type }) => type,
    );

describe('a platform whose worker is gone', () => {
  test('is said by readiness, log, metrics, System and one alert of an outage, and so is its end', async () => {
    const lines: string[] = [];
    const log = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
    const { clock, database, start } = await open(log);
    await using _database = database;
    await using gateway = await start(serving);
    await using other = await start(serving);
    const account = await createAccount(gateway);
    await setOperator(gateway.kernel.sql, account.id, true);
    await createAccount(gateway);
    const types = told(gateway);
    const worker = await start(working);
    const said = (text: string) => lines.filter((line) => line.includes(text)).length;

    await turn(clock, 60_000, [gateway, other], [worker]);
    assert.deepEqual((await ready(gateway)).body.checks.worker, { ok: true });
    assert.equal((await ready(gateway)).status, 200);
    assert.deepEqual([await metric(gateway, 'svc_workers'), await types()], [1, []]);

    await worker.close();
    await turn(clock, 38_000, [gateway, other]);
    assert.equal((await ready(gateway)).status, 200, 'a restart takes less');
    await turn(clock, 4_000, [gateway, other]);
    for (const one of [gateway, other]) {
      const { status, body } = await ready(one);
      assert.deepEqual([status, body.ok, body.checks.worker.ok, body.checks.db.ok], [503, false, false, true]);
    }
    await until(async () => (await types()).length === 1 && said('no worker for 40 s') === 2);
    assert.deepEqual(await types(), ['system.worker_missing'], 'by one gateway, to the operator alone');
    assert.equal(await metric(gateway, 'svc_workers'), 0);
    assert.ok((await metric(gateway, 'svc_worker_idle_seconds')) >= 40);
    const shown = await http(gateway.url, '/v1/system', { key: account.key });
    const check = shown.body.checks.find(({ name }: { name: string }) => name === 'worker');
    assert.deepEqual([check.ok, check.detail], [false, '2 gateways, 0 workers: what is due by the clock waits']);
    assert.match(check.fix, /--only worker/);
    assert.deepEqual(
      shown.body.gateways.map(({ part }: { part: string }) => part),
      ['gateway', 'gateway'],
    );
    await turn(clock, 60_000, [gateway, other]);
    assert.deepEqual([(await types()).length, said('no worker for 40 s')], [1, 2], 'once an outage');

    await using back = await start(working);
    await turn(clock, 4_000, [gateway, other], [back]);
    assert.equal((await ready(gateway)).status, 200);
    await until(async () => (await types()).length === 2 && said('a worker runs again') === 2);
    assert.deepEqual(await types(), ['system.worker_missing', 'system.worker_back']);
    const [over, begun] = (await http(gateway.url, '/v1/notifications', { key: account.key })).body.notifications;
    assert.deepEqual([over.resolution, begun.resolution], [undefined, 'recovered']);
    const found = (await checkPlatform(gateway.kernel)).find(({ name }) => name === 'worker');
    assert.deepEqual([found?.ok, found?.found], [true, '2 gateways, 1 worker']);
  });

  test('is said by a copy of a platform to nobody, and what waits there is not sent: the first one lives', async () => {
    await using mails = new TestMailServer();
    await mails.listen();
    const { clock, database, start } = await open();
    await using _database = database;
    const settings = { SVC_SMTP_URL: mails.url, SVC_MAIL_FROM: 'svc@svc.test' };
    await using copy = await start({ ...serving, isCopy: true }, settings);
    const { id } = await createAccount(copy);
    await setOperator(copy.kernel.sql, id, true);
    const { kernel } = copy;
    const waits = {
      accountId: id,
      dedupeKey: 'x',
      type: 'test.told',
      title: 'Waits',
      body: '',
      severity: 'critical',
    } as const;
    await inTransaction(kernel.sql, (db) => notify(kernel, db, waits));
    await turn(clock, 42_000, [copy]);
    assert.equal((await ready(copy)).status, 503);
    await turn(clock, 42_000, [copy]);
    assert.deepEqual([await told(copy)(), mails.mails.length], [['test.told'], 0]);
  });

  test('is said where there never was one, by mail too: the gateway sends what no worker sends', async () => {
    await using mails = new TestMailServer();
    await mails.listen();
    const { clock, database, start } = await open();
    await using _database = database;
    await using gateway = await start(serving, { SVC_SMTP_URL: mails.url, SVC_MAIL_FROM: 'svc@svc.test' });
    const { id, email } = await createAccount(gateway);
    await setOperator(gateway.kernel.sql, id, true);
    const { kernel } = gateway;
    const waits = {
      accountId: id,
      dedupeKey: 'x',
      type: 'test.told',
      title: 'Waits',
      body: '',
      severity: 'critical',
    } as const;
    await inTransaction(kernel.sql, (db) => notify(kernel, db, waits));
    await turn(clock, 36_000, [gateway]);
    assert.equal(mails.mails.length, 0, 'it is the work of a worker');
    await turn(clock, 6_000, [gateway]);
    assert.equal((await ready(gateway)).status, 503);
    await until(() => mails.mails.some(({ text }) => text.includes('No worker for 40 s')));
    assert.deepEqual(mails.mails[0]?.to, [email]);
  });

  test('is said when the worker lives and its tickers stand, by itself too', async () => {
    const { clock, database, start } = await open();
    await using _database = database;
    await using gateway = await start(serving);
    await using worker = await start(working);
    const { promise, resolve } = Promise.withResolvers<void>();
    const loop = startLoop(worker.kernel, { name: 'hangs', everyMs: 1_000, isVital: true, work: () => promise });
    loop.wake();
    await turn(clock, 38_000, [worker, gateway]);
    assert.equal((await ready(gateway)).status, 200);
    await turn(clock, 6_000, [worker, gateway]);
    assert.equal((await ready(gateway)).status, 503);
    assert.match(worker.kernel.gateways.work()?.error ?? '', /tickers of this process stand/);
    const [check] = (await checkPlatform(gateway.kernel)).filter(({ name }) => name === 'worker');
    assert.match(check?.found ?? '', /^1 gateway, 1 worker: its tickers stand for 4\d s$/);
    resolve();
    await loop.stop();
    await turn(clock, 2_000, [gateway], [worker]);
    assert.equal((await ready(gateway)).status, 200);
  });

  test('is not said by a process that could not look itself, nor by one that works', async () => {
    const { clock, database, start } = await open();
    await using _database = database;
    await using gateway = await start(serving);
    clock.advance(3_600_000);
    await gateway.kernel.gateways.renew();
    assert.equal((await ready(gateway)).status, 200, 'it was frozen');
    await using whole = await start();
    clock.advance(3_600_000);
    assert.equal((await ready(whole)).status, 200, 'so was it');
    await turn(clock, 60_000, [gateway], [whole]);
    for (const one of [gateway, whole]) assert.equal((await ready(one)).status, 200);
    assert.deepEqual((await ready(whole)).body.checks, {
      db: { ok: true },
      schema: { ok: true },
      registry: { ok: true },
    });
  });
});

describe('a platform whose relay is gone', () => {
  const relaying: Role = { serves: false, works: false, relays: true };

  test('is said by readiness, metric, doctor, log and one alert, and so is its end; without one ever by nobody', async () => {
    const lines: string[] = [];
    const log = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
    const { clock, database, start } = await open(log);
    await using _database = database;
    await using whole = await start();
    await using gateway = await start(serving);
    const { id } = await createAccount(whole);
    await setOperator(whole.kernel.sql, id, true);
    const both = [whole, gateway];
    const types = told(whole);
    await turn(clock, 60_000, both, [whole]);
    assert.deepEqual(
      [(await ready(gateway)).body.checks.relay, await types()],
      [undefined, []],
      'there is none to miss',
    );

    const relay = await start(relaying);
    await turn(clock, 4_000, [...both, relay], [whole]);
    assert.deepEqual((await ready(gateway)).body.checks.relay, { ok: true });
    assert.equal(await metric(gateway, 'svc_relays'), 1);
    await relay.close();
    await turn(clock, 26_000, both, [whole]);
    assert.equal((await ready(gateway)).status, 200, 'a restart takes less');
    await turn(clock, 8_000, both, [whole]);
    for (const one of both) {
      const { status, body } = await ready(one);
      assert.deepEqual([status, body.checks.relay.ok], [503, false]);
    }
    const said = (text: string) => lines.filter((line) => line.includes(text)).length;
    await until(async () => (await types()).length === 1 && said('no relay for 40 s; start one') === 2);
    assert.deepEqual(await types(), ['system.relay_missing']);
    assert.equal(await metric(gateway, 'svc_relays'), 0);
    const check = async () => (await checkPlatform(gateway.kernel)).find(({ name }) => name === 'relays');
    assert.match((await check())?.fix ?? '', /--only relay/);

    // A gateway that starts meanwhile knows of no end.
    await using third = await start(serving);
    await turn(clock, 6_000, [...both, third], [whole]);
    assert.deepEqual(await types(), ['system.relay_missing']);
    await using back = await start(relaying);
    await turn(clock, 4_000, [...both, third, back], [whole]);
    assert.equal((await ready(gateway)).status, 200);
    await until(async () => (await types()).length === 2);
    assert.deepEqual([await types(), await check()], [['system.relay_missing', 'system.relay_back'], undefined]);
  });

  test('is not missed any more after a day, nor while another one of it runs', async () => {
    const { clock, database, start } = await open();
    await using _database = database;
    await using gateway = await start();
    await using first = await start(relaying);
    const second = await start(relaying);
    await second.close();
    await turn(clock, 40_000, [gateway, first], [gateway]);
    assert.deepEqual((await ready(gateway)).body.checks.relay, { ok: true });
    await first.close();
    await turn(clock, 40_000, [gateway], [gateway]);
    assert.equal((await ready(gateway)).status, 503);
    const { sql } = gateway.kernel;
    await sql`update kernel.gateways set lease_until = lease_until - interval '1 day' where part = 'relay'`;
    await turn(clock, 4_000, [gateway], [gateway]);
    assert.equal((await ready(gateway)).status, 200);
    assert.equal((await sql`select 1 from kernel.gateways where part = 'relay'`).length, 0);
  });
});
