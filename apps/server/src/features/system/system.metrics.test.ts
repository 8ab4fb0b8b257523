import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { inTransaction } from '../../kernel/db/db.ts';
import { asOwner, createAccount, http, openTest } from '../../testing.ts';
import { pagesOf } from '../../testing.plans.ts';
import { setSuspended } from '../accounts/accounts.sql.ts';
import { countConnections } from '../connections/connections.sql.ts';
import { countDown } from '../heartbeats/heartbeats.summary.sql.ts';
import { countDue, oldestDue } from '../notifications/notifications.held.sql.ts';
import { countByState } from '../sandboxes/sandboxes.list.sql.ts';
import { countRuns } from '../scheduler/summary/metrics.sql.ts';

const connect =
  (accountId: string, keyId: string, count: number, ended: boolean) =>
  (sql: Parameters<Parameters<typeof asOwner>[1]>[0]) =>
    sql`insert into connections.connections (account_id, client_id, name, trust, scopes, resources, key_id, ended_at)
    select ${accountId}, 'app ' || n || ${randomUUID()}, 'App', 'unknown', '{}', '{}', ${keyId}, case when ${ended} then now() end
    from generate_series(1, ${count}) n`;

describe('metrics of what the platform holds', () => {
  test('a worker tells what waits, runs, is down and is let in, of all accounts together; a gateway its own hosts', async () => {
    await using t = await openTest();
    const { key, id, keyId } = t.account;
    const ask = (path: string, body: object) => http(t.gateway.url, path, { key, body });
    const monitor = await ask('/v1/heartbeats', { name: 'nightly', period_s: 3_600 });
    assert.equal(monitor.status, 201, JSON.stringify(monitor.body));
    await http(t.gateway.url, `${new URL(monitor.body.ping_url).pathname}/fail`, { method: 'POST' });
    const trigger = { type: 'cron', expr: '30 2 * * *' };
    const schedule = await ask('/v1/schedules', { name: 'wait', kind: 'shell', spec: { command: 'true' }, trigger });
    assert.equal(schedule.status, 201, JSON.stringify(schedule.body));
    assert.ok((await ask(`/v1/schedules/${schedule.body.id}/run`, {})).status < 300);
    await asOwner(t.database, connect(id, keyId, 2, false));
    const text = await t.gateway.kernel.metrics.registry.metrics();
    for (const line of [
      'svc_runs{state="waiting"} 1',
      'svc_runs{state="running"} 0',
      'svc_monitors{status="down"} 1',
      'svc_monitor_lag_seconds 0',
      'svc_deliveries_due{channel="webhook"} 0',
      'svc_delivery_lag_seconds 0',
      'svc_connections{state="open"} 2',
      'svc_sandboxes{state="running"} 0',
      'svc_sandbox_slots{state="free"} 0',
      'svc_hosts 0',
      'svc_workers 1',
      'svc_relays 0',
      'svc_sandbox_nodes{state="missing"} 0',
    ])
      assert.ok(text.includes(`\n${line}\n`), `${line} in\n${text.match(/^svc_.*$/gm)?.join('\n')}`);
    assert.equal(text.includes(id), false, 'nothing of an account');
  });

  test('a scrape reads no more for rows that do not count', async () => {
    await using t = await openTest();
    const { id, keyId } = t.account;
    const counts = [countRuns, countDown, countDue, oldestDue, countConnections, countByState];
    const read = () => Promise.all(counts.map((count) => pagesOf(t.database, async (db) => count(db))));
    const before = await read();
    await asOwner(t.database, async (sql) => {
      await connect(id, keyId, 3_000, true)(sql);
      await sql`
        insert into sandboxes.sandboxes (id, account_id, key_id, state, backend, template, egress, metadata, created_at,
          expires_at, moved_at, memory_mb)
        select gen_random_uuid(), ${id}, ${keyId}, 'destroyed', 'v1', 'svc-base', '{}', '{}', now(), now(), now(), 1
        from generate_series(1, 3000)`;
      await sql`analyze connections.connections`;
      await sql`analyze sandboxes.sandboxes`;
    });
    const after = await read();
    for (const [at, pages] of after.entries()) assert.ok(pages <= (before[at] ?? 0) + 5, `${counts[at]?.name}`);
  });

  test('webhooks of a suspended account, which wait for it, count as neither due nor late', async () => {
    await using t = await openTest();
    const suspended = await createAccount(t.gateway);
    await setSuspended(t.gateway.kernel.sql, suspended.id, true);
    const undone = new Error('undone');
    const look = inTransaction(t.gateway.kernel.sql, async (db) => {
      await db`
        insert into notifications.deliveries (channel, lane, due_at) values
          ('webhook', ${suspended.id}, now() - interval '1 day'), ('webhook', ${t.account.id}, now() - interval '1 hour'),
          ('mail', 'a@example.test', now() - interval '1 minute')`;
      assert.deepEqual(await countDue(db), { push: 0, mail: 1, webhook: 1 });
      assert.equal(await oldestDue(db), 3_600);
      throw undone;
    });
    await assert.rejects(look, undone);
  });
});
