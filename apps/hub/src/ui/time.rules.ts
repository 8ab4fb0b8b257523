const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['second', 1_000],
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
  ['month', 30 * 86_400_000],
  ['year', 365 * 86_400_000],
];

const dates = new Map<string, Intl.DateTimeFormat>();
const distances = new Map<string, Intl.RelativeTimeFormat>();

/** The format of dates, made once: to make one takes as long as to draw a row, and a list has two in each. */
export function dateFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, options]);
  const known = dates.get(key);
  if (known) return known;
  const made = new Intl.DateTimeFormat(locale, options);
  dates.set(key, made);
  return made;
}

function distanceFormat(locale: string): Intl.RelativeTimeFormat {
  const known = distances.get(locale);
  if (known) return known;
  const made = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  distances.set(locale, made);
  return made;
}

/** "3 minutes ago", "in 2 hours"; below 10 s "now". Both in milliseconds since the epoch. */
export function relativeTime(at: number, now: number, locale: string): string {
  const distance = at - now;
  const far = Math.abs(distance);
  const format = distanceFormat(locale);
  if (far < 10_000) return format.format(0, 'second');
  const [unit, ms] = units.findLast(([, size]) => far >= size) ?? ['second', 1_000];
  return format.format(Math.trunc(distance / ms), unit);
}

/** How long something took or lasts: "1 h 5 min", "850 ms". */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600), Math.floor(seconds / 86_400)];
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** Bytes in words. */
export function size(bytes: number): string {
  const steps = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let step = 0;
  while (value >= 1_024 && step < steps.length - 1) {
    value /= 1_024;
    step += 1;
  }
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${steps[step]}`;
}

/** An instant as a field of the browser shows it, in the browser's zone; nothing of none. */
export function localOf(at: string | undefined): string {
  if (at === undefined) return '';
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Six in the morning of the next day, where this device is. */
export function tomorrow(): Date {
  const day = new Date();
  day.setDate(day.getDate() + 1);
  day.setHours(6, 0, 0, 0);
  return day;
}
