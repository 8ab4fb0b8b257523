import { contract, trigger, withoutNulls, wordsFor } from '@svc/contract';
import { cronHint, hasClockChange, isZone, readWords, slotsAfter } from '@svc/timetable';
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
  if (typeof tz !== 'string' || !isZone(tz)) return invalid(`tz: ${noZone}`);
  const now = await readNow(context.db, context.clock);
  if (shown === undefined) {
    const read = readWords(text ?? '', { now: now.ms, tz });
    return read ? show(read.trigger, now, tz, read.isMoved) : { ok: false, reason: 'not_understood' as const };
  }
  const parsed = trigger.safeParse(withoutNulls(trigger, shown), { error: wordsFor });
  if (!parsed.success) return invalid(faultOf(parsed.error.issues[0]));
  const given = parsed.data;
  const wrong = triggerFault(given);
  if (wrong) return invalid(`${wrong.field}: ${wrong.field === 'tz' ? noZone : wrong.message}`);
  if (isPast(given, now)) return invalid('at: lies more than 60 s in the past');
  return show(given.type === 'cron' ? { ...given, tz: given.tz ?? tz } : given, now, tz);
});

const noZone = 'must be the name of a time zone of a place, such as Europe/Bucharest; an offset knows no summer time';

const invalid = (message: string) => ({ ok: false, reason: 'invalid' as const, message });

/** What is wrong with the shape of a trigger, with its field. */
const faultOf = (issue: { path: PropertyKey[]; message: string } | undefined): string => {
  if (issue === undefined || issue.path.length === 0)
    return 'is no trigger; its type is cron, at, interval, event or after';
  return `${issue.path.join('.')}: ${issue.message}`;
};

/** `isMoved`: a change of clocks moved it. */
function show(shown: Trigger, now: Instant, tz: string, isMoved = false) {
  const source = timed(shown);
  // An `at` of the last minute runs at once.
  const after = shown.type === 'at' ? Math.min(now.ms, Date.parse(shown.at) - 1) : now.ms;
  const hint = shown.type === 'cron' ? cronHint(shown.expr) : undefined;
  const slots = source ? slotsAfter(source, { after, anchor: now.ms, tz, limit: 5 }) : [];
  return {
    ok: true,
    trigger: shown,
    next_runs: slots.map((slot) => new Date(slot).toISOString()),
    dst_warning: isMoved || (source !== undefined && hasClockChange(source, slots, tz, { after: now.ms })),
    ...(hint !== undefined && { hint }),
  };
}
