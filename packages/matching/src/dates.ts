const dayMs = 86_400_000;

/** Beginnings of months' names in English, German, French and Romanian, by their number. */
const months: readonly (readonly [RegExp, number])[] = [
  [/^(?:jan|ian)/, 1],
  [/^(?:feb|fév|fev)/, 2],
  [/^(?:mar|mär)/, 3],
  [/^(?:apr|avr)/, 4],
  [/^(?:may|mai)/, 5],
  [/^(?:jun|iun|juin)/, 6],
  [/^(?:jul|iul|juil)/, 7],
  [/^(?:aug|aoû|aou)/, 8],
  [/^sep/, 9],
  [/^o[ck]t/, 10],
  [/^no[vi]/, 11],
  [/^(?:de[cz]|déc)/, 12],
];

const monthOf = (name: string): number => months.find(([begin]) => begin.test(name.toLowerCase()))?.[1] ?? 1;

/** Whether a date in a text is over by the end of tomorrow; one without a year is that of the nearest year. */
export function isPast(text: string, now: number): boolean {
  const day = dayOf(text, new Date(now).getUTCFullYear());
  if (day === undefined) return true;
  const nearest = day.hasYear ? day.ms : [-1, 0, 1].map((by) => shifted(day.ms, by)).sort(nearestTo(now))[0];
  return (nearest ?? 0) <= now + dayMs;
}

const nearestTo = (now: number) => (a: number, b: number) => Math.abs(a - now) - Math.abs(b - now);
const shifted = (ms: number, years: number): number => {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear() + years, date.getUTCMonth(), date.getUTCDate());
};

function dayOf(text: string, thisYear: number): { ms: number; hasYear: boolean } | undefined {
  const iso = /(\d{4})[-/]?(\d{2})[-/]?(\d{2})/.exec(text);
  if (iso && !/^\D*\d{1,2}[./]/.test(text)) return dayFrom(iso[1], Number(iso[2]), iso[3], thisYear);
  const dotted = /(\d{1,2})[./](\d{1,2})[./](\d{4})/.exec(text);
  if (dotted) {
    // 03/25/2026 has its month first.
    const [one, two] = [Number(dotted[1]), Number(dotted[2])];
    return two > 12 ? dayFrom(dotted[3], one, dotted[2], thisYear) : dayFrom(dotted[3], two, dotted[1], thisYear);
  }
  const named = /(\d{1,2})\.?[ -](\p{L}{3,9})|(\p{L}{3,9})\.?\s{1,2}(\d{1,2})(?![\d:])/u.exec(text);
  if (!named) return undefined;
  const year = /\b(?:19|20)\d{2}\b/.exec(text.replaceAll(/\d{1,2}:\d{2}(?::\d{2})?/g, ''))?.[0];
  return dayFrom(year, monthOf(named[2] ?? named[3] ?? ''), named[1] ?? named[4], thisYear);
}

const dayFrom = (year: string | undefined, month: number, day: string | undefined, thisYear: number) => ({
  ms: Date.UTC(year === undefined ? thisYear : Number(year), month - 1, Number(day)),
  hasYear: year !== undefined,
});
