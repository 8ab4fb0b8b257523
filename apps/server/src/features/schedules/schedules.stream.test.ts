import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  hour,
  type Json,
  minute,
  newDevice,
  openScheduler,
  type SchedulerTest,
  second,
  schedulerTest,
  shell,
} from '../scheduler/scheduler.testing.ts';
import { clientOf, startGateway, type TestGateway, until } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';

/** An open stream and the frames that came. */
interface Watch {
  frames: Json[];
  close(): Promise<void>;
}

async function watch(gateway: TestGateway, key: string): Promise<Watch> {
  const abort = new AbortController();
  const frames: Json[] = [];
  let isReady = false;
  const done = (async () => {
    try {
      for await (const frame of clientOf(gateway, key).schedules.stream({}, { signal: abort.signal })) {
        if (frame.event === 'ready') isReady = true;
        else frames.push(frame.data);
      }
    } catch {
      // Aborted.
    }
  })();
  await until(() => isReady);
  return {
    frames,
    async close() {
      abort.abort();
      await done;
    },
  };
}

describe('schedules: live stream', () => {
  const { base, two } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const first = opening.use(await openScheduler());
    const second = opening.use(await startGateway(first.database, { clock: first.clock }));
    opening.defer(() => Promise.all([...watches, stranger].map((each) => each.close())).then(() => {}));
    // Renewed by the clock of the test, which stands still for longer than a lease.
    const { sql } = first.gateway.kernel;
    const lasting = setInterval(() => {
      sql`update kernel.gateways set lease_until = now() + interval '1 hour'`.catch(() => {});
    }, 1_000);
    opening.defer(() => clearInterval(lasting));
    const stack = opening.move();
    return { base: first, two: second, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });
  /** The same account, spoken to through each gateway. */
  let t: SchedulerTest;
  let u: SchedulerTest;
  let watches: Watch[];
  let stranger: Watch;

  beforeEach(async () => {
    await Promise.all((watches ?? []).map((each) => each.close()));
    await stranger?.close();
    t = await base.fresh();
    u = schedulerTest(base.database, two, base.clock, t.account);
    const other = await base.fresh();
    watches = [await watch(t.gateway, t.account.key), await watch(two, t.account.key)];
    stranger = await watch(t.gateway, other.account.key);
  });

  const brief = ({ op, state, attempt }: Json): string =>
    [op, state, attempt].filter((part) => part !== undefined).join(' ');
  /** Every stream of the account gets exactly these frames, in this order; the stranger's none. */
  async function expectFrames(expected: string[]): Promise<void> {
    try {
      await until(() => watches.every(({ frames }) => frames.length >= expected.length));
    } catch {
      // The comparison below says what is missing.
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
    for (const { frames } of watches) assert.deepEqual(frames.map(brief), expected);
    assert.deepEqual(stranger.frames, []);
    for (const each of watches) each.frames.length = 0;
  }
  const byHand = { trigger: { type: 'event', trigger_id: 'go' } };
  const device = newDevice();

  test('changes of a schedule: created, updated, disabled, approved, withdrawn, deleted, paused, resumed', async () => {
    const schedule = await t.create(shell('echo', byHand));
    await expectFrames(['created enabled']);
    await u.call('PATCH', `/v1/schedules/${schedule.id}`, { name: 'x' });
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { enabled: false });
    await expectFrames(['updated enabled', 'updated disabled']);
    await u.call(
      'POST',
      `/v1/schedules/${schedule.id}/approve-command`,
      { command_hash: schedule.command_hash },
      device,
    );
    await u.call('DELETE', `/v1/schedules/${schedule.id}/approve-command`, undefined, device);
    await expectFrames(['updated disabled', 'updated disabled']);
    await t.call('POST', '/v1/schedules/pause', {});
    await u.call('POST', '/v1/schedules/resume', {});
    await expectFrames(['paused paused', 'resumed active']);
    await u.call('DELETE', `/v1/schedules/${schedule.id}`);
    await expectFrames(['deleted deleted']);
    await t.call('POST', '/v1/schedules/templates', { template: 'daily-briefing' });
    await expectFrames(['created enabled']);
  });

  test('what is refused sends nothing', async () => {
    const schedule = await t.create(byHand);
    await expectFrames(['created enabled']);
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { name: '' });
    await t.call('POST', '/v1/schedules', { name: 'x' });
    await t.call('POST', `/v1/schedules/${schedule.id}/approve-command`, { command_hash: '0'.repeat(64) }, device);
    await t.call('POST', '/v1/schedules/preview', { trigger: { type: 'interval', every_s: 5 } });
    await expectFrames([]);
  });

  test('moves of a run: slot, claim, retry, success; approval, skip; failure that switches off; cancel', async () => {
    const schedule = await t.create({ retries: 1, retry_backoff_s: 1, policy: { pause_after_failures: 1 } });
    await t.turnTo(minute, schedule, 'pending');
    const first = await u.claim(device);
    await u.result(first, device, { ok: false });
    base.clock.leap(2 * second);
    const again = await t.claim(device);
    await t.result(again, device, { ok: true });
    await expectFrames([
      'created enabled',
      'run pending 1',
      'run running 1',
      'run pending 2',
      'run running 2',
      'run succeeded 2',
    ]);
    await u.call('PATCH', `/v1/schedules/${schedule.id}`, {
      policy: { approval: 'always', pause_after_failures: 1 },
      retries: 0,
      trigger: byHand.trigger,
    });
    await u.runNow(schedule);
    const decide = async (decision: string) =>
      u.call('POST', `/v1/schedule-runs/${(await t.runsOf(schedule))[0].id}/decision`, { decision });
    await decide('skip');
    await t.runNow(schedule);
    await decide('approve');
    const held = await t.claim(device);
    await u.result(held, device, { ok: false });
    await expectFrames([
      'updated enabled',
      'run awaiting_approval 1',
      'run skipped 1',
      'run awaiting_approval 1',
      'run pending 1',
      'run running 1',
      'updated disabled',
      'run failed 1',
    ]);
    await t.runNow(schedule);
    await t.call('POST', `/v1/schedule-runs/${(await t.runsOf(schedule))[0].id}/cancel`);
    await expectFrames(['run awaiting_approval 1', 'run cancelled 1']);
  });

  test('moves nobody asked for: lease lost, expired, overlap, kill, end of a pause, budget, deletion', async () => {
    const schedule = await t.create({ ...byHand, late_after_s: 0, policy: { budget_micro_usd_per_run: 5 } });
    await t.runNow(schedule);
    await t.claim(device);
    await t.turnTo(61 * second, schedule, 'pending');
    await t.turnTo(25 * hour, schedule, 'expired');
    await expectFrames(['created enabled', 'run pending 1', 'run running 1', 'run pending 2', 'run expired 2']);
    await t.runNow(schedule);
    const run = await u.claim(device);
    await u.heartbeat(run, device, { cost_micro_usd: 6 });
    await expectFrames(['run pending 1', 'run running 1', 'run failed 1']);
    await t.call('POST', '/v1/triggers/go/fire');
    await u.call('POST', '/v1/triggers/go/fire');
    await expectFrames(['run pending 1', 'run skipped 1']);
    await t.call('PATCH', `/v1/schedules/${schedule.id}`, { overlap: 'kill' });
    await u.runNow(schedule);
    await t.call('DELETE', `/v1/schedules/${schedule.id}`);
    await expectFrames(['updated enabled', 'run cancelled 1', 'run pending 1', 'run cancelled 1', 'deleted deleted']);
    const until_ = new Date(base.clock.now() + 60 * second).toISOString();
    await t.call('POST', '/v1/schedules/pause', { until: until_ });
    await t.turn(61 * second, async () => watches.every(({ frames }) => frames.length >= 2));
    await expectFrames(['paused paused', 'resumed active']);
  });

  test('followers and chains: each run of them is told', async () => {
    const first = await t.create({ ...byHand, name: 'first' });
    const follower = await t.create({ name: 'follower', trigger: { type: 'after', schedule_id: first.id } });
    const chain = await t.create({
      trigger: { type: 'event', trigger_id: 'never' },
      kind: 'chain',
      spec: { steps: [{ schedule_id: first.id }] },
    });
    await expectFrames(['created enabled', 'created enabled', 'created enabled']);
    await u.runNow(chain);
    await t.turnTo(0, first, 'pending');
    const run = await t.claim(device);
    await t.result(run, device, { ok: true });
    await t.turnTo(0, chain, 'succeeded');
    const ran = ['run pending 1', 'run running 1', 'run succeeded 1'];
    for (const [{ id }, expected] of [
      [chain, ran],
      [first, ran],
      [follower, ['run pending 1']],
    ] as const) {
      const told = () => watches.map(({ frames }) => frames.filter((frame) => frame.schedule_id === id).map(brief));
      await until(() => told().every(({ length }) => length >= expected.length));
      assert.deepEqual(told(), [expected, expected]);
    }
    assert.deepEqual(stranger.frames, []);
  });

  test('five hundred schedules that fire at once: every run is told, to both gateways', async () => {
    for (let made = 0; made < 500; made += 50)
      await Promise.all(
        Array.from({ length: 50 }, () => t.create({ ...byHand, trigger: { type: 'event', trigger_id: 'many' } })),
      );
    await until(() => watches.every(({ frames }) => frames.length === 500));
    for (const each of watches) each.frames.length = 0;
    assert.equal((await t.call('POST', '/v1/triggers/many/fire')).body.queued, 500);
    await until(() => watches.every(({ frames }) => frames.length === 500));
    for (const { frames } of watches) assert.equal(new Set(frames.map((frame) => frame.run_id)).size, 500);
  });

  test('the head comes at once, not with the first frame or ping', async () => {
    const abort = new AbortController();
    // The clock stands still: no ping comes.
    const head = await fetch(`${t.gateway.url}/v1/schedules/stream`, {
      headers: { authorization: `Bearer ${t.account.key}` },
      signal: abort.signal,
    });
    assert.equal(head.status, 200);
    abort.abort();
  });

  test('streams that close leave nothing behind; a host’s change sends no frame', async () => {
    const counts = [t.gateway, two].map(({ kernel }) => kernel.streams.count());
    const more = await Promise.all(Array.from({ length: 200 }, () => watch(t.gateway, t.account.key)));
    await Promise.all(more.map((each) => each.close()));
    await until(() => t.gateway.kernel.streams.count() === counts[0]);
    await t.claim(device);
    const [host] = (await t.call('GET', '/v1/scheduler/hosts')).body.hosts;
    await t.call('PATCH', `/v1/scheduler/hosts/${host.id}`, { name: 'box' });
    await expectFrames([]);
  });
});
