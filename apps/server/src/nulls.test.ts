import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contract, isOptional, Json, type Route } from '@svc/contract';
import { z } from 'zod';
import { testClock } from './kernel/base/clock.ts';
import { shared } from './testing.shared.ts';
import { http, type HttpAnswer, openTest } from './testing.ts';

/** Pairs of routes: the creation of a record, and its change. */
const pairs = [
  [contract.schedules.create, contract.schedules.update],
  [contract.heartbeats.create, contract.heartbeats.update],
  [contract.notifications.createWebhook, contract.notifications.updateWebhook],
  [contract.keys.create, contract.keys.update],
] as const;

/** Fields that a creation may leave out and that null does not set back, and why. */
const kept: Record<string, string> = {
  scopes: 'what a key may do is changed by what is said alone: a default would widen it',
  tool_level: 'the same',
  period_s: 'a monitor has this or cron: to set one is to end the other',
  cron: 'the same',
};

const fieldsOf = (route: Route): Record<string, z.ZodType>[] => {
  const schema = route.takes instanceof Json ? route.takes.schema : undefined;
  if (schema instanceof z.ZodUnion) return schema.options.map((option) => (option as z.ZodObject).shape);
  return [(schema as z.ZodObject).shape];
};

describe('null in a change', () => {
  const { gateway, account } = shared(() => openTest({ clock: testClock(Date.parse('2026-11-23T09:00:10Z')) }));
  const ask = async (method: string, path: string, body: object): Promise<HttpAnswer['body']> => {
    const answer = await http(gateway.url, path, { method, key: account.key, body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  test('sets back every field that the creation of the record may leave out', () => {
    for (const [create, update] of pairs) {
      const [changes = {}] = fieldsOf(update);
      const made = Object.assign({}, ...fieldsOf(create)) as Record<string, z.ZodType>;
      for (const [name, field] of Object.entries(changes)) {
        if (made[name] === undefined || !isOptional(made[name]) || kept[name] !== undefined) continue;
        assert.ok(field.safeParse(null).success, `${update.path}: ${name}`);
      }
    }
  });

  test('a schedule whose fields are set back is as one that was made without them', async () => {
    const base = { name: 'x', kind: 'shell', spec: { command: 'x' }, trigger: { type: 'cron', expr: '0 9 * * *' } };
    const fields = {
      description: 'x',
      enabled: false,
      target: { type: 'tags', tags: ['a'] },
      failover: [['b']],
      native: false,
      policy: { max_runs_per_hour: 1, skip_days: { holidays: 'RO' } },
      misfire: 'all_within',
      misfire_window_min: 5,
      overlap: 'kill',
      timeout_s: 5,
      retries: 1,
      retry_backoff_s: 5,
      late_after_s: 5,
      alert_on_fail: true,
      notify: 'never',
      ignore: ['checked *'],
      template: 'x',
    };
    const nulls = Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
    const plain = await ask('POST', '/v1/schedules', { ...base, ...nulls });
    const { id } = await ask('POST', '/v1/schedules', { ...base, ...fields });
    assert.equal((await ask('PATCH', `/v1/schedules/${id}`, { name: 'x', timeout_s: null })).retries, 1);
    const changed = await ask('PATCH', `/v1/schedules/${id}`, { ...nulls, name: null, kind: null, spec: null });
    assert.deepEqual({ ...changed, id: plain.id }, plain);
    const spec = { command: 'x', cwd: null, env_names: null, shell: null };
    const policy = { approval: null, quiet_hours: null, max_runs_per_hour: 2, skip_days: { holidays: null } };
    const deep = await ask('PATCH', `/v1/schedules/${id}`, { spec, policy });
    assert.deepEqual([deep.spec, deep.policy], [base.spec, { max_runs_per_hour: 2, skip_days: {} }]);
  });

  test('a monitor, a webhook and a key get their defaults back, and keep what has none', async () => {
    const monitor = await ask('POST', '/v1/heartbeats', { name: 'x', period_s: 600, grace_s: 60, tz: 'UTC' });
    const paths = { monitor: `/v1/heartbeats/${monitor.id}` };
    const again = await ask('PATCH', paths.monitor, {
      name: null,
      period_s: null,
      grace_s: null,
      tz: null,
      paused: null,
    });
    assert.deepEqual([again.name, again.period_s, again.grace_s, again.tz], ['x', 600, 600, undefined]);
    assert.equal((await ask('PATCH', paths.monitor, { period_s: 86_400, grace_s: null })).grace_s, 3_600);
    const url = 'https://93.184.215.14/x';
    const hook = await ask('POST', '/v1/notifications/webhooks', { name: 'x', url, format: 'slack', enabled: false });
    const told = await ask('PATCH', `/v1/notifications/webhooks/${hook.id}`, {
      format: null,
      enabled: null,
      url: null,
    });
    assert.deepEqual([told.format, told.enabled, told.url], ['svc', true, url]);
    const key = await ask('POST', '/v1/keys', { name: 'x', scopes: ['hosts:read'], tool_level: 'l0' });
    const changed = await ask('PATCH', `/v1/keys/${key.id}`, {
      name: null,
      scopes: null,
      tool_level: null,
      status: null,
    });
    assert.deepEqual([changed.name, changed.scopes, changed.tool_level], ['API key', ['hosts:read'], 'l0']);
  });

  test('alone, for fields without a default, changes nothing and says so: 400', async () => {
    const { id } = await ask('POST', '/v1/heartbeats', { name: 'x', period_s: 600 });
    const body = { name: null, period_s: null };
    const answer = await http(gateway.url, `/v1/heartbeats/${id}`, { method: 'PATCH', key: account.key, body });
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request']);
  });
});

describe('details.fieldErrors', () => {
  const { gateway, account } = shared(() => openTest());

  test('name each fault by its path, whoever found it', async () => {
    const faults = async (path: string, body: object): Promise<string[]> => {
      const answer = await http(gateway.url, path, { key: account.key, body });
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      const [first = ''] = Object.keys(answer.body.error.details.fieldErrors);
      assert.ok(answer.body.error.message.startsWith(`${first}: `), answer.body.error.message);
      return Object.keys(answer.body.error.details.fieldErrors).sort();
    };
    const base = { name: 'x', kind: 'shell', spec: { command: 'x' }, trigger: { type: 'cron', expr: '0 9 * * *' } };
    const of = (changes: object) => faults('/v1/schedules', { ...base, ...changes });
    assert.deepEqual(await of({ spec: { env_names: ['A', '1'] }, name: 5 }), [
      'name',
      'spec.command',
      'spec.env_names.1',
    ]);
    assert.deepEqual(await of({ trigger: { type: 'cron', expr: 'x' } }), ['trigger.expr']);
    assert.deepEqual(await of({ trigger: { type: 'cron', expr: '* * * * *', tz: 'X/Y' } }), ['trigger.tz']);
    assert.deepEqual(await of({ trigger: { type: 'at', at: '2020-01-01T00:00:00Z' } }), ['trigger.at']);
    assert.deepEqual(await of({ trigger: { type: 'nothing' } }), ['trigger.type']);
    assert.deepEqual(await of({ policy: { skip_days: { dates: ['12-24', '02-30'] } } }), ['policy.skip_days.dates.1']);
    assert.deepEqual(await of({ policy: { approval: 'outside_hours' } }), ['policy.quiet_hours']);
    const steps = [{ schedule_id: account.id }];
    assert.deepEqual(await of({ kind: 'chain', spec: { steps } }), ['spec.steps.0.schedule_id']);
    const run = {
      shell: 'x',
      inputs: [
        { path: 'a', url: 'b' },
        { path: '/a', url: 'b' },
      ],
    };
    assert.deepEqual(await faults('/v1/sandboxes/run', run), ['inputs.1.path']);
    assert.deepEqual(await faults('/v1/sandboxes/run', {}), ['body']);
  });

  test('are fifty at most, however many faults a body has', async () => {
    const body = { shell: 'x', env: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`A${at}`, 1])) };
    const answer = await http(gateway.url, '/v1/sandboxes/run', { key: account.key, body });
    assert.deepEqual([answer.status, Object.keys(answer.body.error.details.fieldErrors).length], [400, 50]);
  });
});
