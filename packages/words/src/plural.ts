import type { Locale } from './locale.ts';

/** The forms of a noun with its number left out: English has `one` and `other`, Romanian `few` too (2 to 19, 101 to 119). */
export interface Forms {
  one: string;
  few?: string;
  other: string;
}

/** A number and its noun, such as "1 minute", "20 de minute". `count` is a whole number. */
export function counted(locale: Locale, count: number, { one, few, other }: Forms): string {
  const form = new Intl.PluralRules(locale).select(count);
  const noun = form === 'one' ? one : form === 'few' ? (few ?? other) : other;
  return `${new Intl.NumberFormat(locale).format(count)} ${noun}`;
}

/** The units of `Units`, the largest first, with their seconds. */
const sizes = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

type Units = Readonly<Record<(typeof sizes)[number][0], Forms>>;

const units: Readonly<Record<Locale, Units>> = {
  en: {
    day: { one: 'day', other: 'days' },
    hour: { one: 'hour', other: 'hours' },
    minute: { one: 'minute', other: 'minutes' },
    second: { one: 'second', other: 'seconds' },
  },
  ro: {
    day: { one: 'zi', few: 'zile', other: 'de zile' },
    hour: { one: 'oră', few: 'ore', other: 'de ore' },
    minute: { one: 'minut', few: 'minute', other: 'de minute' },
    second: { one: 'secundă', few: 'secunde', other: 'de secunde' },
  },
};

/**
 * A duration in the largest unit of which it has two or more, rounded up: "90 seconds" is "90 seconds", 3,600 is
 * "60 minutes". What is negative or no number counts as 0.
 */
export function lasting(locale: Locale, seconds: number): string {
  const whole = Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : 0;
  const [unit, size] = sizes.find(([, each]) => whole >= 2 * each) ?? sizes[3];
  return counted(locale, Math.ceil(whole / size), units[locale][unit]);
}
