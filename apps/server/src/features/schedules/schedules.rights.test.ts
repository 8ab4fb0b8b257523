import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Actor } from '../../kernel/base/actor.ts';
import { shared } from '../../testing.shared.ts';
import { type HttpAnswer, http, until } from '../../testing.ts';
import { Rights } from './index.ts';
import { type Json, newDevice, openScheduler, type SchedulerTest, second } from '../scheduler/scheduler.testing.ts';

const trigger = { type: 'event', trigger_id: 'x' };
const cloud = { type: 'cloud' };
const agent = { name: 'a', kind: 'agent', spec: { prompt: 'x' }, trigger, target: cloud };
const command = { name: 's', kind: 'shell', spec: { command: 'true' }, trigger, target: cloud };
const onHost = { name: 'h', kind: 'agent', spec: { prompt: 'x' }, trigger };

describe('schedules: whose rights later work has', () => {
  const base = shared(() => openScheduler());
  let t: SchedulerTest;
  beforeEach(async () => void (t = await base.fresh()));

  interface Made {
    id: string;
    key: string;
  }
  const keyWith = async (terms: object): Promise<Made> => {
    const { status, body } = await t.call('POST', '/v1/keys', terms);
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  };
  const full = { scopes: ['schedules', 'scheduler', 'sandboxes', 'chat'] };
  const by = (key: string, method: string, path: string, body?: object): Promise<HttpAnswer> =>
    http(t.gateway.url, path, { method, key, ...(body && { body }) });
  const refused = ({ status, body }: HttpAnswer, words: RegExp): void => {
    assert.equal(status, 403, JSON.stringify(body));
    assert.match(body.error.message, words);
  };
  const turnKeys = (schedule: { id: string }, state: string): Promise<Json> => t.turnTo(2 * second, schedule, state);

  test('a key makes no work for the cloud that it could not do by itself: level, scopes, models, cap', async () => {
    const cases = [
      [{ scopes: ['schedules'], tool_level: 'l0' }, /scope "sandboxes"/, /scope "sandboxes"/],
      [{ ...full, tool_level: 'l0' }, /tool level l3_sandbox/, /tool level l3_sandbox/],
      [{ scopes: ['schedules', 'sandboxes'] }, /scope "chat"/, undefined],
      [{ ...full, models: ['svc-fast'] }, /use the model svc/, undefined],
    ] as const;
    for (const [terms, forAgent, forShell] of cases) {
      const { key } = await keyWith(terms);
      refused(await by(key, 'POST', '/v1/schedules', agent), forAgent);
      const shell = await by(key, 'POST', '/v1/schedules', command);
      if (forShell) refused(shell, forShell);
      else assert.equal(shell.status, 201);
    }
    const { key } = await keyWith(full);
    for (const body of [agent, command]) assert.equal((await by(key, 'POST', '/v1/schedules', body)).status, 201);
  });

  test('nor by a template, an edit, a run by hand or a chain; what makes nothing run is open to it', async () => {
    const strong = await t.create(agent);
    const { key } = await keyWith({ scopes: ['schedules'], tool_level: 'l0' });
    const own = (await by(key, 'POST', '/v1/schedules', onHost)).body;
    const path = `/v1/schedules/${strong.id}`;
    refused(await by(key, 'POST', `${path}/run`), /scope/);
    const edits = [{ target: cloud }, { kind: 'shell', spec: { command: 'true' }, target: cloud }];
    for (const edit of edits) refused(await by(key, 'PATCH', `/v1/schedules/${own.id}`, edit), /scope/);
    const riskier = [{ spec: { prompt: 'y' } }, { trigger: { type: 'interval', every_s: 1 } }, { enabled: true }];
    for (const edit of [...riskier, { retries: 10 }, { policy: null }, { notify: 'never' }])
      refused(await by(key, 'PATCH', path, edit), /scope/);
    const chain = { name: 'c', kind: 'chain', trigger, spec: { steps: [{ schedule_id: strong.id }] } };
    refused(await by(key, 'POST', '/v1/schedules', chain), /scope/);
    const digest = { template: 'weekly-transcripts-digest' };
    refused(await by(key, 'POST', '/v1/schedules/templates', digest), /scope/);
    for (const edit of [{ name: 'renamed' }, { description: 'new' }, { enabled: false }])
      assert.equal((await by(key, 'PATCH', path, edit)).status, 200);
    assert.deepEqual(await t.runsOf(strong), []);
  });

  test('when the key ends, what waits and what runs fails and says what to do; the schedule stays', async () => {
    for (const end of [{ status: 'paused' }, undefined]) {
      const { id, key } = await keyWith(full);
      const device = newDevice();
      const { body: waiting } = await by(key, 'POST', '/v1/schedules', onHost);
      const { body: running } = await by(key, 'POST', '/v1/schedules', { ...onHost, name: 'runs' });
      for (const schedule of [running]) await by(key, 'POST', `/v1/schedules/${schedule.id}/run`);
      const run = await t.claim(device);
      await by(key, 'POST', `/v1/schedules/${waiting.id}/run`);
      await t.call(end ? 'PATCH' : 'DELETE', `/v1/keys/${id}`, end);
      for (const schedule of [waiting, running]) {
        const { error } = await turnKeys(schedule, 'failed');
        assert.match(error, /revoked, paused or expired; save the schedule again/);
        assert.equal((await t.get(schedule.id)).enabled, true);
      }
      assert.equal((await t.heartbeat(run, device)).body.error.code, 'lease_held');
    }
  });

  test('a run by hand ends with the key that asked for it, not with that of its schedule', async () => {
    const schedule = await t.create(onHost);
    const { id, key } = await keyWith(full);
    await by(key, 'POST', `/v1/schedules/${schedule.id}/run`);
    await t.call('DELETE', `/v1/keys/${id}`);
    await turnKeys(schedule, 'failed');
    await t.runNow(schedule);
    assert.ok(await t.claim(newDevice()));
  });

  test('an edit makes its key answer for what waits too: a retry of another’s run never has more rights', async () => {
    const { id, key } = await keyWith(full);
    const schedule = await t.create({ ...onHost, retries: 1, retry_backoff_s: 1 });
    await t.runNow(schedule);
    const device = newDevice();
    const run = await t.claim(device);
    assert.equal((await by(key, 'PATCH', `/v1/schedules/${schedule.id}`, { spec: { prompt: 'y' } })).status, 200);
    await t.result(run, device, { ok: false });
    await t.call('DELETE', `/v1/keys/${id}`);
    assert.match((await turnKeys(schedule, 'failed')).error, /save the schedule again/);
  });

  test('rights that a key lost since, and a feature that was switched off, end the run when it is due', async () => {
    const made = await keyWith(full);
    const { body: schedule } = await by(made.key, 'POST', '/v1/schedules', command);
    await t.call('PATCH', `/v1/keys/${made.id}`, { tool_level: 'l0' });
    const { sql } = t.gateway.kernel;
    const fire = () => t.call('POST', '/v1/triggers/x/fire');
    await fire();
    assert.match((await t.turnTo(0, schedule, 'failed')).error, /needs tool level l3_sandbox/);
    const other = await t.create({ ...command, trigger: { type: 'event', trigger_id: 'y' } });
    await sql`update accounts.accounts set features = '{"sandboxes": false}' where id = ${t.account.id}`;
    await t.gateway.kernel.gateways.announce('credentials.changed', { accountId: t.account.id });
    await t.call('POST', '/v1/triggers/y/fire');
    assert.match((await t.turnTo(0, other, 'failed')).error, /not enabled for this account/);
    refused(await t.call('POST', '/v1/schedules', agent), /not enabled/);
  });

  test('a step acts for its chain’s key, which needs the rights when the step is due', async () => {
    const step = await t.create({ ...onHost, name: 'step' });
    const { id, key } = await keyWith(full);
    const steps = [{ schedule_id: step.id }];
    const { body: chain } = await by(key, 'POST', '/v1/schedules', {
      name: 'c',
      kind: 'chain',
      trigger,
      spec: { steps },
    });
    await by(key, 'POST', `/v1/schedules/${chain.id}/run`);
    await until(async () => (await t.turn(0, async () => true), (await t.runsOf(step)).length === 1));
    await t.call('DELETE', `/v1/keys/${id}`);
    for (const schedule of [step, chain])
      await until(async () => {
        await t.turn(2 * second, async () => true);
        const [run] = await t.runsOf(schedule);
        return run?.state === 'failed' || run?.state === 'cancelled';
      });
  });

  test('a schedule of a version that kept no key fails until it is saved again', async () => {
    const schedule = await t.create(command);
    await t.gateway.kernel.sql`update schedules.schedules set key_id = null where id = ${schedule.id}`;
    await t.call('POST', '/v1/triggers/x/fire');
    assert.match((await t.turnTo(0, schedule, 'failed')).error, /save the schedule again/);
  });

  test('a webhook of the cloud to a private address is refused when it is saved; a host reaches its own network', async () => {
    const hook = (url: string, more: object = {}) =>
      t.call('POST', '/v1/schedules', { name: 'h', kind: 'http', spec: { url, method: 'GET' }, trigger, ...more });
    const internal = [
      'https://10.0.0.1/',
      'https://127.0.0.1/',
      'https://localhost/',
      'https://db.internal/',
      'https://a.b:22/',
    ];
    for (const url of [...internal, 'https://[::1]/', 'https://169.254.169.254/latest/', 'http://example.com/']) {
      const { status, body } = await hook(url);
      assert.equal(status, 400, url);
      assert.ok(body.error.details.fieldErrors['spec.url'], url);
    }
    assert.equal((await hook('https://10.0.0.1/', { target: { type: 'any' } })).status, 201);
    const { body: schedule } = await hook('https://example.com/');
    const edit = { spec: { url: 'https://10.0.0.1/', method: 'GET' } };
    assert.equal((await t.call('PATCH', `/v1/schedules/${schedule.id}`, edit)).status, 400);
  });

  test('a machine is handed no run of a key that has ended or lost the scope, however soon it asks', async () => {
    const device = newDevice();
    for (const take of [
      ({ id }: Made) => t.call('DELETE', `/v1/keys/${id}`),
      ({ id }: Made) => t.call('PATCH', `/v1/keys/${id}`, { scopes: ['usage'] }),
    ]) {
      const made = await keyWith({ scopes: ['schedules'], tool_level: 'l0' });
      const { body: schedule } = await by(made.key, 'POST', '/v1/schedules', onHost);
      await take(made);
      // The clock stands: nothing but the claim itself looks.
      assert.equal((await t.call('POST', '/v1/triggers/x/fire')).body.queued, 1);
      assert.equal(await t.claim(device), null);
      const [run] = await t.runsOf(schedule);
      assert.equal(run.state, 'failed');
      assert.match(run.error, /save the schedule again|lacks the scope "schedules"/);
      await t.call('DELETE', `/v1/schedules/${schedule.id}`);
    }
  });

  test('who edits the step of another’s chain answers for it when the chain runs it, and its cap pays', async () => {
    const step = await t.create({ ...onHost, name: 'step' });
    const steps = [{ schedule_id: step.id }];
    const chain = await t.create({
      name: 'c',
      kind: 'chain',
      trigger: { type: 'event', trigger_id: 'z' },
      spec: { steps },
    });
    const made = await keyWith({ scopes: ['schedules'], tool_level: 'l0', spend_cap_micro_usd: 1 });
    assert.equal((await by(made.key, 'PATCH', `/v1/schedules/${step.id}`, { spec: { prompt: 'mine' } })).status, 200);
    const capped = (keyId: string) =>
      ({
        keyId,
        subscription: 'active',
        scopes: ['*'],
        ...(keyId === made.id && { spendCapMicroUsd: 1 }),
      }) as unknown as Actor;
    const rights = new Rights({ authenticateId: capped }, { check: () => {} });
    const keys = { key_id: t.account.keyId, made_by: made.id };
    assert.equal((await rights.find(keys, { kind: 'agent', inCloud: false })).keyId, made.id);
    await t.call('DELETE', `/v1/keys/${made.id}`);
    await t.runNow(chain);
    await until(async () => (await t.turn(0, async () => true), (await t.runsOf(step)).length === 1));
    assert.equal(await t.claim(newDevice()), null);
    assert.match((await t.runsOf(step))[0]?.error, /save the schedule again/);
  });

  test('a weak key changes nothing of a chain whose steps it may not run', async () => {
    const step = await t.create(agent);
    const steps = [{ schedule_id: step.id }];
    const chain = await t.create({ name: 'c', kind: 'chain', trigger, spec: { steps } });
    const { key } = await keyWith({ scopes: ['schedules'], tool_level: 'l0' });
    for (const edit of [{ timeout_s: 60 }, { enabled: true }, { policy: null }])
      refused(await by(key, 'PATCH', `/v1/schedules/${chain.id}`, edit), /scope/);
  });
});
