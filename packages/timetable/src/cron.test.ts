import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cronError, cronHint, isZone, slotsAfter } from './index.ts';

const next = (expr: string, after: string, limit: number, tz = 'UTC'): string[] =>
  slotsAfter({ type: 'cron', expr, tz }, { anchor: 0, after: Date.parse(after), limit }).map((slot) =>
    new Date(slot).toISOString().slice(0, 16),
  );

/** The least work of three runs, in milliseconds of this thread: others share the machine. */
function milliseconds(run: () => unknown): number {
  const runs = [0, 0, 0].map(() => {
    const start = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1000;
  });
  return Math.min(...runs);
}

describe('cron expressions', () => {
  const right = [
    '* * * * *',
    '0 0 9 * * mon-fri',
    '*/15 9-17/2 1,15 JAN-mar,12 *',
    '0 9 * * 1#1',
    '0 9 * * Mon#5',
    '0 23 L * *',
    '0 23 15,L * *',
    '0 9 * * 5L',
    '0 0 * * fri-sun',
    '0 0 * * 5-7',
    '0 0 * * sun-tue',
    '0 0 29 2 *',
    '  0\t0 * * 0,7  ',
    '@daily',
    '@Yearly',
  ];
  for (const expr of right) test(`'${expr}' is right`, () => assert.equal(cronError(expr), undefined));

  const wrong: [string, RegExp][] = [
    ['', /5 fields/],
    ['* * * *', /5 fields/],
    ['* * * * * * *', /5 fields/],
    ['0 9 * * *\n0 9 * * *', /5 fields/],
    ['60 * * * *', /minute: '60' is not within 0 to 59/],
    ['* 24 * * *', /hour: '24'/],
    ['* * 0 * *', /day of month: '0'/],
    ['* * * 13 *', /month: '13'/],
    ['* * * * 8', /day of week: '8'/],
    ['* * * * lun', /day of week: 'lun'/],
    ['5/15 * * * *', /a step needs a range, as in 5-59\/15/],
    ['*/0 * * * *', /a step is 1 to 60/],
    ['*/90 * * * *', /a step is 1 to 60/],
    ['30-10 * * * *', /runs backwards/],
    ['1,,2 * * * *', /minute: ''/],
    ['0 0 ? * 1', /day of month: '\?'/],
    ['0 0 LW * *', /day of month: 'lw'/],
    ['0 0 15W * *', /day of month: '15w'/],
    ['0 0 * * 1#6', /day of week: '1#6'/],
    ['0 0 * * +1', /day of week/],
    ['@reboot', /known are @hourly/],
    ['0 0 30 2 *', /never fires/],
    ['0 0 31 4,6,9,11 *', /never fires/],
    ['0 0 */31 * 1#5', /never fires/],
    [`${'0,'.repeat(100)}0 * * * *`, /at most 200/],
  ];
  for (const [expr, message] of wrong) {
    test(`'${expr.slice(0, 30)}' is wrong`, () => assert.match(cronError(expr) ?? '', message));
  }

  test('what is wrong never gives slots', () => {
    assert.throws(() => next('0 0 30 2 *', '2026-01-01T00:00Z', 1), /never fires/);
  });

  test('day and weekday must both agree when either begins with a star, else one suffices', () => {
    assert.deepEqual(next('0 0 13 * 5', '2026-02-12T00:00Z', 3), [
      '2026-02-13T00:00',
      '2026-02-20T00:00',
      '2026-02-27T00:00',
    ]);
    assert.deepEqual(next('0 0 */2 * 1', '2026-02-01T00:00Z', 3), [
      '2026-02-09T00:00',
      '2026-02-23T00:00',
      '2026-03-09T00:00',
    ]);
    assert.deepEqual(next('0 0 13 * */5', '2026-01-14T00:00Z', 2), ['2026-02-13T00:00', '2026-03-13T00:00']);
  });

  test('the last day, the first Monday and the last Friday of a month', () => {
    assert.deepEqual(next('0 23 L * *', '2028-01-31T23:00Z', 2), ['2028-02-29T23:00', '2028-03-31T23:00']);
    assert.deepEqual(next('0 9 * * 1#1', '2026-01-01T00:00Z', 2), ['2026-01-05T09:00', '2026-02-02T09:00']);
    assert.deepEqual(next('0 9 * * 5L', '2026-01-01T00:00Z', 2), ['2026-01-30T09:00', '2026-02-27T09:00']);
    assert.deepEqual(next('0 9 * * mon#5', '2026-01-01T00:00Z', 1), ['2026-03-30T09:00']);
  });

  test('the rarest expression is found', () => {
    assert.deepEqual(next('0 0 29 2 */7', '2088-03-01T00:00Z', 1), ['2128-02-29T00:00']);
  });

  test('no string makes a check throw or take 5 ms', () => {
    const field = fc.stringMatching(/^[-*/,#a-zA-Z0-9L@? +]{0,12}$/);
    const likeCron = fc.array(field, { minLength: 1, maxLength: 7 }).map((fields) => fields.join(' '));
    const long = fc.tuple(fc.constantFrom('0,', '*', '1-59,', ' ', '9', '-', '#', 'L,'), fc.nat(100_000));
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      likeCron,
      long.map(([unit, times]) => unit.repeat(times)),
    );
    fc.assert(
      fc.property(hostile, (text) => {
        const wrong = cronError(text);
        assert.ok(wrong === undefined || wrong.length < 400);
        assert.equal(typeof isZone(text), 'boolean');
        assert.ok(milliseconds(() => cronError(text)) < 5);
        assert.ok(milliseconds(() => isZone(text)) < 5);
      }),
      { numRuns: 2000 },
    );
  });

  test('a step that does not divide its hour or day is told with its gaps', () => {
    const hints = {
      '*/55 * * * *': 'gaps of 55 and 5 minutes: 60 is no multiple of 55',
      '0/7 * * * *': 'gaps of 7 and 4 minutes: 60 is no multiple of 7',
      '0 */40 * * * *': 'gaps of 40 and 20 minutes: 60 is no multiple of 40',
      '5 */5 * * *': 'gaps of 5 and 4 hours: 24 is no multiple of 5',
      '*/15 * * * *': undefined,
      '0 */6 * * 1': undefined,
      '*/90 * * * *': undefined,
      '10-50/20 9 * * *': undefined,
      '0-30/25 * * * *': undefined,
      '0-59/25 * * * *': 'gaps of 25 and 10 minutes: 60 is no multiple of 25',
      '*/55 9 * * *': undefined,
      '0 0-17/5 * * *': undefined,
      '@hourly': undefined,
    };
    for (const [expr, hint] of Object.entries(hints)) assert.equal(cronHint(expr), hint, expr);
  });
});
