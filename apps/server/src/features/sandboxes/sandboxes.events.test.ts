import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { bySystem } from '../../kernel/records/audit.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { http, openTest } from '../../testing.ts';
import { createRow, moveSandbox, type SandboxMove } from './sandboxes.moves.ts';

const start = Date.parse('2026-11-23T09:00:00Z');

describe('sandboxes: what became of one', () => {
  const clock = testClock(start);
  const { gateway, account } = shared(() => openTest({ clock, settings: { SVC_BILLING: 'true' } }));
  const make = (fields: { parentId?: string; metadata?: Record<string, string> } = {}) =>
    createRow(gateway.kernel.sql, clock, {
      id: randomUUID(),
      account_id: account.id,
      key_id: account.keyId,
      backend: 'v2',
      template: 'svc-base',
      egress: { mode: 'none' },
      metadata: {},
      ttlMs: 600_000,
      memory_mb: 1024,
      ...fields,
    });
  const go = async (id: string, name: SandboxMove, given: object = {}) => {
    const { sql } = gateway.kernel;
    const moved = await moveSandbox({ sql, clock }, id, name, { by: bySystem, snapshotBytes: 4_096, ...given });
    assert.ok(moved, name);
  };
  const ask = (path: string) => http(gateway.url, `/v1/sandboxes/${path}`, { key: account.key });
  const eventsOf = async (id: string, query = '') =>
    (await ask(`${id}/events${query}`)).body.events.map(({ kind, detail }: { kind: string; detail: object }) => [
      kind,
      detail,
    ]);

  test('stands among its events, newest first, with why it ended', async () => {
    const { id } = await make();
    await go(id, 'made');
    await go(id, 'pause');
    await go(id, 'keepRunning', { failure: new ApiError('memory_not_saved', 'it is too large') });
    await go(id, 'pause');
    await go(id, 'paused');
    await go(id, 'resume');
    await go(id, 'keepPaused', { failure: new Error('of the node itself: nothing that its owner is told') });
    await go(id, 'changePaused', { ttlSeconds: 60 });
    await go(id, 'resume');
    await go(id, 'resumed', { restored: true });
    await go(id, 'change', { ttlSeconds: 120 });
    // Other labels are no event.
    await go(id, 'change');
    await go(id, 'stop', { reason: 'node_lost' });
    assert.deepEqual(await eventsOf(id), [
      ['stopped', { reason: 'node_lost' }],
      ['extended', { ttl_seconds: 120, expires_at: '2026-11-23T09:02:00.000Z' }],
      ['resumed', { restored: true }],
      ['extended', { ttl_seconds: 60 }],
      ['failed', { what: 'resume' }],
      ['paused', { snapshot_bytes: 4_096 }],
      ['failed', { what: 'pause', code: 'memory_not_saved', message: 'it is too large' }],
      ['created', { template: 'svc-base', backend: 'v2' }],
    ]);
    const first = (await ask(`${id}/events?limit=4`)).body;
    assert.equal(first.events[0].at, new Date(start).toISOString());
    const rest = (await ask(`${id}/events?limit=4&cursor=${first.next_cursor}`)).body;
    assert.deepEqual([first.events.length, rest.events.length, rest.next_cursor], [4, 4, undefined]);
    for (const [name, reason] of [
      ['expireOnNode', 'expired'],
      ['destroy', 'destroyed'],
      ['stop', 'ended'],
    ] as const) {
      const { id: other } = await make();
      await go(other, 'made');
      await go(other, name);
      assert.deepEqual((await eventsOf(other))[0], ['stopped', { reason }]);
    }
  });

  test('a fork stands among the events of both, and its record names parent and name', async () => {
    const { id: parent } = await make({ metadata: { name: 'trial' } });
    await go(parent, 'made');
    const { id: child } = await make({ parentId: parent, metadata: { name: 'trial' } });
    await go(child, 'forked');
    assert.deepEqual((await eventsOf(parent))[0], ['forked', { child_id: child }]);
    assert.deepEqual(await eventsOf(child), [['created', { backend: 'v2', parent_id: parent, template: 'svc-base' }]]);
    const [of, first] = [(await ask(child)).body, (await ask(parent)).body];
    assert.deepEqual([of.parent_id, of.name, 'parent_id' in first], [parent, 'trial', false]);
  });

  test('no sandbox keeps more than 200, and they go with it', async () => {
    const { sql } = gateway.kernel;
    const { id } = await make();
    await go(id, 'made');
    for (let i = 0; i < 210; i++) await go(id, 'extend', { ttlSeconds: 60 });
    const count = async () => (await sql`select 1 from sandboxes.events where sandbox_id = ${id}`).length;
    assert.equal(await count(), 200);
    await sql`delete from sandboxes.sandboxes where id = ${id}`;
    assert.equal(await count(), 0);
  });

  test('what it has cost counts while it runs and while it is paused, at the full price', async () => {
    const { id } = await make();
    await go(id, 'made');
    assert.equal((await ask(id)).body.cost_micro_eur, 0);
    const { sql } = gateway.kernel;
    await sql`update metering.spans set started_at = started_at - interval '30 minutes' where sandbox_id = ${id}`;
    assert.equal((await ask(id)).body.cost_micro_eur, 50_000);
    const { data } = (await http(gateway.url, '/v1/sandboxes', { key: account.key })).body;
    assert.equal(data.find((one: { id: string }) => one.id === id).cost_micro_eur, 50_000);
    await go(id, 'pause');
    await go(id, 'paused', { snapshotBytes: 730_000_000 });
    await sql`update metering.spans set started_at = started_at - interval '10 hours'
      where sandbox_id = ${id} and kind = 'paused'`;
    assert.equal((await ask(id)).body.cost_micro_eur, 50_500);
  });
});
