import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type TestClock, testClock } from '../../kernel/base/clock.ts';
import { startGateway, until } from '../../testing.ts';
import { setSuspended } from '../accounts/accounts.sql.ts';
import { type Json, openSandboxes, type SandboxesTest, sandboxesTest } from './sandboxes.testing.ts';

const hour = 3_600_000;

describe('the keeper of sandboxes', () => {
  let t: SandboxesTest;
  // Started with the first test, not when the file is read: a whole run reads it minutes before.
  let clock: TestClock;
  before(async () => {
    clock = testClock();
    t = await openSandboxes({ clock });
  });
  /** An instant of the keeper's time, so many milliseconds ago. */
  const ago = (ms: number): string => new Date(clock.now() - ms).toISOString();
  /**
   * Waits, while the keeper looks as often as it can: each look here is a second to it. The node answers before each
   * look: otherwise a node that the machine holds up for some seconds counts as gone.
   */
  const eventually = (isSo: () => Promise<boolean>): Promise<void> =>
    until(async () => {
      await t.node.node().catch(() => undefined);
      clock.leap(1_000);
      return isSo();
    });
  after(() => t.close());
  const statusOf = async (id: string): Promise<string> => (await t.call('GET', `/v1/sandboxes/${id}`)).body.status;
  const held = async (id: string): Promise<boolean> => (await t.node.list()).some((state) => state.id === id);
  const row = async (id: string) =>
    (await t.gateway.kernel.sql<Json[]>`select * from sandboxes.sandboxes where id = ${id}`)[0];
  const openSpans = async (id: string) =>
    (
      await t.gateway.kernel.sql<{ kind: string }[]>`
        select kind from metering.spans where sandbox_id = ${id} and ended_at is null`
    ).map(({ kind }) => kind);

  const meteredMs = async (id: string): Promise<number> => {
    const [span] = await t.gateway.kernel.sql<{ ms: number }[]>`
      select (extract(epoch from ended_at - started_at) * 1000)::bigint as ms from metering.spans where sandbox_id = ${id}`;
    return span?.ms ?? Number.NaN;
  };

  test('a sandbox past its lifetime is expired, its processes are gone and its metering ends', async () => {
    const box = await t.create();
    assert.deepEqual(await openSpans(box.id), ['running']);
    await t.gateway.kernel.sql`update sandboxes.sandboxes set expires_at = ${ago(0)} where id = ${box.id}`;
    await eventually(async () => (await statusOf(box.id)) === 'expired');
    await eventually(async () => !(await held(box.id)));
    assert.deepEqual(await openSpans(box.id), []);
    assert.equal((await t.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'id' })).status, 409);
  });

  test('a process that ended right after a resume is named, until the sandbox is paused again', async () => {
    const mine = await t.fresh();
    const box = await mine.create();
    // It ends as soon as the resume lets it go on.
    const program =
      'import os, signal\nsignal.signal(signal.SIGCONT, lambda *_: os.abort())\nopen("up", "w").close()\nwhile True: signal.pause()';
    await mine.exec(box, {
      shell: `nohup python3 -c '${program}' >/dev/null 2>&1 & until [ -e up ]; do sleep 0.05; done`,
    });
    const read = async () => (await mine.call('GET', `/v1/sandboxes/${box.id}`)).body;
    assert.equal((await mine.call('POST', `/v1/sandboxes/${box.id}/pause`)).status, 200);
    const resumed = (await mine.call('POST', `/v1/sandboxes/${box.id}/resume`)).body;
    assert.deepEqual([resumed.restored, resumed.ended_after_resume], [true, undefined]);
    await eventually(async () => (await read()).ended_after_resume !== undefined);
    const told = (await read()).ended_after_resume as Json[];
    assert.deepEqual(
      told.map(({ command, signal }) => [command, signal]),
      [['python3', 'SIGABRT']],
    );
    const [listed] = (await mine.call('GET', '/v1/sandboxes')).body.data;
    assert.deepEqual(listed.ended_after_resume, told);
    const paused = (await mine.call('POST', `/v1/sandboxes/${box.id}/pause`)).body;
    assert.equal(paused.ended_after_resume, undefined);
    assert.equal((await read()).ended_after_resume, undefined);
    assert.equal((await mine.call('DELETE', `/v1/sandboxes/${box.id}`)).status, 200);
  });

  test('a sandbox that ended by itself is stopped', async () => {
    const box = await t.create();
    await t.node.destroy(box.id);
    await eventually(async () => (await statusOf(box.id)) === 'stopped');
    assert.deepEqual(await openSpans(box.id), []);
  });

  test('a sandbox of a suspended account is paused, with its files alone where its memory cannot be saved', async () => {
    const own = await t.fresh();
    const box = await own.create();
    await own.cell(box, 'import os; g = open("gone", "w"); os.unlink("gone"); open("kept", "w").write("k")');
    const { sql } = t.gateway.kernel;
    await setSuspended(sql, own.account.id, true);
    await eventually(async () => (await row(box.id))?.state === 'paused');
    await setSuspended(sql, own.account.id, false);
    const resumed = await own.call('POST', `/v1/sandboxes/${box.id}/resume`);
    assert.deepEqual([resumed.status, resumed.body.restored], [200, false], JSON.stringify(resumed.body));
    assert.equal((await own.exec(box, 'cat kept')).stdout, 'k');
    await own.clear();
  });

  test('a pause whose gateway died is finished, its lifetime frozen', async () => {
    const box = await t.create();
    const { sql } = t.gateway.kernel;
    await sql`update sandboxes.sandboxes set state = 'pausing', moved_at = ${ago(0)} where id = ${box.id}`;
    await t.node.pause(box.id);
    await eventually(async () => (await statusOf(box.id)) === 'paused');
    const { ttl_left_ms, snapshot_bytes } = await row(box.id);
    assert.ok(ttl_left_ms > 3_000_000 && snapshot_bytes > 1_000_000);
    assert.deepEqual(await openSpans(box.id), ['paused']);
    const resumed = await t.call('POST', `/v1/sandboxes/${box.id}/resume`);
    assert.deepEqual([resumed.status, resumed.body.restored], [200, true], JSON.stringify(resumed.body));
    assert.deepEqual(await openSpans(box.id), ['running']);
    await t.clear();
  });

  test('a resume whose gateway died is finished: it is metered, and ends when its row says', async () => {
    const box = await t.create();
    await t.call('POST', `/v1/sandboxes/${box.id}/pause`);
    const { sql } = t.gateway.kernel;
    await sql`update sandboxes.sandboxes set state = 'resuming', moved_at = ${ago(0)} where id = ${box.id}`;
    await t.node.resume(box.id, Date.now() + 60_000);
    await eventually(async () => (await row(box.id)).state === 'running');
    assert.deepEqual(await openSpans(box.id), ['running']);
    const { expires_at } = await row(box.id);
    await eventually(async () => (await t.node.get(box.id)).expires_at === Date.parse(expires_at));
    await t.clear();
  });

  test('nothing is metered past a lifetime, however late its end is noticed', async () => {
    const box = await t.create();
    const { sql } = t.gateway.kernel;
    const [begun, ended] = [ago(3 * hour), ago(2 * hour)];
    await sql`update metering.spans set started_at = ${begun} where sandbox_id = ${box.id}`;
    await sql`update sandboxes.sandboxes set expires_at = ${ended} where id = ${box.id}`;
    await eventually(async () => (await statusOf(box.id)) === 'expired');
    assert.equal(await meteredMs(box.id), Date.parse(ended) - Date.parse(begun));
  });

  test('what ended while nobody saw its node ended when it was seen last', async () => {
    const box = await t.create();
    const { sql } = t.gateway.kernel;
    const [begun, seen] = [ago(3 * hour), ago(hour)];
    await sql`update metering.spans set started_at = ${begun} where sandbox_id = ${box.id}`;
    await t.node.destroy(box.id);
    await sql`update sandboxes.nodes set seen_at = ${seen}`;
    await eventually(async () => (await statusOf(box.id)) === 'stopped');
    assert.equal(await meteredMs(box.id), Date.parse(seen) - Date.parse(begun));
  });

  test('a creation whose gateway died never was, on the node neither', async () => {
    const box = await t.create();
    await t.gateway.kernel.sql`
      update sandboxes.sandboxes set state = 'creating', moved_at = ${ago(10 * 60_000)} where id = ${box.id}`;
    await eventually(async () => (await row(box.id)) === undefined);
    await eventually(async () => !(await held(box.id)));
  });

  test('a command whose gateway died leaves its sandbox free after a moment, and its time is counted', async () => {
    const box = await t.create();
    const { sql } = t.gateway.kernel;
    await sql`update sandboxes.sandboxes set busy_by = ${randomUUID()}, busy_until = ${ago(-hour)} where id = ${box.id}`;
    assert.equal(
      (await t.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'id' })).body.error.code,
      'sandbox_busy',
    );
    const [begun, ended] = [ago(40_000), ago(10_000)];
    await sql`
      insert into metering.spans (id, account_id, sandbox_id, kind, started_at)
      values (${randomUUID()}, ${t.account.id}, ${box.id}, 'exec_v2', ${begun})`;
    await sql`update sandboxes.sandboxes set busy_until = ${ended} where id = ${box.id}`;
    await eventually(async () => !(await openSpans(box.id)).includes('exec_v2'));
    const [day] = await sql<
      { exec_ms: number }[]
    >`select exec_ms from metering.days where account_id = ${t.account.id}`;
    assert.equal(day?.exec_ms, 30_000);
    const { usage } = (await t.call('GET', `/v1/sandboxes/${box.id}`)).body;
    assert.equal(usage.exec_count, 1);
    const lost = await sql`select 1 from kernel.audit where subject = ${box.id} and action = 'sandboxes.command_lost'`;
    assert.equal(lost.length, 1);
    assert.equal((await t.exec(box, 'echo free')).stdout, 'free\n');
    await t.clear();
  });

  test('a command whose sandbox ended under it is counted and in the audit log', async () => {
    const box = await t.create();
    const running = t.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'echo begun > begun; sleep 60' });
    await eventually(async () => (await t.call('GET', `/v1/sandboxes/${box.id}/files/begun`)).status === 200);
    await t.call('DELETE', `/v1/sandboxes/${box.id}`);
    assert.equal((await running).status, 409);
    const { sql } = t.gateway.kernel;
    const spans = await sql<{ ended: boolean }[]>`
      select ended_at is not null as ended from metering.spans where sandbox_id = ${box.id} and kind = 'exec_v2'`;
    assert.deepEqual([...spans], [{ ended: true }]);
    const lines = await sql<
      { action: string }[]
    >`select split_part(action, '.', 2) as action from kernel.audit where subject = ${box.id} order by id`;
    assert.deepEqual(
      lines.map(({ action }) => action).filter((action) => action !== 'read_file'),
      ['create', 'exec', 'destroy', 'exec_end'],
    );
  });

  test('the live are listed first, however many others there are', async () => {
    const box = await t.create();
    await t.gateway.kernel.sql`
      insert into sandboxes.sandboxes
        (id, account_id, key_id, state, backend, template, egress, metadata, created_at, expires_at)
      select gen_random_uuid(), ${t.account.id}, ${t.account.keyId}, 'expired', 'v2', 'svc-base', '{"mode":"none"}', '{}',
        now(), now() from generate_series(1, 250)`;
    const { data } = (await t.call('GET', '/v1/sandboxes')).body;
    assert.deepEqual([data[0].id, data.length], [box.id, 200]);
    await t.clear();
  });

  test('paused sandboxes outlive their node’s absence, and running ones a pause of the whole platform', async () => {
    const later = testClock(Date.now());
    const node = randomUUID();
    const { sql } = t.gateway.kernel;
    await sql`
      insert into sandboxes.nodes (id, address, missing_since)
      values (${node}, 'unix:/nowhere/third.sock', now() - interval '8 hours')`;
    const made = await sql<{ id: string; state: string }[]>`
      insert into sandboxes.sandboxes
        (id, account_id, key_id, node_id, state, backend, template, egress, metadata, created_at, expires_at)
      select gen_random_uuid(), ${t.account.id}, ${randomUUID()}, ${node}, state, 'v2', 'svc-base', '{"mode":"none"}', '{}',
        now(), now() + interval '1 day' from unnest(array['paused', 'running']) as state
      returning id, state`;
    await using gateway = await startGateway(t.database, {
      clock: later,
      settings: { SVC_SANDBOXD_SOCKET: '/nowhere/sandboxd.sock' },
    });
    const states = async () =>
      (
        await sql<{ state: string }[]>`
          select state from sandboxes.sandboxes where id = any(${made.map(({ id }) => id)}) order by state`
      ).map(({ state }) => state);
    for (let i = 0; i < 5; i++) {
      later.leap(5_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(await states(), ['paused', 'running']);
    await until(async () => {
      later.leap(15_000);
      return (await states()).includes('stopped');
    });
    assert.deepEqual(await states(), ['paused', 'stopped']);
    await gateway.close();
    await sql`delete from sandboxes.nodes where id = ${node}`;
  });

  test('sandboxes of a node that nobody reaches for a minute are stopped', async () => {
    const later = testClock(Date.now());
    await using gateway = await startGateway(t.database, {
      clock: later,
      settings: { SVC_SANDBOXD_SOCKET: '/nowhere/sandboxd.sock' },
    });
    const here = sandboxesTest(t.database, gateway, t.node, t.account);
    const node = randomUUID();
    const { sql } = gateway.kernel;
    await sql`insert into sandboxes.nodes (id, address) values (${node}, 'unix:/nowhere/other.sock')`;
    const [made] = await sql<{ id: string }[]>`
      insert into sandboxes.sandboxes
        (id, account_id, key_id, node_id, state, backend, template, egress, metadata, created_at, expires_at)
      values (${randomUUID()}, ${t.account.id}, ${t.account.keyId}, ${node}, 'running', 'v2', 'svc-base',
        '{"mode":"none"}', '{}', now(), now() + interval '1 day')
      returning id`;
    const id = made?.id as string;
    await until(async () => {
      later.leap(1_000);
      return (await sql`select 1 from sandboxes.nodes where id = ${node} and missing_since is not null`).length > 0;
    });
    assert.equal((await here.call('GET', `/v1/sandboxes/${id}`)).body.status, 'running');
    await until(async () => {
      later.leap(15_000);
      return (await here.call('GET', `/v1/sandboxes/${id}`)).body.status === 'stopped';
    });
  });
});
