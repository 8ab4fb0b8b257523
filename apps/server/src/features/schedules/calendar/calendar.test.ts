import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { slotsAfter } from '@svc/timetable';
import fc from 'fast-check';
import { shared } from '../../../testing.shared.ts';
import { hour, type Json, minute, openScheduler, type SchedulerTest } from '../../scheduler/scheduler.testing.ts';
import type { Trigger } from '../schedules.sql.ts';
import { mergeSlots } from './merge.ts';

describe('schedules: what comes next, and lists that are narrowed', () => {
  const base = shared(() => openScheduler());
  const day = 24 * hour;
  const at = (t: SchedulerTest, ms: number) => new Date(t.clock.now() + ms).toISOString();
  const ask = async (t: SchedulerTest, query = ''): Promise<Json> => {
    const { status, body } = await t.call('GET', `/v1/schedules/upcoming?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const shown = ({ upcoming }: Json) => upcoming.map(({ name, at: when }: Json) => `${name} ${when.slice(5, 16)}`);
  const cron = (name: string, expr: string, fields: Json = {}) => ({
    name,
    trigger: { type: 'cron', expr, tz: 'UTC' },
    ...fields,
  });

  test('instants of all enabled schedules in their order, skipped days out, for a day unless asked otherwise', async () => {
    // Monday 2026-11-23 09:00:10.
    const t = await base.fresh();
    const noon = await t.create(cron('noon', '1 12 * * *'));
    await t.create(cron('six-hourly', '0 */6 * * *', { policy: { skip_days: { weekdays: ['tue'] } } }));
    await t.create(cron('off', '* * * * *', { enabled: false }));
    await t.create({ name: 'event', trigger: { type: 'event', trigger_id: 'x' } });
    const all = await ask(t);
    assert.deepEqual(shown(all), ['six-hourly 11-23T12:00', 'noon 11-23T12:01', 'six-hourly 11-23T18:00']);
    assert.equal(all.truncated, false);
    assert.deepEqual(
      all.upcoming.find(({ name }: Json) => name === 'noon'),
      { schedule_id: noon.id, name: 'noon', at: '2026-11-23T12:01:00.000Z' },
    );
    const wednesday = await ask(t, `from=2026-11-25T00:00:00Z&to=2026-11-25T12:00:00Z`);
    assert.deepEqual(shown(wednesday), ['six-hourly 11-25T00:00', 'six-hourly 11-25T06:00']);
    const two = await ask(t, 'from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z');
    assert.deepEqual(two, { upcoming: [], truncated: false });
    const cut = await ask(t, `to=${at(t, 7 * day)}&limit=2`);
    assert.deepEqual([cut.upcoming.length, cut.truncated], [2, true]);
    for (const bad of [
      `to=${at(t, -1)}`,
      `from=${at(t, hour)}&to=${at(t, hour)}`,
      `to=${at(t, 7 * day + 1)}`,
      'from=now',
      'limit=501',
      'limit=0',
    ]) {
      assert.equal((await t.call('GET', `/v1/schedules/upcoming?${bad}`)).status, 400, bad);
    }
    const other = await base.fresh();
    assert.deepEqual(await ask(other), { upcoming: [], truncated: false });
  });

  test('what a pause leaves out is not there: all of it, or what comes before its end', async () => {
    const t = await base.fresh();
    await t.create(cron('hourly', '0 * * * *'));
    await t.call('POST', '/v1/schedules/pause', { until: at(t, 2 * hour) });
    assert.deepEqual(shown(await ask(t, 'limit=2')), ['hourly 11-23T12:00', 'hourly 11-23T13:00']);
    await t.call('POST', '/v1/schedules/pause', {});
    assert.deepEqual(await ask(t), { upcoming: [], truncated: false });
    await t.call('POST', '/v1/schedules/resume', {});
    assert.deepEqual(shown(await ask(t, 'limit=1')), ['hourly 11-23T10:00']);
  });

  test('a thousand schedules each minute are answered from their rows, and said to be cut', async () => {
    const t = await base.fresh();
    const made = await t.create(cron('first', '* * * * *'));
    await t.gateway.kernel.sql`
      insert into schedules.schedules (account_id, name, enabled, kind, spec, trigger, anchor_at, slots, next_run_at,
        created_at, updated_at)
      select account_id, 'copy ' || n, enabled, kind, spec, trigger, anchor_at, slots, next_run_at, created_at, updated_at
      from schedules.schedules, generate_series(1, 999) n where id = ${made.id}`;
    for (const query of ['limit=500', `limit=500&to=${at(t, 7 * day)}`]) {
      const { upcoming, truncated } = await ask(t, query);
      assert.deepEqual([upcoming.length, truncated], [500, true]);
      assert.deepEqual(new Set(upcoming.map((one: Json) => one.at)), new Set([made.next_run_at]));
    }
    // Of a time that begins later some schedules are not looked at.
    const later = await ask(t, `from=${at(t, 3 * day)}&to=${at(t, 3 * day + minute)}&limit=500`);
    assert.deepEqual([later.upcoming.length, later.truncated], [500, true]);
  });

  test('the merge finds what a search of each calendar finds, wherever the stored slots end', async () => {
    const triggers: readonly Trigger[] = [
      { type: 'cron', expr: '*/7 * * * *', tz: 'Europe/Bucharest' },
      { type: 'cron', expr: '30 3 * * *', tz: 'Europe/Bucharest' },
      { type: 'cron', expr: '0 0 29 2 *', tz: 'UTC' },
      { type: 'interval', every_s: 1 },
      { type: 'interval', every_s: 5_000 },
      { type: 'at', at: '2026-11-24T10:00:00.000Z' },
    ];
    const start = Date.parse('2026-11-23T09:00:10Z');
    const row = (trigger: Trigger, kept: number, n: number) => {
      const times = { anchor: start, after: start, limit: kept };
      const slots = slotsAfter(trigger as Parameters<typeof slotsAfter>[0], times);
      const anchor_at = new Date(start).toISOString();
      const text = slots.map((slot) => new Date(slot).toISOString());
      return { id: String(n).padStart(4, '0'), name: 'x', trigger, policy: null, anchor_at, slots: text };
    };
    const own = fc.tuple(fc.constantFrom(...triggers), fc.integer({ min: 1, max: 30 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(own, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 100_000_000 }),
        fc.integer({ min: 1, max: 604_800_000 }),
        fc.integer({ min: 1, max: 200 }),
        async (chosen, wait, span, limit) => {
          const after = start + wait;
          const to = after + span;
          const rows = chosen.map(([trigger, kept], n) => row(trigger, kept, n));
          const { slots, truncated } = await mergeSlots(rows, { after, to }, limit);
          const naive = rows.flatMap((one) => {
            const options = { anchor: start, after, until: to - 1, limit: limit + 1 };
            const found = slotsAfter(one.trigger as Parameters<typeof slotsAfter>[0], options);
            return found.map((when) => ({ id: one.id, at: when }));
          });
          naive.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
          assert.deepEqual(
            slots.map(({ row: { id }, at: when }) => ({ id, at: when })),
            naive.slice(0, limit),
          );
          assert.equal(truncated, naive.length > limit);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('a list is narrowed by name, kind and whether they are enabled, page by page', async () => {
    const t = await base.fresh();
    const byHand = { trigger: { type: 'event', trigger_id: 'never' } };
    for (const fields of [
      { name: 'Backup 100%' },
      { name: 'backup of ȚARĂ', enabled: false },
      { name: 'BACKUP web', kind: 'http', spec: { url: 'https://example.com/', method: 'GET' } },
      { name: 'import' },
    ]) {
      await t.create({ ...byHand, ...fields });
      t.clock.advance(1);
    }
    const names = async (query: string) => {
      const { status, body } = await t.call('GET', `/v1/schedules?${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body.schedules.map(({ name }: Json) => name);
    };
    assert.deepEqual(await names('q=backup'), ['BACKUP web', 'backup of ȚARĂ', 'Backup 100%']);
    assert.deepEqual(await names('q=%25'), ['Backup 100%']);
    assert.deepEqual(await names(`q=${encodeURIComponent('țară')}`), ['backup of ȚARĂ']);
    assert.deepEqual(await names('q=backup&kind=agent&enabled=true'), ['Backup 100%']);
    assert.deepEqual(await names('enabled=false'), ['backup of ȚARĂ']);
    assert.deepEqual(await names('kind=http,shell'), ['BACKUP web']);
    const { schedules, next_cursor } = (await t.call('GET', '/v1/schedules?q=backup&limit=2')).body;
    assert.equal(schedules.length, 2);
    assert.deepEqual(await names(`q=backup&limit=2&cursor=${next_cursor}`), ['Backup 100%']);
    for (const bad of ['kind=mail', 'enabled=yes', `q=${'x'.repeat(101)}`]) {
      assert.equal((await t.call('GET', `/v1/schedules?${bad}`)).status, 400, bad);
    }
  });
});
