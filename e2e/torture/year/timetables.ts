/** A timetable as people say it; the model finds its instants by walking over days and minutes. */
export type Timetable =
  /** At a time of the clock, on days that `on` admits. */
  | {
      readonly kind: 'days';
      readonly at: string;
      readonly tz: string;
      readonly on?: (day: Temporal.PlainDate) => boolean;
    }
  /** At a minute of hours that `on` admits, whatever the clock does. */
  | { readonly kind: 'hours'; readonly minute: number; readonly tz: string; readonly on: (hour: number) => boolean }
  | { readonly kind: 'every'; readonly seconds: number }
  | { readonly kind: 'once'; readonly at: number };

const minuteMs = 60_000;
const dayMs = 86_400_000;

const at = (instant: number, tz: string) => Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(tz);

/** The instants of a timetable after `from`, up to and including `to`; `anchor`: when it was made. */
export function instantsOf(timetable: Timetable, anchor: number, from: number, to: number): number[] {
  if (timetable.kind === 'once') return timetable.at > from && timetable.at <= to ? [timetable.at] : [];
  const found: number[] = [];
  if (timetable.kind === 'every') {
    const step = timetable.seconds * 1_000;
    for (let one = anchor + Math.max(1, Math.floor((from - anchor) / step)) * step; one <= to; one += step)
      if (one > from) found.push(one);
  } else if (timetable.kind === 'hours') {
    const { minute, tz, on } = timetable;
    for (let one = Math.floor(from / minuteMs) * minuteMs + minuteMs; one <= to; ) {
      const local = at(one, tz);
      if (local.minute === minute && on(local.hour)) found.push(one);
      one += local.minute === minute ? minuteMs : ((minute - local.minute + 60) % 30 || 30) * minuteMs;
    }
  } else {
    const { tz, on } = timetable;
    const time = Temporal.PlainTime.from(timetable.at);
    const last = at(to + dayMs, tz).toPlainDate();
    for (let day = at(from - dayMs, tz).toPlainDate(); Temporal.PlainDate.compare(day, last) <= 0; ) {
      const one = instantOn(day, time, tz);
      if (one > from && one <= to && (on?.(day) ?? true)) found.push(one);
      day = day.add({ days: 1 });
    }
  }
  return found;
}

/** When a clock shows a time on a day: the first time where it does twice, the end of the gap where it never does. */
function instantOn(day: Temporal.PlainDate, time: Temporal.PlainTime, tz: string): number {
  const zoned = day.toPlainDateTime(time).toZonedDateTime(tz, { disambiguation: 'earlier' });
  if (zoned.toPlainTime().equals(time)) return zoned.epochMilliseconds;
  return zoned.getTimeZoneTransition('next')?.epochMilliseconds ?? zoned.epochMilliseconds;
}
