import { useEffect, useState } from 'preact/hooks';
import { now } from '../api/clock.ts';
import { useLocale } from '../words/words.tsx';
import { dateFormat, relativeTime } from './time.rules.ts';

/** Draws anew every half minute, so that "a minute ago" grows. */
function useTick(): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
}

/** The exact instant in words, in a zone. */
export const exactTime = (at: string | number, locale: string, tz: string | undefined): string =>
  dateFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'medium',
    ...(tz !== undefined && { timeZone: tz }),
  }).format(new Date(at));

/** An instant, relative to now; a tap shows it exactly. */
export function Time({ at }: { at: string | number }) {
  useTick();
  const [isExact, setExact] = useState(false);
  const { locale, tz } = useLocale();
  const exact = exactTime(at, locale, tz);
  return (
    <time
      class="time"
      dateTime={new Date(at).toISOString()}
      title={exact}
      onClick={(event) => {
        event.preventDefault();
        event.stopPropagation();
        setExact(!isExact);
      }}
    >
      {isExact ? exact : relativeTime(new Date(at).getTime(), now(), locale)}
    </time>
  );
}

/** An instant of the day, such as 14:05, with the day where it is another one. */
export function Clock({ at }: { at: string | number }) {
  const { locale, tz } = useLocale();
  const zone = tz === undefined ? {} : { timeZone: tz };
  const date = new Date(at);
  const day = (instant: Date): string => dateFormat('sv', { ...zone, dateStyle: 'short' }).format(instant);
  const isToday = day(date) === day(new Date(now()));
  const text = dateFormat(locale, {
    ...zone,
    hour: '2-digit',
    minute: '2-digit',
    ...(!isToday && { weekday: 'short', day: 'numeric', month: 'short' }),
  }).format(date);
  return (
    <time dateTime={date.toISOString()} title={exactTime(at, locale, tz)}>
      {text}
    </time>
  );
}
