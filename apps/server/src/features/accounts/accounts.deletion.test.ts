import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { accountData } from '../../features.ts';
import { byCommand } from '../../kernel/records/audit.ts';
import type { AccountData } from '../../kernel/deletion.ts';
import type { Sql } from '../../kernel/db/db.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openHost, openTest, startGateway, type TestAccount } from '../../testing.ts';
import { artifactsFeature } from '../artifacts/feature.ts';
import { nodeOfTests, openSandboxes, type SandboxesTest } from '../sandboxes/sandboxes.testing.ts';
import { fillTranscripts } from '../transcripts/transcripts.rows.testing.ts';
import { beginUpload } from '../uploads/uploads.testing.ts';
import { deleteMarked, markDeleted } from './accounts.deletion.ts';
import { deleteOn } from './index.ts';

/** Every table with its schema, and those with a column `account_id`. */
async function tablesOf(sql: Sql): Promise<{ name: string; has_account: boolean }[]> {
  return sql<{ name: string; has_account: boolean }[]>`
    select format('%I.%I', t.table_schema, t.table_name) as name,
      exists (select 1 from information_schema.columns c where c.table_schema = t.table_schema
        and c.table_name = t.table_name and c.column_name = 'account_id') as has_account
    from information_schema.tables t
    where t.table_type = 'BASE TABLE' and t.table_schema not in ('pg_catalog', 'information_schema')
      -- A part is seen in its whole.
      and not (select relispartition from pg_class where oid = format('%I.%I', t.table_schema, t.table_name)::regclass)`;
}

/** In which tables a text stands, in any column, and in how many rows. */
async function traces(sql: Sql, text: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { name } of await tablesOf(sql)) {
    const [row] = await sql.unsafe<{ n: number }[]>(
      `select count(*)::int as n from ${name} x where strpos(lower(x::text), lower($1)) > 0`,
      [text],
    );
    if (row && row.n > 0) found[name] = row.n;
  }
  return found;
}

