import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { instantOf } from '../kernel/db/instant.ts';
import { asOwner, createAccount, http, openHost, startGateway, testDatabase } from '../testing.ts';
import { withDatabase } from '../doctor.platform.ts';
import { confirmRestore } from './confirm.ts';
import { settleDatabase } from './settle.ts';

/** A household in the middle of its work, as a backup finds it, whose database begins anew an hour later. */
async function restoredHousehold() {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await testDatabase());
  const device = randomUUID();
  const backedUpAt = instantOf(Date.now());
  const settings = { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: '9' };
  await using before = await startGateway(database, { settings });
  const account = await createAccount(before);
  const { key } = account;
  const ask = async (path: string, body?: object, method?: string) => {
    const answer = await http(before.url, path, {
      key,
      ...(body && { body }),
      ...(method !== undefined && { method }),
      headers: { 'x-svc-device': device },
    });
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const schedule = async (name: string) =>
    ask('/v1/schedules', {
      name,
      kind: 'agent',
      spec: { prompt: 'tidy up' },
      trigger: { type: 'interval', every_s: 3_600 },
      target: { type: 'host', device_id: device },
    });
  const claimed = await schedule('claimed');
  const waiting = await schedule('waiting');
  await ask('/v1/scheduler/claim', {});
  await ask(`/v1/schedules/${claimed.id}/run`, {});
  const { run } = await ask('/v1/scheduler/claim', {});
  assert.equal(run.schedule_id, claimed.id);
  await ask(`/v1/schedules/${waiting.id}/run`, {});
  const exec = await ask(`/v1/hosts/${device}/exec`, { op: 'shell', args: { command: 'true' }, if_offline: 'wait' });
  const { prompt } = await ask('/v1/prompts', { prompt: 'look at the roof' });
  await ask(`/v1/prompts/${prompt.id}/launch`, { target_device_id: device });
  const monitor = await ask('/v1/heartbeats', { name: 'nightly', period_s: 60, grace_s: 60 });
  await http(before.url, new URL(monitor.ping_url).pathname, { method: 'POST' });
  // Nobody takes it: it waits for its next try.
  await ask('/v1/notifications/webhooks', { name: 'away', url: 'https://127.0.0.1:9/' });
  const failing = await ask('/v1/heartbeats', { name: 'failing', period_s: 60, grace_s: 60 });
  await http(before.url, `${new URL(failing.ping_url).pathname}/fail`, { method: 'POST' });
  const { cursor } = await ask('/v1/events');
  await before.close();
  const counts = await asOwner(database, async (sql) => {
    // An hour has passed since: slots, and the deadline of the monitor, are over.
    await sql`update schedules.schedules set slots = array[now() - interval '30 minutes'], next_run_at = now() - interval '30 minutes'`;
    await sql`update heartbeats.monitors set last_success_at = now() - interval '1 hour', deadline = now() - interval '58 minutes'`;
    return settleDatabase(sql, backedUpAt);
  });
  const after = opening.use(await startGateway(database));
  const get = async (path: string) => (await http(after.url, path, { key })).body;
  const stack = opening.move();
  return {
    account,
    device,
    claimed,
    waiting,
    exec,
    monitor,
    failing,
    run,
    cursor,
    counts,
    after,
    get,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe('a database that was restored', () => {
  test('does nothing twice: what was under way is unknown, and nobody is given it again', async () => {
    await using t = await restoredHousehold();
    assert.deepEqual(t.counts, {
      'runs under way, now unknown': 2,
      'commands under way, now unknown': 1,
      'controls that no device had taken, taken back': 1,
      'launches of prompts, withdrawn': 1,
      'monitors, watched anew': 1,
      'pushes, mails and webhooks, held': 1,
      'schedules with slots since the backup, passed over': 2,
    });
    for (const schedule of [t.claimed, t.waiting]) {
      const { runs } = await t.get(`/v1/schedules/${schedule.id}/runs`);
      assert.deepEqual(
        runs.map(({ state, error }: { state: string; error: string }) => [state, error]),
        [['failed', 'unknown: it was under way when the backup was made']],
      );
      // The slot of the hour that was lost is passed, and the next one stands.
      const { next_run_at } = await t.get(`/v1/schedules/${schedule.id}`);
      assert.ok(Date.parse(next_run_at) > Date.now());
    }
    assert.equal((await t.get(`/v1/hosts/exec/${t.exec.req_id}`)).state, 'unknown');
    const host = await openHost(t.after, t.account, t.device);
    const claim = await host.client.scheduler.claim({ body: {} });
    assert.equal(claim.run, null);
    host.leave();
    // A result of before is another attempt's word, and changes nothing.
    const late = await http(t.after.url, `/v1/schedule-runs/${t.run.id}/result`, {
      key: t.account.key,
      headers: { 'x-svc-device': t.device },
      body: { ok: true, attempt: t.run.attempt },
    });
    assert.equal(late.body.run.state, 'failed');
  });

  test('alerts nobody of a monitor whose pings were lost, and watches it from now on', async () => {
    await using t = await restoredHousehold();
    const monitor = await t.get(`/v1/heartbeats/${t.monitor.id}`);
    assert.equal(monitor.status, 'new');
    const { notifications } = await t.get('/v1/notifications');
    assert.deepEqual(
      notifications.map(({ data }: { data: { heartbeat_id: string } }) => data.heartbeat_id),
      [t.failing.id],
    );
  });

  test('tells followers with a cursor of before that changes are missing', async () => {
    await using t = await restoredHousehold();
    const { missed } = await t.get(`/v1/events?after=${encodeURIComponent(t.cursor)}`);
    assert.equal(missed, true);
  });

  test('sends nothing of before until a person says so, once', async () => {
    await using t = await restoredHousehold();
    const { kernel } = t.after;
    const due = async () => {
      const [row] = await kernel.sql<{ due: boolean }[]>`
        select due_at < now() + interval '1 day' as due from notifications.deliveries`;
      return row?.due;
    };
    const told = await confirmRestore(kernel);
    assert.deepEqual([told.held, told.outcome], [{ webhook: 1 }, null]);
    assert.equal(await due(), false);
    const check = (await withDatabase(kernel.config, kernel)).find(({ name }) => name === 'restore');
    assert.match(check?.found ?? '', /that wait for a person: 1/);
    assert.equal((await confirmRestore(kernel, 'send')).outcome, 'sent');
    assert.equal(await due(), true);
    await assert.rejects(confirmRestore(kernel, 'send'), /nothing is held/);
  });
});
