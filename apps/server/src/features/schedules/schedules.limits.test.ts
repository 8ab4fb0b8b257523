import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { type Json, newDevice, openScheduler, type SchedulerTest, shell } from '../scheduler/scheduler.testing.ts';
import { http } from '../../testing.ts';

const device = newDevice();
const unknown = newDevice();
const long = (n: number): string => 'x'.repeat(n);
/** Never due by itself. */
const event = { type: 'event', trigger_id: 'never' };
const agent = { name: 'n', kind: 'agent', spec: { prompt: 'p' }, trigger: event };
const sh = { name: 'n', kind: 'shell', spec: { command: 'true' }, trigger: event };
const web = { name: 'n', kind: 'http', spec: { url: 'https://example.test/' }, trigger: event };
const host = { type: 'host', device_id: device };
const phone = {
  name: 'n',
  kind: 'phone_action',
  spec: { action: 'wifi', params: { on: true } },
  target: host,
  trigger: event,
};

type Case = [what: string, field: string, body: Json];
const of = (base: Json, key: string, values: readonly unknown[]): Case[] =>
  values.map((value) => [
    `${base.kind}.${key} = ${JSON.stringify(value)?.slice(0, 60)}`,
    key,
    { ...base, [key]: value },
  ]);
const spec = (base: Json, key: string, values: readonly unknown[]): Case[] =>
  values.map((value) => [
    `${base.kind}.spec.${key} = ${JSON.stringify(value)?.slice(0, 60)}`,
    'spec',
    { ...base, spec: { ...base.spec, [key]: value } },
  ]);
const without = (base: Json, ...keys: string[]): Case[] =>
  keys.map((key) => [
    `${base.kind} without ${key}`,
    key,
    Object.fromEntries(Object.entries(base).filter(([k]) => k !== key)),
  ]);
const policy = (values: Json[]): Case[] => of(agent, 'policy', values);
const action = (name: string, params: readonly unknown[]): Case[] =>
  params.map((value) => [
    `${name} ${JSON.stringify(value)?.slice(0, 60)}`,
    'spec',
    { ...phone, spec: { action: name, params: value } },
  ]);
const seconds = (key: string, min: number): Case[] => of(agent, key, [min - 1, 86_401, 1.5, '60', -1, 1e12, true]);
const cron = (expr: unknown, more: Json = {}): Json => ({ type: 'cron', expr, ...more });

