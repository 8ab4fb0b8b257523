import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { type Json, newDevice, openScheduler } from '../scheduler/scheduler.testing.ts';

describe('schedules: preview and templates', () => {
  // Friday evening before the clocks of Bucharest go forward.
  const t = shared(() => openScheduler({ start: Date.parse('2026-03-27T18:00:00Z') }));
  const preview = async (body: Json): Promise<Json> => {
    const answer = await t.call('POST', '/v1/schedules/preview', body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };

  test('plain words become a trigger with its next five runs, in Bucharest unless a zone is given', async () => {
    assert.deepEqual(await preview({ text: 'în fiecare vineri la 17:00' }), {
      ok: true,
      trigger: { type: 'cron', expr: '0 17 * * 5', tz: 'Europe/Bucharest' },
      next_runs: ['2026-04-03', '2026-04-10', '2026-04-17', '2026-04-24', '2026-05-01'].map(
        (d) => `${d}T14:00:00.000Z`,
      ),
      dst_warning: false,
    });
    const tokyo = await preview({ text: 'every day at 9', tz: 'Asia/Tokyo' });
    assert.deepEqual([tokyo.trigger.tz, tokyo.next_runs[0]], ['Asia/Tokyo', '2026-03-28T00:00:00.000Z']);
  });

  test('a trigger is previewed as it is; a one-off has one run, an event none', async () => {
    const every = await preview({ trigger: { type: 'interval', every_s: 60 } });
    assert.deepEqual([every.ok, every.next_runs.length], [true, 5]);
    const once = await preview({ trigger: { type: 'at', at: '2026-04-01T09:00:00+03:00' } });
    assert.deepEqual(once.next_runs, ['2026-04-01T06:00:00.000Z']);
    const event = await preview({ trigger: { type: 'event', trigger_id: 'deploy.done' } });
    assert.deepEqual([event.ok, event.next_runs, event.dst_warning], [true, [], false]);
    const zone = await preview({ trigger: { type: 'cron', expr: '0 9 * * *', tz: 'UTC' }, tz: 'Asia/Tokyo' });
    assert.equal(zone.next_runs[0], '2026-03-28T09:00:00.000Z');
  });

  test('a run in a change of clocks is warned of, also one that the change swallows', async () => {
    const fixed = await preview({ trigger: { type: 'cron', expr: '30 3 * * *' } });
    assert.deepEqual([fixed.next_runs[1], fixed.dst_warning], ['2026-03-29T01:00:00.000Z', true]);
    const swallowed = await preview({ trigger: { type: 'cron', expr: '*/30 3 * * *' } });
    assert.deepEqual([swallowed.next_runs[2], swallowed.dst_warning], ['2026-03-30T00:00:00.000Z', true]);
    assert.equal((await preview({ trigger: { type: 'cron', expr: '30 5 * * *' } })).dst_warning, false);
  });

  test('words for a time that the clock skips follow the rule of cron, and are warned of', async () => {
    const sunday = '2026-03-29T01:00:00.000Z';
    for (const text of ['on 29 march at 3:30', 'pe 29 martie la 3 și jumătate', 'next sunday at 3']) {
      const { trigger, next_runs, dst_warning } = await preview({ text });
      assert.deepEqual([trigger, next_runs, dst_warning], [{ type: 'at', at: sunday }, [sunday], true], text);
    }
    const end = await preview({ text: 'on 29 march at 4' });
    assert.deepEqual([end.trigger.at, end.dst_warning], [sunday, false]);
    const twice = await preview({ text: 'on 25 october at 3:30' });
    assert.deepEqual([twice.trigger.at, twice.dst_warning], ['2026-10-25T00:30:00.000Z', true]);
  });

  test('an `at` that is past is invalid, one of the last minute runs at once', async () => {
    const now = t.clock.now();
    const at = (ms: number) => preview({ trigger: { type: 'at', at: new Date(now + ms).toISOString() } });
    const message = 'at: lies more than 60 s in the past';
    for (const ms of [-60_001, -86_400_000]) assert.deepEqual(await at(ms), { ok: false, reason: 'invalid', message });
    for (const ms of [-60_000, 0, 1]) assert.equal((await at(ms)).next_runs.length, 1, String(ms));
  });

  test('what cannot be understood, or is wrong, is told with success', async () => {
    for (const text of ['every other friday', 'whenever', '', 'drop table', '🙂']) {
      assert.deepEqual(await preview({ text }), { ok: false, reason: 'not_understood' }, text);
    }
    for (const [body, says] of [
      [{ trigger: { type: 'cron', expr: 'x' } }, /^expr: a cron expression has 5 fields/],
      [{ trigger: { type: 'cron', expr: '0 0 30 2 *' } }, /^expr: /],
      [{ trigger: { type: 'cron', expr: 'CRON_TZ=Europe/Berlin 0 9 * * *' } }, /^expr: has its time zone in `tz`/],
      [{ trigger: { type: 'cron', expr: 'TZ=UTC 0 9 * * *' } }, /^expr: has its time zone in `tz`/],
      [{ trigger: { type: 'cron', expr: '* * * * *', tz: 'Mars/Base' } }, /^tz: must be the name of a time zone/],
      [{ trigger: { type: 'cron', expr: '* * * * *', tz: 'GMT+2' } }, /^tz: must be .* an offset knows no summer time/],
      [{ trigger: { type: 'cron', expr: '* * * * *', tz: 'Europe/New York' } }, /^tz: must be the name/],
      [{ trigger: { type: 'interval', every_s: 0 } }, /^every_s: must be/],
      [{ trigger: { type: 'at', at: 'tomorrow' } }, /^at: must be an RFC 3339 time/],
      [{ trigger: { type: 'nothing' } }, /./],
      [{ trigger: 'every day' }, /is no trigger/],
      [{ trigger: 5 }, /is no trigger/],
      [{ text: 'every day at 9', tz: 'Mars/Base' }, /^tz: /],
      [{ text: 'every day at 9', tz: 5 }, /^tz: /],
    ] as const) {
      const { message, ...answer } = await preview(body);
      assert.deepEqual(answer, { ok: false, reason: 'invalid' }, JSON.stringify(body));
      assert.match(message, says, JSON.stringify(body));
    }
    const { hint } = await preview({ trigger: { type: 'cron', expr: '*/55 * * * *' } });
    assert.equal(hint, 'gaps of 55 and 5 minutes: 60 is no multiple of 55');
    assert.equal((await preview({ trigger: { type: 'cron', expr: '*/15 * * * *' } })).hint, undefined);
    for (const body of [{ text: 'x'.repeat(201) }, { text: 5 }, {}, { text: null, trigger: null }]) {
      const answer = await t.call('POST', '/v1/schedules/preview', body);
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], JSON.stringify(body));
    }
    assert.equal((await preview({ text: 'x'.repeat(200) })).reason, 'not_understood');
  });

  test('every template can be used, and what it makes is what was listed', async () => {
    const { templates } = (await t.call('GET', '/v1/schedules/templates')).body;
    assert.ok(templates.length >= 8);
    const device = newDevice();
    const values: Record<string, string> = {
      source: "/home/it's me",
      destination: '/backup',
      url: 'https://example.com/health',
      host: 'example.com',
      repository: '/srv/app',
      device_id: device,
    };
    for (const template of templates) {
      const needed = template.params.filter((param: Json) => param.required).map((param: Json) => param.name);
      const params = Object.fromEntries(needed.map((name: string) => [name, values[name]]));
      const made = await t.call('POST', '/v1/schedules/templates', { template: template.id, params });
      assert.equal(made.status, 200, JSON.stringify(made.body));
      assert.equal(made.body.schedule.template, template.id);
      assert.equal(made.body.schedule.kind, template.schedule.kind);
      assert.ok(made.body.schedule.upcoming.length === 5, template.id);
      for (const name of needed) {
        const { [name]: _, ...fewer } = params;
        const refused = await t.call('POST', '/v1/schedules/templates', { template: template.id, params: fewer });
        assert.deepEqual(
          [refused.status, Object.keys(refused.body.error.details.fieldErrors)],
          [400, [`params.${name}`]],
        );
      }
    }
  });

  test('the weekly digest of transcripts: an agent in the cloud, Fridays at 17:00', async () => {
    const made = await t.call('POST', '/v1/schedules/templates', { template: 'weekly-transcripts-digest' });
    const { kind, target, trigger, upcoming } = made.body.schedule;
    assert.deepEqual([kind, target, trigger.expr], ['agent', { type: 'cloud' }, '0 17 * * 5']);
    assert.equal(upcoming[0], '2026-04-03T14:00:00.000Z');
  });

  test('values are words of a command, whatever they hold; fields of a schedule among the params win', async () => {
    const made = await t.call('POST', '/v1/schedules/templates', {
      template: 'nightly-backup',
      params: { source: "a'; rm -rf / #", destination: '/b', name: 'mine', retries: 5 },
    });
    const { name, retries, spec } = made.body.schedule;
    assert.deepEqual([name, retries], ['mine', 5]);
    assert.ok(spec.command.endsWith(`-C 'a'\\''; rm -rf / #' .`), spec.command);
    const unknown = await t.call('POST', '/v1/schedules/templates', { template: 'nothing' });
    assert.deepEqual([unknown.status, Object.keys(unknown.body.error.details.fieldErrors)], [400, ['template']]);
    const wrong = await t.call('POST', '/v1/schedules/templates', {
      template: 'daily-briefing',
      params: { retries: 11 },
    });
    assert.deepEqual([wrong.status, Object.keys(wrong.body.error.details.fieldErrors)], [400, ['retries']]);
  });
});
