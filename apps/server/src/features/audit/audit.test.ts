import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { contract, RouteOutput } from '@svc/contract';
import { testClock } from '../../kernel/base/clock.ts';
import { createLog } from '../../kernel/base/log.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openHost, openTest, type TestAccount, until } from '../../testing.ts';
import { createOwner } from '../keys/index.ts';
import { auditFeature } from './feature.ts';

type Page = RouteOutput<typeof contract.audit.list>;

describe('the audit log of an account', () => {
  const { gateway, second } = shared(() => openTest({ gateways: 2 }));
  const svc = svcOf(gateway);
  const call = (account: Pick<TestAccount, 'key'>, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key: account.key, ...(body && { body }) });
  const actsOf = async (account: Pick<TestAccount, 'key'>, query = ''): Promise<Page['acts']> => {
    const { status, body } = await call(account, 'GET', `/v1/audit${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return (body as Page).acts;
  };

  test('an act of a key has who, from where, what, on what and in which request; one that was refused has no line', async () => {
    const account = await createAccount(gateway);
    const { body, headers } = await call(account, 'POST', '/v1/keys', { name: 'phone\u202e', scopes: ['keys'] });
    const weak = { key: body.key as string };
    assert.equal((await call(weak, 'POST', '/v1/keys', { scopes: ['*'] })).status, 403);
    assert.equal((await call(weak, 'DELETE', `/v1/keys/${account.keyId}`)).status, 403);
    const [act, ...others] = await actsOf(account);
    assert.deepEqual(others, []);
    assert.ok(act && Math.abs(Date.parse(act.at) - Date.now()) < 60_000);
    const { id, at: _, ...rest } = act;
    assert.match(id, /^\d+$/);
    assert.deepEqual(rest, {
      who: 'key',
      key: { id: account.keyId, name: 'test', prefix: account.key.slice(0, 8) },
      address: '127.0.0.1',
      action: 'keys.create',
      subject: body.id,
      details: {
        name: 'phone\u202e',
        prefix: body.prefix,
        scopes: ['keys'],
        reach: ['keys'],
        tool_level: 'l3_sandbox',
      },
      trace_id: headers.get('x-svc-trace-id'),
    });
  });

  test('keys, accounts, organisations and wallets: every change by a request or a command has one line', async () => {
    const email = `${randomUUID()}@example.test`;
    const { account_id: id } = await svc('accounts', 'create', '--email', email);
    const made = await svc('keys', 'create', '--email', email);
    const of = ['--email', email];
    await svc('accounts', 'suspend', ...of);
    await svc('accounts', 'resume', ...of);
    await svc('accounts', 'quota', ...of, '--name', 'keys', '--limit', '9');
    await svc('accounts', 'set', ...of, '--new-email', `x${email}`, '--feature', 'x=on');
    const now = ['--email', `x${email}`];
    const { org_id: org } = await svc('orgs', 'create', '--name', 'Org', '--owner', `x${email}`);
    await svc('orgs', 'add', '--org', org, ...now, '--role', 'owner');
    await assert.rejects(svc('orgs', 'add', '--org', org, ...now, '--role', 'member'), /needs an owner/);
    for (let i = 0; i < 2; i++) await svc('wallet', 'credit', ...now, '--micro-eur', '5', '--source-key', id);
    await svc('keys', 'pause', made.id);
    await svc('keys', 'resume', made.id);
    const key = { key: made.key as string };
    const child = (await call(key, 'POST', '/v1/keys', {})).body.id as string;
    await call(key, 'PATCH', `/v1/keys/${child}`, { name: 'renamed' });
    for (let i = 0; i < 2; i++) await call(key, 'DELETE', `/v1/keys/${child}`);
    const acts = (await actsOf(key, '?limit=200')).toReversed();
    assert.deepEqual(
      acts.map(({ who, action, subject }) => [who, action, subject]),
      [
        ['cli', 'accounts.create', id],
        ['cli', 'keys.create', made.id],
        ['cli', 'accounts.suspend', id],
        ['cli', 'accounts.resume', id],
        ['cli', 'accounts.quota', id],
        ['cli', 'accounts.set', id],
        ['cli', 'orgs.create', org],
        ['cli', 'orgs.add', org],
        ['cli', 'wallet.credit', undefined],
        ['cli', 'keys.update', made.id],
        ['cli', 'keys.update', made.id],
        ['key', 'keys.create', child],
        ['key', 'keys.update', child],
        ['key', 'keys.revoke', child],
      ],
    );
    assert.deepEqual(acts[5]?.details, { features: { x: true }, email: `x${email}`, email_before: email });
    assert.doesNotMatch(JSON.stringify(acts), new RegExp(made.key.slice(8)), 'no text of a key');

    const listed = await svc('audit', ...now, '--since', '1h', '--action', 'accounts');
    assert.deepEqual(
      listed.map((row: { action: string; by: string }) => [row.action, row.by]),
      ['set', 'quota', 'resume', 'suspend', 'create'].map((verb) => [`accounts.${verb}`, 'cli']),
    );
    const [revoked] = await svc('audit', '--action', 'keys.revoke', '--limit', '1');
    assert.deepEqual([revoked.subject, revoked.account_id], [child, id]);
    assert.equal(revoked.by, `${made.key.slice(0, 8)} API key`);
    for (const bad of [
      ['--since', 'soon'],
      ['--limit', '0'],
      ['--email', 'no@one.test'],
    ]) {
      await assert.rejects(svc('audit', ...bad));
    }
  });

  test('an operation on a host has its host, its outcome and the hash of its frame, and none of its content', async () => {
    const account = await createAccount(gateway);
    const host = await openHost(gateway, account);
    const exec = (secret: string, deviceId = host.deviceId) =>
      call(account, 'POST', `/v1/hosts/${deviceId}/exec`, {
        op: 'shell',
        args: { command: secret },
        timeout_ms: 60_000,
      });
    const answer = async (body: object) => {
      const { data } = await host.next();
      await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: body as { ok: boolean } });
      return createHash('sha256').update(JSON.stringify(data)).digest('hex');
    };
    const first = exec('echo s3cret');
    const sent = [await answer({ ok: true })];
    await first;
    const failed = exec(`echo s3cret ${'ș'.repeat(300_000)}`);
    sent.push(await answer({ ok: false, error: 's3cret' }));
    await failed;
    assert.equal((await exec('echo s3cret', randomUUID())).status, 404);
    host.leave();
    await host.ended;
    await until(async () => (await exec('echo s3cret')).body.error?.code === 'host_offline');
    await until(async () => (await actsOf(account, '?action=hosts')).length >= 4);
    const acts = (await actsOf(account, '?action=hosts.exec')).toReversed();
    assert.deepEqual(
      acts.slice(0, 2).map(({ subject, details }) => [subject, details]),
      [
        [host.deviceId, { op: 'shell', outcome: 'ok', frame_sha256: sent[0] }],
        [host.deviceId, { op: 'shell', outcome: 'failed', frame_sha256: sent[1] }],
      ],
    );
    assert.deepEqual(acts[2]?.details, { op: 'shell', outcome: 'offline' });
    const rows = await gateway.kernel.sql`select t::text as line from kernel.audit t`;
    assert.doesNotMatch(JSON.stringify(rows), /s3cret/);
  });

  test('of equal operations on a host, one after the other, 20 have a line and the last counts the others', async () => {
    // Its clock stands still, and with it what writes lines twice a second.
    await using own = await openTest({ clock: testClock() });
    const host = await openHost(own.gateway, own.account);
    for (const command of [...Array.from({ length: 25 }, () => 'true'), 'false']) {
      const path = `/v1/hosts/${host.deviceId}/exec`;
      const asked = http(own.gateway.url, path, { key: own.account.key, body: { op: 'shell', args: { command } } });
      const { data } = await host.next();
      await host.client.hosts.result({ params: { req_id: String(data['req_id']) }, body: { ok: true } });
      assert.equal((await asked).status, 200);
    }
    await own.gateway.kernel.audit.flush();
    const lines = await own.gateway.kernel.sql<{ details: { further?: number; frame_sha256: string } }[]>`
      select details from kernel.audit where action = 'hosts.exec' and account_id = ${own.account.id} order by id`;
    assert.deepEqual(
      lines.map(({ details }) => details.further ?? 0),
      [...Array.from({ length: 19 }, () => 0), 5, 0],
    );
    assert.equal(new Set(lines.map(({ details }) => details.frame_sha256)).size, 21);
    host.leave();
  });

  test('approvals of commands, and of runs that wait for a person, have their lines', async () => {
    const account = await createAccount(gateway);
    const shell = {
      name: 'x',
      kind: 'shell',
      spec: { command: 'true' },
      trigger: { type: 'event', trigger_id: 'go' },
      policy: { approval: 'always' },
    };
    const created = await call(account, 'POST', '/v1/schedules', shell);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const { id, command_hash: hash } = created.body.schedule ?? created.body;
    const deviceId = randomUUID();
    const asHost = (method: string, body?: object) =>
      http(gateway.url, `/v1/schedules/${id}/approve-command`, {
        method,
        key: account.key,
        headers: { 'x-svc-device': deviceId },
        ...(body && { body }),
      });
    const wrong = await asHost('POST', { command_hash: '0'.repeat(64) });
    assert.ok(wrong.status >= 400);
    assert.equal((await asHost('POST', { command_hash: hash })).status, 200);
    assert.equal((await asHost('DELETE')).status, 200);
    const { run_id: run } = (await call(account, 'POST', `/v1/schedules/${id}/run`)).body;
    const decided = () => call(account, 'POST', `/v1/schedule-runs/${run}/decision`, { decision: 'skip' });
    assert.deepEqual([(await decided()).status, (await decided()).status], [200, 409]);
    const [decision, ...none] = await actsOf(account, '?action=scheduler');
    assert.deepEqual([none, decision?.subject], [[], run]);
    assert.deepEqual(decision?.details, { decision: 'skip', schedule_id: id });
    const acts = (await actsOf(account, '?action=schedules')).toReversed();
    assert.deepEqual(
      acts.map(({ action, subject, details }) => [action, subject, details]),
      [
        ['schedules.approveCommand', id, { device_id: deviceId, command_hash: hash }],
        ['schedules.revokeCommand', id, { device_id: deviceId }],
      ],
    );
  });

  test('its pages, the newest first, hold every line once, whatever is added meanwhile; filters narrow them', async () => {
    const account = await createAccount(gateway);
    const made: string[] = [];
    for (let i = 0; i < 7; i++) made.push((await call(account, 'POST', '/v1/keys', { name: `${i}` })).body.id);
    const seen: (string | undefined)[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const path: string = `/v1/audit?limit=3${cursor && `&cursor=${cursor}`}`;
      const page: Page = (await call(account, 'GET', path)).body;
      seen.push(...page.acts.map(({ subject }) => subject));
      cursor = page.next_cursor;
      if (seen.length === 3) await call(account, 'POST', '/v1/keys', { name: 'meanwhile' });
    }
    assert.deepEqual(seen, made.toReversed());
    const all = await actsOf(account);
    assert.deepEqual(
      (await actsOf(account, `?subject=${made[4]}`)).map(({ subject }) => subject),
      [made[4]],
    );
    const at = all[3]?.at as string;
    const since = await actsOf(account, `?since=${at}`);
    const until = await actsOf(account, `?until=${at}`);
    assert.equal(since.length + until.length, all.length);
    assert.ok(since.every((act) => act.at >= at) && until.every((act) => act.at < at));
    for (const nothing of ['?action=key', '?action=hosts', '?action=keys.', '?action=%25']) {
      assert.deepEqual(await actsOf(account, nothing), []);
    }
    for (const bad of [
      '?cursor=x',
      '?limit=201',
      '?since=yesterday',
      '?since=0000-01-01T00:00:00Z',
      '?until=9999-12-31T23:59:59-14:00',
      '?action=',
    ]) {
      assert.equal((await call(account, 'GET', `/v1/audit${bad}`)).status, 400, bad);
    }
  });

  test('is for keys with its scope alone, and shows no other account', async () => {
    const [account, other] = [await createAccount(gateway), await createAccount(gateway)];
    await call(other, 'POST', '/v1/keys', {});
    assert.deepEqual(await actsOf(account), []);
    const withScopes = async (...scopes: string[]) => (await call(account, 'POST', '/v1/keys', { scopes })).body.key;
    const every = [
      'keys',
      'devices',
      'hosts',
      'notifications',
      'heartbeats',
      'schedules',
      'scheduler',
      'sandboxes',
      'usage',
    ];
    assert.equal((await call({ key: await withScopes(...every) }, 'GET', '/v1/audit')).status, 403);
    for (const scope of ['audit', 'audit:read']) {
      assert.equal((await actsOf({ key: await withScopes(scope) })).length > 0, true);
    }
    const narrow = { key: await withScopes(...every) };
    assert.equal((await call(narrow, 'POST', '/v1/keys', { scopes: ['audit:read'] })).status, 403);
  });

  test('the first start has lines of its own; past its retention a line is gone', async () => {
    await using fresh = await openTest();
    const { kernel } = fresh.gateway;
    const { sql } = kernel;
    await sql`delete from keys.keys`;
    await sql`delete from accounts.accounts`;
    await createOwner(kernel);
    const actions = async () =>
      (await sql<{ action: string }[]>`select action from kernel.audit order by id`).map((r) => r.action);
    assert.deepEqual(await actions(), ['accounts.create', 'keys.create']);
    await sql`insert into kernel.audit (at, who, action) values (now() - interval '401 days', 'system', 'old')`;
    await auditFeature.jobs?.[0]?.run({ ...kernel, log: createLog('silent') });
    assert.deepEqual(await actions(), ['accounts.create', 'keys.create']);
    assert.equal(second.kernel.config.auditDays, 400);
  });
});
