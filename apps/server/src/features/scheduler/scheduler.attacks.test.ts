import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import {
  hour,
  type Json,
  minute,
  newDevice,
  openScheduler,
  type SchedulerTest,
  second,
  shell,
} from './scheduler.testing.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { asOwner, startGateway, until } from '../../testing.ts';
import { Claims } from './claim.ts';
import { Scheduler } from './index.ts';
import { tickChains, tickRuns, tickSchedules } from './tickers/ticker.ts';

const byHand = { trigger: { type: 'event', trigger_id: 'never' } };

describe('scheduler: attacks', () => {
  let t: SchedulerTest;
  const base = shared(() => openScheduler());
  beforeEach(async () => {
    t = await base.fresh();
  });
  const at = (ms: number): string => new Date(t.clock.now() + ms).toISOString();
  const patch = (id: string, body: Json) => t.call('PATCH', `/v1/schedules/${id}`, body);

  test('a url with NUL in one account does not stop the slots of every account', async () => {
    const bad = await t.call('POST', '/v1/schedules', {
      name: 'bad',
      kind: 'http',
      spec: { url: 'https://a.test/\u0000' },
      trigger: { type: 'cron', expr: '* * * * *' },
    });
    const other = await base.fresh();
    const good = await other.create();
    t.clock.leap(minute);
    const tick = () => tickSchedules(new Scheduler(t.gateway.kernel).parts);
    const error = await tick().catch((fault: unknown) => fault);
    const isMade = async (): Promise<boolean> => (await other.runsOf(good)).length === 1;
    const made = await until(isMade).then(
      () => true,
      () => false,
    );
    if (bad.status === 201) await t.call('DELETE', `/v1/schedules/${bad.body.id}`);
    assert.deepEqual([error instanceof Error ? error.message : undefined, made], [undefined, true]);
  });

  test('a schedule that cannot be taken is set aside and stops no other', async () => {
    const bad = await t.create();
    const { sql } = t.gateway.kernel;
    // No request can store this; a later version's fault might.
    await sql`update schedules.schedules set policy = ${'{"approval":"outside_hours","quiet_hours":{"start":"x"}}'}
      where id = ${bad.id}`;
    const other = await base.fresh();
    const good = await other.create();
    await other.turnTo(minute, good, 'pending');
    assert.equal((await sql`select 1 from scheduler.runs where schedule_id = ${bad.id}`).length, 0);
    await sql`delete from schedules.schedules where id = ${bad.id}`;
  });

  test('a slot is not missed because the database broke off twice', async () => {
    const own = await openScheduler();
    const schedule = await own.create({ misfire: 'skip', trigger: { type: 'cron', expr: '0 * * * *' } });
    // It fails with the others, and again alone; sequences do not go back with a transaction.
    await asOwner(own.database, (sql) =>
      sql.unsafe(`
        create sequence scheduler.breaks;
        create function scheduler.break_off() returns trigger language plpgsql security definer as $$ begin
          if nextval('scheduler.breaks') <= 2 then raise exception 'on purpose' using errcode = 'admin_shutdown'; end if;
          return new;
        end $$;
        create trigger break_off before insert on scheduler.runs for each row execute function scheduler.break_off()`),
    );
    const breaks = () =>
      asOwner(own.database, async (sql) => {
        const [row] = await sql<{ n: number }[]>`select last_value::int as n from scheduler.breaks`;
        return row?.n;
      });
    const slot = Math.ceil(own.clock.now() / hour) * hour;
    await own.turn(slot - own.clock.now(), async () => (await breaks()) === 2);
    const run = await own.turnTo(20 * second, schedule, 'pending');
    assert.equal(Date.parse(run.scheduled_for), slot);
    await own.close();
  });

  test('a queued run of a chain does not stop the chains of every account', async () => {
    const step = await t.create(byHand);
    const chain = await t.create({
      ...byHand,
      kind: 'chain',
      overlap: 'queue',
      spec: { steps: [{ schedule_id: step.id }] },
    });
    await t.runNow(chain);
    await t.turnTo(0, step, 'pending');
    t.clock.advance(second);
    assert.equal(await t.runNow(chain), true);
    t.clock.advance(second);
    const other = await base.fresh();
    const step2 = await other.create(byHand);
    const chain2 = await other.create({ ...byHand, kind: 'chain', spec: { steps: [{ schedule_id: step2.id }] } });
    await other.runNow(chain2);
    const tick = () => tickChains(new Scheduler(t.gateway.kernel).parts);
    const error = await tick().catch((fault: unknown) => fault);
    const isMade = async (): Promise<boolean> => (await other.runsOf(step2)).length === 1;
    const made = await until(isMade).then(
      () => true,
      () => false,
    );
    await t.call('DELETE', `/v1/schedules/${chain.id}`);
    assert.deepEqual([error instanceof Error ? error.message : undefined, made], [undefined, true]);
  });

  test('PATCH of the command while attempt 1 runs: attempt 2 is the new command, and can be taken', async () => {
    const device = newDevice();
    const made = await t.create(shell('echo a', { ...byHand, retries: 1, retry_backoff_s: 1 }));
    const approve = (hash: string) =>
      t.call('POST', `/v1/schedules/${made.id}/approve-command`, { command_hash: hash }, device);
    await approve(made.command_hash);
    await t.runNow(made);
    const first = await t.claim(device);
    const edited = (await patch(made.id, { spec: { command: 'echo b', shell: 'sh' } })).body;
    await approve(edited.command_hash);
    await t.result(first, device, { ok: false });
    t.clock.leap(2 * second);
    const next = await t.claim(device);
    assert.deepEqual([next?.attempt, next?.spec.command], [2, 'echo b']);
  });

  test('PATCH of an agent’s prompt and target while attempt 1 runs: attempt 2 follows the edit', async () => {
    const [one, two] = [newDevice(), newDevice()];
    const made = await t.create({
      ...byHand,
      retries: 1,
      retry_backoff_s: 1,
      target: { type: 'host', device_id: one },
    });
    await t.runNow(made);
    const first = await t.claim(one);
    await patch(made.id, { spec: { prompt: 'new' }, target: { type: 'host', device_id: two } });
    await t.result(first, one, { ok: false });
    t.clock.leap(2 * second);
    assert.equal((await t.claim(two))?.spec.prompt, 'new');
  });

  test('after its predecessor was deleted a follower can still be renamed and switched off; a chain too', async () => {
    const first = await t.create(byHand);
    const follower = await t.create({ trigger: { type: 'after', schedule_id: first.id } });
    const chain = await t.create({ ...byHand, kind: 'chain', spec: { steps: [{ schedule_id: first.id }] } });
    await t.call('DELETE', `/v1/schedules/${first.id}`);
    const statuses = [];
    for (const { id } of [follower, chain])
      statuses.push((await patch(id, { enabled: false })).status, (await patch(id, { name: 'x' })).status);
    assert.deepEqual(statuses, [200, 200, 200, 200]);
  });

  test('max_parallel counts this account’s runs only, though another account has a device of the same id', async () => {
    const other = await base.fresh();
    const device = newDevice();
    await other.runNow(await other.create(byHand));
    assert.ok(await other.claim(device));
    await t.claim(device);
    const [host] = (await t.call('GET', '/v1/scheduler/hosts')).body.hosts;
    await t.call('PATCH', `/v1/scheduler/hosts/${host.id}`, { max_parallel: 1 });
    await t.runNow(await t.create(byHand));
    assert.ok(await t.claim(device));
  });

  test('a schedule that was switched off during the pause gets no catch-up', async () => {
    const schedule = await t.create();
    await t.call('POST', '/v1/schedules/pause', {});
    t.clock.leap(3 * minute);
    await new Scheduler(t.gateway.kernel).tickAccount(t.account.id);
    await patch(schedule.id, { enabled: false });
    const { body } = await t.call('POST', '/v1/schedules/resume', { backfill: true });
    assert.deepEqual([body.backfilled, (await t.runsOf(schedule)).length], [0, 0]);
  });

  test('last_run_at is when the last run was started, not queued, whatever started it', async () => {
    const event = await t.create({ trigger: { type: 'event', trigger_id: 'go' } });
    const follower = await t.create({ trigger: { type: 'after', schedule_id: event.id } });
    const lastOf = async ({ id }: { id: string }): Promise<string | undefined> => (await t.get(id)).last_run_at;
    await t.call('POST', '/v1/triggers/go/fire');
    assert.equal(await lastOf(event), undefined);
    t.clock.leap(minute);
    const device = newDevice();
    const run = await t.claim(device);
    assert.equal(await lastOf(event), new Date(t.clock.now()).toISOString());
    await t.result(run, device, { ok: true });
    assert.deepEqual([(await t.runsOf(follower)).length, await lastOf(follower)], [1, undefined]);
    t.clock.leap(minute);
    await t.claim(device);
    assert.equal(await lastOf(follower), new Date(t.clock.now()).toISOString());
    const chain = await t.create({ ...byHand, kind: 'chain', spec: { steps: [{ schedule_id: event.id }] } });
    await t.runNow(chain);
    await t.turnTo(0, chain, 'running');
    assert.equal(await lastOf(chain), new Date(t.clock.now()).toISOString());
  });

  test('last_run_at of a slot that waited is when it was taken, also of a catch-up', async () => {
    const schedule = await t.create();
    await t.call('POST', '/v1/schedules/pause', {});
    t.clock.leap(2 * minute);
    await t.call('POST', '/v1/schedules/resume', { backfill: true });
    assert.equal((await t.runsOf(schedule)).length, 1);
    assert.equal((await t.get(schedule.id)).last_run_at, undefined);
    await t.claim(newDevice());
    assert.equal((await t.get(schedule.id)).last_run_at, new Date(t.clock.now()).toISOString());
  });

  test('a schedule that is switched off cancels what waits and lets go on what runs', async () => {
    const device = newDevice();
    const schedule = await t.create({ ...byHand, overlap: 'queue' });
    await t.runNow(schedule);
    const run = await t.claim(device);
    await t.runNow(schedule);
    const disable = () => t.call('PATCH', `/v1/schedules/${schedule.id}`, { enabled: false });
    assert.equal((await disable()).status, 200);
    assert.deepEqual(
      (await t.runsOf(schedule)).map(({ state, error }) => [state, error]),
      [
        ['cancelled', 'the schedule was switched off'],
        ['running', undefined],
      ],
    );
    assert.equal((await t.result(run, device, { ok: true })).body.run.state, 'succeeded');
    // By hand it can still be run, and a change of its name does not take that away.
    assert.equal(await t.runNow(schedule), true);
    await disable();
    assert.notEqual(await t.claim(device), null);
  });

  test('a schedule that switches itself off after failures cancels what waits', async () => {
    const device = newDevice();
    const schedule = await t.create({ ...byHand, overlap: 'queue', policy: { pause_after_failures: 1 } });
    await t.runNow(schedule);
    const run = await t.claim(device);
    await t.runNow(schedule);
    await t.result(run, device, { ok: false });
    assert.deepEqual(
      (await t.runsOf(schedule)).map(({ state }) => state),
      ['cancelled', 'failed'],
    );
  });

  test('variables of a command in the cloud are refused, where they are said', async () => {
    const cloud = { ...byHand, kind: 'shell', target: { type: 'cloud' } };
    const named = { command: 'x', env_names: ['TOKEN'] };
    const refused = await t.call('POST', '/v1/schedules', { ...cloud, name: 'x', spec: named });
    assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['spec.env_names']]);
    const made = await t.create({ ...cloud, spec: { command: 'x', env_names: [] } });
    const patch = (body: Json) => t.call('PATCH', `/v1/schedules/${made.id}`, body);
    assert.equal((await patch({ spec: named })).status, 400);
    assert.equal((await patch({ spec: named, target: { type: 'any' } })).status, 200);
    assert.equal((await patch({ target: { type: 'cloud' } })).status, 400);
  });

  test('overlap kill with two slots in one tick leaves one', async () => {
    const schedule = await t.create({ overlap: 'kill', trigger: { type: 'interval', every_s: 10 } });
    await t.turn(25 * second, async () => (await t.runsOf(schedule)).length === 2);
    const waiting = (await t.runsOf(schedule)).filter((run) => run.state === 'pending');
    assert.equal(waiting.length, 1);
  });

  test('repeating an accepted result answers 200, also after a later attempt ended', async () => {
    const schedule = await t.create({ ...byHand, retries: 1, retry_backoff_s: 1 });
    await t.runNow(schedule);
    const device = newDevice();
    const first = await t.claim(device);
    await t.result(first, device, { ok: false });
    t.clock.leap(2 * second);
    await t.result(await t.claim(device), device, { ok: true });
    assert.equal((await t.result(first, device, { ok: false })).status, 200);
  });

  test('a client that sends the whole record back may edit a schedule whose `at` is over', async () => {
    const schedule = await t.create({ trigger: { type: 'at', at: at(5 * second) } });
    await t.turnTo(5 * second, schedule, 'pending');
    t.clock.leap(5 * minute);
    const { status } = await patch(schedule.id, { ...(await t.get(schedule.id)), name: 'renamed' });
    assert.equal(status, 200);
  });

  test('an edit of the policy does not lose a slot that is due and not taken yet', async () => {
    const schedule = await t.create({ trigger: { type: 'interval', every_s: 600 } });
    // As between two ticks, or while the tickers were away.
    const { sql } = t.gateway.kernel;
    await sql`update schedules.schedules set slots = array_prepend(${at(-30 * second)}::timestamptz, slots) where id = ${schedule.id}`;
    await patch(schedule.id, { policy: { approval: 'never' } });
    // A tick that an earlier turn of the clock caused may have taken it meanwhile: it is a run then.
    const [row] = await sql<{ n: number }[]>`
      select (select count(*) from schedules.schedules s, unnest(s.slots) slot where id = ${schedule.id} and slot <= ${at(0)})::int
        + (select count(*) from scheduler.runs where schedule_id = ${schedule.id} and scheduled_for <= ${at(0)})::int as n`;
    assert.equal(row?.n, 1);
  });

  test('what a person approved is what runs: an edit after the approval asks again', async () => {
    const schedule = await t.create({ ...byHand, policy: { approval: 'always' } });
    await t.runNow(schedule);
    const [run] = await t.runsOf(schedule);
    await t.call('POST', `/v1/schedule-runs/${run.id}/decision`, { decision: 'approve' });
    await patch(schedule.id, { spec: { prompt: 'another' } });
    assert.equal((await t.claim(newDevice()))?.spec.prompt ?? 'not offered', 'not offered');
  });

  test('graphs: deep and diamond', async () => {
    let last = await t.create(byHand);
    const firstId = last.id;
    const ids = [last.id];
    for (let i = 0; i < 60; i += 1) {
      last = await t.create({ trigger: { type: 'after', schedule_id: last.id, on: 'always' } });
      ids.push(last.id);
    }
    assert.equal((await patch(firstId, { trigger: { type: 'after', schedule_id: last.id } })).status, 400);
    const diamond = await t.create({
      ...byHand,
      kind: 'chain',
      spec: { steps: [{ schedule_id: ids[1] }, { schedule_id: ids[2] }, { schedule_id: ids[1] }] },
    });
    assert.ok(diamond.id);
    const circle = await patch(ids[0] as string, { kind: 'chain', spec: { steps: [{ schedule_id: diamond.id }] } });
    // 0 → diamond → 1, and 0 → 1: no circle.
    assert.equal(circle.status, 200);
    assert.equal(
      (await patch(ids[1] as string, { kind: 'chain', spec: { steps: [{ schedule_id: diamond.id }] } })).status,
      400,
    );
    const foreign = await base.fresh();
    assert.equal(
      (
        await foreign.call('POST', '/v1/schedules', {
          name: 'x',
          kind: 'agent',
          spec: { prompt: 'x' },
          trigger: { type: 'after', schedule_id: firstId },
        })
      ).status,
      400,
    );
  });

  test('two edits at once cannot close a circle', async () => {
    for (let i = 0; i < 15; i += 1) {
      const [a, b] = [await t.create(byHand), await t.create(byHand)];
      const answers = await Promise.all([
        patch(a.id, { trigger: { type: 'after', schedule_id: b.id } }),
        patch(b.id, { trigger: { type: 'after', schedule_id: a.id } }),
      ]);
      assert.deepEqual(
        answers.map((answer) => answer.status).sort((a, b) => a - b),
        [200, 400],
      );
    }
  });

  test('a chain’s step whose schedule is in use by hand: the chain waits or says why', async () => {
    const step = await t.create(byHand);
    const chain = await t.create({ ...byHand, kind: 'chain', spec: { steps: [{ schedule_id: step.id }] } });
    await t.runNow(step);
    await t.runNow(chain);
    const ended = await t.turnTo(0, chain, 'failed');
    assert.equal(ended.error, 'step 1 skipped');
  });

  test('the chain that was switched to another kind while it ran comes to its end', async () => {
    const step = await t.create(byHand);
    const chain = await t.create({ ...byHand, kind: 'chain', spec: { steps: [{ schedule_id: step.id }] } });
    await t.runNow(chain);
    await t.turnTo(0, step, 'pending');
    assert.equal((await patch(chain.id, { kind: 'agent', spec: { prompt: 'x' } })).status, 200);
    const device = newDevice();
    await t.result(await t.claim(device), device, { ok: true });
    await t.turnTo(0, chain, 'succeeded');
  });

  test('budget and skipped days change at midnight of the zone', async () => {
    // 2026-11-23 09:00:10Z is 23:00:10 on the 23rd in Kiritimati (+14).
    const zone = { type: 'cron', expr: '0 0 1 1 *', tz: 'Pacific/Kiritimati' };
    const schedule = await t.create({ trigger: zone, policy: { budget_micro_usd_per_day: 10 } });
    const skips = await t.create({ trigger: zone, policy: { skip_days: { dates: ['2026-11-24'] } }, overlap: 'queue' });
    const device = newDevice();
    const now = new Date(t.clock.now()).toISOString();
    await t.runNow(schedule);
    await t.result(await t.claim(device), device, { ok: true, cost_micro_usd: 10 });
    const local = Temporal.Instant.from(now).toZonedDateTimeISO('Pacific/Kiritimati');
    assert.equal(await t.runNow(schedule), false);
    const midnight = local.startOfDay().add({ days: 1 }).epochMilliseconds - t.clock.now();
    t.clock.leap(midnight - 1);
    assert.equal(await t.runNow(schedule), false);
    t.clock.advance(1);
    assert.equal(await t.runNow(schedule), true);
    const day = Temporal.Instant.fromEpochMilliseconds(t.clock.now())
      .toZonedDateTimeISO('Pacific/Kiritimati')
      .toPlainDate()
      .toString();
    assert.equal(await t.runNow(skips), day !== '2026-11-24');
    void hour;
  });

  test('long and odd strings arrive as they were sent', async () => {
    const odd = `${'📱'.repeat(50)} ‮\u0007'"\\`;
    const schedule = await t.create({ ...byHand, name: odd, spec: { prompt: 'ș'.repeat(10_000) } });
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    assert.deepEqual([run.name, run.spec.prompt.length], [odd, 10_000]);
    const log = `${'漢'.repeat(10_000)}\u001b[0m`;
    await t.result(run, device, { ok: false, log_tail: log, error: odd });
    assert.deepEqual([(await t.runsOf(schedule))[0].log_tail, (await t.runsOf(schedule))[0].error], [log, odd]);
    assert.equal((await t.call('POST', `/v1/triggers/${encodeURIComponent(odd.slice(0, 100))}/fire`)).status, 202);
  });

  test('a result and a heartbeat in upper-case ids and with the device in upper case', async () => {
    const schedule = await t.create(byHand);
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device.toUpperCase());
    assert.equal((await t.heartbeat(run, device)).status, 200);
    assert.equal(
      (await t.result({ id: run.id.toUpperCase(), attempt: 1 }, device.toUpperCase(), { ok: true })).status,
      200,
    );
  });

  test('idempotency: run, create and fire are done once for a key', async () => {
    const schedule = await t.create({ trigger: { type: 'event', trigger_id: 'e' }, overlap: 'kill' });
    const send = (path: string, body?: Json) =>
      fetch(t.gateway.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${t.account.key}`,
          'idempotency-key': 'k',
          'content-type': 'application/json',
        },
        ...(body && { body: JSON.stringify(body) }),
      });
    for (const path of [`/v1/schedules/${schedule.id}/run`, '/v1/triggers/e/fire']) {
      const one = await (await send(path)).json();
      assert.deepEqual(await (await send(path)).json(), one);
    }
    assert.equal((await t.runsOf(schedule)).length, 2);
  });

  test('paused: an event and a follower make nothing, and a chain that runs goes on', async () => {
    const first = await t.create(byHand);
    const follower = await t.create({ trigger: { type: 'after', schedule_id: first.id, on: 'always' } });
    const chain = await t.create({ ...byHand, kind: 'chain', spec: { steps: [{ schedule_id: first.id }] } });
    await t.runNow(chain);
    await t.call('POST', '/v1/schedules/pause', {});
    // The gateway's own ticker may have made the step before.
    const made = (await t.runsOf(first)).length;
    await until(async () => {
      await tickChains(new Scheduler(t.gateway.kernel).parts);
      return (await t.runsOf(chain))[0].state !== 'pending';
    });
    const runs = await t.runsOf(first);
    // `no runs are created for any schedule`: the step of a chain that runs is one of them.
    assert.equal(runs.length, made);
    const device = newDevice();
    const run = await t.claim(device);
    if (run) await t.result(run, device, { ok: true });
    assert.equal((await t.runsOf(follower)).length, 0);
  });

  test('tickers do not disturb: what is over stays over after any time', async () => {
    const schedule = await t.create({ ...byHand, late_after_s: 1 });
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    await t.result(run, device, { ok: true });
    const [before_] = await t.runsOf(schedule);
    t.clock.leap(48 * hour);
    await tickRuns(new Scheduler(t.gateway.kernel).parts);
    assert.deepEqual((await t.runsOf(schedule))[0], before_);
  });

  test('last_run_at stays when the slot’s run was refused by the budget', async () => {
    const schedule = await t.create({ policy: { budget_micro_usd_per_day: 0 } });
    t.clock.leap(minute);
    await new Scheduler(t.gateway.kernel).tickAccount(t.account.id);
    assert.deepEqual([(await t.runsOf(schedule)).length, (await t.get(schedule.id)).last_run_at], [0, undefined]);
  });

  test('no run is created while paused, also not of an `at` that lies before the pause', async () => {
    t.clock.leap(40 * second);
    await t.call('POST', '/v1/schedules/pause', {});
    t.clock.leap(10 * second);
    const schedule = await t.create({ trigger: { type: 'at', at: at(-30 * second) } });
    await t.turn(second, async () => (await t.get(schedule.id)).next_run_at === undefined);
    await tickSchedules(new Scheduler(t.gateway.kernel).parts, { accountId: t.account.id });
    assert.equal((await t.runsOf(schedule)).length, 0);
  });

  test('a native report of an instant that is no slot, or that ends before it began, is refused', async () => {
    const device = newDevice();
    const schedule = await t.create(
      shell('x', {
        native: true,
        target: { type: 'host', device_id: device },
        trigger: { type: 'cron', expr: '0 9 * * *' },
      }),
    );
    const report = (body: Json) =>
      t.call(
        'POST',
        '/v1/scheduler/native-runs',
        {
          schedule_id: schedule.id,
          scheduled_for: at(-hour - 17),
          started_at: at(-hour),
          finished_at: at(-minute),
          ok: true,
          ...body,
        },
        device,
      );
    assert.deepEqual(
      [(await report({})).status, (await report({ scheduled_for: at(-hour), finished_at: at(-2 * hour) })).status],
      [400, 400],
    );
  });

  test('a native report whose answer was lost is answered again; another one of its slot is refused', async () => {
    const device = newDevice();
    const schedule = await t.create(
      shell('x', {
        native: true,
        target: { type: 'host', device_id: device },
        trigger: { type: 'cron', expr: '* * * * *' },
      }),
    );
    const slot = new Date(Math.floor(Date.parse(at(-10 * minute)) / minute) * minute).toISOString();
    const report = (body: Json) =>
      t.call(
        'POST',
        '/v1/scheduler/native-runs',
        {
          schedule_id: schedule.id,
          scheduled_for: slot,
          started_at: slot,
          finished_at: at(-minute),
          ok: true,
          ...body,
        },
        device,
      );
    const first = await report({});
    const again = await report({});
    assert.deepEqual([first.status, again.status, again.body], [200, 200, first.body]);
    for (const other of [{ ok: false }, { finished_at: at(-2 * minute) }]) {
      assert.equal((await report(other)).body.error.code, 'lease_held');
    }
    assert.equal((await t.runsOf(schedule)).length, 1);
  });

  test('a run that was taken and could not be answered goes on at once, not when its lease ends', async () => {
    const schedule = await t.create({ ...byHand, kind: 'agent', spec: { prompt: 'x' } });
    await t.runNow(schedule);
    const away = { find: () => Promise.reject(new ApiError('unavailable', 'the database cannot be reached')) };
    const claims = new Claims(new Scheduler(t.gateway.kernel).parts, away as never);
    const host = { accountId: t.account.id, deviceId: newDevice(), kinds: ['agent'], tags: undefined };
    await assert.rejects(claims.take(host, 0, new AbortController().signal), { code: 'unavailable' });
    const [run] = await t.runsOf(schedule);
    assert.deepEqual([run?.['state'], run?.['attempt']], ['pending', 2]);
  });

  test('cloud_vm: a host that approved the command is not offered the run; it expires', async () => {
    const schedule = await t.create(shell('x', { ...byHand, target: { type: 'cloud_vm', project_id: newDevice() } }));
    await t.runNow(schedule);
    const device = newDevice();
    await t.call(
      'POST',
      `/v1/schedules/${schedule.id}/approve-command`,
      { command_hash: schedule.command_hash },
      device,
    );
    assert.equal(await t.claim(device), null);
    assert.equal((await t.turnTo(24 * hour, schedule, 'expired')).state, 'expired');
  });

  test('drain answers claims that wait', async () => {
    await using gateway = await startGateway(t.database, { clock: t.clock });
    const waiting = Array.from({ length: 10 }, async () => {
      const answer = await fetch(`${gateway.url}/v1/scheduler/claim`, {
        method: 'POST',
        body: '{"wait_s":25}',
        headers: {
          authorization: `Bearer ${t.account.key}`,
          'content-type': 'application/json',
          'x-svc-device': newDevice(),
        },
      });
      return [answer.status, await answer.json()];
    });
    await until(async () => (await t.call('GET', '/v1/scheduler/hosts')).body.hosts.length === 10);
    await gateway.app.drain();
    for (const answer of await Promise.all(waiting)) assert.deepEqual(answer, [200, { run: null }]);
  });

  test('one account’s 100 waiting claims are woken by one run, and one gets it', async () => {
    const schedule = await t.create(byHand);
    const waiting = Array.from({ length: 100 }, () => t.claim(newDevice(), { wait_s: 25 }));
    await until(async () => (await t.call('GET', '/v1/scheduler/hosts')).body.hosts.length === 100);
    // The clock stands still: a claim is answered because a run is there, not because its wait is over.
    await t.runNow(schedule);
    await Promise.race(waiting.map(async (each) => assert.ok(await each)));
    // Past the waits of the others, and not past the lease of the run.
    let left = 26;
    const ticking = setInterval(() => left-- > 0 && t.clock.advance(second), 10);
    const got = (await Promise.all(waiting)).filter((run) => run !== null);
    clearInterval(ticking);
    assert.equal(got.length, 1);
  });
});
