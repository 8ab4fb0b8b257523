import { contract, trigger } from '@svc/contract';
import { hasClockChange, isZone, slotsAfter, understand } from '@svc/timetable';
import { badRequest } from '../../kernel/http/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { defaultZone, timed, triggerFault } from './schedules.rules.ts';
import type { Trigger } from './schedules.sql.ts';

/** Shows what plain words, or a trigger, mean: never an error for what cannot be understood (document 2, Errors). */
export const preview = operation(contract.schedules.preview, async (context, { body }) => {
  const { text, tz = defaultZone } = body;
  if (text === undefined && body.trigger === undefined) throw badRequest('send text or trigger');
  if (typeof tz !== 'string' || !isZone(tz)) return { ok: false, reason: 'invalid' as const };
  const { ms: now } = await readNow(context.db, context.clock);
  if (body.trigger === undefined) {
    const understood = understand(text ?? '', { now, tz });
    return understood ? show(understood, now, tz) : { ok: false, reason: 'not_understood' as const };
  }
  const parsed = trigger.safeParse(body.trigger);
  if (!parsed.success || triggerFault(parsed.data) !== undefined) return { ok: false, reason: 'invalid' as const };
  const given = parsed.data;
  return show(given.type === 'cron' ? { ...given, tz: given.tz ?? tz } : given, now, tz);
});

function show(shown: Trigger, now: number, tz: string) {
  const source = timed(shown);
  const slots = source ? slotsAfter(source, { after: now, anchor: now, tz, limit: 5 }) : [];
  return {
    ok: true,
    trigger: shown,
    next_runs: slots.map((slot) => new Date(slot).toISOString()),
    dst_warning: source !== undefined && hasClockChange(source, slots, tz, { after: now }),
  };
}
