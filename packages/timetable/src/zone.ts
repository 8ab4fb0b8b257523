/** The zone of a trigger that names none. */
export const defaultZone = 'Europe/Bucharest';

/** A stretch of time in which a zone's clocks keep one offset from UTC. */
export interface Span {
  /** First instant of it; -Infinity when there was no change before. */
  from: number;
  /** First instant after it; Infinity when no change is known. */
  to: number;
  /** Milliseconds that local time is ahead of UTC. */
  offset: number;
  /** The offset that held before `from`. */
  before: number;
}

/** An IANA name that this machine knows. Offsets such as `+02:00` are refused: they know no summer time. */
export function isZone(tz: string): boolean {
  if (!/^[a-z][a-z0-9_+/-]{0,63}$/i.test(tz)) return false;
  try {
    zoned(0, tz);
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds that the zone's local time is ahead of UTC at an instant. */
export function offsetAt(instant: number, tz: string): number {
  return zoned(instant, tz).offsetNanoseconds / 1e6;
}

/** The stretch that an instant lies in. */
export function spanAt(instant: number, tz: string): Span {
  const here = zoned(instant, tz);
  const offset = here.offsetNanoseconds / 1e6;
  // The search for the previous change leaves out a change at the very instant.
  const from = zoned(instant + 1, tz).getTimeZoneTransition('previous')?.epochMilliseconds;
  return {
    from: from ?? Number.NEGATIVE_INFINITY,
    to: changeAfter(here),
    offset,
    before: from === undefined ? offset : offsetAt(from - 1, tz),
  };
}

/** The stretch that follows one whose end is known. */
export function spanAfter(span: Span, tz: string): Span {
  const here = zoned(span.to, tz);
  return { from: span.to, to: changeAfter(here), offset: here.offsetNanoseconds / 1e6, before: span.offset };
}

function changeAfter(here: Temporal.ZonedDateTime): number {
  return here.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY;
}

function zoned(instant: number, tz: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(tz);
}
