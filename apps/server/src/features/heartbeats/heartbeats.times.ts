import { cronError, defaultZone, isZone, slotsAfter } from '@svc/timetable';
import { badRequest } from '../../kernel/base/errors.ts';

/** The document's bounds of `period_s`; a gap between two instants is cut to them. */
const shortestS = 60;
const longestS = 2_592_000;

/** Seconds that a job may be late unless its monitor says otherwise: an hour, and no longer than its period. */
export const defaultGraceS = (periodS: number): number => Math.min(3_600, periodS);

/** When a success is expected. */
interface Expectation {
  /** Milliseconds since the epoch. */
  expectedAt: number;
  /** Seconds from there to the expectation after it, within the bounds of `period_s`. */
  periodS: number;
}

/** The first instant after `after` that a cron expression names; 80 µs, and 1 ms for the rarest. */
export function nextOf(cron: string, tz: string | null, after: number): Expectation {
  const options = { anchor: 0, limit: 2, after, tz: tz ?? defaultZone };
  const [expectedAt, following] = slotsAfter({ type: 'cron', expr: cron }, options);
  if (expectedAt === undefined) throw new Error('a cron expression that was taken names no instant');
  const gapS = following === undefined ? longestS : Math.round((following - expectedAt) / 1000);
  return { expectedAt, periodS: Math.min(Math.max(gapS, shortestS), longestS) };
}

/** Throws 400 for an expression that a schedule would refuse or that has seconds, and for what is no name of a zone. */
export function checkCron(cron: string, tz: string | null): void {
  const text = cron.trim();
  const hasFive = text.startsWith('@') || text.split(/[ \t]+/).length === 5;
  const fault = hasFive ? cronError(cron) : 'has 5 fields here, from minute to weekday, or is a macro such as @daily';
  if (fault !== undefined) throw badRequest(`cron: ${fault}`, { cron: [fault] });
  if (tz === null || isZone(tz)) return;
  const message = 'must be the name of a time zone where cron goes by it, such as Europe/Bucharest';
  throw badRequest(`tz: ${message}`, { tz: [message] });
}
