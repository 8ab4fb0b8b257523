import { contract, trigger, withoutNulls } from '@svc/contract';
import { hasClockChange, isZone, readWords, slotsAfter } from '@svc/timetable';
import { badRequest } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { isPast } from './create.ts';
import { defaultZone, timed, triggerFault } from './schedules.rules.ts';
import type { Trigger } from './schedules.sql.ts';

/** Shows what plain words, or a trigger, mean: never an error for what cannot be understood (document 2, Errors). */
export const preview = operation(contract.schedules.preview, async (context, { body }) => {
  const { text } = body;
  // Both take anything: what is no zone, or no trigger, is answered and not refused.
  const tz = body.tz ?? defaultZone;
  const shown = body.trigger ?? undefined;
  if (text === undefined && shown === undefined) throw badRequest('send text or trigger');
  if (typeof tz !== 'string' || !isZone(tz)) return { ok: false, reason: 'invalid' as const };
  const now = await readNow(context.db, context.clock);
  if (shown === undefined) {
    const read = readWords(text ?? '', { now: now.ms, tz });
    return read ? show(read.trigger, now, tz, read.isMoved) : { ok: false, reason: 'not_understood' as const };
  }
  const parsed = trigger.safeParse(withoutNulls(trigger, shown));
  if (!parsed.success || triggerFault(parsed.data) !== undefined) return { ok: false, reason: 'invalid' as const };
  const given = parsed.data;
  if (isPast(given, now)) return { ok: false, reason: 'invalid' as const };
  return show(given.type === 'cron' ? { ...given, tz: given.tz ?? tz } : given, now, tz);
});

/** `isMoved`: a change of clocks moved it. */
function show(shown: Trigger, now: Instant, tz: string, isMoved = false) {
  const source = timed(shown);
  // An `at` of the last minute runs at once.
  const after = shown.type === 'at' ? Math.min(now.ms, Date.parse(shown.at) - 1) : now.ms;
  const slots = source ? slotsAfter(source, { after, anchor: now.ms, tz, limit: 5 }) : [];
  return {
    ok: true,
    trigger: shown,
    next_runs: slots.map((slot) => new Date(slot).toISOString()),
    dst_warning: isMoved || (source !== undefined && hasClockChange(source, slots, tz, { after: now.ms })),
  };
}