describe('svc accounts delete', () => {
  const { base, second } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const first = opening.use(await openSandboxes());
    const settings = { SVC_SANDBOXD_SOCKET: nodeOfTests() };
    const other = opening.use(await startGateway(first.database, { settings }));
    const stack = opening.move();
    return { base: first, second: other, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });
  const svc = svcOf({
    get kernel() {
      return base.gateway.kernel;
    },
  });

  /** Gives an account something in every table that has accounts. */
  async function fill(t: SandboxesTest): Promise<{ boxes: string[]; host: Awaited<ReturnType<typeof openHost>> }> {
    const { account } = t;
    const { sql } = t.gateway.kernel;
    const ok = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const answer = await t.call(method, path, body, headers);
      assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    };
    await ok('POST', '/v1/keys', { name: 'child' });
    await sql`insert into kernel.change_floors (account_id, xid, seq) values (${account.id}, '1', 1)`;
    const host = await openHost(second, account);
    const trigger = { type: 'event', trigger_id: 'go' };
    const agent = { name: 'x', kind: 'agent', spec: { prompt: 'x' }, trigger };
    const { id: schedule } = await ok('POST', '/v1/schedules', agent, { 'idempotency-key': randomUUID() });
    await ok('POST', `/v1/schedules/${schedule}/run`);
    await ok('POST', '/v1/schedules/pause', {});
    await ok('POST', '/v1/heartbeats', { name: 'x', period_s: 60 });
    await ok('POST', '/v1/heartbeats/ping-key');
    await ok('POST', '/v1/heartbeats/badge');
    await ok('POST', '/v1/notifications/test', {});
    await ok('PUT', '/v1/notifications/preferences', { rules: [{ type: '*', channels: ['mail'] }] });
    const { id: prompt } = await ok('POST', '/v1/prompts', { prompt: 'Mine' });
    await ok('POST', `/v1/prompts/${prompt}/launch`);
    const { id: session } = await ok('POST', '/v1/sessions', {});
    const asDevice = { 'x-svc-device': randomUUID() };
    const events = [{ type: 'message', turn_id: 't', text: 'x' }];
    await ok('POST', `/v1/sessions/${session}/events`, { expected_seq: 0, events }, asDevice);
    await ok('POST', `/v1/sessions/${session}/controls`, { type: 'stop' });
    await ok('POST', `/v1/hosts/${asDevice['x-svc-device']}/exec`, { op: 'info', if_offline: 'wait' });
    const [v1, v2] = [await t.create({ backend: 'v1' }), await t.create()];
    const paused = await t.create();
    await t.exec(v1, 'mkdir -p out; echo kept > out/kept');
    await ok('GET', `/v1/sandboxes/${v1.id}/artifacts`);
    await ok('POST', `/v1/sandboxes/${v2.id}/preview`, { port: 8000, ttl_seconds: 600 });
    await ok('POST', `/v1/sandboxes/${paused.id}/pause`);
    const of = ['--email', account.email];
    await svc('accounts', 'quota', ...of, '--name', 'keys', '--limit', '99');
    await svc('orgs', 'create', '--name', 'Alone', '--owner', account.email);
    await svc('wallet', 'credit', ...of, '--micro-eur', '7');
    // Rows that would take an hour, a second machine or the version before.
    const { id } = account;
    const any = randomUUID();
    const { project } = await ok('POST', '/v1/projects', { name: 'Mine' });
    const { environment } = await ok('POST', '/v1/environments', {
      project_id: project.id,
      provider: 'byo',
      name: 'Mine',
    });
    await sql`insert into environments.tickets (hash, environment_id, port, account_id, key_id, expires_at)
      values (decode(md5(${id}), 'hex'), ${environment.id}, 1, ${id}, ${any}, now() + interval '1 hour')`;
    await sql`insert into environments.machine_keys (environment_id, account_id, key_id) values (${environment.id}, ${id}, ${any})`;
    await sql`insert into environments.hours (environment_id, starts_at, account_id, seconds)
      values (${any}, now(), ${id}, 1)`;
    await sql`insert into relay.presence (environment_id, account_id, device_id, instance_id, peer_url, epoch)
      values (${any}, ${id}, ${any}, ${any}, '', 1)`;
    await sql`insert into relay.attached (environment_id, account_id, instance_id, client_id, kind, streams, attached_at)
      values (${any}, ${id}, ${any}, ${any}, 'port', 1, now())`;
    await sql`insert into hosts.calls (req_id, account_id, device_id, origin_id, carrier_id, frame, expires_at)
      values (${any}, ${id}, ${any}, ${any}, ${any}, '{}', now() + interval '1 hour')`;
    await sql`insert into hosts.invites (account_id, code_hash, key_id, expires_at)
      values (${id}, decode(md5(${id}), 'hex'), ${any}, now() + interval '1 hour')`;
    await sql`insert into metering.buckets values (${id}, now(), 1, 1, 1, 1, now())`;
    await sql`insert into keys.reservations (account_id, key_id, cost_micro_usd, lease_until) values (${id}, ${any}, 1, now())`;
    await sql`insert into inference.stored (account_id, id, lane, created_at) values (${id}, '\\x01', 'l', now())`;
    await sql`insert into inference.requests (account_id, key_id, trace_id, model, lane, input_tokens, output_tokens,
      cached_tokens, cost_micro_usd, priced, estimated, created_at)
      values (${id}, ${any}, 't', 'm', 'l', 1, 1, 0, 1, true, false, now())`;
    await sql`insert into agent.sessions (account_id, name, sandbox_id, expires_at) values (${id}, 's', ${any}, now())`;
    await sql`insert into sessions.turns (session_id, seq, account_id, due_at)
      values (${session}, 1, ${id}, now() + interval '1 hour')`;
    await sql`insert into rules.rules (account_id, effect, domain, created_at) values (${id}, 'deny', 'a.test', now())`;
    await sql`insert into pages.pages (account_id, address, address_hash, url, url_hash, host, title, byline, description, canonical,
      lang, content_type, published_at, blocks, visible, truncated, bytes, etag, last_modified, fetched_at)
      values (${id}, 'a', '', 'a', '', 'a', '', '', '', '', '', '', '', '', '', false, 0, '', '', now())`;
    await beginUpload(t.gateway, account, Buffer.from('audio'));
    await fillTranscripts(t.gateway, account);
    await sql`insert into kernel.app_changes (connection_id, kind, subject, account_id, name)
      values (${any}, 'mute', ${any}, ${id}, 'x')`;
    await sql`insert into kernel.let_in (connection_id, kind, subject, account_id, name)
      values (gen_random_uuid(), 'share', 'x', ${id}, 'Talk')`;
    await sql`insert into connections.connections (id, account_id, client_id, name, trust, scopes, resources, key_id)
      values (${any}, ${id}, 'app', 'App', 'unknown', '{}', '{}', ${any})`;
    await sql`insert into auth.records (model, id_hash, account_id, payload)
      values ('Session', decode(md5(${id}), 'hex'), ${id}, '\\x01')`;
    await sql`insert into kernel.key_spend values (${id}, ${any}, 1)`;
    await sql`insert into metering.days values (${id}, current_date, 1) on conflict do nothing`;
    await sql`insert into metering.accounts values (${id}, now()) on conflict do nothing`;
    await sql`insert into scheduler.hosts (account_id, device_id, kinds, last_seen) values (${id}, ${any}, '{}', now())`;
    await sql`insert into scheduler.specs values (${id}, ${any}, '\\x01', '{}', now())`;
    await sql`insert into scheduler.logs (run_id, account_id, attempt, created_at, updated_at)
      values (${any}, ${id}, 1, now(), now())`;
    await t.gateway.kernel.blobs.put(`schedule-logs/${id}/${any}`, Buffer.from('x'));
    await sql`insert into sandboxes.audit (account_id, sandbox_id, action) values (${id}, ${any}, 'create')`;
    await sql`insert into notifications.mails (dedupe_key, recipient, subject, body, created_at)
      values (${any}, ${account.email.toUpperCase()}, 's', 'b', now())`;
    await sql`insert into notifications.subscriptions (account_id, endpoint, endpoint_hash, p256dh, auth, created_at)
      values (${id}, 'https://push.example.test/x', 'x', 'x', 'x', now())`;
    await sql`insert into notifications.webhooks (account_id, name, format, enabled, sealed, created_at, updated_at)
      values (${id}, 'x', 'svc', true, 'x', now(), now())`;
    await sql`insert into kernel.usage_counts values (now(), ${id}, ${any}, 'x', 200, 1, 1, 1)`;
    await sql`insert into auth.logins (account_id, token_hash, auth_time, amr, name, platform, network, created_at, last_seen_at, expires_at)
      values (${id}, decode(md5(${id}), 'hex'), now(), '{}', '', '', '', now(), now(), now() + interval '1 day')`;
    await sql`insert into environments.invitations (environment_id, account_id, role, linux_username, place, created_at)
      select id, ${id}, 'viewer', 'x', 1, now() from environments.environments where account_id = ${id}`;
    await sql`insert into environments.removed
      select id, ${id}, now() from environments.environments where account_id = ${id}`;
    await sql`insert into environments.untold
      select id, ${id}, now() + interval '1 day' from environments.environments where account_id = ${id}`;
    await sql`insert into kernel.budgets values ('x', ${id}, 1, now(), true)`;
    await sql`insert into auth.passwords values (${id}, 'x', now())`;
    await sql`insert into auth.passkeys (account_id, credential_id, public_key, counter, backed_up, transports, name, created_at)
      values (${id}, decode(md5(${id}), 'hex'), '', 0, false, '{}', '', now())`;
    await sql`insert into auth.recovery_codes values (${id}, '', now())`;
    await sql`insert into auth.links (id, purpose, account_id, email, created_at, expires_at)
      values (gen_random_uuid(), 'setup', ${id}, null, now(), now() + interval '1 day'),
        (gen_random_uuid(), 'invite', null, ${account.email}, now(), now() + interval '1 day')`;
    await sql`insert into auth.challenges values (decode(md5(${id}), 'hex'), 'prove', ${id}, now() + interval '1 day')`;
    await sql`insert into auth.guesses values (decode(md5(${id}), 'hex'), ${id}, 1, now(), null, now() + interval '1 day')`;
    await t.gateway.kernel.usage.flush();
    return { boxes: [v1.id, v2.id, paused.id], host };
  }
  const statuses = ({ key }: Pick<TestAccount, 'key'>) =>
    Promise.all([base.gateway, second].map(async ({ url }) => (await http(url, '/v1/keys', { key })).status));
  /** Of a test without a node. */
  const small = async (): Promise<TestAccount> => createAccount(base.gateway);
  const markAndRun = async (account: TestAccount, data: readonly AccountData[]) => {
    const { kernel } = base.gateway;
    await markDeleted(kernel, account.id, byCommand);
    return deleteMarked(kernel, data, { accountId: account.id, email: account.email }, byCommand);
  };

  test('leaves nothing of it in any table, on any node and in the blob store but what is documented to stay', async () => {
    const [t, spared] = [await base.fresh(), await base.fresh()];
    const { sql, blobs } = base.gateway.kernel;
    const [{ boxes, host }, others] = [await fill(t), await fill(spared)];
    const missing = [];
    const filled = await traces(sql, t.account.id);
    for (const { name, has_account: has } of await tablesOf(sql)) {
      if (has && !filled[name] && name !== 'accounts.deletions') missing.push(name);
    }
    assert.deepEqual(missing, [], 'tables with accounts that this test puts nothing into');
    const files = await sql<{ id: string }[]>`select id from artifacts.artifacts where account_id = ${t.account.id}`;
    assert.ok(files.length > 0);
    const before = await traces(sql, spared.account.id);

    const report = await svc('accounts', 'delete', '--email', t.account.email, '--yes');
    assert.deepEqual(await statuses(t.account), [401, 401]);
    await host.ended;
    assert.equal(report.account_id, t.account.id);
    // The platform that runs ends what it sees of a suspended account, maybe before the command comes to it; below all are gone.
    assert.ok(Number(report['sandboxes.running']) <= 3, `${report['sandboxes.running']}`);
    assert.deepEqual([report['keys.keys'], report['artifacts.artifacts']], [2, 1]);
    assert.deepEqual([report['accounts.accounts'], report['orgs.orgs'], report['notifications.mails']], [1, 1, 1]);

    // A window for each limit and minute, and a row for each budget.
    const { 'kernel.rate_windows': windows = 0, 'kernel.budgets': budgets, ...rest } = await traces(sql, t.account.id);
    assert.ok(windows > 0);
    assert.equal(budgets, 1);
    assert.deepEqual(rest, { 'accounts.deletions': 1, 'kernel.audit': 2, 'wallet.ledger': 1 });
    assert.deepEqual(await traces(sql, t.account.email), {});
    const kept = accountData.flatMap(({ keeps = {} }) => Object.keys(keeps)).sort();
    assert.deepEqual(Object.keys(await traces(sql, t.account.id)).sort(), kept, 'what stays is documented');
    const stored = await blobs.list('artifacts/');
    for (const { id } of files) assert.ok(!stored.includes(`artifacts/${id}`));
    assert.deepEqual(await blobs.list(`schedule-logs/${t.account.id}/`), []);
    assert.deepEqual(await blobs.list(`uploads/${t.account.id}/`), []);
    assert.deepEqual(await blobs.list(`audio/${t.account.id}/`), []);
    assert.equal((await blobs.list(`audio/${spared.account.id}/`)).length, 1);
    assert.equal((await blobs.list(`schedule-logs/${spared.account.id}/`)).length, 1);
    const held = (await base.node.list()).map(({ id }) => id);
    for (const id of boxes) assert.ok(!held.includes(id), 'a sandbox of it is on its node');

    for (const id of others.boxes) assert.ok(held.includes(id), 'a sandbox of another account is gone');
    // Tables that count requests by the minute go on.
    const counting = new Set(['kernel.usage_records', 'kernel.rate_windows']);
    const lasting = (all: object) => Object.entries(all).filter(([table]) => !counting.has(table));
    assert.deepEqual(lasting(await traces(sql, spared.account.id)), lasting(before));
    assert.deepEqual(await statuses(spared.account), [200, 200]);
    others.host.leave();
    await spared.clear();
  });

  test('what was interrupted anywhere is refused everywhere at once, cannot be resumed, and goes on', async () => {
    const { sql } = base.gateway.kernel;
    for (let cut = 0; cut < accountData.length; cut += 3) {
      const account = await small();
      assert.deepEqual(await statuses(account), [200, 200]);
      const bomb: AccountData = { tables: [], end: () => Promise.reject(new Error('killed')) };
      await assert.rejects(markAndRun(account, accountData.toSpliced(cut, 0, bomb)), /killed/);
      for (const status of await statuses(account)) assert.ok(status === 403 || status === 401, `${cut}: ${status}`);
      await assert.rejects(svc('accounts', 'resume', '--email', account.email), /is being deleted/);
      // Asked once: now it only goes on.
      const report = await svc('accounts', 'delete', '--email', account.email);
      assert.deepEqual([report['keys.keys'], report['accounts.accounts']], [1, 1], `${cut}`);
      const { 'kernel.rate_windows': _, ...left } = await traces(sql, account.id);
      assert.deepEqual(left, { 'accounts.deletions': 1, 'kernel.audit': 2 });
    }
  });

  test('a running platform goes on with it by itself, finds for a day what came late, and then forgets it', async () => {
    const { kernel } = base.gateway;
    const { sql } = kernel;
    const account = await small();
    await markDeleted(kernel, account.id, byCommand);
    const job = deleteOn(accountData);
    await job.run(kernel);
    assert.ok((await traces(sql, account.id))['accounts.accounts'], 'somebody is at it');
    await sql`update accounts.deletions set tried_at = now() - interval '3 minutes' where account_id = ${account.id}`;
    await job.run(kernel);
    assert.deepEqual(await traces(sql, account.id), { 'accounts.deletions': 1, 'kernel.audit': 2 });
    await sql`insert into devices.devices (account_id, id, name) values (${account.id}, ${randomUUID()}, 'late')`;
    await job.run(kernel);
    assert.deepEqual(await traces(sql, account.id), { 'accounts.deletions': 1, 'kernel.audit': 2 });
    await sql`update accounts.deletions set done_at = now() - interval '25 hours' where account_id = ${account.id}`;
    await job.run(kernel);
    assert.deepEqual(await traces(sql, account.id), { 'kernel.audit': 2 });
  });

  test('its lines in the audit log go, and two say who deleted it, when, and how much', async () => {
    const account = await small();
    await http(base.gateway.url, '/v1/keys', { key: account.key, body: {} });
    await svc('accounts', 'delete', '--email', account.email, '--yes');
    const lines = await base.gateway.kernel.sql<
      { who: string; action: string; details: { state: string; deleted?: Record<string, number> } }[]
    >`
      select who, action, details from kernel.audit where account_id = ${account.id} order by id`;
    assert.deepEqual(
      lines.map(({ who, action, details }) => [who, action, details.state]),
      [
        ['cli', 'accounts.delete', 'begun'],
        ['cli', 'accounts.delete', 'done'],
      ],
    );
    assert.equal(lines[1]?.details.deleted?.['keys.keys'], 2);
  });

  test('asks first; without a terminal it needs --yes; an organisation with members needs another owner', async () => {
    const [account, member] = [await small(), await small()];
    const remove = (...more: string[]) => svc('accounts', 'delete', '--email', account.email, ...more);
    await assert.rejects(svc('accounts', 'delete', '--yes'), /email/);
    await assert.rejects(svc('accounts', 'delete', '--email', 'no@one.test', '--yes'), /no account/);
    await assert.rejects(remove(), /no terminal to ask on; add --yes/);
    const { org_id: org } = await svc('orgs', 'create', '--name', 'Org', '--owner', account.email);
    await svc('orgs', 'add', '--org', org, '--email', member.email, '--role', 'member');
    for (const more of [['--yes'], ['--yes', '--force']]) await assert.rejects(remove(...more), /no other owner/);
    assert.deepEqual(await statuses(account), [200, 200]);
    await svc('orgs', 'add', '--org', org, '--email', member.email, '--role', 'owner');
    assert.equal((await remove('--yes'))['orgs.members'], 1);
    const left = await base.gateway.kernel.sql`select 1 from orgs.orgs where id = ${org}`;
    assert.equal(left.length, 1);
  });

  test('the last account with a key that may do everything is deleted with --force alone', async () => {
    await using own = await openTest();
    const run = svcOf(own.gateway);
    await createAccount(own.gateway, { scopes: ['keys'] });
    const other = await createAccount(own.gateway);
    await run('accounts', 'suspend', '--email', other.email);
    const remove = (...more: string[]) => run('accounts', 'delete', '--email', own.account.email, '--yes', ...more);
    await assert.rejects(remove(), /no other account has a key that may do everything/);
    await run('accounts', 'resume', '--email', other.email);
    await remove();
    await assert.rejects(run('accounts', 'delete', '--email', other.email, '--yes'), /add --force/);
    assert.equal((await run('accounts', 'delete', '--email', other.email, '--yes', '--force'))['keys.keys'], 1);
  });

  test('what this machine cannot reach, a node that is away or bytes elsewhere, is left to a running platform, and said', async () => {
    const account = await small();
    const { kernel } = base.gateway;
    const { sql } = kernel;
    const [node, box, file] = [randomUUID(), randomUUID(), randomUUID()];
    await sql`insert into sandboxes.nodes (id, address) values (${node}, 'unix:/nowhere/sandboxd.sock')`;
    await sql`insert into sandboxes.sandboxes (id, account_id, key_id, node_id, state, backend, template, egress, metadata,
        created_at, expires_at)
      values (${box}, ${account.id}, ${account.keyId}, ${node}, 'paused', 'v2', 'svc-base', '{}', '{}', now(), now())`;
    await sql`insert into artifacts.artifacts (id, account_id, sandbox_id, path, bytes, mime, sha256, scan, created_at, expires_at)
      values (${file}, ${account.id}, ${box}, 'x', 1, '', '', 'clean', now(), now() + interval '1 hour')`;
    const report = await svc('accounts', 'delete', '--email', account.email, '--yes');
    assert.equal(report['left to the running platform: artifacts.artifacts'], 1);
    assert.equal(report['left to the running platform: sandboxes.running'], 1);
    const { 'artifacts.artifacts': left, ...others } = await traces(sql, account.id);
    assert.deepEqual([left, Object.keys(others).sort()], [1, ['accounts.deletions', 'kernel.audit']]);
    await artifactsFeature.jobs?.[0]?.run(kernel);
    assert.deepEqual((await traces(sql, account.id))['artifacts.artifacts'], undefined);
    await sql`delete from sandboxes.nodes where id = ${node}`;
  });
});