const refused: Case[] = [
  ...without(agent, 'name', 'kind', 'spec', 'trigger'),
  ...of(agent, 'name', ['', '   ', long(121), 5, null, ['a'], 'a\u0000b', 'a\ud800']),
  ...of(agent, 'description', [long(4_001), 5]),
  ...of(agent, 'enabled', ['true', 1]),
  ...of(agent, 'kind', ['AGENT', 'cmd', '', 1, null]),
  ...of(agent, 'spec', ['x', [], null, 1, {}]),
  ...spec(agent, 'prompt', ['', 5, null, long(100_001), '\u0000']),
  ...spec(agent, 'skill', [5, long(201)]),
  ...spec(agent, 'permissions', ['write', ['read', 'all'], ['read', 'edit', 'pr', 'read'], 5]),
  ...spec(sh, 'command', ['', 5, null, long(65_537), 'a\u0000']),
  ...spec(sh, 'cwd', [5, long(4_097)]),
  ...spec(sh, 'env_names', ['A', ['1A'], ['A=B'], ['A B'], [''], [5], [long(129)], Array(101).fill('A')]),
  ...spec(sh, 'shell', ['', 5, long(257)]),
  ...spec(web, 'url', [
    '',
    'x',
    'http://example.test/',
    'ftp://example.test',
    'javascript:alert(1)',
    5,
    null,
    `https://a.test/${long(4_096)}`,
  ]),
  ...spec(web, 'url', ['https://example.test/\u0000', 'https://example.test/\ud800']),
  ...spec(web, 'method', ['get', 'TRACE', 'CONNECT', 5]),
  ...spec(web, 'headers', [{ 'a b': 'x' }, { a: 'x\r\ny' }, { a: 5 }, { '': 'x' }, ['a'], 'x', { a: '\u0100' }]),
  ...spec(web, 'body', [5, {}, long(1_048_577)]),
  ...spec(web, 'expect_status', [99, 600, '200', 200.5]),
  ...of({ ...agent, kind: 'chain' }, 'spec', [
    { steps: [] },
    {},
    { steps: 'x' },
    { steps: [{}] },
    { steps: [{ schedule_id: 'x' }] },
    { steps: [{ schedule_id: unknown }] },
    { steps: Array.from({ length: 21 }, () => ({ schedule_id: unknown })) },
    { steps: [{ schedule_id: unknown, on: 'failure' }] },
    { steps: [{ schedule_id: unknown }], stop_on_failure: 'no' },
  ]),
  ...of(phone, 'spec', [{}, { action: 'dance', params: {} }, { action: 'wifi' }, { params: { on: true } }]),
  ...action('notify', [
    {},
    { title: '' },
    { title: long(201) },
    { title: 't', body: 5 },
    { title: 't', body: long(2_001) },
  ]),
  ...action('start_agent', [{}, { prompt: '' }, { prompt: 5 }]),
  ...action('open_app', [{}, { app_id: '' }, { app_id: 'a', url: 'b' }, { url: '' }, { app_id: long(257) }]),
  ...action('wifi', [{}, { on: 'yes' }, { on: 1 }]),
  ...action('dnd', [{}, { on: null }, { on: true, until: 'later' }, { on: true, until: '2026-11-23' }]),
  ...of(agent, 'trigger', [
    'x',
    null,
    [],
    {},
    { type: 'daily' },
    { type: 'cron' },
    cron(''),
    cron(5),
    cron('x'),
    cron('* * * *'),
    cron('* * * * * * *'),
    cron('60 * * * *'),
    cron('* 24 * * *'),
    cron('* * 0 * *'),
    cron('* * 32 * *'),
    cron('* * * 13 *'),
    cron('* * * * 8'),
    cron('0 0 31 2 *'),
    cron('*/0 * * * *'),
    cron('5-1 * * * *'),
    cron('@never'),
    cron(long(201)),
    cron('60 * * * * *'),
    cron('* * * * *\n* * * * *'),
    cron('* * * * *', { tz: 'Mars/Olympus' }),
    cron('* * * * *', { tz: '' }),
    cron('* * * * *', { tz: '+02:00' }),
    cron('* * * * *', { tz: 5 }),
    { type: 'at' },
    { type: 'at', at: 'tomorrow' },
    { type: 'at', at: '2026-12-01' },
    { type: 'at', at: '2026-12-01T10:00:00' },
    { type: 'at', at: '2026-02-30T10:00:00Z' },
    { type: 'at', at: 1_800_000_000 },
    { type: 'at', at: '2020-01-01T00:00:00Z' },
    { type: 'interval' },
    { type: 'interval', every_s: 0 },
    { type: 'interval', every_s: -1 },
    { type: 'interval', every_s: 1.5 },
    { type: 'interval', every_s: '60' },
    { type: 'interval', every_s: 31_536_001 },
    { type: 'event' },
    { type: 'event', trigger_id: '' },
    { type: 'event', trigger_id: 5 },
    { type: 'event', trigger_id: long(121) },
    { type: 'after' },
    { type: 'after', schedule_id: 'x' },
    { type: 'after', schedule_id: unknown },
    { type: 'after', schedule_id: unknown, on: 'done' },
  ]),
  ...of(agent, 'target', [
    'any',
    {},
    { type: 'all' },
    { type: 'host' },
    { type: 'host', device_id: 'x' },
    { type: 'tags' },
    { type: 'tags', tags: [] },
    { type: 'tags', tags: [''] },
    { type: 'tags', tags: [long(61)] },
    { type: 'tags', tags: Array(21).fill('a') },
    { type: 'tags', tags: 'a' },
    { type: 'cloud_vm' },
    { type: 'cloud_vm', project_id: 'x' },
    { type: 'cloud_vm', project_id: unknown },
  ]),
  ...of(phone, 'target', [
    { type: 'any' },
    { type: 'cloud' },
    { type: 'tags', tags: ['a'] },
    { type: 'cloud_vm', project_id: unknown },
  ]),
  ['phone_action without target', 'target', { ...phone, target: undefined }],
  ...of(agent, 'failover', [
    'x',
    [[]],
    ['a'],
    [['']],
    [[long(61)]],
    Array.from({ length: 11 }, () => ['a']),
    [Array(21).fill('a')],
  ]),
  ...of(agent, 'native', [true, 'yes']),
  ...of({ ...agent, target: { type: 'tags', tags: ['a'] } }, 'native', [true]),
  ...policy([
    { approval: 'sometimes' },
    { approval: true },
    { approval: 'outside_hours' },
    { approval: 'outside_hours', quiet_hours: {} },
    { quiet_hours: { start: '22:00' } },
    { quiet_hours: { start: '24:00', end: '07:00' } },
    { quiet_hours: { start: '7:00', end: '08:00' } },
    { quiet_hours: { start: '22:60', end: '07:00' } },
    { quiet_hours: { start: '22:00', end: '07:00', tz: 'Mars/Olympus' } },
    { quiet_hours: { start: '22:00', end: '07:00', days: [0] } },
    { quiet_hours: { start: '22:00', end: '07:00', days: [8] } },
    { quiet_hours: { start: '22:00', end: '07:00', days: 'mon' } },
    { max_runs_per_hour: 0 },
    { max_runs_per_hour: -1 },
    { max_runs_per_hour: 3_601 },
    { max_runs_per_hour: 1.5 },
    { max_runs_per_hour: '2' },
    { budget_micro_usd_per_run: -1 },
    { budget_micro_usd_per_run: 0.5 },
    { budget_micro_usd_per_run: '5' },
    { budget_micro_usd_per_run: 1e300 },
    { budget_micro_usd_per_day: -1 },
    { budget_micro_usd_per_day: 0.5 },
    { budget_micro_usd_per_day: 2 ** 53 },
    { skip_days: 'RO' },
    { skip_days: { holidays: 'DE' } },
    { skip_days: { weekdays: ['monday'] } },
    { skip_days: { weekdays: [0] } },
    { skip_days: { weekdays: [8] } },
    { skip_days: { weekdays: 'sat' } },
    { skip_days: { dates: ['24.12.2026'] } },
    { skip_days: { dates: ['2026-13-01'] } },
    { skip_days: { dates: ['2026-02-30'] } },
    { skip_days: { dates: ['02-30'] } },
    { skip_days: { dates: ['2026-02-29'] } },
    { skip_days: { dates: Array(401).fill('12-24') } },
    { pause_after_failures: -1 },
    { pause_after_failures: 1_001 },
    { pause_after_failures: 1.5 },
    { pause_after_failures: '3' },
  ]),
  ...of(agent, 'policy', ['x', []]),
  ...of(agent, 'misfire', ['all', 5, 'ONCE']),
  ...of(agent, 'misfire_window_min', [0, 10_081, 1.5, '5']),
  ...of(agent, 'overlap', ['wait', 1]),
  ...seconds('timeout_s', 1),
  ...seconds('retry_backoff_s', 1),
  ...seconds('late_after_s', 0),
  ...of(agent, 'retries', [-1, 11, 1.5, '1']),
  ...of(agent, 'alert_on_fail', ['yes', 1]),
  ...of(agent, 'notify', ['sometimes', true]),
  ...of(agent, 'ignore', ['x', 5, {}, [5], [null], [''], [long(201)], Array(21).fill('a'), Array(1_000).fill('a')]),
  ...of(agent, 'ignore', [['a\u0000b'], ['a\ud800'], ['a\nb'], ['*'], ['a', '(a+)+$'], ['\\d+'], ['##']]),
  ...of(agent, 'template', [5, long(121)]),
];

