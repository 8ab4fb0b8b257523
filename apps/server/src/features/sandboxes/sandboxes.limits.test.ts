import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { contract } from '@svc/contract';
import type { QuotaName } from '../../config.quotas.ts';
import { setQuota } from '../../kernel/records/quotas.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { issueKey } from '../keys/index.ts';
import { type Json, openSandboxes, type SandboxesTest, startNode } from './sandboxes.testing.ts';

const long = (length: number): string => 'a'.repeat(length);
/** Whether an error names the field, or what is in it. */
const isNamed = (told: Json, field: string): boolean =>
  Object.keys(told.error.details.fieldErrors).some((path) => path === field || path.startsWith(`${field}.`));

/** Rows that stand for sandboxes which no node holds; enough for what is counted. */
async function pretend(t: SandboxesTest, count: number, fields: { state: string; key?: string; backend?: string }) {
  const { state, key = t.account.keyId, backend = 'v2' } = fields;
  const rows = await t.gateway.kernel.sql<{ id: string }[]>`
    insert into sandboxes.sandboxes
      (id, account_id, key_id, state, backend, template, egress, metadata, created_at, expires_at)
    select gen_random_uuid(), ${t.account.id}, ${key}, ${state}, ${backend}, 'svc-base', '{"mode":"none"}', '{}', now(),
      now() + interval '1 hour'
    from generate_series(1, ${count}) returning id`;
  return rows.map(({ id }) => id);
}