const accepted: [string, Json][] = (
  [
    of(agent, 'name', ['x', long(120), ' é ', '📱'.repeat(60), 'a"\'\\%00;--']),
    of(agent, 'description', ['', long(4_000), 'ăâîșț 漢字']),
    of(agent, 'enabled', [true, false]),
    spec(agent, 'prompt', ['x', long(100_000), 'line\nline\t\u0001']),
    spec(agent, 'permissions', ['read', ['read', 'edit', 'pr'], []]),
    spec(sh, 'command', ['x', long(65_536)]),
    spec(sh, 'env_names', [[], ['A', '_b1'], [long(128)], Array(100).fill('A')]),
    spec(sh, 'cwd', ['/tmp', long(4_096)]),
    spec(web, 'method', ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
    spec(web, 'expect_status', [100, 599]),
    spec(web, 'headers', [{ 'X-Y': 'a b' }, {}, { a: '' }, { a: 'é' }]),
    spec(web, 'body', ['', long(1_048_576)]),
    action('notify', [{ title: 't' }, { title: long(200), body: long(2_000) }]),
    action('start_agent', [{ prompt: 'p' }]),
    action('open_app', [{ app_id: 'a.b' }, { url: 'app://x' }]),
    action('wifi', [{ on: false }]),
    action('dnd', [{ on: true, until: '2026-11-24T00:00:00+02:00' }, { on: false }]),
    of(agent, 'trigger', [
      cron('* * * * *'),
      cron('*/5 9-17 * * 1-5', { tz: 'America/New_York' }),
      cron('0 0 29 2 *'),
      cron('0 0 * * 7'),
      cron('0 0 * * sun'),
      cron('30 15 10 1 1 *'),
      cron('@daily'),
      cron('0 0 L * *', { tz: 'Asia/Kathmandu' }),
      { type: 'at', at: '2026-11-24T10:00:00+05:30' },
      { type: 'at', at: '2026-11-23T09:00:00Z' },
      { type: 'at', at: '2066-11-23T09:00:00.123Z' },
      { type: 'interval', every_s: 1 },
      { type: 'interval', every_s: 31_536_000 },
      { type: 'event', trigger_id: long(120) },
    ]),
    of(agent, 'target', [
      { type: 'any' },
      { type: 'cloud' },
      host,
      { type: 'tags', tags: [long(60)] },
      { type: 'tags', tags: Array(20).fill('a') },
    ]),
    of(sh, 'target', [{ type: 'cloud_vm', project_id: unknown }, { type: 'cloud' }]),
    of(web, 'target', [{ type: 'cloud_vm', project_id: unknown }, { type: 'any' }, host]),
    of(agent, 'failover', [[], [['a']], Array.from({ length: 10 }, () => ['a'])]),
    of({ ...agent, target: host }, 'native', [true, false]),
    policy([
      {},
      { approval: 'never' },
      { approval: 'always' },
      { approval: 'outside_hours', quiet_hours: { start: '00:00', end: '23:59', days: [1, 7], tz: 'UTC' } },
      { max_runs_per_hour: 1 },
      { max_runs_per_hour: 3_600 },
      { budget_micro_usd_per_run: 0 },
      { budget_micro_usd_per_day: 0 },
      { budget_micro_usd_per_run: 2 ** 53 - 1, budget_micro_usd_per_day: 2 ** 53 - 1 },
      { pause_after_failures: 0 },
      { pause_after_failures: 1_000 },
      {
        skip_days: {
          holidays: 'RO',
          weekdays: ['sat', 'sun', 1],
          dates: ['2026-12-24', '12-24', '02-29', '2028-02-29'],
        },
      },
      { skip_days: {} },
    ]),
    of(agent, 'misfire', ['skip', 'once', 'all_within']),
    of(agent, 'misfire_window_min', [1, 10_080]),
    of(agent, 'overlap', ['skip', 'queue', 'kill']),
    of(agent, 'timeout_s', [1, 86_400]),
    of(agent, 'retry_backoff_s', [1, 86_400]),
    of(agent, 'late_after_s', [0, 1, 86_400]),
    of(agent, 'retries', [0, 10]),
    of(agent, 'notify', ['on_failure', 'on_change', 'always', 'never']),
    of(agent, 'alert_on_fail', [true, false]),
    of(agent, 'ignore', [[], ['a'], Array(20).fill(long(200)), ['* took # of \\*', 'ș 🙂']]),
    of(agent, 'template', ['', long(120)]),
    [['unknown fields', '', { ...agent, id: unknown, owner: 1, upcoming: 'x', command_hash: 5, state: null }]],
  ] as Case[][]
)
  .flat()
  .map(([what, , body]) => [what, body]);

describe('schedules: limits, defaults and statuses', () => {
  let t: SchedulerTest;
  const base = shared(() => openScheduler());
  const begin = async (): Promise<void> => {
    t = await base.fresh();
  };
  const post = (body: Json) => t.call('POST', '/v1/schedules', body);
  const list = async (): Promise<Json[]> => (await t.call('GET', '/v1/schedules')).body.schedules;
  const assertRefused = (answer: Json, field: string, what: string): void => {
    assert.deepEqual(
      [answer.status, answer.body.error?.code],
      [400, 'bad_request'],
      `${what}: ${JSON.stringify(answer.body).slice(0, 300)}`,
    );
    const fields = answer.body.error.details.fieldErrors;
    // Of a field, or of what is in it: `spec.command`.
    const [said] =
      Object.entries<string[]>(fields).find(([path]) => path === field || path.startsWith(`${field}.`))?.[1] ?? [];
    assert.equal(typeof said, 'string', `${what}: ${JSON.stringify(fields)}`);
  };

  test(`${refused.length} bad values answer 400 with the field's name, and make nothing`, async () => {
    await begin();
    const wrong: string[] = [];
    for (const [what, field, body] of refused) {
      try {
        assertRefused(await post(body), field, what);
      } catch (error) {
        wrong.push((error as Error).message.split('\n')[0] as string);
      }
    }
    const left = await list();
    assert.deepEqual(wrong, []);
    assert.equal(left.length, 0);
  });

  test(`${accepted.length} values at the limits are accepted and answered as they were given, header values aside`, async () => {
    await begin();
    const wrong: string[] = [];
    for (const [what, body] of accepted) {
      const { status, body: made } = await post(body);
      if (status !== 201) wrong.push(`${what}: ${status} ${JSON.stringify(made).slice(0, 200)}`);
      else if (!what.startsWith('unknown')) {
        const key = ['spec', 'trigger'].find((k) => what.includes(`.${k}`));
        for (const [k, value] of Object.entries(body)) {
          const isPart = k === key || k === 'spec' || k === 'trigger';
          const given = isPart ? { ...made[k], ...answered(value as Json) } : value;
          try {
            assert.deepEqual(made[k], given);
          } catch {
            wrong.push(`${what}: ${k} is ${JSON.stringify(made[k])?.slice(0, 100)}`);
          }
        }
        const again = await t.get(made.id);
        try {
          assert.deepEqual(again, made);
        } catch (error) {
          wrong.push(`${what}: GET differs: ${(error as Error).message.slice(0, 200)}`);
        }
      }
    }
    assert.deepEqual(wrong, []);
  });

  /** Header values are only written. */
  const answered = (part: Json): Json => ({
    ...part,
    ...(part.headers && { headers: Object.fromEntries(Object.keys(part.headers).map((name) => [name, '***'])) }),
  });

  test('defaults of every kind, nothing null, what was not said left out', async () => {
    await begin();
    const step = (await post(agent)).body;
    const bodies: Record<string, Json> = {
      agent,
      shell: sh,
      http: web,
      chain: { name: 'n', kind: 'chain', spec: { steps: [{ schedule_id: step.id }] }, trigger: event },
      phone_action: phone,
    };
    const timeouts: Record<string, number | undefined> = {
      shell: 3_600,
      agent: 7_200,
      http: 60,
      phone_action: 120,
      chain: 86_400,
    };
    for (const [kind, body] of Object.entries(bodies)) {
      const { status, body: made } = await post(body);
      assert.equal(status, 201);
      const { id, spec: _spec, created_at, updated_at, command_hash, approvals, ...rest } = made;
      assert.deepEqual(rest, {
        name: 'n',
        enabled: true,
        kind,
        trigger: event,
        target:
          kind === 'http' || kind === 'chain' ? { type: 'cloud' } : kind === 'phone_action' ? host : { type: 'any' },
        misfire: 'once',
        misfire_window_min: 60,
        overlap: 'skip',
        timeout_s: timeouts[kind],
        retries: 0,
        retry_backoff_s: 60,
        late_after_s: 300,
        notify: 'on_failure',
        upcoming: [],
      });
      assert.equal(created_at, updated_at);
      assert.match(id, /^[0-9a-f-]{36}$/);
      assert.equal(kind === 'shell', typeof command_hash === 'string');
      assert.deepEqual(approvals, kind === 'shell' ? [] : undefined);
      assert.doesNotMatch(JSON.stringify(made), /null/);
    }
    assert.equal((await post(web)).body.spec.method, 'POST');
    const timed = (await post({ ...agent, trigger: cron('0 9 * * *') })).body;
    assert.equal(timed.upcoming.length, 5);
    for (const instant of timed.upcoming) assert.match(instant, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    const after_ = (await post({ ...agent, trigger: { type: 'after', schedule_id: timed.id.toUpperCase() } })).body;
    assert.deepEqual(after_.trigger, { type: 'after', schedule_id: timed.id, on: 'success' });
  });

  test('a chain has at most 20 steps', async () => {
    await begin();
    const step = (await post(agent)).body;
    const chain = (n: number) =>
      post({
        name: 'n',
        kind: 'chain',
        trigger: event,
        spec: { steps: Array.from({ length: n }, () => ({ schedule_id: step.id })) },
      });
    const made = await chain(20);
    assert.deepEqual(
      [made.status, made.body.spec.stop_on_failure, made.body.spec.steps[19].on],
      [201, true, 'success'],
    );
    assertRefused(await chain(21), 'spec', '21 steps');
  });

  test('PATCH: each bad value is refused and nothing is half-written', async () => {
    await begin();
    const target = (await post({ ...agent, description: 'd', policy: { max_runs_per_hour: 5 } })).body;
    const wrong: string[] = [];
    for (const [what, field, body] of refused) {
      // Null for what has no default changes nothing.
      if (body.kind !== 'agent' || body[field] == null || what.includes('native')) continue;
      // The good field must not be written either.
      const answer = await t.call('PATCH', `/v1/schedules/${target.id}`, {
        [field]: body[field],
        ...(field !== 'name' && { name: 'changed' }),
      });
      try {
        assertRefused(answer, field, `PATCH ${what}`);
      } catch (error) {
        wrong.push((error as Error).message.split('\n')[0] as string);
      }
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(await t.get(target.id), target);
  });

  test('PATCH: spec and trigger are replaced whole, the merged record is validated, kinds change with their spec', async () => {
    await begin();
    const made = (
      await post({
        ...web,
        spec: { url: 'https://a.test/', method: 'PUT', body: 'b', headers: { a: 'b' } },
        trigger: cron('0 9 * * *', { tz: 'UTC' }),
      })
    ).body;
    const patch = (body: Json) => t.call('PATCH', `/v1/schedules/${made.id}`, body);
    assert.deepEqual((await patch({ spec: { url: 'https://b.test/' } })).body.spec, {
      url: 'https://b.test/',
      method: 'POST',
    });
    assert.deepEqual((await patch({ trigger: cron('0 9 * * *') })).body.trigger, cron('0 9 * * *'));
    assertRefused(await patch({ kind: 'agent' }), 'spec', 'kind alone');
    assertRefused(await patch({ kind: 'shell', spec: { prompt: 'x' } }), 'spec', 'spec of another kind');
    assertRefused(await patch({ spec: { command: 'x' } }), 'spec', 'spec of another kind than stored');
    assertRefused(await patch({ kind: 'phone_action', spec: phone.spec }), 'target', 'phone without host');
    assertRefused(await patch({ native: true }), 'native', 'native without host');
    const before_ = await t.get(made.id);
    const changed = await patch({ kind: 'shell', spec: { command: 'x' } });
    assert.deepEqual(
      [changed.status, changed.body.kind, changed.body.timeout_s, changed.body.target],
      [200, 'shell', 3_600, { type: 'any' }],
    );
    assert.ok(changed.body.command_hash);
    assert.deepEqual([before_.kind, before_.command_hash], ['http', undefined]);
    const back = (await patch({ kind: 'http', spec: { url: 'https://b.test/' } })).body;
    assert.deepEqual([back.command_hash, back.approvals, back.target], [undefined, undefined, { type: 'cloud' }]);
    assert.equal((await patch({})).status, 400);
    assert.equal((await patch({ id: unknown, unknown: 1 })).status, 400);
    assert.equal((await patch({ id: unknown, name: 'y' })).body.id, made.id);
    await patch({ target: host, native: true });
    assertRefused(await patch({ target: { type: 'any' } }), 'native', 'native stays');
    assert.equal((await patch({ target: { type: 'cloud_vm', project_id: unknown }, native: false })).status, 200);
    assertRefused(await patch({ kind: 'agent', spec: { prompt: 'x' } }), 'target', 'cloud_vm and agent');
  });

  test('PATCH: approvals stay while shell, cwd, command and env names are the same; each edit clears them all', async () => {
    await begin();
    const full = { command: 'echo', shell: 'sh', cwd: '/tmp', env_names: ['B', 'A'] };
    const made = (await post({ ...sh, spec: full })).body;
    const patch = async (body: Json): Promise<Json> => (await t.call('PATCH', `/v1/schedules/${made.id}`, body)).body;
    const approve = async (hash: string): Promise<void> => {
      for (const by of [device, newDevice()]) {
        const { status } = await t.call('POST', `/v1/schedules/${made.id}/approve-command`, { command_hash: hash }, by);
        assert.equal(status, 200);
      }
    };
    await approve(made.command_hash);
    const count = async (body: Json): Promise<number> => (await patch(body)).approvals.length;
    assert.equal(await count({ name: 'other', trigger: cron('0 9 * * *'), policy: {}, target: host, timeout_s: 5 }), 2);
    assert.equal(await count({ spec: { ...full } }), 2);
    assert.equal(await count({ spec: { ...full, env_names: ['A', 'B'] } }), 2);
    assert.equal(await count({ enabled: false }), 2);
    let last = full as Json;
    for (const edit of [
      { command: 'echo ' },
      { shell: 'bash' },
      { cwd: '/' },
      { env_names: ['A'] },
      { env_names: [] },
      { cwd: undefined },
    ]) {
      last = { ...last, ...edit };
      const edited = await patch({ spec: last });
      assert.deepEqual(edited.approvals, [], JSON.stringify(edit));
      await approve(edited.command_hash);
    }
    const { approvals } = await t.get(made.id);
    assert.deepEqual(Object.keys(approvals[0]).sort(), ['approved_at', 'command_hash', 'device_id']);
  });

  test('approve-command: header and pattern are required', async () => {
    await begin();
    const made = (await post(sh)).body;
    const approve = (body: unknown, by?: string) =>
      t.call('POST', `/v1/schedules/${made.id}/approve-command`, body, by);
    assertRefused(await approve({ command_hash: made.command_hash }), 'x-svc-device', 'no header');
    assertRefused(await approve({ command_hash: made.command_hash }, 'x'), 'x-svc-device', 'bad header');
    for (const hash of [undefined, '', 'x', '0'.repeat(63), '0'.repeat(65), 'A'.repeat(64), 5, `${'0'.repeat(64)}\n`]) {
      assertRefused(await approve({ command_hash: hash }, device), 'command_hash', String(hash));
    }
    assert.equal((await approve({ command_hash: '0'.repeat(64) }, device)).status, 409);
    const other = (await post(agent)).body;
    assert.equal(
      (await t.call('POST', `/v1/schedules/${other.id}/approve-command`, { command_hash: '0'.repeat(64) }, device))
        .status,
      400,
    );
  });

  test('statuses of every route, malformed and unknown ids, malformed bodies', async () => {
    await begin();
    const made = (await post(agent)).body;
    const runId = newDevice();
    const hash = { command_hash: '0'.repeat(64) };
    const byId: [string, string, unknown?][] = [
      ['GET', '/v1/schedules/ID'],
      ['PATCH', '/v1/schedules/ID', { name: 'x' }],
      ['DELETE', '/v1/schedules/ID'],
      ['POST', '/v1/schedules/ID/run'],
      ['GET', '/v1/schedules/ID/runs'],
      ['POST', '/v1/schedules/ID/approve-command', hash],
      ['POST', '/v1/schedule-runs/ID/heartbeat', { attempt: 1 }],
      ['POST', '/v1/schedule-runs/ID/result', { attempt: 1, ok: true }],
      ['POST', '/v1/schedule-runs/ID/decision', { decision: 'skip' }],
      ['PATCH', '/v1/scheduler/hosts/ID', { paused: true }],
    ];
    for (const [method, path, body] of byId) {
      const at = (id: string, key = t.account.key) =>
        http(t.gateway.url, path.replace('ID', id), {
          method,
          key,
          headers: { 'x-svc-device': device },
          ...(body !== undefined && { body }),
        });
      for (const id of ['x', '0', 'null', `${runId}0`, "'", '%00', '%F0%9F%98%80']) {
        const answer = await at(id);
        assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], `${method} ${path} ${id}`);
      }
      const missing = await at(runId);
      assert.deepEqual([missing.status, missing.body.error.code], [404, 'not_found'], `${method} ${path}`);
      assert.equal((await at(runId, 'svc_wrong')).body.error.code, 'invalid_api_key');
    }
    for (const raw of ['{', '[]', '"x"', 'null', '1', '{"name":', '\u0000']) {
      for (const path of [
        '/v1/schedules',
        '/v1/schedules/pause',
        '/v1/schedules/preview',
        '/v1/schedules/templates',
        '/v1/scheduler/claim',
      ]) {
        const answer = await http(t.gateway.url, path, { method: 'POST', key: t.account.key, raw });
        assert.deepEqual([answer.status, answer.body.error?.code], [400, 'bad_request'], `${path} ${raw}`);
      }
    }
    assert.equal(
      (
        await http(t.gateway.url, '/v1/schedules', {
          method: 'POST',
          key: t.account.key,
          raw: 'a=b',
          headers: { 'content-type': 'text/plain' },
        })
      ).status,
      400,
    );
    for (const limit of ['0', '201', '-1', '1.5', 'x', '']) {
      for (const path of [`/v1/schedule-runs?limit=${limit}`, `/v1/schedules/${made.id}/runs?limit=${limit}`]) {
        assertRefused(await t.call('GET', path), 'limit', path);
      }
    }
    for (const limit of ['1', '200'])
      assert.equal((await t.call('GET', `/v1/schedule-runs?limit=${limit}`)).status, 200);
    const run = await t.call('POST', `/v1/schedules/${made.id.toUpperCase()}/run`);
    assert.deepEqual([run.status, run.body.queued], [202, true]);
    assert.deepEqual(Object.keys((await t.call('GET', `/v1/schedules/${made.id}/runs`)).body), ['runs']);
    assert.equal((await t.call('POST', '/v1/schedules/pause')).status, 200);
    assert.deepEqual((await t.call('POST', `/v1/schedules/${made.id}/run`)).body, { queued: false });
    assert.equal((await t.call('POST', '/v1/schedules/resume')).status, 200);
    assert.equal((await t.call('GET', '/v1/schedules/templates')).status, 200);
    const gone = await t.call('DELETE', `/v1/schedules/${made.id}`);
    assert.deepEqual([gone.status, gone.body], [204, '']);
    assert.equal((await t.call('DELETE', `/v1/schedules/${made.id}`)).status, 404);
    assert.deepEqual(await list(), []);
  });

  test('the default of the run list is 50, newest first', async () => {
    await begin();
    const made = (await post({ ...agent, overlap: 'kill' })).body;
    for (let i = 0; i < 55; i += 1) await t.runNow(made);
    const { runs } = (await t.call('GET', '/v1/schedule-runs')).body;
    assert.equal(runs.length, 50);
    assert.equal(runs[0].state, 'pending');
    assert.ok(runs.slice(1).every((row: Json) => row.state === 'cancelled'));
    assert.equal((await t.call('GET', `/v1/schedules/${made.id}/runs`)).body.runs.length, 50);
  });

  test('pause, resume, preview, templates, claim, result and heartbeat: bad bodies', async () => {
    await begin();
    const at = (ms: number): string => new Date(t.clock.now() + ms).toISOString();
    const bad = async (path: string, field: string, bodies: Json[]): Promise<void> => {
      for (const body of bodies)
        assertRefused(await t.call('POST', path, body), field, `${path} ${JSON.stringify(body).slice(0, 80)}`);
    };
    await bad('/v1/schedules/pause', 'until', [
      { until: 'x' },
      { until: 5 },
      { until: '2026-12-01' },
      { until: at(0) },
      { until: at(-1) },
    ]);
    await bad('/v1/schedules/pause', 'resume_policy', [{ resume_policy: 'once' }]);
    assert.equal((await t.call('GET', '/v1/schedules')).body.pause.paused, false);
    await bad('/v1/schedules/resume', 'backfill', [{ backfill: 'yes' }, { backfill: 1 }]);
    await bad('/v1/schedules/preview', 'text', [{ text: long(201) }, { text: 5 }]);
    for (const nothing of [{}, { text: null, trigger: null, tz: null }]) {
      assert.equal((await t.call('POST', '/v1/schedules/preview', nothing)).status, 400);
    }
    const refused = { ok: false, reason: 'invalid' };
    for (const trigger of [
      'x',
      5,
      {},
      { type: 'cron' },
      cron('x'),
      cron('* * * * *', { tz: 'X/Y' }),
      { type: 'interval', every_s: 0 },
      { type: 'at', at: 'x' },
    ]) {
      const { status, body } = await t.call('POST', '/v1/schedules/preview', { trigger });
      const { message, ...rest } = body;
      assert.deepEqual([status, rest, typeof message], [200, refused, 'string'], JSON.stringify(trigger));
    }
    for (const tz of ['X/Y', '', 5, '+02:00']) {
      const { status, body } = await t.call('POST', '/v1/schedules/preview', { trigger: cron('* * * * *'), tz });
      const { message, ...rest } = body;
      assert.deepEqual([status, rest, typeof message], [200, refused, 'string'], String(tz));
    }
    for (const trigger of [cron('0 9 * * *'), { type: 'interval', every_s: 60 }]) {
      const { body } = await t.call('POST', '/v1/schedules/preview', { trigger });
      assert.deepEqual([body.ok, body.next_runs.length, body.dst_warning], [true, 5, false]);
    }
    assert.equal((await t.call('POST', '/v1/schedules/preview', { text: long(200) })).status, 200);
    await bad('/v1/schedules/templates', 'template', [{}, { template: 5 }, { template: 'x' }, { template: long(121) }]);
    await bad('/v1/schedules/templates', 'params', [
      { template: 'nightly-backup' },
      { template: 'nightly-backup', params: 'x' },
      { template: 'nightly-backup', params: { source: 5, destination: 'x' } },
    ]);
    assert.deepEqual(await list(), []);
    const made = await t.call('POST', '/v1/schedules/templates', { template: 'weekly-transcripts-digest' });
    assert.equal(made.status, 200);
    assert.equal(typeof made.body.schedule.id, 'string');
    const schedule = (await post(agent)).body;
    await t.runNow(schedule);
    const run = await t.claim(device);
    const path = `/v1/schedule-runs/${run.id}`;
    await bad(`${path}/result`, 'attempt', [
      { ok: true },
      { ok: true, attempt: 0 },
      { ok: true, attempt: '1' },
      { ok: true, attempt: 1.5 },
    ]);
    await bad(`${path}/result`, 'ok', [{ attempt: 1 }, { attempt: 1, ok: 'yes' }, { attempt: 1, ok: null }]);
    await bad(`${path}/result`, 'exit_code', [
      { attempt: 1, ok: true, exit_code: 1.5 },
      { attempt: 1, ok: true, exit_code: '0' },
      { attempt: 1, ok: true, exit_code: 1e12 },
    ]);
    await bad(`${path}/result`, 'log_tail', [
      { attempt: 1, ok: true, log_tail: long(65_537) },
      { attempt: 1, ok: true, log_tail: 'a\u0000' },
    ]);
    await bad(`${path}/result`, 'cost_micro_usd', [
      { attempt: 1, ok: true, cost_micro_usd: -1 },
      { attempt: 1, ok: true, cost_micro_usd: 1e13 },
    ]);
    const counts = [0, -1, 1.5, '2', 1_000_001, {}];
    await bad(
      `${path}/result`,
      'ended_processes',
      counts.map((ended_processes) => ({ attempt: 1, ok: false, ended_processes })),
    );
    await bad(`${path}/result`, 'session_id', [{ attempt: 1, ok: true, session_id: 'x' }]);
    await bad(`${path}/heartbeat`, 'attempt', [{}, { attempt: -1 }]);
    await bad(`${path}/heartbeat`, 'log_tail', [{ attempt: 1, log_tail: 5 }]);
    await bad(`${path}/decision`, 'decision', [{}, { decision: 'APPROVE' }]);
    assert.equal((await t.runsOf(schedule))[0].state, 'running');
    const done = await t.result(run, device, {
      ok: false,
      exit_code: 4_294_967_295,
      log_tail: long(65_536),
      error: long(4_000),
    });
    assert.deepEqual([done.status, done.body.run.exit_code], [200, 4_294_967_295]);
  });

  test('instants at the edges of the calendar never break a request', async () => {
    await begin();
    const wrong: string[] = [];
    for (const instant of [
      '9999-12-31T23:59:59-23:59',
      '9999-12-31T23:59:59Z',
      '0000-01-01T00:00:00Z',
      '0001-01-01T00:00:00+14:00',
      '2066-01-01T00:00:00Z',
      '2070-01-01T00:00:00Z',
    ]) {
      for (const [what, answer] of [
        ['pause', await t.call('POST', '/v1/schedules/pause', { until: instant })],
        ['at', await post({ ...agent, trigger: { type: 'at', at: instant } })],
        ['preview', await t.call('POST', '/v1/schedules/preview', { trigger: { type: 'at', at: instant } })],
      ] as const) {
        if (answer.status >= 500) wrong.push(`${what} ${instant}: ${answer.status}`);
        if (what === 'at' && answer.status === 201 && answer.body.upcoming.length !== 1)
          wrong.push(`at ${instant}: accepted, never due`);
      }
    }
    await t.call('POST', '/v1/schedules/resume');
    const native = await t.create({ ...sh, target: host, native: true });
    const report = await t.call(
      'POST',
      '/v1/scheduler/native-runs',
      {
        schedule_id: native.id,
        scheduled_for: new Date(t.clock.now() - 1_000).toISOString(),
        started_at: '0000-01-01T00:00:00Z',
        finished_at: '9999-12-31T23:59:59-23:59',
        ok: true,
      },
      device,
    );
    if (report.status >= 500) wrong.push(`native: ${report.status}`);
    assert.deepEqual(wrong, []);
    assert.ok(shell('x'));
  });
});