describe('limits of sandboxes', () => {
  const t = shared(() => openSandboxes());
  const codeOf = ({ status, body }: { status: number; body: Json }) => [status, body.error?.code];

  const creates: [string, Json, string, string][] = [
    ['a backend that is none', { backend: 'v3' }, 'bad_request', 'backend'],
    ['a template that is none', { template: 'windows' }, 'bad_request', 'template'],
    ['a template that v1 does not have', { backend: 'v1', template: 'desktop' }, 'bad_request', 'template'],
    ['a lifetime under a minute', { ttl_seconds: 59 }, 'invalid_ttl', 'ttl_seconds'],
    ['a lifetime over a week', { ttl_seconds: 604_801 }, 'invalid_ttl', 'ttl_seconds'],
    ['a lifetime over a day on v1', { backend: 'v1', ttl_seconds: 86_401 }, 'invalid_ttl', 'ttl_seconds'],
    ['a lifetime in words', { ttl_seconds: 'long' }, 'bad_request', 'ttl_seconds'],
    ['half a second of lifetime', { ttl_seconds: 60.5 }, 'bad_request', 'ttl_seconds'],
    ['egress without a mode', { egress: {} }, 'bad_request', 'egress'],
    ['egress to all', { egress: { mode: 'all' } }, 'bad_request', 'egress'],
    ['an empty allowlist', { egress: { mode: 'allowlist', domains: [] } }, 'bad_request', 'egress'],
    [
      'an allowlist of 21',
      { egress: { mode: 'allowlist', domains: Array.from({ length: 21 }, (_, i) => `a${i}.example.com`) } },
      'bad_request',
      'egress',
    ],
    ...[
      '127.0.0.1',
      '8.8.8.8',
      '[::1]',
      '2001:db8::1',
      '0x7f000001',
      '2130706433',
      'localhost',
      'a.localhost',
      'metadata.google.internal',
      'printer.local',
      'router.lan',
      'single',
      '*',
      '*.com.',
      'a..b.com',
      '-a.com',
      'a b.com',
      'https://example.com',
      'example.com/path',
      'example.com:443',
      'user@example.com',
      '*.*.example.com',
      'ex*mple.com',
      '',
      1,
    ].map((domain): [string, Json, string, string] => [
      `the host name ${JSON.stringify(domain)}`,
      { egress: { mode: 'allowlist', domains: [domain] } },
      'bad_request',
      'egress',
    ]),
    ['a preset that is none', { egress: { mode: 'preset', preset: 'crates' } }, 'bad_request', 'egress'],
    ['labels that are no text', { metadata: { a: 1 } }, 'bad_request', 'metadata'],
    ['labels in a list', { metadata: ['a'] }, 'bad_request', 'metadata'],
  ];
  for (const [what, body, code, field] of creates) {
    test(`create refuses ${what}`, async () => {
      const { status, body: told } = await t.call('POST', '/v1/sandboxes', body);
      assert.deepEqual([status, told.error.code], [400, code], JSON.stringify(told));
      assert.ok(isNamed(told, field), JSON.stringify(told));
      assert.deepEqual((await t.call('GET', '/v1/sandboxes')).body.data, []);
    });
  }

  const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`A${i}`, '']));
  const input = { path: 'a', url: 'https://example.com/' };
  const commands: [string, Json, string][] = [
    ['no command', {}, 'body'],
    ['two commands', { cmd: ['id'], shell: 'id' }, 'body'],
    ['code without a language', { code: '1' }, 'body'],
    ['a language without code', { language: 'python' }, 'body'],
    ['a shell command and code', { shell: 'id', language: 'bash', code: 'id' }, 'body'],
    ['an empty cmd', { cmd: [] }, 'cmd'],
    ['a cmd whose program is empty', { cmd: ['', 'x'] }, 'cmd.0'],
    ['a cmd of 257', { cmd: Array.from({ length: 257 }, () => 'a') }, 'cmd'],
    ['a cmd with a number', { cmd: ['sleep', 1] }, 'cmd'],
    ['a NUL in cmd', { cmd: ['a\u0000b'] }, 'cmd'],
    ['a shell command over 65,536', { shell: long(65_537) }, 'shell'],
    ['code over 1,048,576', { language: 'python', code: long(1_048_577) }, 'code'],
    ['another language', { language: 'ruby', code: '1' }, 'language'],
    ['stdin over 1,048,576', { cmd: ['cat'], stdin: long(1_048_577) }, 'stdin'],
    ['65 env entries', { cmd: ['id'], env: entries(65) }, 'env'],
    ['SVC_ in env', { cmd: ['id'], env: { SVC_API_KEY: 'x' } }, 'env'],
    ['CLOUD_ in env', { cmd: ['id'], env: { CLOUD_TOKEN: 'x' } }, 'env'],
    ['= in a name of env', { cmd: ['id'], env: { 'A=B': 'x' } }, 'env'],
    ['an empty name in env', { cmd: ['id'], env: { '': 'x' } }, 'env'],
    ['a number in env', { cmd: ['id'], env: { A: 1 } }, 'env'],
    ['a cwd over 1,024', { cmd: ['id'], cwd: long(1025) }, 'cwd'],
    ['a cwd outside', { cmd: ['id'], cwd: '/etc' }, 'cwd'],
    ['a cwd that climbs out', { cmd: ['id'], cwd: '../etc' }, 'cwd'],
    ['a cwd that climbs out of /workspace', { cmd: ['id'], cwd: '/workspace/../etc' }, 'cwd'],
    ['a timeout of 0', { cmd: ['id'], timeout_seconds: 0 }, 'timeout_seconds'],
    ['a timeout of 901', { cmd: ['id'], timeout_seconds: 901 }, 'timeout_seconds'],
    ['a timeout of 1.5', { cmd: ['id'], timeout_seconds: 1.5 }, 'timeout_seconds'],
    ['51 inputs', { cmd: ['id'], inputs: Array.from({ length: 51 }, () => input) }, 'inputs'],
    ['an absolute input path', { cmd: ['id'], inputs: [{ ...input, path: '/etc/passwd' }] }, 'inputs'],
    ['an input path that climbs', { cmd: ['id'], inputs: [{ ...input, path: 'a/../../b' }] }, 'inputs'],
    ['an input without an address', { cmd: ['id'], inputs: [{ path: 'a' }] }, 'inputs'],
  ];
  for (const [what, body, field] of commands) {
    test(`exec and run refuse ${what}`, async () => {
      const [id] = await pretend(t, 1, { state: 'running' });
      for (const path of [`/v1/sandboxes/${id}/exec`, '/v1/sandboxes/run']) {
        const { status, body: told } = await t.call('POST', path, body);
        assert.deepEqual([status, told.error.code], [400, 'bad_request'], JSON.stringify(told));
        assert.doesNotMatch(told.error.message, /invalid key/i);
        assert.ok(isNamed(told, field), JSON.stringify(told.error.details));
      }
      await t.gateway.kernel.sql`delete from sandboxes.sandboxes where id = ${id as string}`;
    });
  }

  test('the largest of everything is taken', async () => {
    const box = await t.create();
    const done = await t.exec(box, {
      cmd: ['cat', ...Array.from({ length: 255 }, () => '-')],
      stdin: long(1_048_576),
      env: entries(64),
      timeout_seconds: 900,
      cwd: '/workspace',
    });
    assert.equal(done.stdout.length, 1_048_576);
    await t.exec(box, { shell: `: ${long(65_000)}` });
    await t.exec(box, { language: 'python', code: `#${long(1_048_000)}\n` });
    await t.clear();
  });

  const others: [string, string, Json, string][] = [
    ['a fork of none', 'fork', { count: 0 }, 'invalid_count'],
    ['a fork of six', 'fork', { count: 6 }, 'invalid_count'],
    ['a fork of half', 'fork', { count: 1.5 }, 'bad_request'],
    ['a fork without a count', 'fork', {}, 'bad_request'],
    ['a fork for a second', 'fork', { count: 1, ttl_seconds: 1 }, 'invalid_ttl'],
    ['a preview of port 80', 'preview', { port: 80 }, 'bad_request'],
    ['a preview of port 1023', 'preview', { port: 1023 }, 'bad_request'],
    ['a preview of port 8080', 'preview', { port: 8080 }, 'bad_request'],
    ['a preview of port 65536', 'preview', { port: 65_536 }, 'bad_request'],
    ['a preview for a second', 'preview', { port: 3000, ttl_seconds: 59 }, 'invalid_ttl'],
    ['a preview for over an hour', 'preview', { port: 3000, ttl_seconds: 3601 }, 'invalid_ttl'],
    ['a cell without code', 'run_code', {}, 'bad_request'],
    ['a cell over 1,048,576', 'run_code', { code: long(1_048_577) }, 'bad_request'],
    ['a cell for 901 s', 'run_code', { code: '1', timeout_seconds: 901 }, 'bad_request'],
    ['a snapshot name over 128', 'snapshot', { name: long(129) }, 'bad_request'],
  ];
  for (const [what, path, body, code] of others) {
    test(`${what} is refused`, async () => {
      const [id] = await pretend(t, 1, { state: 'running' });
      assert.deepEqual(codeOf(await t.call('POST', `/v1/sandboxes/${id}/${path}`, body)), [400, code]);
      await t.gateway.kernel.sql`delete from sandboxes.sandboxes where id = ${id as string}`;
    });
  }

  test('a key without the tool level l3_sandbox, or without the scope, is refused: 403', async () => {
    const { kernel, url } = t.gateway;
    const { id: accountId } = await createAccount(t.gateway);
    const weak = await issueKey(kernel, kernel.sql, { accountId, name: 'weak', scopes: ['*'], toolLevel: 'l2' });
    const narrow = await issueKey(kernel, kernel.sql, { accountId, name: 'narrow', scopes: ['keys'] });
    const reader = await issueKey(kernel, kernel.sql, { accountId, name: 'reader', scopes: ['sandboxes:read'] });
    for (const { text } of [weak, narrow]) {
      for (const path of ['/v1/sandboxes', `/v1/sandboxes/${randomUUID()}/files/a`]) {
        assert.deepEqual(codeOf(await http(url, path, { key: text })), [403, 'forbidden']);
      }
    }
    assert.equal((await http(url, '/v1/sandboxes', { key: reader.text })).status, 200);
    assert.deepEqual(codeOf(await http(url, '/v1/sandboxes', { key: reader.text, body: {} })), [403, 'forbidden']);
  });

  test('an account without sandboxes meets 403 on every route of theirs, before anything is looked at', async () => {
    const other = await t.fresh();
    const { sql } = other.gateway.kernel;
    await sql`update accounts.accounts set features = features || '{"sandboxes": false}' where id = ${other.account.id}`;
    for (const [verb, { method, path }] of Object.entries(contract.sandboxes)) {
      const url = path.replace('{id}', randomUUID()).replace('{path*}', 'a');
      const answer = await other.call(method, url, method === 'GET' || method === 'DELETE' ? undefined : {});
      assert.deepEqual(codeOf(answer), [403, 'forbidden'], verb);
    }
  });

  test('v2 that the account may not have: 403 when it is asked for, v1 when nothing is', async () => {
    const other = await t.fresh();
    const { sql } = other.gateway.kernel;
    await sql`update accounts.accounts set features = features || '{"sandboxes_v2": false}' where id = ${other.account.id}`;
    assert.deepEqual(codeOf(await other.call('POST', '/v1/sandboxes', { backend: 'v2' })), [403, 'forbidden']);
    const { status, body } = await other.call('POST', '/v1/sandboxes', {});
    assert.deepEqual([status, body.backend, 'restored' in body], [200, 'v1', false]);
    await other.clear();
  });

  test('three run at once by key, five v2 by user over all keys, six live with forks', async () => {
    const other = await t.fresh();
    await pretend(other, 3, { state: 'running', backend: 'v1' });
    assert.deepEqual(codeOf(await other.call('POST', '/v1/sandboxes', {})), [429, 'sandbox_concurrency_limit']);
    assert.deepEqual(codeOf(await other.call('POST', '/v1/sandboxes/run', { shell: 'id' })), [
      429,
      'sandbox_concurrency_limit',
    ]);
    const more = await t.fresh();
    await pretend(more, 3, { state: 'running', key: randomUUID() });
    const [parent] = await pretend(more, 2, { state: 'running' });
    const refused = await more.call('POST', '/v1/sandboxes', { backend: 'v2' });
    assert.deepEqual(codeOf(refused), [429, 'sandbox_concurrency_limit']);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    // The fork's own cap is six by key.
    assert.deepEqual(codeOf(await more.call('POST', `/v1/sandboxes/${parent}/fork`, { count: 5 })), [
      429,
      'sandbox_concurrency_limit',
    ]);
    const resumed = await pretend(more, 1, { state: 'paused' });
    assert.deepEqual(codeOf(await more.call('POST', `/v1/sandboxes/${resumed[0]}/resume`)), [
      429,
      'sandbox_concurrency_limit',
    ]);
  });

  test('ten run at once by user, of both backends, however many keys there are', async () => {
    const other = await t.fresh();
    for (let i = 0; i < 4; i++)
      await pretend(other, 3 - (i >> 1), { state: 'running', backend: 'v1', key: randomUUID() });
    for (const backend of ['v1', 'v2']) {
      const refused = await other.call('POST', '/v1/sandboxes', { backend });
      assert.deepEqual(codeOf(refused), [429, 'sandbox_concurrency_limit']);
      assert.match(refused.body.error.message, /^10 sandboxes/);
    }
  });

  test('a fork may bring a key to six live sandboxes', async () => {
    const other = await t.fresh();
    const parent = await other.create();
    const { status, body } = await other.call('POST', `/v1/sandboxes/${parent.id}/fork`, { count: 5 });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      body.data.map((child: Json) => [child.restored, child.error]),
      Array.from({ length: 5 }, () => [true, undefined]),
    );
    await other.clear();
  });

  test('a sandbox that its node holds no more does not run, before its row says so: 409', async () => {
    const box = await t.create();
    await t.node.destroy(box.id);
    for (const [method, path, body] of [
      ['POST', '/exec', { shell: 'id' }],
      ['POST', '/run_code', { code: '1' }],
      ['GET', '/files', undefined],
      ['GET', '/files/a', undefined],
      ['GET', '/artifacts', undefined],
    ] as const) {
      const answer = await t.call(method, `/v1/sandboxes/${box.id}${path}`, body);
      assert.deepEqual([path, ...codeOf(answer)], [path, 409, 'sandbox_not_running']);
    }
  });

  test('every slot of the node taken: 503 with when to try again, and no sandbox is left of it', async () => {
    const args = ['--slots', '1', '--warm', '0', '--log-level', 'warn'];
    const node = await startNode({ images: process.env['SVC_TEST_IMAGES'] as string, args });
    const full = await openSandboxes({ socket: node.socket });
    const box = await full.create({ backend: 'v1' });
    for (const body of [{ backend: 'v1' }, { backend: 'v2' }, {}]) {
      const answer = await full.call('POST', '/v1/sandboxes', body);
      assert.deepEqual(codeOf(answer), [503, 'sandbox_capacity']);
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    }
    const { sql } = full.gateway.kernel;
    const rows = await sql<{ id: string }[]>`select id from sandboxes.sandboxes`;
    assert.deepEqual([...rows], [{ id: box.id }]);
    const lines = await sql<{ action: string }[]>`
      select action from kernel.audit where action like 'sandboxes.%'`;
    assert.deepEqual([...lines], [{ action: 'sandboxes.create' }]);
    await full.close();
    await node.close();
  });

  test('a paused sandbox counts for the key that made it, whichever key resumes it', async () => {
    const other = await t.fresh();
    const [paused] = await pretend(other, 1, { state: 'paused' });
    await pretend(other, 3, { state: 'running', backend: 'v1' });
    const { kernel, url } = other.gateway;
    const { text } = await issueKey(kernel, kernel.sql, { accountId: other.account.id, name: 'second', scopes: ['*'] });
    const answer = await http(url, `/v1/sandboxes/${paused}/resume`, { method: 'POST', key: text });
    assert.deepEqual(codeOf(answer), [429, 'sandbox_concurrency_limit']);
  });

  test('running sandboxes of an account have no more memory together than its quota: create, resume and fork say what to do', async () => {
    const other = await t.fresh();
    const { kernel, url } = other.gateway;
    const [running] = await pretend(other, 1, { state: 'running' });
    const [paused] = await pretend(other, 1, { state: 'paused' });
    const used = async (): Promise<Json> => {
      const { quotas } = (await http(url, '/v1/usage', { key: other.account.key })).body;
      return quotas.find(({ name }: Json) => name === 'sandbox_memory_mb');
    };
    assert.deepEqual(await used(), { name: 'sandbox_memory_mb', used: 1024, limit: 10_240 });
    await setQuota(kernel.sql, other.account.id, 'sandbox_memory_mb', 2_047);
    for (const [path, body] of [
      ['', { backend: 'v1' }],
      [`/${paused}/resume`, undefined],
      [`/${running}/fork`, { count: 1 }],
    ] as const) {
      const answer = await other.call('POST', `/v1/sandboxes${path}`, body);
      assert.deepEqual([path, ...codeOf(answer)], [path, 429, 'quota_exceeded']);
      const said = 'this account may have 2047 MiB of memory in sandboxes that run, and has 1024; pause or destroy one';
      assert.equal(answer.body.error.message, said);
    }
    await setQuota(kernel.sql, other.account.id, 'sandbox_memory_mb', 2_048);
    const box = await other.create({ backend: 'v1' });
    assert.equal((await used()).used, 2_048);
    await other.call('DELETE', `/v1/sandboxes/${box.id}`);
    assert.equal((await used()).used, 1_024);
  });

  test('a key that reaches no sandbox schedules no shell command in the cloud', async () => {
    const { kernel, url } = t.gateway;
    const { id: accountId } = await createAccount(t.gateway);
    const { text } = await issueKey(kernel, kernel.sql, { accountId, name: 'l0', scopes: ['*'], toolLevel: 'l0' });
    const schedule = { name: 'x', kind: 'shell', spec: { command: 'id' }, trigger: { type: 'event', trigger_id: 'x' } };
    const refused = await http(url, '/v1/schedules', { key: text, body: { ...schedule, target: { type: 'cloud' } } });
    assert.deepEqual(codeOf(refused), [403, 'forbidden']);
    const { status, body } = await http(url, '/v1/schedules', { key: text, body: schedule });
    assert.equal(status, 201);
    const changed = { method: 'PATCH', key: text, body: { target: { type: 'cloud' } } };
    assert.deepEqual(codeOf(await http(url, `/v1/schedules/${body.id}`, changed)), [403, 'forbidden']);
  });

  test('of creations at the same time no more than the cap succeed', async () => {
    const other = await t.fresh();
    const answers = await Promise.all(Array.from({ length: 8 }, () => other.call('POST', '/v1/sandboxes', {})));
    const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
    assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429, 429, 429]);
    await other.clear();
  });

  test('ten are paused by user', async () => {
    const other = await t.fresh();
    await pretend(other, 10, { state: 'paused', key: randomUUID() });
    const [id] = await pretend(other, 1, { state: 'running' });
    assert.deepEqual(codeOf(await other.call('POST', `/v1/sandboxes/${id}/pause`)), [429, 'sandbox_paused_limit']);
  });

  test('the caps are quotas: an account may have others, and sees each with what it uses', async () => {
    const other = await t.fresh();
    const { kernel, url } = other.gateway;
    await pretend(other, 1, { state: 'running', backend: 'v1', key: randomUUID() });
    const [box] = await pretend(other, 1, { state: 'running' });
    await pretend(other, 1, { state: 'paused' });
    const { quotas } = (await http(url, '/v1/usage', { key: other.account.key })).body;
    const used = (name: string) => quotas.find((quota: Json) => quota.name === name);
    for (const [name, count, limit] of [
      ['sandboxes', 2, 10],
      ['sandboxes_v2', 1, 5],
      ['sandboxes_of_key', 1, 3],
      ['sandboxes_of_forks', 1, 6],
      ['sandboxes_paused', 1, 10],
      ['sandbox_seconds', 0, 7_200],
    ] as const)
      assert.deepEqual(used(name), { name, used: count, limit });
    const set = (name: QuotaName, most: number | null) => setQuota(kernel.sql, other.account.id, name, most);
    const refusal = async (method: string, path: string, body?: Json) => {
      const { status, body: answer } = await other.call(method, path, body);
      return [status, answer.error?.code, answer.error?.message];
    };
    for (const [name, message, backend] of [
      ['sandboxes', '2 sandboxes may run at once, all keys together; pause or destroy one', 'v1'],
      ['sandboxes_v2', '1 v2 sandboxes may run at once, all keys together; pause or destroy one', 'v2'],
      ['sandboxes_of_key', 'a key may run 1 sandboxes at once; pause or destroy one', 'v1'],
    ] as const) {
      await set(name, name === 'sandboxes' ? 2 : 1);
      const refused = await refusal('POST', '/v1/sandboxes', { backend });
      assert.deepEqual(refused, [429, 'sandbox_concurrency_limit', message]);
      await set(name, null);
    }
    await set('sandboxes_of_forks', 1);
    assert.match(
      (await refusal('POST', `/v1/sandboxes/${box}/fork`, { count: 1 }))[2],
      /above 1 live sandboxes, and 1 are/,
    );
    await set('sandboxes_paused', 1);
    assert.deepEqual(await refusal('POST', `/v1/sandboxes/${box}/pause`), [
      429,
      'sandbox_paused_limit',
      '1 sandboxes are paused; resume or destroy one',
    ]);
    await set('sandbox_seconds', 0);
    assert.deepEqual(await refusal('POST', `/v1/sandboxes/${box}/exec`, { shell: 'id' }), [
      429,
      'sandbox_daily_limit',
      'commands took 0 s today; the count starts anew at midnight UTC',
    ]);
  });

  test('7,200 s of commands a day are the limit of exec, run_code and one-shots', async () => {
    const other = await t.fresh();
    const box = await other.create();
    const { sql } = other.gateway.kernel;
    await sql`insert into metering.days values (${other.account.id}, (now() at time zone 'UTC')::date, 7200000)`;
    for (const [path, body] of [
      [`${box.id}/exec`, { shell: 'id' }],
      [`${box.id}/run_code`, { code: '1' }],
      ['run', { shell: 'id' }],
    ] as const) {
      const answer = await other.call('POST', `/v1/sandboxes/${path}`, body);
      assert.deepEqual([path, ...codeOf(answer)], [path, 429, 'sandbox_daily_limit']);
    }
    await other.clear();
  });

  test('an unpaid bucket refuses what costs, with what is owed beside the error: 402', async () => {
    const paid = await openSandboxes({ settings: { SVC_BILLING: 'on' } });
    const { sql } = paid.gateway.kernel;
    const box = await paid.create();
    await sql`
      insert into metering.buckets (account_id, starts_at, v1_ms, v2_ms, paused_byte_ms, charge_micro_eur)
      values (${paid.account.id}, date_trunc('hour', now()) - interval '1 hour', 0, 600000, 0, 1234)`;
    for (const [path, body] of [
      ['', {}],
      ['/run', { shell: 'id' }],
      [`/${box.id}/exec`, { shell: 'id' }],
      [`/${box.id}/run_code`, { code: '1' }],
      [`/${box.id}/fork`, { count: 1 }],
      [`/${box.id}/resume`, {}],
    ] as const) {
      const answer = await paid.call('POST', `/v1/sandboxes${path}`, body);
      assert.deepEqual([path, ...codeOf(answer)], [path, 402, 'insufficient_balance']);
      assert.equal(answer.body.unpaid_micro_eur, 1234);
    }
    await sql`
      insert into wallet.ledger (account_id, amount_micro_eur, source_key) values (${paid.account.id}, 2000, 'credit')`;
    assert.equal((await paid.exec(box, 'echo paid')).stdout, 'paid\n');
    await paid.close();
  });

  test('what the other backend has not: 409 on each', async () => {
    const v1 = await t.create({ backend: 'v1' });
    for (const path of ['pause', 'resume', 'fork']) {
      const answer = await t.call('POST', `/v1/sandboxes/${v1.id}/${path}`, { count: 1 });
      assert.deepEqual([path, ...codeOf(answer)], [path, 409, 'not_supported_on_v1']);
    }
    const v2 = await t.create();
    assert.deepEqual(codeOf(await t.call('POST', `/v1/sandboxes/${v2.id}/snapshot`, {})), [409, 'not_supported_on_v2']);
    await t.clear();
  });

  test('where no node runs, creating says what to do and reading still works: 503', async () => {
    await using open = await openTest({ settings: { SVC_SANDBOXD_SOCKET: '/nowhere/sandboxd.sock' } });
    const { gateway: lonely, account } = open;
    const ask = (method: string, path: string, body?: unknown) =>
      http(lonely.url, path, { method, key: account.key, ...(body !== undefined && { body }) });
    for (const [path, body] of [
      ['', {}],
      ['', { backend: 'v2' }],
      ['', { backend: 'v1' }],
      ['/run', { shell: 'id' }],
    ] as const) {
      const answer = await ask('POST', `/v1/sandboxes${path}`, body);
      assert.deepEqual(codeOf(answer), [503, 'sandbox_capacity']);
      assert.match(answer.body.error.message, /svc doctor/);
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    }
    assert.deepEqual((await ask('GET', '/v1/sandboxes')).body.data, []);
    const here = { ...t, gateway: lonely, account };
    const [id] = await pretend(here, 1, { state: 'running' });
    assert.deepEqual(codeOf(await ask('POST', `/v1/sandboxes/${id}/exec`, { shell: 'id' })), [503, 'sandbox_capacity']);
    assert.equal((await ask('DELETE', `/v1/sandboxes/${id}`)).body.status, 'destroyed');
  });
});
